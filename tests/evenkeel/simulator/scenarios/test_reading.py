"""Scenario files: what is right is read, and what is wrong is said with file, line and the way out."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from autoscaling.behaviour import Profile
from autoscaling.quantity import Quantity
from evenkeel.simulator.scenarios.document import WorkloadKind
from evenkeel.simulator.scenarios.expectations import PodsExpected, RequestsExpected
from evenkeel.simulator.scenarios.reading import ScenarioError, keys_of, parse_scenario, parts_of, read_scenario
from evenkeel.simulator.scenarios.steps import Break, Use
from evenkeel.simulator.scenarios.syntax import Count, Part

GOOD = """\
title: A pod gets more
duration: 10m
nodes:
  node-1: {cpu: 8, memory: 16Gi, labels: {zone: a}}
workloads:
  web:
    kind: StatefulSet
    replicas: 2
    containers:
      main:
        requests: {cpu: 50m, memory: 32Mi}
        resizePolicy: {memory: RestartContainer}
        usage: {function: constant, cpu: 2, memory: 20Mi}
vpas:
  web: {minReplicas: 1}
steps:
  - {at: 3m, fault: {verb: patch, path: /resize$, refuse: {code: 429}}}
  - {at: 4m, use: {workload: web, usage: {function: ramp, first: {cpu: 1}, last: {cpu: 2}, over: 1m30s}}}
flags:
  all: [--v=5]
  updater: [--updater-interval=10s]
expect:
  - {pods: web, count: 2, requests: {cpu: 400m, memory: {min: 64Mi}}}
  - {requests: patch pods/resize, codes: {200: 2, 429: {min: 1}}, profile: upstream}
"""


def test_a_scenario_is_read_whole() -> None:
    scenario = parse_scenario(GOOD, "good.yaml")
    assert scenario.duration == timedelta(minutes=10)
    web = scenario.workloads["web"]
    assert (web.kind, web.replicas) == (WorkloadKind.STATEFUL_SET, 2)
    assert web.containers["main"].requests == {"cpu": Quantity.parse("50m"), "memory": Quantity.parse("32Mi")}
    fault, use = scenario.steps
    assert isinstance(fault, Break)
    assert isinstance(use, Use)
    assert use.use.usage.function == "ramp"
    pods, requests = scenario.expect
    assert isinstance(pods, PodsExpected)
    assert pods.count == Count(2, 2)
    assert isinstance(requests, RequestsExpected)
    assert requests.codes[429] == Count(1)
    assert (pods.profile, requests.profile) == (None, Profile.UPSTREAM)


USAGE = "usage: {function: constant, cpu: 2, memory: 20Mi}"
SHARED = "shared: {function: ramp, first: {cpu: 1}, last: {cpu: 3}, over: 2m}"


def test_a_load_may_be_shared_by_the_pods_of_a_workload() -> None:
    scenario = parse_scenario(GOOD.replace(USAGE, SHARED), "good.yaml")
    behaviour = scenario.workloads["web"].containers["main"].behaviour(Path())
    assert behaviour.shared is not None
    assert behaviour.shared.at(timedelta(minutes=1), 0).cpu_cores == 2.0
    assert behaviour.since_origin is None
    content = GOOD.replace(USAGE, SHARED.replace("over", "ovre"))
    with pytest.raises(ScenarioError, match=r":13: workloads\.web\.containers\.main\.shared\.ovre: .*mean over\?"):
        parse_scenario(content, "bad.yaml")


EXTERNAL = "externalMetrics: {metrics: {memory: memory_bytes}, containerLabel: container}\n"


def test_usage_may_be_served_as_external_metrics() -> None:
    found = parse_scenario(GOOD + EXTERNAL, "good.yaml").external_metrics
    assert found is not None
    assert (found.metrics, found.container_label) == ({"memory": "memory_bytes"}, "container")
    assert parse_scenario(GOOD, "good.yaml").external_metrics is None
    with pytest.raises(ScenarioError, match=r":25: externalMetrics\.metrics\..*: should be 'cpu' or 'memory'"):
        parse_scenario(GOOD + EXTERNAL.replace("{memory", "{disk"), "bad.yaml")


@pytest.mark.parametrize(
    ("name", "replace", "by", "line", "said"),
    [
        (
            "unknown key",
            "replicas: 2",
            "replicsa: 2",
            8,
            "workloads.web.replicsa: this key means nothing here; did you mean replicas?",
        ),
        ("unknown key at the top", "flags:", "flgas:", 19, "flgas: this key means nothing here; did you mean flags?"),
        ("nothing near it", "replicas: 2", "qqqqqqqq: 2", 8, "docs/scenarios.md"),
        ("missing", "title: A pod gets more\n", "", 1, "title: this key is missing; add it"),
        (
            "missing inside",
            "function: ramp, first: {cpu: 1}, ",
            "function: ramp, ",
            18,
            "steps.1.use.usage.first: this key is missing",
        ),
        ("no duration", "duration: 10m", "duration: 10 minutes", 2, "a duration is written as 90s, 5m or 1h30m"),
        ("a number for a duration", "duration: 10m", "duration: 10", 2, "a duration is written as 90s, 5m or 1h30m"),
        ("negative duration", "duration: 10m", "duration: -10m", 2, "must not be negative"),
        ("no amount", "cpu: 50m", "cpu: 50mm", 11, "workloads.web.containers.main.requests.cpu: quantity '50mm'"),
        ("negative amount", "cpu: 50m", "cpu: -1", 11, "must not be negative"),
        ("a list for an amount", "cpu: 50m", "cpu: [1]", 11, "an amount is written as 250m, 2 or 128Mi"),
        ("unknown kind", "kind: StatefulSet", "kind: PetSet", 7, "workloads.web.kind: should be 'Deployment'"),
        ("unknown policy", "RestartContainer", "Restart", 12, "should be 'NotRequired' or 'RestartContainer'"),
        ("unknown function", "function: constant", "function: wavy", 13, "workloads.web.containers.main.usage:"),
        ("no function", "function: constant, ", "", 13, "needs the key function"),
        (
            "unknown step",
            "fault: {",
            "foult: {",
            17,
            "steps.0: needs one of the keys apply, delete, recommend, use, fault, restart, node",
        ),
        ("a fault that does nothing", "refuse: {code: 429}", "count: 1", 17, "say exactly one of refuse, delay"),
        ("a fault that does two things", "refuse: {code: 429}", "delay: 1s, refuse: {code: 429}", 17, "exactly one"),
        (
            "a change of a node that is none",
            "fault: {verb: patch, path: /resize$, refuse: {code: 429}}",
            "node: {name: node-1}",
            17,
            "say at least one of pressure, relief",
        ),
        (
            "trouble on no node",
            "fault: {verb: patch, path: /resize$, refuse: {code: 429}}",
            "node: {name: x, kubelet: stop}",
            17,
            "steps.0.node.name: 'x' leads nowhere",
        ),
        ("unknown check", "- {pods: web", "- {pod: web", 23, "expect.0: needs one of the keys pods, events"),
        (
            "unknown key in a check",
            "count: 2, ",
            "cuont: 2, ",
            23,
            "expect.0.cuont: this key means nothing here; did you mean count?",
        ),
        (
            "unknown profile",
            "profile: upstream",
            "profile: both",
            24,
            "expect.1.profile: should be 'evenkeel' or 'upstream'",
        ),
        ("a scalar for a mapping", "web: {minReplicas: 1}", "web: 1", 15, "vpas.web: must be a mapping"),
        (
            "no node",
            "node-1: {cpu: 8, memory: 16Gi, labels: {zone: a}}",
            "{}",
            3,
            "nodes: nothing could run without a node",
        ),
        (
            "no container",
            "function: constant, cpu: 2, memory: 20Mi}",
            "function: constant}\n  empty: {containers: {}}",
            14,
            "a workload needs at least one regular container",
        ),
        (
            "a VPA without target",
            "web: {minReplicas: 1}",
            "wbe: {minReplicas: 1}",
            15,
            "vpas.wbe: 'wbe' leads nowhere, there are web; give it a target",
        ),
        (
            "half a target",
            "web: {minReplicas: 1}",
            "x: {target: web}",
            15,
            "vpas.x.target: 'web' is no kind and name; write Deployment/web",
        ),
        (
            "advice on an unknown container",
            "web: {minReplicas: 1}",
            "web: {recommendation: {side: {cpu: 1}}}",
            15,
            "'side' leads nowhere, there are main",
        ),
        ("a step after the end", "at: 3m", "at: 11m", 17, "steps.0.at: the scenario is over by then"),
        ("a step about nothing", "workload: web", "workload: wbe", 18, "steps.1.use.workload: 'wbe' leads nowhere"),
        (
            "a step about no container",
            "workload: web",
            "workload: web, container: x",
            18,
            "steps.1.use.container: 'x' leads nowhere",
        ),
        (
            "a check about nothing",
            "{pods: web",
            "{pods: wbe",
            23,
            "expect.0.pods: 'wbe' leads nowhere, there are web; name a workload",
        ),
        (
            "a check about no VPA",
            "{pods: web, count: 2, requests: {cpu: 400m, memory: {min: 64Mi}}}",
            "{vpa: wbe}",
            23,
            "name a VPA under vpas",
        ),
        (
            "a check about no node",
            "pods: web, ",
            "pods: web, nodes: [node-2], ",
            23,
            "expect.0.nodes: 'node-2' leads nowhere, there are node-1",
        ),
        ("half a request", "patch pods/resize", "patch", 24, "expect.1.requests: 'patch' is no verb and resource"),
        (
            "a span that ends before it begins",
            "requests: patch pods/resize, codes: {200: 2, 429: {min: 1}}",
            "events: X, within: {after: 2m, before: 1m}",
            24,
            "before is earlier than after",
        ),
        (
            "an object that is none",
            "flags:",
            "objects:\n  - {kind: Pod}\nflags:",
            20,
            "objects.0: apiVersion is missing",
        ),
        (
            "an applied object that is none",
            "fault: {verb: patch, path: /resize$, refuse: {code: 429}}",
            "apply: [{apiVersion: v1, kind: Pod}]",
            17,
            "steps.0.apply.0: metadata.name is missing",
        ),
        ("a key twice", "duration: 10m", "duration: 10m\nduration: 11m", 3, "duration stands here twice; keep one"),
        ("a broken file", "title: A pod", "title: [A pod", 2, "no YAML"),
        ("no mapping", GOOD, "- a\n", 1, "a scenario is a mapping that begins with title, duration and nodes"),
        ("an empty file", GOOD, "", 1, "a scenario is a mapping"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_line_and_remedy(name: str, replace: str, by: str, line: int, said: str) -> None:
    content = GOOD.replace(replace, by, 1)
    assert content != GOOD
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(content, "bad.yaml")
    lines = str(caught.value).splitlines()
    assert any(text.startswith(f"bad.yaml:{line}: ") and said in text for text in lines), lines


def test_several_faults_are_said_at_once_from_the_top_down() -> None:
    content = GOOD.replace("replicas: 2", "replicsa: 2").replace("duration: 10m", "duration: x")
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(content, "bad.yaml")
    assert [text.split(": ")[0] for text in str(caught.value).splitlines()] == ["bad.yaml:2", "bad.yaml:8"]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"nothing\.yaml: No such file"):
        read_scenario(tmp_path / "nothing.yaml")


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "binary.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ScenarioError, match=r"binary\.yaml: not UTF-8"):
        read_scenario(path)


def test_a_good_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "good.yaml"
    path.write_text(GOOD)
    assert read_scenario(path) == parse_scenario(GOOD, str(path))


def test_every_key_is_explained_in_the_guide() -> None:
    guide = (Path(__file__).parents[4] / "docs" / "scenarios.md").read_text()
    missing = {key for part in parts_of(Part) for key in keys_of(part) if f"`{key}`" not in guide}
    assert not missing

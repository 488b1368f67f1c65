"""``evenkeel explain`` against the embedded API server."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from evenkeel.simulator.api.server import ApiServer
from recommender.checkpoint import ContainerCheckpoint, HistogramCheckpoint, StrategyRecord
from recommender.strategies.interface import Usage
from recommender.strategies.shipped import ADAPTIVE
from recommender.wire.checkpoints import checkpoint_json
from tests.builders import T0
from tests.embedded import GROUP, Json, deploy, pod_object, recommended_status, vpa_object
from tests.evenkeel.cli.running import Answer, evenkeel

MAIN = ContainerCheckpoint(
    "default",
    "web",
    "main",
    cpu=HistogramCheckpoint(T0, {20: 10000, 30: 500, 40: 100}, 300.0),
    memory=HistogramCheckpoint(T0, {30: 10000, 31: 2000}, 8.0),
    first_sample=T0 - timedelta(days=7),
    last_sample=T0,
    sample_count=10_000,
    updated=T0,
)
CAPPED: Json = {"containerPolicies": [{"containerName": "*", "maxAllowed": {"cpu": "150m"}}]}


def store(server: ApiServer, checkpoint: ContainerCheckpoint = MAIN) -> None:
    server.store.create(dict(checkpoint_json(checkpoint, f"{GROUP}/v1")))


def found(answer: Answer) -> dict[str, Any]:
    assert answer.status == 0, answer.errors
    document = answer.document
    assert isinstance(document, dict)
    return document


@pytest.fixture
def web(server: ApiServer) -> ApiServer:
    """A Deployment of two pods with a VPA that has history and a recommendation."""
    deploy(server, replicas=2)
    store(server)
    server.store.create(vpa_object("web", status=recommended_status("150m", "250Mi"), resourcePolicy=CAPPED))
    return server


def test_a_vpa(web: ApiServer, cluster: str) -> None:
    """beyond:B-34."""
    told = found(evenkeel("explain", "vpa", "web", cluster, "-o", "json"))
    assert (told["vpa"], told["pod"], told["mode"]) == ("VerticalPodAutoscaler default/web", None, "InPlaceOrRecreate")
    (main,) = told["containers"]
    assert main["samples"] == {
        "count": 10000,
        "first": "2025-12-25T00:00:00Z",
        "last": "2026-01-01T00:00:00Z",
        "stored": "2026-01-01T00:00:00Z",
        "windows": [],
    }
    assert main["confidence"]["cpu"] == pytest.approx(10_000 / 1440)
    bars = main["histograms"]["cpu"]["bars"]
    assert (len(bars), bars[0]["start"], bars[0]["end"]) == (21, "330m", "357m")
    assert sum(bar["share"] for bar in bars) == pytest.approx(1.0)
    steps = {step["name"]: step for step in main["steps"]["cpu"]}
    assert list(steps) == ["percentile", "margin", "confidence", "minimum", "rounding"]
    assert (steps["percentile"]["target"], steps["margin"]["target"], steps["rounding"]["upperBound"]) == (
        *("357m", "410m"),
        "930m",
    )
    assert steps["minimum"]["how"] == "at least 25m, the container's share of the pod's"
    assert main["caps"] == ["cpu capped to maxAllowed"]
    assert (main["reckoned"]["target"]["cpu"], main["reckoned"]["uncappedTarget"]["cpu"]) == ("150m", "410m")
    assert main["stated"]["target"] == {"cpu": "150m", "memory": "250Mi"}
    assert [caution["type"] for caution in told["cautions"]] == ["CappedBelowObservedNeed"]


def test_what_would_become_of_pods(web: ApiServer, cluster: str) -> None:
    """beyond:B-34."""
    told = found(evenkeel("explain", "vpa", "web", cluster, "-o", "json"))
    admission = told["admission"]
    assert (admission["outcome"], admission["reason"], admission["vpa"]) == ("applied", "Patched", "web")
    assert {"field": "spec.containers[main].resources.requests.cpu", "value": "150m"} in admission["changes"]
    updater = told["updater"]
    assert [each["object"] for each in updater] == ["Pod default/web-0", "Pod default/web-1"]
    assert {(each["action"], each["reason"]) for each in updater} == {("resize", "outside_bounds")}
    assert updater[0]["changes"][0].startswith("main cpu 100m→150m")


def test_nothing_is_changed(web: ApiServer, cluster: str) -> None:
    web.requests.clear()
    evenkeel("explain", "vpa", "web", cluster)
    assert {call.verb for call in web.requests.calls()} <= {"get", "list"}


def test_the_text(web: ApiServer, cluster: str) -> None:
    answer = evenkeel("explain", "vpa", "web", cluster)
    lines = answer.output.splitlines()
    assert lines[0] == "VerticalPodAutoscaler default/web: mode InPlaceOrRecreate, target Deployment/web"
    assert any("94.3% ████" in line and "← lower 357m, target 357m" in line for line in lines)
    assert "  cpu capped to maxAllowed" in lines
    assert any(line.startswith("cpu       in the status  150m") for line in lines)
    assert any("--whole-cluster" in line for line in lines)


PODS = [
    ("beyond:B-34 mode Off", "Off", 1, "VerticalPodAutoscaler default/web", "skip", "updates_off"),
    ("beyond:B-34 minReplicas", "Recreate", 3, "Pod default/web-0", "skip", "below_min_replicas"),
    ("beyond:B-34 a gate of its Deployment", "InPlace", 1, "Pod default/web-0", "resize", "outside_bounds"),
]


@pytest.mark.parametrize(("row", "mode", "replicas", "about", "action", "reason"), PODS, ids=[row[0] for row in PODS])
def test_a_pod(  # noqa: PLR0917 - columns of a table
    server: ApiServer, cluster: str, row: str, mode: str, replicas: int, about: str, action: str, reason: str
) -> None:
    deploy(server, replicas=2)
    flags = ["--updater-flags", "--feature-gates=InPlace=true"]
    policy: Json = {"updateMode": mode, "minReplicas": replicas}
    server.store.create(vpa_object("web", status=recommended_status("150m", "250Mi"), updatePolicy=policy))
    told = found(evenkeel("explain", "pod", "web-0", cluster, "-o", "json", *flags))
    assert told["pod"] == "Pod default/web-0"
    answers = told["updater"]
    assert [(each["object"], each["action"], each["reason"]) for each in answers] == [(about, action, reason)]
    assert answers[0]["meaning"]


def test_a_pod_of_no_vpa(server: ApiServer, cluster: str) -> None:
    server.store.create(pod_object("lonely", "web"))
    told = found(evenkeel("explain", "pod", "lonely", cluster, "-o", "json"))
    assert (told["vpa"], told["containers"], told["updater"]) == (None, [], [])
    assert told["admission"]["reason"] == "NoMatchingVpa"
    assert "belongs to no VerticalPodAutoscaler" in evenkeel("explain", "pod", "lonely", cluster).output


def test_a_pod_that_has_no_node_yet(web: ApiServer, cluster: str) -> None:
    pod = pod_object("early", "web")
    spec = pod["spec"]
    assert isinstance(spec, dict)
    del spec["nodeName"]
    web.store.create(pod)
    told = found(evenkeel("explain", "pod", "early", cluster, "-o", "json"))
    assert (told["vpa"], told["updater"]) == ("VerticalPodAutoscaler default/web", [])
    assert any("is not placed on a node yet" in note for note in told["notes"])


HISTORIES = [
    ("beyond:B-34 none", None, "no checkpoint"),
    ("beyond:B-34 version", replace(MAIN, version="v2"), "version 'v2' is not 'v3'"),
]


@pytest.mark.parametrize(("row", "checkpoint", "said"), HISTORIES, ids=[row[0] for row in HISTORIES])
def test_history_that_is_not_there(
    server: ApiServer, cluster: str, row: str, checkpoint: ContainerCheckpoint | None, said: str
) -> None:
    deploy(server)
    server.store.create(vpa_object("web"))
    if checkpoint is not None:
        store(server, checkpoint)
    answer = evenkeel("explain", "vpa", "web", cluster)
    assert answer.status == 0, answer.errors
    assert said in answer.output


def deployment(name: str, image: str, *args: str) -> Json:
    container = {"name": "main", "image": image, "args": list(args)}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
    spec = {"selector": {"matchLabels": {"app": name}}, "template": template}
    metadata = {"name": name, "namespace": "evenkeel-system"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def with_system(server: ApiServer, *args: str, image: str = "evenkeel:dev") -> None:
    server.store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "evenkeel-system"}})
    server.store.create(deployment("evenkeel-recommender", image, *args))


FLAGS = [
    ("beyond:B-34 Deployment", ["--target-cpu-percentile=0.5"], [], "50 %, 50 %, 95 %", "flags of Deployment"),
    ("beyond:B-34 separate word", ["--target-cpu-percentile", "0.5"], [], "50 %, 50 %, 95 %", "flags of Deployment"),
    ("beyond:B-34 unreadable", ["--no-such"], [], "90 %, 50 %, 95 %", "make no sense: unknown flag --no-such"),
    (
        "beyond:B-34 given",
        ["--target-cpu-percentile=0.5"],
        ["--recommender-flags", "--target-cpu-percentile=0.7 --cpu-integer-post-processor-enabled"],
        "70 %, 50 %, 95 %",
        "recommender: flags as given",
    ),
]


@pytest.mark.parametrize(("row", "args", "words", "how", "note"), FLAGS, ids=[row[0] for row in FLAGS])
def test_flags_of_the_processes_count(  # noqa: PLR0917 - columns of a table
    web: ApiServer, cluster: str, row: str, args: list[str], words: list[str], how: str, note: str
) -> None:
    with_system(web, *args)
    answer = evenkeel("explain", "vpa", "web", cluster, *words)
    assert answer.status == 0, answer.errors
    assert how in answer.output
    assert note in answer.output


WRONG = [
    (("vpa", "none"), 1, "VerticalPodAutoscaler none: not found in namespace default"),
    (("pod", "none"), 1, "Pod none: not found in namespace default"),
    (("node", "none"), 2, "node"),
    (("vpa", "web", "--updater-flags=--no-such"), 2, "unknown flag --no-such"),
    (("vpa", "web", "--updater-flags=--help"), 2, "leave --help out"),
    (
        ("vpa", "web", "--updater-flags=--v='4"),
        2,
        "No closing quotation; give the flags as the Deployment of the updater",
    ),
]


@pytest.mark.parametrize(("words", "status", "said"), WRONG)
def test_what_cannot_be_explained(cluster: str, words: tuple[str, ...], status: int, said: str) -> None:
    answer = evenkeel("explain", *words, cluster)
    assert answer.status == status
    assert said in answer.errors


def test_room_on_nodes_counts_with_the_whole_cluster(web: ApiServer, cluster: str) -> None:
    answer = evenkeel("explain", "vpa", "web", cluster, "--whole-cluster", "-o", "json")
    told = found(answer)
    assert {each["reason"] for each in told["updater"]} == {"node_not_ready"}
    assert not any("--whole-cluster" in note for note in told["notes"])


def test_a_strategy_that_chooses_says_what_it_goes_by(server: ApiServer, cluster: str) -> None:
    """beyond:B-10, beyond:B-34, quality:Q-18."""
    state, ends = ADAPTIVE.start(1), T0.timestamp() + 3600.0 * np.arange(-72.0, 1.0)
    hours = (np.zeros(len(ends), dtype=np.int64), ends, np.full(len(ends), 3600.0))
    state.observe(Usage(*hours, np.full(len(ends), 0.4), np.full(len(ends), 2e8)))
    deploy(server, replicas=2)
    store(server, replace(MAIN, strategy=StrategyRecord("adaptive", state.save(0))))
    server.store.create(vpa_object("web", recommender={"strategy": "adaptive"}))
    told = evenkeel("explain", "vpa", "web", cluster)
    assert told.status == 0, told.errors
    assert "in the place of all that: strategy adaptive\n" in told.output
    assert "main: what the strategy goes by\n  cpu: " in told.output
    assert " largest of 1 hour (cost 0), " in told.output

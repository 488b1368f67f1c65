"""Section B of docs/migration.md as it stands there, on the embedded cluster with upstream's own programs beside ours.

Each block of commands is taken from the page, told where this cluster's workload is, and run by bash. What installs
Deployments is left out: here the processes run without.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from e2e.cluster.binaries import build
from e2e.cluster.documents import JsonObject, objects_at, text_at

PAGE = Path(__file__).parent.parent / "docs" / "migration.md"
_PROGRAMS = Path(sys.executable).parent
_UP_SECONDS = 400.0
_SCENARIO = """\
title: A workload that upstream's VPA sizes
duration: 75s
time: real
peer: true
nodes:
  node-1: {cpu: 8, memory: 16Gi}
flags:
  recommender: &recommender [--recommender-interval=5s, --pod-recommendation-min-memory-mb=100]
  peer:
    recommender: *recommender
    updater: [--updater-interval=5s]
workloads:
  web:
    containers:
      main:
        requests: {cpu: 50m, memory: 32Mi}
        usage: {function: constant, cpu: 300m, memory: 20Mi}
vpas:
  web: {minReplicas: 1, after: 45s, upstream: true}
expect:
  - {pods: web, count: 1}
"""
_ELSEWHERE = re.compile(r"^(?:kubectl (?:scale|rollout|logs)|kubectl [a-z]+ .*-k ).*$", flags=re.MULTILINE)
"""Commands on Deployments and on folders of manifests."""


def blocks(heading: str) -> list[str]:
    """Return the blocks of commands under a heading of the page, up to the next heading of that level or above."""
    found: list[str] = []
    level = ""
    tokens = MarkdownIt("commonmark").enable("table").parse(PAGE.read_text(encoding="utf-8"))
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "heading_open" and after is not None:
            level = token.tag if after.content == heading else "" if level and token.tag <= level else level
        elif token.type == "fence" and level:
            found.append(token.content)
    assert found, f"the page has no commands under {heading!r}"
    return found


@dataclass(frozen=True, slots=True)
class Terminal:
    """Somebody's terminal at the cluster.

    Args:
        kubeconfig: Of the cluster's administrator.
    """

    kubeconfig: Path

    def type(self, block: str) -> str:
        """Run a block of the page, and return what it prints.

        Args:
            block: Commands for bash.
        """
        here = (
            _ELSEWHERE.sub("", block)
            .replace("--namespace shop", "--namespace default")
            .replace("-n shop", "-n default")
        )
        # The embedded API server serves no OpenAPI for kubectl to check objects by.
        here = here.replace("kubectl apply", "kubectl apply --validate=false")
        environment = {
            "PATH": f"{_PROGRAMS}:/usr/bin:/bin",
            "KUBECONFIG": str(self.kubeconfig),
            "HOME": str(self.kubeconfig.parent),
        }
        words = ["bash", "-euo", "pipefail", "-c", here]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120, env=environment)
        assert done.returncode == 0, f"{here}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def objects(self, resource: str) -> list[JsonObject]:
        """Return all objects of a resource."""
        found: JsonObject = json.loads(self.type(f"kubectl get {resource} --all-namespaces --output json"))
        return objects_at(found, "items")

    def modes(self) -> tuple[str, str]:
        """Return the update modes of upstream's object and of ours."""
        groups = ("autoscaling.k8s.io", "autoscaling.evenkeel.dev")
        (theirs,), (ours,) = (self.objects(f"verticalpodautoscalers.{group}") for group in groups)
        theirs_mode, ours_mode = (text_at(each, "spec", "updatePolicy", "updateMode") for each in (theirs, ours))
        return theirs_mode, ours_mode


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """A cluster on which upstream's programs have sized a workload, and ours run beside them."""
    folder = tmp_path_factory.mktemp("migration")
    (folder / "scenario.yaml").write_text(_SCENARIO)
    words = [str(_PROGRAMS / "evenkeel"), "demo", "--file", str(folder / "scenario.yaml"), "--keep"]
    environment = {**os.environ, "EVENKEEL_UPSTREAM_VPA": str(build("vpa"))}
    with (folder / "said").open("w+") as said:
        demo = subprocess.Popen(words, stdout=said, stderr=subprocess.STDOUT, env=environment)
        try:
            yield Terminal(_kubeconfig(folder / "said", demo))
        finally:
            demo.terminate()
            demo.wait(60)


def _kubeconfig(said: Path, demo: subprocess.Popen[bytes]) -> Path:
    """Wait until the cluster is up and the scenario over, and return where it says that its kubeconfig is."""
    deadline = time.monotonic() + _UP_SECONDS
    while time.monotonic() < deadline and demo.poll() is None:
        named = re.search(r"export KUBECONFIG=(\S+)", said.read_text())
        if named:
            return Path(named.group(1))
        time.sleep(1)
    raise AssertionError(said.read_text())


def test_a_workload_moves_with_its_history_and_back(terminal: Terminal) -> None:
    looking, copying = blocks("First: look, without acting"), blocks("Copy the histories")
    sync = next(block for block in looking if "evenkeel shadow sync" in block)
    assert "VerticalPodAutoscaler default/web created" in terminal.type(sync)
    assert "web-main serverside-applied" in terminal.type(copying[0])
    theirs, ours = (
        terminal.objects(f"verticalpodautoscalercheckpoints.{group}")
        for group in ("autoscaling.k8s.io", "autoscaling.evenkeel.dev")
    )
    assert [text_at(each, "metadata", "name") for each in theirs] == [
        text_at(each, "metadata", "name") for each in ours
    ]
    mode_before, twin_mode = terminal.modes()
    assert twin_mode == "Off"
    moving, watching, back = (
        next(block for block in blocks("B. Beside upstream, workload by workload") if words in block)
        for words in ("evenkeel.dev/shadow-", "evenkeel observe", '"updateMode":"Recreate"')
    )
    terminal.type(moving)
    assert terminal.modes() == ("Off", "InPlaceOrRecreate")
    assert "VerticalPodAutoscaler default/web: mode InPlaceOrRecreate" in terminal.type(watching.splitlines()[0])
    assert "both act" not in terminal.type("evenkeel doctor --only conflicts || test $? -eq 3")
    terminal.type(back)
    assert terminal.modes() == ("Recreate", "Off")
    assert mode_before != "Off"


def test_the_webhook_is_handed_over_by_its_label(terminal: Terminal) -> None:
    """That ours takes over what has the label is shown in tests/admission/shell/test_registration.py."""
    (block,) = (each for each in blocks("A. In place of upstream") if "registered-by" in each)
    assert "labeled" in terminal.type(block)
    (found,) = (
        each
        for each in terminal.objects("mutatingwebhookconfigurations")
        if text_at(each, "metadata", "name") == "vpa-webhook-config"
    )
    assert text_at(found, "metadata", "labels", "evenkeel.dev/registered-by") == "evenkeel-system"

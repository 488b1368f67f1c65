"""The container runtime: containers and their ends, calls, refusals."""

from __future__ import annotations

import random  # noqa: TID251 - the runtime takes a seeded source of identities
from datetime import timedelta

import pytest

from evenkeel.simulator.clock import EPOCH, ManualClock
from evenkeel.simulator.kubelet.cgroups import Cgroup
from evenkeel.simulator.kubelet.runtime import Runtime, RuntimeCallError, Start, Verb, stop_time

SECOND = timedelta(seconds=1)
POD = "uid-a"
CGROUP = Cgroup(100, 20_000, 1000)


class Node:
    """A runtime with one sandbox, and who is told of ends."""

    def __init__(self, version: int = 2) -> None:
        self.clock = ManualClock()
        self.runtime = Runtime(self.clock, random.Random(0), lambda number: f"10.0.0.{number}", version)
        self.sandbox = self.runtime.create_sandbox(POD, CGROUP)
        self.ends: list[str] = []
        self.runtime.on_exit = self.ends.append


@pytest.fixture
def node() -> Node:
    return Node()


def test_a_container_starts_and_ends_by_itself(node: Node) -> None:
    first = node.runtime.start(POD, Start("app", CGROUP, 5 * SECOND, exit_code=3))
    assert node.sandbox.is_running("app")
    assert (first.attempt, len(first.identity)) == (0, 64)
    node.clock.advance(5 * SECOND)
    assert not node.sandbox.is_running("app")
    assert (first.exit_code, first.reason, first.finished) == (3, "Error", EPOCH + 5 * SECOND)
    assert node.ends == [POD]
    second = node.runtime.start(POD, Start("app", CGROUP))
    assert second.attempt == 1
    assert node.sandbox.previous["app"] is first
    assert second.identity != first.identity
    assert not node.sandbox.is_running("other")


def test_a_good_end_is_a_completion(node: Node) -> None:
    node.runtime.start(POD, Start("app", CGROUP, SECOND))
    node.clock.advance(SECOND)
    assert node.sandbox.containers["app"].reason == "Completed"


def test_the_end_of_a_container_that_was_stopped_does_not_come_twice(node: Node) -> None:
    node.runtime.start(POD, Start("app", CGROUP, 5 * SECOND, exit_code=3))
    node.clock.advance(SECOND)
    node.runtime.stopped(POD, "app", 137)
    node.runtime.start(POD, Start("app", CGROUP))
    node.clock.advance(10 * SECOND)
    assert node.sandbox.is_running("app")
    assert node.ends == [POD]


def test_nothing_ends_that_does_not_run(node: Node) -> None:
    node.runtime.end(POD, "app", 1)
    node.runtime.end("uid-b", "app", 1)
    assert node.ends == []


def test_a_sandbox_goes_with_all_in_it(node: Node) -> None:
    node.runtime.start(POD, Start("app", CGROUP, SECOND))
    node.runtime.remove_sandbox(POD)
    node.runtime.remove_sandbox(POD)
    node.clock.advance(2 * SECOND)
    assert (node.ends, node.runtime.sandboxes) == ([], {})


def test_a_process_of_a_sandbox_made_anew_does_not_end_with_the_old_one(node: Node) -> None:
    node.runtime.start(POD, Start("app", CGROUP, 2 * SECOND))
    node.runtime.sandboxes.pop(POD)
    node.runtime.create_sandbox(POD, CGROUP)
    node.runtime.start(POD, Start("app", CGROUP))
    node.clock.advance(3 * SECOND)
    assert node.runtime.sandboxes[POD].is_running("app")


def test_calls_are_kept_and_change_values(node: Node) -> None:
    node.runtime.start(POD, Start("app", CGROUP))
    new = Cgroup(200, 40_000, 2000)
    node.runtime.update_pod(POD, new)
    node.runtime.update_container(POD, "app", new)
    node.runtime.stopped(POD, "app", 0)
    assert (node.sandbox.cgroup, node.sandbox.containers["app"].cgroup) == (new, new)
    assert [call.verb for call in node.runtime.calls] == [
        Verb.SANDBOX,
        Verb.START,
        Verb.UPDATE_POD,
        Verb.UPDATE_CONTAINER,
        Verb.STOP,
    ]
    assert not any(call.failed for call in node.runtime.calls)


def test_updates_are_refused_so_many_times(node: Node) -> None:
    node.runtime.start(POD, Start("app", CGROUP))
    node.runtime.failures.updates = 2
    node.runtime.failures.message = "no"
    for _ in range(2):
        with pytest.raises(RuntimeCallError, match="no"):
            node.runtime.update_container(POD, "app", Cgroup(5))
    assert node.sandbox.containers["app"].cgroup == CGROUP
    node.runtime.update_container(POD, "app", Cgroup(5))
    assert [call.failed for call in node.runtime.calls][-3:] == [True, True, False]


def test_refusals_may_have_no_end(node: Node) -> None:
    node.runtime.failures.starts = None
    for _ in range(3):
        with pytest.raises(RuntimeCallError):
            node.runtime.start(POD, Start("app", CGROUP))
    node.runtime.failures.starts = 0
    node.runtime.start(POD, Start("app", CGROUP))


QUOTAS = [(1, 30_000, True), (1, 20_000, False), (1, None, True), (2, 30_000, False)]


@pytest.mark.parametrize(("version", "quota", "refused"), QUOTAS)
def test_cgroup_v1_lets_no_container_above_its_pod(version: int, quota: int | None, refused: bool) -> None:
    node = Node(version)
    if refused:
        with pytest.raises(RuntimeCallError, match="above its pod"):
            node.runtime.start(POD, Start("app", Cgroup(2, quota)))
    else:
        node.runtime.start(POD, Start("app", Cgroup(2, quota)))


STOPS = [
    ("in time", 1.0, 30, 1.0, False),
    ("in time exactly", 30.0, 30, 30.0, False),
    ("killed", 31.0, 30, 30.0, True),
    ("a short grace is two seconds", 5.0, 1, 2.0, True),
    ("no grace is two seconds", 1.5, 0, 1.5, False),
]


@pytest.mark.parametrize(("case", "wanted", "grace", "took", "killed"), STOPS)
def test_stopping(case: str, wanted: float, grace: int, took: float, killed: bool) -> None:
    assert stop_time(timedelta(seconds=wanted), grace) == (timedelta(seconds=took), killed)

"""OOM kills in two successive states of a pod."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from autoscaling.pod import ContainerStatus, Owner, Pod, Termination
from autoscaling.resources import ContainerResources
from recommender.oom_detection import oom_kills, oom_kills_at_first_sight, oom_kills_of_run
from tests.builders import T0, amounts, container, pod

KILLED = Termination("OOMKilled", T0, T0 + timedelta(minutes=1))
ENDED = Termination("Completed", T0, T0 + timedelta(minutes=1))


def state(status: ContainerStatus | None, request: str = "-/100") -> Pod:
    base = pod(container("c", request))
    return replace(base, statuses=() if status is None else (status,))


def running(restarts: int, last: Termination | None = None) -> ContainerStatus:
    return ContainerStatus("c", restart_count=restarts, is_running=True, last_terminated=last)


def terminated(restarts: int, how: Termination = KILLED) -> ContainerStatus:
    return ContainerStatus("c", restart_count=restarts, terminated=how)


@pytest.mark.parametrize(
    ("row", "old", "new", "found"),
    [
        ("recommender:8.3 new kill", running(0), terminated(0), 1),
        ("recommender:8.3 same kill again", terminated(0), terminated(0), 0),
        ("recommender:8.3 killed again", terminated(0), terminated(1), 1),
        ("recommender:8.3 other reason", running(0), terminated(0, ENDED), 0),
        ("recommender:8.3 restarted", running(0), running(1, KILLED), 1),
        ("recommender:8.3 not restarted", running(1), running(1, KILLED), 0),
        ("recommender:8.3 restarted for another reason", running(0), running(1, ENDED), 0),
        ("recommender:8.3 was not running", terminated(0), running(1, KILLED), 0),
        ("recommender:8.3 unknown before", None, terminated(0), 0),
        ("recommender:8.3 waiting now", running(0), ContainerStatus("c", restart_count=1, last_terminated=KILLED), 0),
        ("recommender:8.3 no time", running(0), terminated(0, Termination("OOMKilled")), 0),
    ],
)
def test_what_counts_as_a_kill(row: str, old: ContainerStatus | None, new: ContainerStatus, found: int) -> None:
    assert len(oom_kills(state(old), state(new))) == found, row


def test_the_request_is_that_of_the_state_in_which_it_was_killed() -> None:
    new_kill = oom_kills(state(running(0), "-/100"), state(terminated(0), "-/200"))
    assert [(k.memory_bytes, k.at) for k in new_kill] == [(200, T0 + timedelta(minutes=1))], "recommender:8.3"
    restarted = oom_kills(state(running(0), "-/100"), state(running(1, KILLED), "-/200"))
    assert [k.memory_bytes for k in restarted] == [100], "recommender:8.3"


def test_the_reported_request_wins_over_the_spec() -> None:
    reported = replace(terminated(0), resources=ContainerResources(amounts("-/50")))
    assert [k.memory_bytes for k in oom_kills(state(running(0)), state(reported))] == [50]
    only_reported = [replace(state(status), containers=()) for status in (running(0), reported)]
    assert [k.memory_bytes for k in oom_kills(*only_reported)] == [50]
    nothing = replace(terminated(0), resources=ContainerResources())
    assert [k.memory_bytes for k in oom_kills(state(running(0)), state(nothing))] == [0]


@pytest.mark.parametrize(
    ("row", "kind", "status", "found"),
    [
        ("beyond:B-19 ended by the kill", "Job", terminated(0), 1),
        ("beyond:B-19 goes on after the kill", "Job", running(1, KILLED), 1),
        ("beyond:B-19 ended well after a kill", "Job", replace(terminated(1, ENDED), last_terminated=KILLED), 1),
        ("beyond:B-19 ended well", "Job", terminated(0, ENDED), 0),
        ("beyond:B-19 no time", "Job", terminated(0, Termination("OOMKilled")), 0),
        ("beyond:B-19 no status", "Job", None, 0),
        ("beyond:B-19 no run", "ReplicaSet", terminated(0), 0),
        ("beyond:B-19 no controller", "", terminated(0), 0),
    ],
)
def test_a_run_may_have_been_killed_before_it_is_seen(
    row: str, kind: str, status: ContainerStatus | None, found: int
) -> None:
    owners = (Owner("batch/v1", kind, "x", controller=True),) if kind else ()
    kills = oom_kills_of_run(replace(state(status, "-/64Mi"), owners=owners))
    assert [(kill.at, kill.memory_bytes) for kill in kills] == [(KILLED.finished_at, 2**26)] * found, row


@pytest.mark.parametrize(
    ("row", "status", "found"),
    [
        ("recommender:13.5 ended by the kill", terminated(0), 1),
        ("recommender:13.5 goes on after the kill", running(1, KILLED), 1),
        ("recommender:13.5 killed twice", replace(terminated(1), last_terminated=KILLED), 1),
        ("recommender:13.5 waits after the kill", ContainerStatus("c", restart_count=1, last_terminated=KILLED), 1),
        ("recommender:13.5 other reason", running(1, ENDED), 0),
        ("recommender:13.5 runs", running(0), 0),
        ("recommender:13.5 no time", terminated(0, Termination("OOMKilled")), 0),
        ("recommender:13.5 no status", None, 0),
    ],
)
def test_any_pod_may_have_been_killed_before_it_is_seen(row: str, status: ContainerStatus | None, found: int) -> None:
    kills = oom_kills_at_first_sight(state(status, "-/64Mi"))
    assert [(kill.at, kill.memory_bytes) for kill in kills] == [(KILLED.finished_at, 2**26)] * found, row

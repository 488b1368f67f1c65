"""OOM kills kept until a round takes them in."""

from __future__ import annotations

from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from autoscaling.behaviour import UPSTREAM, Behaviour
from autoscaling.kube.table import Change
from autoscaling.pod import ContainerStatus, Owner, Pod, Termination
from recommender.oom import OomRecord
from recommender.shell.noticed_kills import NoticedKills
from tests.builders import T0, container, pod

MOST_WAITING = 5000
KILLED = ContainerStatus("c", restart_count=1, is_running=True, last_terminated=Termination("OOMKilled", T0, T0))
RUNS = ContainerStatus("c", restart_count=0, is_running=True)
EVENKEEL = Behaviour()
JOBS = UPSTREAM.with_overrides({"jobs_and_cronjobs_match_by_owner": "true"})


def seen(status: ContainerStatus, kind: str = "ReplicaSet") -> Pod:
    return replace(pod(container("c")), statuses=(status,), owners=(Owner("v1", kind, "x", controller=True),))


def shown(behaviour: Behaviour, old: Pod | None, new: Pod | None, *, is_synced: bool) -> tuple[int, int, int, int]:
    """Have one change looked at; return how many kills are news, wait and may be, and of how many pods."""
    kills = NoticedKills(behaviour)
    news = kills.look(Change(("default", "p"), old, new), is_synced=is_synced)
    return len(news), len(kills.take()), len(kills.take_earlier()), len(kills.take_pods())


@pytest.mark.parametrize(
    ("row", "behaviour", "old", "new", "is_synced", "expected"),
    [
        ("recommender:8.3 restarted", UPSTREAM, seen(RUNS), seen(KILLED), True, (1, 1, 0, 0)),
        ("recommender:8.3 restarted while listed", UPSTREAM, seen(RUNS), seen(KILLED), False, (1, 1, 0, 0)),
        ("recommender:8.3 gone", EVENKEEL, seen(KILLED), None, True, (0, 0, 0, 0)),
        ("recommender:8.3 first seen", UPSTREAM, None, seen(KILLED), True, (0, 0, 0, 0)),
        ("recommender:13.5 first seen", EVENKEEL, None, seen(KILLED), True, (1, 1, 0, 1)),
        ("recommender:13.5 first seen, runs", EVENKEEL, None, seen(RUNS), True, (0, 0, 0, 0)),
        ("recommender:13.5 first listed", EVENKEEL, None, seen(KILLED), False, (0, 0, 1, 0)),
        ("recommender:13.5 first listed, runs", EVENKEEL, None, seen(RUNS), False, (0, 0, 0, 0)),
        ("beyond:B-19 first seen", JOBS, None, seen(KILLED, "Job"), True, (1, 1, 0, 1)),
        ("beyond:B-19 first seen, no run", JOBS, None, seen(KILLED), True, (0, 0, 0, 0)),
        ("beyond:B-19 first listed", JOBS, None, seen(KILLED, "Job"), False, (0, 0, 0, 0)),
    ],
)
def test_what_a_change_of_a_pod_shows(
    row: str,
    behaviour: Behaviour,
    old: Pod | None,
    new: Pod | None,
    is_synced: bool,
    expected: tuple[int, int, int, int],
) -> None:
    assert shown(behaviour, old, new, is_synced=is_synced) == expected, row


@pytest.mark.parametrize(("row", "kills", "told"), [("recommender:13.5", 0, []), ("recommender:13.5", 1001, [1, 1001])])
def test_kills_that_had_to_make_room_are_told_of(row: str, kills: int, told: list[int]) -> None:
    one = NoticedKills(UPSTREAM)
    with capture_logs() as logged:
        one.notice(tuple(OomRecord("default", f"p{n}", "c", T0, 0) for n in range(MOST_WAITING + kills)))
    assert [entry["dropped"] for entry in logged] == told, row
    found = one.take()
    assert (len(found), found[0].pod) == (MOST_WAITING, f"p{kills}"), row
    assert one.take() == []

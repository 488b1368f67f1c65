"""How long resizes take, and which come to nothing: each request counted once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.behaviour import Behaviour
from autoscaling.pod import Pod, PodPhase
from tests.updater.situations import (
    DEFERRED,
    EVENKEEL,
    IN_PROGRESS,
    INFEASIBLE,
    MINUTE,
    NOW,
    SECOND,
    UPSTREAM,
    reporting,
    resizing,
    small,
)
from updater.decision import Action, Decision, Reason
from updater.resize_outcomes import Requests
from updater.resize_request import ResizeRequest, request_operation
from updater.resize_status import ResizeStatus

OURS, UPSTREAMS = EVENKEEL.behaviour, UPSTREAM


def asking(subject: Pod, generation: int = 2, at: datetime = NOW) -> Pod:
    """Return a pod of this generation with our annotation of a resize that made it."""
    text = request_operation(ResizeRequest(generation, at)).value
    assert isinstance(text, str)
    noted = {"evenkeel.dev/resize-requested": text}
    return replace(subject, generation=generation, observed_generation=generation, annotations=noted)


def running(subject: Pod, actual: str) -> Pod:
    """Return a pod whose container runs with these requests."""
    made = reporting(subject, actual)
    statuses = tuple(replace(s, is_running=True) for s in made.statuses)
    return replace(made, statuses=statuses)


HALFWAY = asking(running(small(), "50m/200Mi"))
THERE = asking(running(small(), "100m/200Mi"))
AGAIN = asking(THERE, 3, NOW + MINUTE)
FIRST_DEFERRED, SECOND_DEFERRED = (resizing(small(name), DEFERRED) for name in ("p0", "p1"))
STUCK = resizing(small(), INFEASIBLE)


def counted(*looks: Iterable[Pod], before: Requests | None = None) -> list[timedelta]:
    """Return what a process counts that looks every minute, from the minute after the request on."""
    requests, took = before or Requests(), list[timedelta]()
    for number, pods in enumerate(looks, start=1):
        requests, now_took = requests.seeing(pods, NOW + number * MINUTE)
        took += now_took
    return took


@pytest.mark.parametrize(
    ("row", "looks", "took"),
    [
        ("beyond:B-45", [(), (HALFWAY,), (HALFWAY,), (THERE,)], [4 * MINUTE]),
        ("beyond:B-45", [(), (THERE,)], [2 * MINUTE]),
        ("beyond:B-45 once", [(HALFWAY,), (THERE,), (HALFWAY,), (THERE,), (THERE,)], [2 * MINUTE]),
        ("beyond:B-45 restart: may be counted already", [(THERE,), (THERE,)], []),
        ("beyond:B-45 restart: still under way", [(HALFWAY,), (THERE,)], [2 * MINUTE]),
        ("beyond:B-45 never there", [(), (HALFWAY,), (HALFWAY,)], []),
        ("beyond:B-45 two requests", [(HALFWAY,), (THERE,), (AGAIN,)], [2 * MINUTE, 2 * MINUTE]),
        ("beyond:B-45 overtaken by ours", [(HALFWAY,), (AGAIN,)], [MINUTE]),
        ("beyond:B-45 overtaken by others", [(HALFWAY,), (replace(THERE, generation=3),), (THERE,)], []),
        ("beyond:B-45 terminating", [(HALFWAY,), (replace(THERE, is_terminating=True),)], []),
        ("beyond:B-45 ended", [(HALFWAY,), (replace(THERE, phase=PodPhase.SUCCEEDED),)], []),
        ("beyond:B-45 gone", [(HALFWAY,), ()], []),
        ("beyond:B-45 another pod of the name", [(HALFWAY,), (replace(THERE, uid="new", annotations=None),)], []),
        ("not ours", [(), (replace(THERE, annotations={"evenkeel.dev/resize-requested": "true"}),)], []),
        ("a clock that was ahead", [(), (asking(THERE, 2, NOW + 9 * MINUTE),)], [timedelta(0)]),
    ],
)
def test_time_to_converge(row: str, looks: list[tuple[Pod, ...]], took: list[timedelta]) -> None:
    assert counted(*looks) == took, row


EVICTED = Decision(small().ref, Action.EVICT, Reason.RESIZE_TIMED_OUT, uid=small().uid)
RELEASED = Decision(small().ref, Action.RESIZE, Reason.CLAIM_RELEASED, uid=small().uid)


@pytest.mark.parametrize(
    ("row", "seen", "decision", "took"),
    [
        ("beyond:B-45", HALFWAY, EVICTED, 90 * SECOND),
        ("beyond:B-45", HALFWAY, replace(EVICTED, reason=Reason.OUTSIDE_BOUNDS), 90 * SECOND),
        ("beyond:B-45", HALFWAY, RELEASED, 90 * SECOND),
        ("beyond:B-45", HALFWAY, replace(RELEASED, reason=Reason.OUTSIDE_BOUNDS), None),
        ("beyond:B-45", HALFWAY, replace(EVICTED, uid="another"), None),
        ("beyond:B-45", THERE, EVICTED, None),
        ("beyond:B-45", small(), EVICTED, None),
    ],
)
def test_what_puts_an_end_to_a_resize(row: str, seen: Pod, decision: Decision, took: timedelta | None) -> None:
    requests, _ = Requests().seeing([seen], NOW)
    after, found = requests.failing(decision, NOW + 90 * SECOND)
    assert found == took, row
    assert after.failing(decision, NOW + 90 * SECOND)[1] is None, "once"
    if took is not None:
        assert counted((THERE,), before=after) == []


@given(st.lists(st.sampled_from([HALFWAY, THERE, replace(THERE, generation=3)])))
def test_a_request_is_counted_once_at_most(looks: list[Pod]) -> None:
    assert len(counted(*([pod] for pod in looks))) <= 1


@pytest.mark.parametrize(
    ("row", "behaviour", "pods", "states"),
    [
        ("beyond:B-45", OURS, (small(),), {}),
        ("beyond:B-45", OURS, (FIRST_DEFERRED, SECOND_DEFERRED), {ResizeStatus.DEFERRED: 2}),
        ("beyond:B-45", OURS, (STUCK, HALFWAY), {ResizeStatus.INFEASIBLE: 1, ResizeStatus.REQUESTED: 1}),
        ("beyond:B-45", OURS, (THERE,), {}),
        ("beyond:B-45", OURS, (replace(resizing(small(), IN_PROGRESS), is_terminating=True),), {}),
        ("updater:C-2", UPSTREAMS, (resizing(small(), IN_PROGRESS), HALFWAY), {ResizeStatus.IN_PROGRESS: 1}),
    ],
)
def test_resizes_under_way_by_state(
    row: str, behaviour: Behaviour, pods: tuple[Pod, ...], states: dict[ResizeStatus, int]
) -> None:
    named = [replace(pod, uid=f"uid-{number}") for number, pod in enumerate(pods)]
    requests, _ = Requests().seeing(named, NOW)
    assert requests.states(named, behaviour) == Counter(states), row

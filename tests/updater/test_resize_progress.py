"""What is believed of a resize, and how long it has been waited for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.pod import ConditionStatus, Pod, PodCondition
from tests.updater.situations import (
    DEFERRED,
    ERROR,
    EVENKEEL,
    HOUR,
    IN_PROGRESS,
    INFEASIBLE,
    IPOR,
    MINUTE,
    NOW,
    SECOND,
    UPSTREAM,
    Scene,
    about,
    progressing,
    reporting,
    resizing,
    small,
    vpa_of,
    waiting,
)
from updater.circumstances import Memory
from updater.resize_progress import Sightings, resize_progress, waited
from updater.resize_request import ResizeRequest, request_operation
from updater.resize_status import ResizeStatus

BELIEVING = replace(UPSTREAM, timers=True)
COMPARING = replace(BELIEVING, converged_means_compared=True)


def at(generation: int, observed: int, *conditions: PodCondition) -> Pod:
    """Return a pod with a spec of one generation, of which the node has seen another."""
    return replace(resizing(small(), *conditions), generation=generation, observed_generation=observed)


FALSE = ConditionStatus.FALSE


@pytest.mark.parametrize(
    ("row", "subject", "expected"),
    [
        ("beyond:B-20", at(2, 2), None),
        ("beyond:B-20", at(2, 2, about(DEFERRED, 2)), ResizeStatus.DEFERRED),
        ("beyond:B-20", at(2, 2, about(INFEASIBLE, 2)), ResizeStatus.INFEASIBLE),
        ("beyond:B-20", at(2, 2, about(IN_PROGRESS, 2)), ResizeStatus.IN_PROGRESS),
        ("beyond:B-20", at(2, 2, about(ERROR, 2)), ResizeStatus.ERROR),
        # Either condition may stand first, and one that is not True says nothing.
        ("updater:W-20", at(2, 2, progressing(status=FALSE), DEFERRED), ResizeStatus.DEFERRED),
        ("updater:W-20", at(2, 2, DEFERRED, progressing(status=FALSE)), ResizeStatus.DEFERRED),
        ("updater:K-19", at(2, 2, waiting("Deferred", FALSE), IN_PROGRESS), ResizeStatus.IN_PROGRESS),
        ("updater:K-19", at(2, 2, waiting("Deferred", FALSE)), None),
        ("updater:K-19", at(2, 2, IN_PROGRESS, DEFERRED), ResizeStatus.DEFERRED),
        # What a condition says of an earlier spec is not believed, but that there is a resize is.
        ("updater:K-19", at(3, 2, about(INFEASIBLE, 2)), ResizeStatus.REQUESTED),
        ("updater:K-19", at(3, 3, about(INFEASIBLE, 2)), ResizeStatus.REQUESTED),
        ("updater:K-19", at(3, 2, about(ERROR, 2)), ResizeStatus.REQUESTED),
        # The condition of a resize in progress keeps its generation.
        ("updater:K-19", at(3, 3, about(IN_PROGRESS, 2)), ResizeStatus.IN_PROGRESS),
        ("updater:K-19", at(3, 3, about(ERROR, 2)), ResizeStatus.IN_PROGRESS),
        ("updater:K-19", at(3, 3, about(IN_PROGRESS, 2), about(INFEASIBLE, 3)), ResizeStatus.INFEASIBLE),
        ("updater:K-19", at(2, 2, waiting("Odd")), ResizeStatus.UNKNOWN),
        ("updater:K-19", at(2, 2, progressing("Odd")), ResizeStatus.UNKNOWN),
        ("updater:K-19", at(2, 2, progressing("", "a message")), ResizeStatus.IN_PROGRESS),
        # Nodes that do not say what they have seen, or what a condition is about.
        ("updater:K-19", at(3, 0, INFEASIBLE), ResizeStatus.INFEASIBLE),
        ("updater:K-19", at(3, 0, about(INFEASIBLE, 2)), ResizeStatus.REQUESTED),
    ],
)
def test_conditions_are_believed_about_the_present_spec(row: str, subject: Pod, expected: ResizeStatus | None) -> None:
    assert resize_progress(subject, BELIEVING) is expected


CONDITIONS = st.lists(
    st.builds(
        about,
        st.sampled_from([DEFERRED, INFEASIBLE, IN_PROGRESS, ERROR, waiting("Odd"), waiting("Deferred", FALSE)])
        | st.just(progressing(status=FALSE)),
        st.integers(0, 3),
    ),
    max_size=3,
)


@given(CONDITIONS, st.integers(1, 3), st.integers(0, 3))
def test_whatever_upstream_sees_is_seen_here_too(
    conditions: list[PodCondition], generation: int, observed: int
) -> None:
    """Otherwise a pod that upstream takes for one in the middle of a resize would be resized again (updater:K-19)."""
    subject = at(generation, observed, *conditions)
    if resize_progress(subject, UPSTREAM) is not None:
        assert resize_progress(subject, BELIEVING) is not None


def test_with_the_switches_off_the_first_condition_decides() -> None:
    subject = at(3, 2, about(INFEASIBLE, 2))
    assert resize_progress(subject, UPSTREAM) is ResizeStatus.INFEASIBLE
    assert resize_progress(at(3, 2, progressing(status=FALSE), DEFERRED), UPSTREAM) is None
    assert resize_progress(started(reporting(small("p", "2/2Gi"), "1/2Gi")), UPSTREAM) is None


def started(subject: Pod) -> Pod:
    """Return a pod whose containers run."""
    return replace(subject, statuses=tuple(replace(status, is_running=True) for status in subject.statuses))


@pytest.mark.parametrize(
    ("row", "subject", "expected"),
    [
        # A kubelet that was down when the resize was asked for shows no condition for half a minute (resize:R53).
        ("beyond:B-45", started(reporting(small("p", "2/2Gi"), "1/2Gi")), ResizeStatus.REQUESTED),
        ("beyond:B-45", started(reporting(small("p", "2/2Gi"), "2/2Gi")), None),
        ("beyond:B-45", replace(small(), generation=2), ResizeStatus.REQUESTED),
        ("beyond:B-45", replace(small(), generation=2, is_terminating=True), None),
        ("beyond:B-45", at(2, 2, about(ERROR, 2)), ResizeStatus.ERROR),
    ],
)
def test_amounts_that_do_not_agree_are_a_resize(row: str, subject: Pod, expected: ResizeStatus | None) -> None:
    assert resize_progress(subject, COMPARING) is expected


def noted(subject: Pod, generation: int, when: datetime) -> Pod:
    """Return a pod that was resized by us."""
    operation = request_operation(ResizeRequest(generation, when))
    return replace(subject, annotations={"evenkeel.dev/resize-requested": str(operation.value)})


def seen(subject: Pod, *times: tuple[int, datetime]) -> Sightings:
    """Return what a process knows that saw a pod with these generations at these times."""
    sightings = Sightings()
    for generation, when in times:
        sightings = sightings.seeing([replace(subject, generation=generation)], when)
    return sightings


EARLIER, LONG_AGO = NOW - 4 * MINUTE, NOW - 3 * HOUR
PENDING_3 = at(3, 3, about(DEFERRED, 3, LONG_AGO))
WORKING_3 = at(3, 3, about(IN_PROGRESS, 3, EARLIER))

BUSY_3 = at(3, 3, about(IN_PROGRESS, 3, LONG_AGO))


def taken(subject: Pod, when: datetime) -> Pod:
    """Return a pod whose last resize the API server says to have taken at a time."""
    return replace(subject, resized_at=when)


D, P = ResizeStatus.DEFERRED, ResizeStatus.IN_PROGRESS


@pytest.mark.parametrize(
    ("row", "subject", "status", "sightings", "expected"),
    [
        # Ours counts from when it was accepted, whatever its condition kept or a restart of the kubelet made new.
        ("beyond:B-20", noted(PENDING_3, 3, EARLIER), D, Sightings(), 4 * MINUTE),
        ("beyond:B-20", noted(at(3, 3, about(DEFERRED, 3, NOW)), 3, EARLIER), D, Sightings(), 4 * MINUTE),
        ("beyond:B-20", noted(PENDING_3, 3, EARLIER), D, seen(PENDING_3, (2, LONG_AGO), (3, NOW)), 4 * MINUTE),
        # Being worked on is timed apart from waiting for that.
        ("beyond:B-20", noted(WORKING_3, 3, LONG_AGO), P, Sightings(), 4 * MINUTE),
        ("beyond:B-20", noted(at(3, 3, about(IN_PROGRESS, 3, LONG_AGO)), 3, EARLIER), P, Sightings(), 4 * MINUTE),
        # Somebody else's counts from its condition, but not from before it was asked for.
        ("beyond:B-20", taken(PENDING_3, LONG_AGO - MINUTE), D, Sightings(), 3 * HOUR),
        ("beyond:B-20", taken(PENDING_3, LONG_AGO - MINUTE), D, seen(PENDING_3, (3, NOW - MINUTE)), 3 * HOUR),
        (
            "beyond:B-20",
            taken(PENDING_3, LONG_AGO - MINUTE),
            D,
            seen(PENDING_3, (2, LONG_AGO), (3, NOW - MINUTE)),
            MINUTE,
        ),
        ("beyond:B-20", taken(noted(PENDING_3, 2, EARLIER), LONG_AGO - MINUTE), D, Sightings(), 4 * MINUTE),
        (
            "beyond:B-20",
            taken(noted(at(3, 3, about(DEFERRED, 3, NOW - SECOND)), 2, EARLIER), LONG_AGO),
            D,
            Sightings(),
            SECOND,
        ),
        # So does one of ours that was not noted, as the process ended before that: its condition may be older (K-1).
        ("updater:K-1", taken(PENDING_3, EARLIER - SECOND), D, Sightings(), 4 * MINUTE),
        ("updater:K-1", taken(noted(PENDING_3, 2, LONG_AGO), EARLIER - SECOND), D, Sightings(), 4 * MINUTE),
        ("updater:K-1", taken(BUSY_3, EARLIER - SECOND), P, Sightings(), 4 * MINUTE),
        ("updater:K-1", taken(noted(BUSY_3, 2, LONG_AGO), EARLIER - SECOND), P, Sightings(), 4 * MINUTE),
        ("updater:K-1", taken(WORKING_3, LONG_AGO), P, Sightings(), 4 * MINUTE),
        # The API server's time is cut to whole seconds.
        ("updater:K-1", taken(PENDING_3, NOW - SECOND), D, Sightings(), timedelta(0)),
        ("updater:K-1", taken(PENDING_3, NOW + HOUR), D, Sightings(), timedelta(0)),
        # Where nobody says when it was asked for, it may be as young as the first look at it.
        ("beyond:B-20", PENDING_3, D, Sightings(), timedelta(0)),
        ("beyond:B-20", BUSY_3, P, Sightings(), timedelta(0)),
        ("beyond:B-20", PENDING_3, D, seen(PENDING_3, (3, NOW - MINUTE)), MINUTE),
        ("beyond:B-20", PENDING_3, D, seen(PENDING_3, (2, LONG_AGO)), timedelta(0)),
        ("beyond:B-20", taken(PENDING_3, LONG_AGO), D, seen(PENDING_3, (2, EARLIER)), timedelta(0)),
        ("beyond:B-20", noted(PENDING_3, 2, EARLIER), D, Sightings(), timedelta(0)),
        ("beyond:B-20", at(3, 3, about(DEFERRED, 3)), D, seen(PENDING_3, (3, EARLIER)), 4 * MINUTE),
        ("beyond:B-20", at(3, 3, about(DEFERRED, 3)), D, Sightings(), timedelta(0)),
        # A clock that is ahead does not make time run backwards.
        ("beyond:B-20", noted(PENDING_3, 3, NOW + HOUR), D, Sightings(), timedelta(0)),
    ],
)
def test_time_waited(row: str, subject: Pod, status: ResizeStatus, sightings: Sightings, expected: timedelta) -> None:
    assert waited(subject, status, sightings, NOW) == expected


@given(
    visits=st.lists(st.tuples(st.integers(1, 4), st.integers(0, 100), st.booleans()), max_size=12),
    is_told=st.booleans(),
)
def test_a_pod_is_never_given_up_before_its_present_spec_was_asked_for_so_long_ago(
    visits: list[tuple[int, int, bool]], *, is_told: bool
) -> None:
    """Spec: beyond:B-20 (K-1). Conditions keep their time, generations only grow, and a restart forgets everything.

    The API server cuts the time at which it took a resize to whole seconds, or does not tell it at all.
    """
    sightings, generation, now, since = Sightings(), 0, NOW, NOW
    for step, pause, restarts in visits:
        now += pause * timedelta(milliseconds=900)
        if generation == 0 or step > 2:
            generation, since = generation + 1, now
        subject = at(generation, generation, about(DEFERRED, generation, NOW - HOUR))
        subject = taken(subject, since.replace(microsecond=0)) if is_told else subject
        sightings = Sightings() if restarts else sightings
        assert waited(subject, D, sightings, now) <= now - since
        sightings = sightings.seeing([subject], now)


def test_a_pod_that_is_gone_is_forgotten() -> None:
    sightings = seen(small(), (1, NOW))
    assert sightings.keeping({"uid-p0"}) is sightings
    assert sightings.keeping(frozenset()).by_uid == {}


def rounds(subject: Pod, times: Iterable[datetime], memory: Memory) -> list[str]:
    """Return what becomes of a pod over rounds at these times."""
    said: list[str] = []
    for now in times:
        scene = Scene(vpa_of(IPOR), (subject, small("q", "250m/300Mi")), settings=EVENKEEL, memory=memory, now=now)
        played = scene.played()
        memory = played.memory
        said.append(played.said[0])
    return said


@pytest.mark.parametrize(
    ("row", "wait", "expected"),
    [
        ("beyond:B-20", 5 * MINUTE, "p0 wait resize_pending"),
        ("beyond:B-20", 5 * MINUTE + SECOND, "p0 evict resize_timed_out"),
    ],
)
def test_a_restarted_updater_counts_on(row: str, wait: timedelta, expected: str) -> None:
    asked = NOW - wait
    subject = noted(at(3, 3, about(DEFERRED, 3, LONG_AGO)), 3, asked)
    assert rounds(subject, [NOW], Memory()) == [expected]


@pytest.mark.parametrize(
    ("row", "condition", "wait", "expected"),
    [
        ("beyond:B-20", DEFERRED, 5 * MINUTE, "p0 wait resize_pending"),
        ("beyond:B-20", DEFERRED, 5 * MINUTE + SECOND, "p0 evict resize_timed_out"),
        ("beyond:B-20", IN_PROGRESS, HOUR, "p0 wait resize_pending"),
        ("beyond:B-20", IN_PROGRESS, HOUR + SECOND, "p0 evict resize_timed_out"),
    ],
)
@pytest.mark.parametrize("told", [True, False])
def test_an_updater_that_ended_before_it_noted_a_resize_makes_nobody_go_early(
    row: str, condition: PodCondition, wait: timedelta, expected: str, *, told: bool
) -> None:
    """Spec: updater:K-1. What stands on the pod is about the resize before, which has met the same fate for hours."""
    asked = NOW - wait
    subject = noted(at(3, 3, about(condition, 3, LONG_AGO)), 2, LONG_AGO)
    subject = taken(subject, asked - SECOND) if told else subject
    if told:
        assert rounds(subject, [NOW], Memory()) == [expected], row
    else:
        assert rounds(subject, [asked, NOW], Memory()) == ["p0 wait resize_pending", expected], row


def test_the_successor_of_a_pod_and_its_next_resize_count_anew() -> None:
    """Spec: beyond:B-20, updater:W-13, updater:K-1."""
    subject = noted(at(3, 3, about(DEFERRED, 3, LONG_AGO)), 3, LONG_AGO)
    following = noted(at(4, 4, about(DEFERRED, 4, LONG_AGO)), 4, NOW - MINUTE)
    assert rounds(subject, [NOW], Memory()) == ["p0 evict resize_timed_out"]
    assert rounds(following, [NOW], Memory()) == ["p0 wait resize_pending"]

"""Memory of infeasible recommendations and resizes."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.pod import Pod
from autoscaling.vpa import Recommendation
from tests.builders import T0, amounts, container, pod, recommended
from tests.updater.rooms import given as given_by_node
from tests.updater.situations import EVENKEEL, HOUR, IN_PROGRESS, INFEASIBLE, MINUTE, SECOND, resizing
from updater.infeasible import (
    Change,
    InfeasibleMemory,
    InfeasibleResize,
    InfeasibleResizes,
    Spot,
    accepted_requests,
    asked_requests,
)


def targets(**by_container: str) -> Recommendation:
    """Return a recommendation with these targets."""
    return Recommendation(tuple(recommended(name, text) for name, text in by_container.items()))


OLD = targets(c="2/4Gi", d="1/1Gi")
MEMORY = InfeasibleMemory().remembering({"u": OLD})


@pytest.mark.parametrize(
    ("row", "new", "held_back"),
    [
        ("updater:C-3.5", OLD, True),
        ("updater:C-3.5", targets(c="2/4294967295", d="1/1Gi"), False),
        ("updater:C-3.5", targets(c="1999m/8Gi", d="8/8Gi"), False),
        ("updater:C-3.5", targets(c="2001m/5Gi", d="1/1Gi"), True),
        ("updater:C-3.5", targets(c="2/4Gi", d="999999u/1Gi"), False),
        ("updater:C-3.5", targets(c="2/4Gi"), True),
        ("updater:C-3.5", targets(e="1m/1"), True),
        ("updater:C-3.5", targets(c="-/4Gi"), True),
        ("updater:C-3.5", targets(c="-/3Gi"), False),
        ("updater:C-3.5", Recommendation(), True),
        ("updater:P-7", None, True),
    ],
)
def test_what_is_held_back(row: str, new: Recommendation | None, held_back: bool) -> None:
    assert MEMORY.holds_back("u", new) is held_back


def test_nothing_is_held_back_for_a_pod_without_memory() -> None:
    assert not MEMORY.holds_back("v", OLD)
    assert not MEMORY.holds_back("v", None)


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_only_less_is_tried_again(old: int, new: int) -> None:
    memory = InfeasibleMemory().remembering({"u": targets(c=f"{old}m")})
    assert memory.holds_back("u", targets(c=f"{new}m")) is (new >= old)


def test_entries_go_with_their_pods() -> None:
    both = MEMORY.remembering({"v": OLD})
    assert both.keeping({"v", "w"}) == InfeasibleMemory({"v": OLD})
    assert both.keeping({"u", "v"}) is both


def test_a_newer_entry_replaces_the_older() -> None:
    lower = targets(c="1/1Gi")
    assert MEMORY.remembering({"u": lower}).recommendations == {"u": lower}
    assert MEMORY.remembering({}) is MEMORY


HAD, ASKED = {("c", "cpu"): 1000, ("c", "memory"): 50}, {("c", "cpu"): 4000, ("c", "memory"): 20}
"""Amounts in nano-units; the resize takes more of cpu and less of memory."""


def refused(uid: str = "u", generation: int | None = 2, at: datetime = T0) -> InfeasibleResize:
    """Return a resize that was refused."""
    changes = {spot: Change(HAD[spot], ASKED[spot]) for spot in HAD}
    return InfeasibleResize(uid, changes, None, generation, at)


@pytest.mark.parametrize(
    ("row", "cpu", "memory", "is_asked_again"),
    [
        ("beyond:B-28", 4000, 20, True),
        ("beyond:B-28", 4001, 19, True),
        ("updater:K-4", 3999, 20, False),
        ("updater:K-4", 9000, 21, False),
        ("updater:K-4", 1000, 50, False),
    ],
)
def test_whatever_goes_less_far_anywhere_is_another_resize(
    row: str, cpu: int, memory: int, *, is_asked_again: bool
) -> None:
    requests = {("c", "cpu"): cpu, ("c", "memory"): memory}
    assert refused().is_asked_again(requests) is is_asked_again, row


@pytest.mark.parametrize(
    ("row", "cpu", "memory", "is_overcome"),
    [
        ("updater:K-4", 1000, 50, False),
        ("updater:K-4", 1001, 50, True),
        ("updater:K-4", 1000, 49, True),
        # What has gone the other way proves nothing.
        ("updater:K-4", 999, 51, False),
    ],
)
def test_a_part_of_the_way_will_do(row: str, cpu: int, memory: int, *, is_overcome: bool) -> None:
    assert refused().is_overcome({("c", "cpu"): cpu, ("c", "memory"): memory}) is is_overcome, row


AMOUNTS = st.fixed_dictionaries({spot: st.integers(0, 100) for spot in [("c", "cpu"), ("d", "cpu"), ("d", "memory")]})


@given(AMOUNTS, AMOUNTS, AMOUNTS, st.integers(0, 100))
def test_who_asks_for_more_still_asks_for_the_same_again(
    had: dict[Spot, int], grown: dict[Spot, int], requests: dict[Spot, int], more: int
) -> None:
    """Spec: beyond:B-28."""
    changes = {spot: Change(amount, amount + grown[spot]) for spot, amount in had.items() if grown[spot]}
    resize = InfeasibleResize("u", changes, None, 1, T0)
    further = {spot: amount + more for spot, amount in requests.items()}
    assert resize.is_asked_again({spot: change.asked for spot, change in changes.items()})
    assert resize.is_asked_again(further) or not resize.is_asked_again(requests)
    assert not resize.is_overcome(had)


def test_each_refusal_of_the_same_pod_waits_twice_as_long() -> None:
    """Spec: beyond:B-28."""
    memory, now, lengths = InfeasibleResizes(), T0, []
    for generation in range(2, 16, 2):
        memory = memory.seeing([refused(generation=generation, at=now)], now)
        # While the same spec stands it is the same refusal, however often it is seen.
        memory = memory.seeing([refused(generation=generation, at=now + MINUTE)], now + MINUTE)
        held = memory.by_uid["u"]
        lengths.append(held.length // MINUTE)
        assert held.until == now + held.length
        now = held.until
    assert lengths == [5, 10, 20, 40, 60, 60, 60]


def test_what_the_api_server_refuses_is_new_each_time() -> None:
    """Spec: updater:D-48."""
    memory = InfeasibleResizes()
    for length in (5, 10):
        memory = memory.seeing([refused(generation=None)], T0)
        assert memory.by_uid["u"].length == length * MINUTE


@pytest.mark.parametrize(("row", "late", "length"), [("beyond:B-28", 0, 10), ("beyond:B-28", 1, 5)])
def test_a_refusal_is_forgotten_an_hour_after_its_pause(row: str, late: int, length: int) -> None:
    memory = InfeasibleResizes().seeing([refused()], T0)
    now = T0 + 5 * MINUTE + HOUR + late * SECOND
    assert memory.seeing([refused(generation=9, at=now)], now).by_uid["u"].length == length * MINUTE, row


def test_memory_without_news_stays_the_same_object() -> None:
    memory = InfeasibleResizes().seeing([refused()], T0)
    assert memory.seeing([], T0) is memory


REFUSED = pod(container("c", "4/4Gi"))
TRIED = replace(given_by_node(REFUSED, "1/1Gi"), uid="u")
KNOWN = InfeasibleResizes().seeing([InfeasibleResize("u", {("c", "cpu"): Change(10**9, 4 * 10**9)}, None, 1, T0)], T0)
BELIEVED = EVENKEEL.behaviour


@pytest.mark.parametrize(
    ("row", "subject", "is_kept"),
    [
        # Success is that the pod is in no resize and has more than it had then.
        ("updater:K-4", replace(given_by_node(pod(container("c", "1/1Gi")), "1/1Gi"), uid="u"), True),
        ("updater:K-4", replace(given_by_node(pod(container("c", "1001m/1Gi")), "1001m/1Gi"), uid="u"), False),
        ("updater:K-4", replace(given_by_node(pod(container("c", "1/2Gi")), "1/2Gi"), uid="u"), True),
        ("updater:K-4", resizing(TRIED, INFEASIBLE), True),
        ("updater:K-4", resizing(TRIED, IN_PROGRESS), True),
        # Not even a pod without any condition has it as long as its node does not say so.
        ("beyond:B-45", TRIED, True),
        ("updater:M-10", replace(TRIED, uid="other"), False),
    ],
)
def test_success_and_the_end_of_the_pod_clear_what_is_remembered(row: str, subject: Pod, *, is_kept: bool) -> None:
    assert ("u" in KNOWN.looking([subject], {subject.uid}, BELIEVED).by_uid) is is_kept, row
    assert InfeasibleResizes().looking([subject], {subject.uid}, BELIEVED).by_uid == {}


def test_requests_of_pods_in_nano_units() -> None:
    subject = given_by_node(pod(container("c", "2/-"), container("bare")), "1/1")
    assert asked_requests(subject) == {
        ("c", "cpu"): 2 * 10**9,
        ("c", "memory"): 0,
        ("bare", "cpu"): 0,
        ("bare", "memory"): 0,
    }
    assert accepted_requests(subject)["c", "cpu"] == 10**9
    # What was accepted counts, not what the runtime makes of it.
    (status,) = subject.statuses
    subject = replace(subject, statuses=(replace(status, allocated=amounts("999m/1")),))
    assert accepted_requests(subject)["c", "cpu"] == 999 * 10**6, "updater:K-4"

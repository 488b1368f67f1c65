"""Memory limits that fall no further than what containers use allows."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.capping import process
from autoscaling.limitrange import LimitRangeItem, LimitType, NamespaceLimits
from autoscaling.pod import Container, Pod, ResizePolicy
from autoscaling.resources import MEMORY, ContainerResources, amount
from autoscaling.target_resources import container_targets
from autoscaling.vpa import ContainerPolicy, ContainerRecommendation, ControlledValues, UpdateMode
from tests.builders import amounts, container, pod, recommended
from tests.updater.situations import (
    ERROR,
    EVENKEEL,
    GATES_ON,
    IN_PLACE,
    IPOR,
    MINUTE,
    NOW,
    RECREATE,
    SECOND,
    Scene,
    circumstances,
    refusing,
    reporting,
    resizing,
    vpa_of,
)
from updater.circumstances import Circumstances
from updater.decision import Action, Reason
from updater.ledger import Ledger
from updater.memory_shrink import memory_within_use
from updater.shaping import Hindrance, Proposal
from updater.surroundings import UNKNOWN, MemoryUse, Surroundings

MIB = 2**20
ONLY_REQUESTS = ContainerPolicy("c", controlled_values=ControlledValues.REQUESTS_ONLY)


def using(made: Pod, mebibytes: float | None, ago: timedelta = MINUTE, name: str = "c") -> Surroundings:
    """Return what is known where one container uses so much, None for nothing at all."""
    if mebibytes is None:
        return UNKNOWN
    return Surroundings(memory={made.ref: {name: MemoryUse(NOW - ago, int(mebibytes * MIB))}})


def around(
    made: Pod,
    recommendation: ContainerRecommendation,
    seen: Surroundings,
    policies: tuple[ContainerPolicy, ...] | None = None,
    default: str = "",
) -> tuple[Proposal, Circumstances]:
    vpa = vpa_of(IPOR, recommendation, policies=policies)
    item = LimitRangeItem(LimitType.CONTAINER, default=amounts(default)) if default else None
    limits = NamespaceLimits(container=item)
    processed = process(made, vpa, limits)
    proposal = Proposal(made, container_targets(made, vpa, processed, limits), processed)
    return proposal, replace(circumstances(vpa, EVENKEEL), surroundings=seen, limits=limits)


def mebibytes(found: Proposal | Hindrance) -> tuple[float | None, float | None] | Reason:
    """Return request and limit of memory that would be set."""
    if isinstance(found, Hindrance):
        return found.reason
    (target,) = found.targets
    assert target is not None
    lists = (target.requests, target.limits)
    request, limit = (amount(listed, MEMORY).value() / MIB if MEMORY in listed else None for listed in lists)
    return request, limit


IN_USE, UNKNOWN_USE = Reason.MEMORY_IN_USE, Reason.MEMORY_USE_UNKNOWN


@pytest.mark.parametrize(
    ("row", "requests", "limits", "target", "use", "expected"),
    [
        # No less than a tenth, and 16Mi, above what is used.
        ("beyond:B-22", "-/1000Mi", "-/1000Mi", "-/600Mi", 500, (600, 600)),
        ("beyond:B-22", "-/1000Mi", "-/1000Mi", "-/550Mi", 500, (550, 550)),
        ("beyond:B-22", "-/1000Mi", "-/1000Mi", "-/549Mi", 500, (550, 550)),
        ("beyond:B-22", "-/1000Mi", "-/1000Mi", "-/500Mi", 900, (990, 990)),
        ("beyond:B-22", "-/100Mi", "-/100Mi", "-/60Mi", 50, (66, 66)),
        ("beyond:B-22", "-/1000Mi", "-/1000Mi", "-/500Mi", 910, IN_USE),
        ("case:29", "-/1000Mi", "-/1000Mi", "-/500Mi", 1500, IN_USE),
        # No more than half at a time.
        ("beyond:B-22", "-/1000Mi", "-/1000Mi", "-/500Mi", 1, (500, 500)),
        ("beyond:B-22", "-/1000Mi", "-/1000Mi", "-/100Mi", 1, (500, 500)),
        # The request keeps the ratio to the limit, so that the next step starts from the same one.
        ("beyond:B-22", "-/500Mi", "-/1000Mi", "-/100Mi", 1, (250, 500)),
        ("beyond:B-22", "-/500Mi", "-/1000Mi", "-/100Mi", 728, (400.40000057220459, 800.79999923706055)),
        ("beyond:B-22", "-/500Mi", "-/1000Mi", "-/100Mi", 1000, IN_USE),
        # What is not known holds, and what needs no limit does not.
        ("case:29", "-/500Mi", "-/1000Mi", "-/499Mi", None, UNKNOWN_USE),
        ("beyond:B-22", "-/500Mi", "-", "-/100Mi", None, (100, None)),
        ("beyond:B-22", "-/500Mi", "-/1000Mi", "-/600Mi", None, (600, 1200)),
        ("beyond:B-22", "-/500Mi", "-/1000Mi", "-/600Mi", 3000, (600, 1200)),
    ],
)
def test_how_far_a_limit_falls(
    row: str,
    requests: str,
    limits: str,
    target: str,
    use: float | None,
    expected: tuple[float | None, float | None] | Reason,
) -> None:
    made = pod(container("c", requests, limits))
    proposal, circumstances_ = around(made, recommended("c", target), using(made, use))
    found = mebibytes(memory_within_use(proposal, circumstances_, Ledger()))
    assert found == (expected if isinstance(expected, Reason) else pytest.approx(expected)), row


@pytest.mark.parametrize(
    ("row", "ago", "expected"),
    [
        ("beyond:B-22", 5 * MINUTE, (600, 600)),
        ("beyond:B-22", 5 * MINUTE + SECOND, UNKNOWN_USE),
        ("beyond:B-22 a clock ahead of ours", -MINUTE, (600, 600)),
    ],
)
def test_what_was_measured_long_ago_is_not_known(row: str, ago: timedelta, expected: object) -> None:
    made = pod(container("c", "-/1000Mi", "-/1000Mi"))
    proposal, circumstances_ = around(made, recommended("c", "-/600Mi"), using(made, 1, ago))
    assert mebibytes(memory_within_use(proposal, circumstances_, Ledger())) == expected, row


def test_a_request_that_stands_alone_falls_whatever_is_used() -> None:
    made = pod(container("c", "-/500Mi", "-/1000Mi"))
    proposal, circumstances_ = around(made, recommended("c", "-/100Mi"), UNKNOWN, (ONLY_REQUESTS,))
    assert mebibytes(memory_within_use(proposal, circumstances_, Ledger())) == (100, None)


@pytest.mark.parametrize(
    ("row", "use", "expected"),
    [("beyond:B-22", 10, (100, 200)), ("beyond:B-22", 300, (100, 330)), ("beyond:B-22", None, (100, None))],
)
def test_a_limit_where_there_was_none(row: str, use: float | None, expected: tuple[float, float | None]) -> None:
    made = pod(container("c", "-/500Mi"))
    proposal, circumstances_ = around(made, recommended("c", "-/100Mi"), using(made, use), default="-/1000Mi")
    assert mebibytes(memory_within_use(proposal, circumstances_, Ledger())) == expected, row


def test_what_else_changes_is_sent_all_the_same() -> None:
    made = pod(container("c", "1/1Gi", "2/1Gi"))
    proposal, circumstances_ = around(made, recommended("c", "500m/100Mi"), UNKNOWN)
    found = memory_within_use(proposal, circumstances_, Ledger())
    assert isinstance(found, Proposal)
    (target,) = found.targets
    assert target is not None
    assert (dict(target.requests), dict(target.limits)) == (amounts("500m"), amounts("1"))


def test_what_hinders_names_every_container() -> None:
    made = pod(container("c", "-/1Gi", "-/1Gi"), container("d", "-/1Gi", "-/1Gi"), container("e"))
    vpa = vpa_of(IPOR, recommended("c", "-/1Mi"), recommended("d", "-/1Mi"))
    processed = process(made, vpa, NamespaceLimits())
    targets = (*container_targets(made, vpa, processed, NamespaceLimits())[:2], None)
    seen = replace(circumstances(vpa, EVENKEEL), surroundings=using(made, 1024))
    found = memory_within_use(Proposal(made, targets, processed), seen, Ledger())
    assert found == Hindrance(IN_USE, "container c has a limit of 1Gi and uses 1073741824 bytes; container d")


def test_a_limit_that_could_not_fall_is_raised_back() -> None:
    # The spec asks for 400Mi, which the node refuses, as 700Mi are used by now.
    made = reporting(pod(container("c", "-/400Mi", "-/400Mi")), "-/800Mi", "-/800Mi")
    proposal, circumstances_ = around(made, recommended("c", "-/400Mi"), using(made, 700))
    assert mebibytes(memory_within_use(proposal, circumstances_, Ledger())) == (770, 770)
    proposal, circumstances_ = around(made, recommended("c", "-/400Mi"), UNKNOWN)
    assert mebibytes(memory_within_use(proposal, circumstances_, Ledger())) == (800, 800)


def test_the_guard_holds_where_a_container_restarts() -> None:
    made = pod(
        replace(container("c", "-/1Gi", "-/1Gi"), resize_policy=(ResizePolicy(MEMORY, restarts_container=True),))
    )
    proposal, circumstances_ = around(made, recommended("c", "-/1Mi"), using(made, 1000))
    assert mebibytes(memory_within_use(proposal, circumstances_, Ledger())) is IN_USE


def test_with_the_switch_off_nothing_changes() -> None:
    made = pod(container("c", "-/1Gi", "-/1Gi"))
    proposal, circumstances_ = around(made, recommended("c", "-/1Mi"), UNKNOWN)
    off = replace(circumstances_, settings=GATES_ON)
    assert memory_within_use(proposal, off, Ledger()) is proposal


LESS = recommended("c", "50m/100Mi")
MORE = recommended("c", "150m/100Mi")


@pytest.mark.parametrize(
    ("row", "mode", "recommendation", "expected"),
    [
        ("case:29", IPOR, LESS, ["p resize outside_bounds", "p skip downscale_only"]),
        ("beyond:B-22", IPOR, MORE, ["p resize outside_bounds", "p evict resize_refused"]),
        ("beyond:B-22", IN_PLACE, LESS, ["p resize outside_bounds"]),
        ("beyond:B-22", RECREATE, LESS, ["p evict outside_bounds"]),
    ],
)
def test_less_is_no_cause_to_evict(
    row: str, mode: UpdateMode, recommendation: ContainerRecommendation, expected: list[str]
) -> None:
    made = pod(container("c", "100m/200Mi"))
    scene = Scene(vpa_of(mode, recommendation, minimum=1), (made,), settings=EVENKEEL)
    assert scene.played(refusing(Action.RESIZE)).said == expected, row
    settings = replace(EVENKEEL, behaviour=replace(EVENKEEL.behaviour, memory_shrink_guard=False))
    upstream = replace(scene, settings=settings).played(refusing(Action.RESIZE)).said
    assert upstream == (expected if mode is not IPOR else ["p resize outside_bounds", "p evict resize_refused"]), row


@pytest.mark.parametrize(
    ("row", "use", "expected"),
    [
        ("case:29 in time the node may do it", 10, "p wait already_requested"),
        ("case:29 back to what is safe", 160, "p resize outside_bounds"),
    ],
)
def test_a_failed_shrink_is_shaped_anew(row: str, use: float, expected: str) -> None:
    behaviour = replace(EVENKEEL.behaviour, converged_means_compared=False, infeasible_memory=False)
    asking = pod(container("c", "100m/150Mi", "100m/150Mi"))
    made = reporting(resizing(asking, ERROR), "100m/200Mi", "100m/200Mi")
    scene = Scene(
        vpa_of(IPOR, recommended("c", "100m/150Mi"), minimum=1),
        (made,),
        settings=replace(EVENKEEL, behaviour=behaviour),
        surroundings=using(made, use),
    )
    assert scene.played().said == [expected], row


def with_resources(made: Container, found: Proposal) -> Container:
    """Return a container that has got what was set."""
    (target,) = found.targets
    assert target is not None
    requests = {**(made.resources.requests or {}), **target.requests}
    limits = {**(made.resources.limits or {}), **target.limits}
    return replace(made, resources=ContainerResources(requests, limits))


@given(st.integers(1, 4000), st.integers(1, 4000), st.integers(1, 4000), st.integers(0, 4000))
def test_steps_end_and_never_go_below_what_is_used(request: int, more: int, target: int, use: int) -> None:
    made = pod(container("c", f"-/{request}Mi", f"-/{request + more}Mi"))
    least = use * MIB + max(-(-use * MIB // 10), 16 * MIB)
    for _ in range(20):
        proposal, circumstances_ = around(made, recommended("c", f"-/{target}Mi"), using(made, use))
        before = amount(made.containers[0].resources.limits, MEMORY).value()
        found = memory_within_use(proposal, circumstances_, Ledger())
        if isinstance(found, Hindrance):
            assert found.reason is IN_USE
            assert before <= least + 1
            return
        made = pod(with_resources(made.containers[0], found))
        after = made.containers[0].resources
        limit = amount(after.limits, MEMORY).value()
        assert amount(after.requests, MEMORY).value() <= limit
        if limit < before:
            assert limit >= least
            assert limit >= before // 2
        if found == proposal:
            assert amount(after.requests, MEMORY).value() == target * MIB
            return
    pytest.fail("it goes on for ever")

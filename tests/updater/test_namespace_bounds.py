"""Resizes that LimitRanges and quotas would refuse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.limitrange import LimitRange, LimitRangeItem, LimitType, merge
from autoscaling.placement import Placement
from autoscaling.pod import Container, ContainerStatus, Pod
from autoscaling.quantity import NANO, Quantity
from autoscaling.quota import Quota, ScopeRequirement
from autoscaling.resources import ContainerResources
from autoscaling.target_resources import ContainerTarget
from tests.builders import amounts, container, pod, recommended, sidecar, with_init_containers
from tests.updater.situations import (
    EVENKEEL,
    GATES_ON,
    IN_PLACE,
    INFEASIBLE,
    IPOR,
    Scene,
    circumstances,
    refusing,
    resizing,
    small,
    vpa_of,
)
from updater.decision import Action, Outcome, Reason
from updater.ledger import Claim, Ledger
from updater.namespace_bounds import within_limit_ranges, within_quotas
from updater.shaping import Hindrance, Proposal
from updater.surroundings import Surroundings

C, P = LimitType.CONTAINER, LimitType.POD
MILLI = NANO // 1000
AROUND = circumstances(vpa_of(IPOR), EVENKEEL)


def target(requests: str, limits: str = "-") -> ContainerTarget:
    return ContainerTarget(amounts(requests), amounts(limits))


def limited(made: Pod, items: Sequence[LimitRangeItem], *targets: ContainerTarget | None) -> Proposal | Hindrance:
    around = replace(AROUND, limits=merge([LimitRange("default", "l", tuple(items))]))
    return within_limit_ranges(Proposal(made, targets, None), around, Ledger())


STORAGE = {"ephemeral-storage": Quantity.parse("1Gi")}


@pytest.mark.parametrize(
    ("row", "containers", "items", "expected"),
    [
        ("beyond:B-12", [container("c", "1", "1")], [LimitRangeItem(C, maximum=amounts("3"))], ""),
        (
            "resize:R41",
            [container("c", "1", "1")],
            [LimitRangeItem(C, maximum=amounts("2"))],
            "container c has 3 of cpu",
        ),
        ("beyond:B-12", [container("c", "1", "1")], [LimitRangeItem(P, maximum=amounts("2"))], "the pod has 3 of cpu"),
        ("beyond:B-12", [container("c", "1", "1")], [LimitRangeItem(C, ratio=amounts("1"))], "more than 1 times"),
        ("beyond:B-12", [container("c", "1", "1")], [LimitRangeItem(C, minimum=amounts("3"))], "has 2 of cpu"),
        ("resize:V4", [container("c", "1/1")], [LimitRangeItem(C, default=amounts("-/1"))], ""),
        ("resize:V10", [container("c", "1", "1")], [LimitRangeItem(C, default=STORAGE)], "would set ephemeral-storage"),
        ("resize:V4", [container("c", "1", "1"), container("d")], [LimitRangeItem(C, default=amounts("1"))], ""),
    ],
)
def test_what_a_limit_range_would_refuse(
    row: str, containers: list[Container], items: list[LimitRangeItem], expected: str
) -> None:
    # A limit of three cores for a request of two.
    found = limited(pod(*containers), items, target("2", "3"), *[None for _ in containers[1:]])
    if not expected:
        assert isinstance(found, Proposal), row
        return
    assert isinstance(found, Hindrance), row
    assert (found.reason, found.helps_to_evict) == (Reason.LIMIT_RANGE_WOULD_BLOCK, False)
    assert expected in found.detail, row


def test_defaults_must_not_change_the_class() -> None:
    defaults = LimitRangeItem(C, default=amounts("2/1Mi"), default_request=amounts("2/1Mi"))
    found = limited(pod(container("c", "1")), [defaults], target("2"))
    assert found == Hindrance(Reason.LIMIT_RANGE_WOULD_BLOCK, "defaults would make a Burstable pod Guaranteed"), (
        "resize:V4"
    )
    whole = replace(pod(container("c", "1")), placement=Placement(has_pod_resources=True))
    assert isinstance(limited(whole, [defaults], target("2")), Proposal)


def test_defaults_must_not_change_a_plain_init_container() -> None:
    defaults = LimitRangeItem(C, default=amounts("2"))
    made = with_init_containers(pod(container("c", "1", "2")), container("setup"))
    found = limited(made, [defaults], target("2"))
    assert found == Hindrance(
        Reason.LIMIT_RANGE_WOULD_BLOCK, "defaults would change init container setup, which no resize may"
    ), "resize:V12"
    assert isinstance(limited(with_init_containers(made, sidecar("proxy")), [defaults], target("2")), Proposal)


def quota(hard: str, used: str, *scopes: str) -> Quota:
    """Return a quota of requested cpu."""
    listed = [{"requests.cpu": Quantity.parse(text)} for text in (hard, used)]
    return Quota("default", "q", listed[0], listed[1], tuple(ScopeRequirement(scope) for scope in scopes))


def charged(made: Pod, quotas: Sequence[Quota], wanted: str, ledger: Ledger | None = None) -> Proposal | Hindrance:
    around = replace(AROUND, surroundings=Surroundings(quotas={"default": tuple(quotas)}))
    return within_quotas(Proposal(made, (target(wanted),), None), around, ledger or Ledger())


ONE = pod(container("c", "400m"))
EARLIER = Ledger(quotas={quota("1", "0").ref: {"requests.cpu": 100 * MILLI}})


@pytest.mark.parametrize(
    ("row", "made", "quotas", "wanted", "ledger", "expected"),
    [
        ("case:4", ONE, [quota("1", "900m")], "500m", None, 100),
        ("resize:R42", ONE, [quota("1", "900m")], "501m", None, "ResourceQuota default/q is short of 1m requests.cpu"),
        ("case:4 the round's own", ONE, [quota("1", "800m")], "500m", EARLIER, 100),
        ("case:4 the round's own", ONE, [quota("1", "801m")], "500m", EARLIER, "short of 1m"),
        ("case:4 shrinks", ONE, [quota("1", "3")], "300m", None, 0),
        ("case:4 does not count", ONE, [quota("1", "1", "BestEffort")], "2", None, 0),
        (
            "case:4 several",
            ONE,
            [quota("9", "1"), replace(quota("1", "1"), name="r")],
            "500m",
            None,
            "default/r is short",
        ),
        ("resize:1.6 all set", ONE, [replace(quota("9", "1"), hard=amounts("9/9"))], "500m", None, "memory of c"),
        ("case:4 none", ONE, [], "2", None, 0),
    ],
)
def test_what_a_quota_would_refuse(
    row: str, made: Pod, quotas: list[Quota], wanted: str, ledger: Ledger | None, expected: int | str
) -> None:
    found = charged(made, quotas, wanted, ledger)
    if isinstance(expected, str):
        assert isinstance(found, Hindrance), row
        assert (found.reason, found.helps_to_evict) == (Reason.QUOTA_WOULD_BLOCK, False)
        assert expected in found.detail, row
        return
    assert isinstance(found, Proposal), row
    assert found.claim == (Claim(quotas={quotas[0].ref: {"requests.cpu": expected * MILLI}}) if expected else Claim())


def test_an_infeasible_resize_does_not_slip_through() -> None:
    has = ContainerStatus("c", resources=ContainerResources(amounts("400m")))
    made = replace(resizing(pod(container("c", "2")), INFEASIBLE), statuses=(has,))
    assert isinstance(charged(made, [quota("1", "400m")], "1"), Proposal), "resize:R43"
    assert isinstance(charged(made, [quota("1", "400m")], "1001m"), Hindrance), "resize:R43"


def test_what_a_limit_range_adds_is_charged() -> None:
    limits = merge([LimitRange("default", "l", (LimitRangeItem(C, default=amounts("2")),))])
    bound = replace(quota("1", "0"), hard={"limits.cpu": Quantity.parse("1")}, used={"limits.cpu": Quantity.parse("0")})
    around = replace(AROUND, limits=limits, surroundings=Surroundings(quotas={"default": (bound,)}))
    found = within_quotas(Proposal(ONE, (target("500m"),), None), around, Ledger())
    assert isinstance(found, Hindrance)
    assert found.detail == "ResourceQuota default/q is short of 1 limits.cpu"


def test_nothing_is_checked_where_quotas_are_not_known_or_the_switch_is_off() -> None:
    proposal = Proposal(ONE, (target("9"),), None)
    assert within_quotas(proposal, AROUND, Ledger()) is proposal
    seen = Surroundings(quotas={"default": (quota("1", "1"),)})
    limits = merge([LimitRange("default", "l", (LimitRangeItem(C, maximum=amounts("1")),))])
    off = replace(AROUND, settings=GATES_ON, surroundings=seen, limits=limits)
    assert within_quotas(proposal, off, Ledger()) is proposal
    assert within_limit_ranges(proposal, off, Ledger()) is proposal
    assert within_limit_ranges(proposal, AROUND, Ledger()) is proposal


def test_whole_rounds() -> None:
    # Each pod asks for 150m more, and there is room for one.
    pods = tuple(small(f"p{number}") for number in range(4))
    seen = Surroundings(quotas={"default": (quota("550m", "400m"),)})
    scene = Scene(vpa_of(IPOR), pods, settings=EVENKEEL, surroundings=seen)
    blocked = [f"p{number} skip quota_would_block" for number in (1, 2, 3)]
    assert scene.played().said == ["p0 resize outside_bounds", *blocked], "case:4"
    limited = replace(scene, limits=(LimitRangeItem(C, ratio=amounts("1")),)).played().said
    assert limited == [f"p{number} skip limit_range_would_block" for number in range(4)], "case:4"


@given(st.lists(st.integers(1, 300), min_size=1, max_size=6), st.integers(0, 900), st.booleans())
def test_a_round_never_goes_beyond_a_quota(requests: list[int], room: int, refuses: bool) -> None:
    pods = tuple(small(f"p{number}", f"{millis}m/200Mi") for number, millis in enumerate(requests))
    used = sum(requests)
    seen = Surroundings(quotas={"default": (quota(f"{used + room}m", f"{used}m"),)})
    vpa = vpa_of(IN_PLACE, recommended("c", "250m/300Mi"), minimum=1)
    played = Scene(vpa, pods, settings=EVENKEEL, surroundings=seen).played(
        refusing(Action.RESIZE, outcome=Outcome.FAILED) if refuses else lambda _: Outcome.DONE
    )
    grown = sum(
        max(250 - requests[int(decision.ref.name[1:])], 0)
        for decision, outcome in zip(played.decisions, played.outcomes, strict=True)
        if decision.action is Action.RESIZE and outcome is Outcome.DONE
    )
    assert grown <= room, "case:4"

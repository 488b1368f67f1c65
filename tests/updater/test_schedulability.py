"""Whether a node can take a replacement."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given as given_any
from hypothesis import strategies as st

from autoscaling.capping import ProcessedRecommendation
from autoscaling.node import Node
from autoscaling.placement import Placement
from autoscaling.pod import Pod, PodCondition
from autoscaling.quantity import NANO, Quantity
from autoscaling.startup_boost import boosted_cpu
from autoscaling.vpa import (
    BoostType,
    ContainerPolicy,
    ControlledValues,
    CpuBoost,
    Recommendation,
    ScalingMode,
    StartupBoost,
)
from tests.builders import amounts, recommended, sidecar, with_init_containers
from tests.updater.rooms import ROOMY, filling, given, node, on
from tests.updater.situations import (
    DEFERRED,
    EVENKEEL,
    INFEASIBLE,
    IPOR,
    RECREATE,
    UPSTREAM,
    about,
    circumstances,
    resizing,
    small,
    vpa_of,
    waiting,
)
from updater.circumstances import Circumstances
from updater.decision import Reason
from updater.evicting import EvictionProposal
from updater.ledger import Claim, Ledger
from updater.pod_requests import nano
from updater.room import PODS, Rooms
from updater.schedulability import where_the_replacement_fits
from updater.shaping import Hindrance

WANTED = ProcessedRecommendation(Recommendation((recommended("c", "2/2Gi"),)), {})
OLD = on(given(small("p", "1/1Gi"), "1/1Gi"))
LARGE = on(small("p", "1/3Gi"))
STUCK = on(resizing(given(small("p", "2/2Gi"), "1/1Gi"), DEFERRED))


def there(*pods: Pod, nodes: tuple[Node, ...] = (node(), node("node2")), mode: object = RECREATE) -> Circumstances:
    assert mode in {RECREATE, IPOR}
    rooms = Rooms.of({each.name: each for each in nodes}, pods)
    return replace(circumstances(vpa_of(IPOR if mode is IPOR else RECREATE), ROOMY), rooms=rooms)


def weighed(
    subject: Pod, around: Circumstances, reason: Reason = Reason.OUTSIDE_BOUNDS, ledger: Ledger | None = None
) -> EvictionProposal | Hindrance:
    return where_the_replacement_fits(EvictionProposal(subject, WANTED, reason), around, ledger or Ledger())


def home(growth: str) -> Claim:
    return Claim(rooms={"node1": nano(amounts(growth))})


AWAY = Claim(rooms={"node2": {**nano(amounts("2/2Gi")), PODS: NANO}})
FULL = filling("o", "3/6Gi")
NEARLY = filling("o", "2/6Gi")
GONE = filling("e", "2001m/1Gi", node_name="node2")
CORDONED = replace(node(), is_unschedulable=True)
UNREADY = replace(node("node2"), is_ready=False)


@pytest.mark.parametrize(
    ("row", "subject", "around", "reason", "claim"),
    [
        # The pod's own node counts with what the pod gives back.
        ("beyond:B-25", OLD, there(OLD, NEARLY), Reason.OUTSIDE_BOUNDS, home("1/1Gi")),
        ("beyond:B-25", OLD, there(OLD, FULL), Reason.OUTSIDE_BOUNDS, AWAY),
        ("beyond:B-25", OLD, there(OLD, FULL, GONE), Reason.OUTSIDE_BOUNDS, None),
        # Home may have promised more than it has, and then what the pod gives back is not all there.
        ("beyond:B-25", LARGE, there(LARGE, filling("o", "1/6Gi")), Reason.OUTSIDE_BOUNDS, home("1/0")),
        ("beyond:B-25", LARGE, there(LARGE, filling("o", "1/6145Mi")), Reason.OUTSIDE_BOUNDS, AWAY),
        ("beyond:B-25", OLD, there(OLD, nodes=(CORDONED, node("node2"))), Reason.OUTSIDE_BOUNDS, AWAY),
        ("beyond:B-25", OLD, there(OLD, nodes=(CORDONED, UNREADY)), Reason.OUTSIDE_BOUNDS, None),
        ("beyond:B-25", OLD, there(OLD, nodes=(CORDONED, node("node2", pods=0))), Reason.OUTSIDE_BOUNDS, None),
        ("beyond:B-25", OLD, there(OLD, nodes=(node("node2"),)), Reason.OUTSIDE_BOUNDS, AWAY),
        # For want of room at home, home does not count.
        ("beyond:B-24", STUCK, there(STUCK, mode=IPOR), Reason.RESIZE_TIMED_OUT, AWAY),
        ("beyond:B-24", STUCK, there(STUCK, GONE, mode=IPOR), Reason.RESIZE_TIMED_OUT, None),
        ("beyond:B-24", resizing(STUCK, INFEASIBLE), there(STUCK, mode=IPOR), Reason.RESIZE_FAILED, AWAY),
        ("beyond:B-24", OLD, there(OLD, GONE, mode=IPOR), Reason.NO_ROOM, None),
        ("beyond:B-24", OLD, there(OLD, GONE, mode=IPOR), Reason.RESIZE_REFUSED, home("1/1Gi")),
        # What may be tied counts at home only; so does what is not known.
        ("beyond:B-25", on(OLD, placement=Placement(is_tied=True)), there(OLD, FULL), Reason.OUTSIDE_BOUNDS, None),
        (
            "beyond:B-25",
            on(OLD, placement=Placement(is_tied=True)),
            there(OLD, NEARLY),
            Reason.OUTSIDE_BOUNDS,
            home("1/1Gi"),
        ),
        ("beyond:B-25", replace(OLD, placement=None), there(OLD, FULL), Reason.OUTSIDE_BOUNDS, None),
        ("beyond:B-25", replace(OLD, placement=None), there(OLD, NEARLY), Reason.OUTSIDE_BOUNDS, home("1/1Gi")),
        ("beyond:B-24", replace(STUCK, placement=None), there(STUCK, mode=IPOR), Reason.RESIZE_TIMED_OUT, None),
    ],
)
def test_it_goes_where_the_replacement_fits(
    row: str, subject: Pod, around: Circumstances, reason: Reason, claim: Claim | None
) -> None:
    outcome = weighed(subject, around, reason)
    if claim is None:
        assert isinstance(outcome, Hindrance), row
        assert outcome.reason is Reason.NO_OTHER_NODE, row
    else:
        assert isinstance(outcome, EvictionProposal), row
        assert outcome.claim == claim, row


AGAIN = on(replace(given(small("p", "2/2Gi"), "1/1Gi"), generation=2, observed_generation=2))


@pytest.mark.parametrize(
    ("row", "condition", "reason", "upstream", "evenkeel"),
    [
        # Whether home counts depends on what the node says of the present spec.
        ("updater:K-19", about(DEFERRED, 2), Reason.RESIZE_TIMED_OUT, AWAY, AWAY),
        ("updater:K-19", about(DEFERRED, 1), Reason.RESIZE_TIMED_OUT, AWAY, home("0/0")),
        ("updater:K-19", about(INFEASIBLE, 2), Reason.RESIZE_FAILED, AWAY, AWAY),
        ("updater:K-19", about(waiting("Odd"), 2), Reason.RESIZE_TIMED_OUT, home("0/0"), home("0/0")),
    ],
)
def test_a_pod_goes_for_want_of_room_where_its_node_says_so_now(
    row: str, condition: PodCondition, reason: Reason, upstream: Claim, evenkeel: Claim
) -> None:
    subject = resizing(AGAIN, condition)
    around = there(subject, mode=IPOR)
    for settings, claim in ((ROOMY, upstream), (EVENKEEL, evenkeel)):
        outcome = weighed(subject, replace(around, settings=settings), reason)
        assert isinstance(outcome, EvictionProposal), row
        assert outcome.claim == claim, row


def test_two_evictions_do_not_count_on_the_same_room() -> None:
    around = there(OLD, FULL, nodes=(node(), node("node2", "3/8Gi")))
    first = weighed(OLD, around)
    assert isinstance(first, EvictionProposal)
    assert isinstance(weighed(OLD, around, ledger=Ledger().after(first.claim)), Hindrance), "beyond:B-24"


def test_it_says_what_is_missing_and_what_cannot_be_told() -> None:
    lacking = weighed(OLD, there(OLD, FULL, GONE))
    assert isinstance(lacking, Hindrance)
    assert lacking.detail == "1000m cpu missing on node node1", "beyond:B-41"
    assert lacking.missing == {"cpu": NANO}
    tied = weighed(on(OLD, placement=Placement(is_tied=True)), there(OLD, FULL))
    assert isinstance(tied, Hindrance)
    assert tied.detail.endswith("on node node1, cannot be told whether the pod could run on another node")


def test_containers_without_recommendation_keep_what_they_ask_for() -> None:
    subject = with_init_containers(OLD, sidecar("side", "1500m/1Gi"))
    outcome = weighed(subject, there(subject, FULL))
    assert isinstance(outcome, EvictionProposal)
    assert outcome.claim.rooms["node2"]["cpu"] == nano(amounts("3500m/-"))["cpu"], "beyond:B-25"


def boosting(
    boost: CpuBoost | None,
    around: Circumstances,
    policies: tuple[ContainerPolicy, ...] | None = None,
    **settings: object,
) -> Circumstances:
    """Return a round in which new pods are boosted."""
    subject = replace(around.vpa, startup_boost=StartupBoost(boost), container_policies=policies)
    changed = replace(around.settings, **{"is_startup_boost_on": True, **settings})  # type: ignore[arg-type]
    return replace(around, vpa=subject, settings=changed)


TWICE = CpuBoost(BoostType.FACTOR, factor=2)
PLUS = CpuBoost(BoostType.QUANTITY, quantity=Quantity.parse("1500m"))
EMPTY = there(OLD, nodes=(node(room="8/8Gi"), node("node2", "8/8Gi")))
UNSCALED = (ContainerPolicy("c", mode=ScalingMode.OFF),)
LIMITED = (ContainerPolicy("c", controlled_values=ControlledValues.REQUESTS_ONLY),)


@pytest.mark.parametrize(
    ("row", "around", "cpu"),
    [
        ("admission:8", EMPTY, "2"),
        ("admission:8", boosting(TWICE, EMPTY), "4"),
        ("admission:8", boosting(PLUS, EMPTY), "3500m"),
        ("admission:8", boosting(TWICE, EMPTY, is_startup_boost_on=False), "2"),
        ("admission:8", boosting(TWICE, EMPTY, max_cpu_boost=Quantity.parse("3")), "3"),
        ("admission:8", boosting(TWICE, EMPTY, max_cpu_boost=Quantity.parse("5")), "4"),
        ("admission:8", boosting(TWICE, EMPTY, UNSCALED), "2"),
        ("admission:8", boosting(TWICE, EMPTY, LIMITED), "4"),
    ],
)
def test_a_replacement_takes_the_room_of_its_boost(row: str, around: Circumstances, cpu: str) -> None:
    outcome = weighed(OLD, around)
    assert isinstance(outcome, EvictionProposal), row
    grown = {
        name: amount - NANO * (1024**3 if name == "memory" else 1)
        for name, amount in nano(amounts(f"{cpu}/2Gi")).items()
    }
    assert outcome.claim.rooms["node1"] == grown, row


def test_a_boost_stays_below_the_limit_where_limits_do_not_follow() -> None:
    subject = on(given(small("p", "1/1Gi", "3/3Gi"), "1/1Gi", "3/3Gi"))
    outcome = weighed(subject, boosting(TWICE, EMPTY, LIMITED))
    assert isinstance(outcome, EvictionProposal)
    assert outcome.claim.rooms["node1"]["cpu"] == 1999 * 10**6, "admission:8"


@pytest.mark.parametrize(("row", "room", "fits"), [("admission:8", "4/8Gi", True), ("admission:8", "3999m/8Gi", False)])
def test_a_pod_stays_where_no_node_takes_its_replacement_boosted(row: str, room: str, *, fits: bool) -> None:
    around = boosting(TWICE, there(OLD, FULL, nodes=(node(), node("node2", room))))
    outcome = weighed(OLD, around)
    if fits:
        assert isinstance(outcome, EvictionProposal), row
        assert outcome.claim.rooms["node2"]["cpu"] == 4 * NANO, row
    else:
        assert isinstance(outcome, Hindrance), row
        assert outcome.reason is Reason.NO_OTHER_NODE


def test_a_boost_that_cannot_be_reckoned_would_leave_the_replacement_as_it_is() -> None:
    outcome = weighed(OLD, boosting(None, EMPTY))
    assert isinstance(outcome, Hindrance)
    assert outcome.reason is Reason.INVALID_OBJECT, "beyond:B-32"
    assert "startupBoost of container 'c' is empty" in outcome.detail


@given_any(st.integers(1, 5), st.integers(0, 4000), st.sampled_from([None, "1", "3", "6"]))
def test_the_need_is_that_of_the_webhook(factor: int, milli: int, cap: str | None) -> None:
    """Spec: admission:8, beyond:B-25."""
    most = None if cap is None else Quantity.parse(cap)
    for boost in (
        CpuBoost(BoostType.FACTOR, factor=factor),
        CpuBoost(BoostType.QUANTITY, quantity=Quantity.of_milli(milli)),
    ):
        vast = there(OLD, nodes=(node(room="100/100Gi"),))
        around = boosting(boost, vast, max_cpu_boost=most)
        outcome = weighed(OLD, around)
        assert isinstance(outcome, EvictionProposal)
        wanted = boosted_cpu(around.vpa, Quantity.parse("2"), boost, most).nano
        assert outcome.claim.rooms["node1"]["cpu"] == max(wanted - NANO, 0)


@pytest.mark.parametrize("off", [True, False])
def test_nothing_is_checked_where_nothing_is_known_or_asked(*, off: bool) -> None:
    around = there(OLD, FULL, GONE)
    around = replace(around, settings=replace(ROOMY, behaviour=UPSTREAM)) if off else replace(around, rooms=None)
    assert isinstance(weighed(OLD, around), EvictionProposal)

"""Sending what fits on the node."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given as given_any
from hypothesis import strategies as st

from autoscaling.capping import ProcessedRecommendation
from autoscaling.pod import Pod
from autoscaling.qos import qos_class, spec_qos
from autoscaling.resources import ContainerResources
from autoscaling.target_resources import ContainerTarget
from autoscaling.vpa import ContainerRecommendation, Recommendation
from tests.builders import amounts, container, pod, printed, recommended
from tests.updater.rooms import ROOMY, filling, given, node, on
from tests.updater.situations import INFEASIBLE, IPOR, UPSTREAM, circumstances, resizing, restarting, vpa_of
from updater.circumstances import Circumstances
from updater.decision import Reason
from updater.fitting import within_free_room
from updater.ledger import Claim, Ledger
from updater.pod_requests import hold_of, nano
from updater.room import Rooms
from updater.shaping import Hindrance, Proposal

SMALL = on(pod(container("c", "1/1Gi", "2/2Gi")))
FIXED = on(pod(container("c", "1/1Gi", "1/1Gi")))


def target(requests: str, limits: str = "-") -> ContainerTarget:
    return ContainerTarget(amounts(requests), amounts(limits))


def around(*pods: Pod, is_ready: bool = True, room: str = "4/8Gi") -> Circumstances:
    """Return a round that knows of one node and these pods."""
    nodes = {"node1": replace(node(room=room), is_ready=is_ready)}
    return replace(circumstances(vpa_of(IPOR), ROOMY), rooms=Rooms.of(nodes, pods))


def proposal(subject: Pod, *targets: ContainerTarget | None, entry: ContainerRecommendation | None = None) -> Proposal:
    processed = ProcessedRecommendation(Recommendation((entry,) if entry else ()), {})
    return Proposal(subject, targets, processed)


def found(
    subject: Pod, wanted: ContainerTarget, taken: str, entry: ContainerRecommendation | None = None
) -> Proposal | Hindrance:
    """Return what becomes of a resize on a node of which another pod takes so much."""
    return within_free_room(proposal(subject, wanted, entry=entry), around(subject, filling("o", taken)), Ledger())


def lower(cpu_and_memory: str) -> ContainerRecommendation:
    return recommended("c", "3/3Gi", lower=cpu_and_memory)


@pytest.mark.parametrize(
    ("row", "wanted", "taken", "requests", "limits"),
    [
        # All of it fits, to the last milli.
        ("beyond:B-24", target("3/3Gi", "6/6Gi"), "1/5Gi", "3/3Gi", "6/6Gi"),
        # Half of the growth of cpu fits, and its limit grows by half as well.
        ("beyond:B-24", target("3/3Gi", "6/6Gi"), "2/5Gi", "2/3Gi", "4/6Gi"),
        ("beyond:B-24", target("3/1Gi"), "1001m/1Gi", "2999m/1Gi", "-"),
        # A part below the threshold is not worth it, so cpu stays and memory grows.
        ("beyond:B-24", target("3/3Gi", "6/6Gi"), "2950m/1Gi", "-/3Gi", "-/6Gi"),
        ("beyond:B-24", target("3/3Gi", "6/6Gi"), "2900m/1Gi", "1100m/3Gi", "2200m/6Gi"),
        # What shrinks is never held up, whatever the node is short of.
        ("beyond:B-24", target("500m/512Mi", "1/1Gi"), "9/9Gi", "500m/512Mi", "1/1Gi"),
        ("beyond:B-24", target("3/512Mi", "6/1Gi"), "9/9Gi", "-/512Mi", "-/1Gi"),
        # A limit that does not grow stays as it is to be.
        ("beyond:B-24", target("3/1Gi", "1500m/1Gi"), "2/1Gi", "2/1Gi", "1500m/1Gi"),
    ],
)
def test_what_fits_is_sent(row: str, wanted: ContainerTarget, taken: str, requests: str, limits: str) -> None:
    outcome = found(SMALL, wanted, taken)
    assert isinstance(outcome, Proposal)
    (cut,) = outcome.targets
    assert cut is not None
    assert cut.requests == amounts(requests), row
    assert cut.limits == amounts(limits), row


def test_request_and_limit_of_a_guaranteed_pod_stay_equal() -> None:
    outcome = found(FIXED, target("3/3Gi", "3/3Gi"), "1999m/1Gi")
    assert isinstance(outcome, Proposal)
    (cut,) = outcome.targets
    assert cut is not None
    assert printed(cut.requests) == printed(cut.limits) == {"cpu": "2001m", "memory": "3Gi"}, "resize:1.4"
    assert cut.notes == ("cpu cut to the free room of the node",)


@pytest.mark.parametrize(
    ("row", "taken", "detail", "missing"),
    [
        ("beyond:B-24", "3/7Gi", "2000m cpu and 2048Mi memory missing on node node1", "2/2Gi"),
        ("beyond:B-41", "9/9Gi", "8000m cpu and 4096Mi memory missing on node node1", "8/4Gi"),
    ],
)
def test_without_room_it_waits(row: str, taken: str, detail: str, missing: str) -> None:
    outcome = found(SMALL, target("3/3Gi"), taken)
    assert outcome == Hindrance(Reason.NO_ROOM, detail, missing=nano(amounts(missing))), row


@pytest.mark.parametrize(
    ("row", "subject", "bound", "taken", "reached"),
    [
        # 1.04 cores are below the threshold, but enough where that is the lower bound.
        ("beyond:B-24", SMALL, "1040m/1Gi", "2960m/1Gi", "1040m/1Gi"),
        ("beyond:B-24", SMALL, "1041m/1Gi", "2960m/1Gi", None),
        # A container that restarts for it grows at once to its bound, or not at all.
        ("beyond:B-24", restarting(SMALL), "1040m/1536Mi", "1/6656Mi", "3/1536Mi"),
        ("beyond:B-24", restarting(SMALL), "1040m/1537Mi", "1/6656Mi", "3/-"),
        # Once it is within its bounds, bit by bit would mean a restart for each.
        ("beyond:B-24", restarting(SMALL), "1040m/1Gi", "1/6656Mi", "3/-"),
    ],
)
def test_a_part_must_be_worth_it(row: str, subject: Pod, bound: str, taken: str, reached: str | None) -> None:
    wanted = target("3/1Gi") if reached is None or reached.endswith("/1Gi") else target("3/3Gi")
    outcome = found(subject, wanted, taken, lower(bound))
    if reached is None:
        assert isinstance(outcome, Hindrance), row
        return
    assert isinstance(outcome, Proposal)
    (cut,) = outcome.targets
    assert cut is not None
    assert cut.requests == amounts(reached), row


def test_a_growing_pod_takes_its_room_and_says_what_it_lacks() -> None:
    outcome = found(SMALL, target("3/3Gi"), "2/1Gi")
    assert isinstance(outcome, Proposal)
    assert outcome.claim == Claim(rooms={"node1": nano(amounts("1/2Gi"))}), "beyond:B-24"
    assert outcome.missing == {"cpu": nano(amounts("1/-"))["cpu"]}, "beyond:B-41"


def test_what_the_round_has_taken_is_gone() -> None:
    ledger = Ledger().after(Claim(rooms={"node1": nano(amounts("3/-"))}))
    outcome = within_free_room(proposal(SMALL, target("2/1Gi")), around(SMALL), ledger)
    assert isinstance(outcome, Hindrance), "beyond:B-24"
    assert outcome.reason is Reason.NO_ROOM


@pytest.mark.parametrize(
    ("row", "there"),
    [
        ("beyond:B-24", around(SMALL, is_ready=False)),
        ("beyond:B-24", replace(around(), rooms=Rooms.of({"other": node("other")}, [SMALL]))),
    ],
)
def test_nothing_grows_on_a_node_that_is_not_ready_or_not_known(row: str, there: Circumstances) -> None:
    outcome = within_free_room(proposal(SMALL, target("1001m/1Gi")), there, Ledger())
    assert outcome == Hindrance(Reason.NODE_NOT_READY, "node node1"), row
    shrinking = proposal(SMALL, target("500m/1Gi"))
    assert within_free_room(shrinking, there, Ledger()) is shrinking, row


@pytest.mark.parametrize(
    ("row", "there"),
    [
        ("beyond:B-24", replace(around(filling("o", "9/9Gi")), rooms=None)),
        (
            "beyond:B-24",
            replace(around(filling("o", "9/9Gi")), settings=replace(ROOMY, behaviour=UPSTREAM)),
        ),
    ],
)
def test_nothing_is_checked_where_nothing_is_known_or_asked(row: str, there: Circumstances) -> None:
    whole = proposal(SMALL, target("3/3Gi"))
    assert within_free_room(whole, there, Ledger()) is whole, row


@pytest.mark.parametrize(
    ("row", "wanted", "taken", "fits"),
    [
        # The node looks at all of a spec again, so what it refused of it needs room although nothing is set of it.
        ("beyond:B-24", "-/2Gi", "1/1Gi", True),
        ("beyond:B-24", "-/2Gi", "1001m/1Gi", False),
        ("beyond:B-24", "3/2Gi", "1001m/1Gi", True),
        ("beyond:B-24", "3/2Gi", "2950m/1Gi", False),
        ("beyond:B-24", "1/2Gi", "2950m/1Gi", True),
    ],
)
def test_what_was_refused_needs_room_with_any_other_resize(row: str, wanted: str, taken: str, *, fits: bool) -> None:
    refused = resizing(given(on(pod(container("c", "3/1Gi"))), "1/1Gi"), INFEASIBLE)
    outcome = found(refused, target(wanted), taken)
    assert isinstance(outcome, Proposal) is fits, row


def test_a_refused_resize_that_is_asked_for_again_needs_its_room() -> None:
    subject = resizing(given(on(pod(container("c", "9/1Gi"))), "1/1Gi"), INFEASIBLE)
    outcome = within_free_room(proposal(subject, target("3/1Gi")), around(subject), Ledger())
    assert isinstance(outcome, Proposal), "beyond:B-24"
    assert outcome.claim.rooms == {"node1": {"cpu": nano(amounts("2/-"))["cpu"]}}


AMOUNTS = st.integers(1, 4000).map(lambda milli: f"{milli}m/{milli}Mi")


@given_any(
    st.lists(st.tuples(AMOUNTS, AMOUNTS, st.integers(0, 3)), min_size=1, max_size=3),
    st.tuples(st.integers(0, 8000), st.integers(0, 8000)),
)
def test_whatever_is_asked_for_the_room_is_kept_and_the_class_stays(
    sizes: list[tuple[str, str, int]], room: tuple[int, int]
) -> None:
    def limits(requests: str, factor: int) -> str:
        cpu, memory = (int(part.rstrip("mMi")) for part in requests.split("/"))
        return f"{cpu * factor}m/{memory * factor}Mi" if factor else "-"

    containers = [container(f"c{n}", before, limits(before, factor)) for n, (before, _, factor) in enumerate(sizes)]
    subject = on(pod(*containers))
    targets = tuple(target(after, limits(after, factor)) for _, after, factor in sizes)
    there = around(subject, room=f"{room[0]}m/{room[1]}Mi")
    outcome = within_free_room(proposal(subject, *targets), there, Ledger())
    if isinstance(outcome, Hindrance):
        assert outcome.missing
        return
    after = tuple(
        replace(
            c,
            resources=ContainerResources(
                {**(c.resources.requests or {}), **t.requests}, {**(c.resources.limits or {}), **t.limits}
            ),
        )
        for c, t in zip(subject.containers, outcome.targets, strict=True)
        if t is not None
    )
    assert there.rooms is not None
    free, before = there.rooms.free["node1"], hold_of(subject).total
    for name, total in hold_of(replace(subject, containers=after)).total.items():
        assert total - before[name] <= max(free[name], 0)
        assert max(total - before[name], 0) == outcome.claim.rooms.get("node1", {}).get(name, 0)
    assert qos_class(c.resources for c in after) is spec_qos(subject)
    for each in after:
        for name, limit in (each.resources.limits or {}).items():
            assert limit >= each.resources.request(name)

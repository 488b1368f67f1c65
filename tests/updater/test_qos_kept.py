"""Resizes that leave the QoS class as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.placement import Placement
from autoscaling.pod import Container, Pod, ResizePolicy
from autoscaling.qos import pod_qos, spec_qos
from autoscaling.target_resources import ContainerTarget
from autoscaling.vpa import ContainerPolicy, ControlledValues
from tests.builders import amounts, container, pod, printed, recommended
from tests.updater.situations import (
    EVENKEEL,
    GATES_ON,
    IN_PLACE,
    IPOR,
    Scene,
    annotated,
    circumstances,
    sent,
    vpa_of,
)
from updater.decision import Action, Reason
from updater.ledger import Ledger
from updater.qos_kept import qos_class_kept
from updater.resized_pod import resized
from updater.shaping import Hindrance, Proposal

AROUND = circumstances(vpa_of(IPOR), EVENKEEL)
WOULD_CHANGE = Reason.QOS_WOULD_CHANGE


def target(requests: str, limits: str = "-") -> ContainerTarget:
    return ContainerTarget(amounts(requests), amounts(limits))


def restarting(made: Container, resource: str) -> Container:
    return replace(made, resize_policy=(ResizePolicy(resource, restarts_container=True),))


def kept(
    containers: Sequence[Container], targets: Sequence[ContainerTarget | None], expired: tuple[str, ...] = ()
) -> Proposal | Hindrance:
    return qos_class_kept(Proposal(pod(*containers), tuple(targets), None, expired=expired), AROUND, Ledger())


def shown(found: Proposal | Hindrance) -> list[str] | Reason:
    """Return the requests that would be set, or what hinders."""
    if isinstance(found, Hindrance):
        return found.reason
    return ["/".join(printed(t.requests).values()) if t is not None else "-" for t in found.targets]


A, B = container("a", "1/1Gi", "1/1Gi"), container("b", "1/1Gi", "1/1Gi")
LOOSE = container("a", "500m/512Mi", "1/1Gi")
BARE = container("a")


@pytest.mark.parametrize(
    ("row", "containers", "targets", "expected"),
    [
        ("updater:K-33 stays", [A], [target("2/2Gi", "2/2Gi")], ["2/2Gi"]),
        ("updater:K-33 stays", [A], [target("2", "2")], ["2"]),
        ("updater:K-33 RequestsOnly", [A], [target("500m/1Gi")], WOULD_CHANGE),
        ("updater:K-33 held", [A, B], [target("500m"), target("2", "2")], ["-", "2"]),
        ("updater:K-33 stays", [A, BARE], [target("500m"), target("1")], ["500m", "1"]),
        # A byte less of the largest memory, or a thousandth of a core.
        ("case:28", [LOOSE], [target("1/1Gi", "1/1Gi")], ["1/1073741823"]),
        ("case:28", [LOOSE, LOOSE], [target("1/1Gi"), target("1/1Gi", "2/2Gi")], ["1/1Gi", "1/1Gi"]),
        ("case:28", [LOOSE, B], [target("1/1Gi"), target("9/2Gi", "9/2Gi")], ["1/1Gi", "9/2147483647"]),
        ("case:28", [LOOSE, B], [target("1/1Gi"), None], ["1/1073741823", "-"]),
        ("case:28 cpu alone", [container("a", "500m/1Gi", "1/1Gi")], [target("1")], ["999m"]),
        ("case:28 too little", [container("a", "1m/1", "2m/1")], [target("1m", "1m")], WOULD_CHANGE),
        ("case:28 a byte is too much", [container("a", "1m/1", "9m/1")], [target("9m/1")], ["8m/1"]),
        (
            "case:28 nothing restarts for it",
            [restarting(container("a", "500m/1Gi", "1/1Gi"), "memory")],
            [target("1/1Gi")],
            ["999m/1Gi"],
        ),
        ("case:28", [restarting(LOOSE, "memory")], [target("1/1Gi")], ["1/1073741823"]),
        ("case:28 BestEffort", [BARE], [target("1/1Gi")], WOULD_CHANGE),
        ("case:28 BestEffort", [BARE, container("b")], [target("-"), None], ["", "-"]),
    ],
)
def test_what_is_sent(
    row: str,
    containers: list[Container],
    targets: list[ContainerTarget | None],
    expected: list[str] | Reason,
) -> None:
    """Spec: limits:S8.14, limits:S8.15."""
    assert shown(kept(containers, targets)) == expected, row


def test_a_boost_is_taken_back_whole_or_not_at_all() -> None:
    targets = [target("500m"), target("2", "2")]
    assert shown(kept([A, B], targets, expired=("b",))) == ["-", "2"]
    assert shown(kept([A, B], targets, expired=("a",))) is WOULD_CHANGE


def test_the_status_says_which_class_it_was() -> None:
    made = replace(pod(A), qos_class="Burstable")
    found = qos_class_kept(Proposal(made, (target("2/2Gi", "2/2Gi"),), None), AROUND, Ledger())
    assert shown(found) == ["2/2147483647"]


def test_a_pod_with_resources_of_its_own_is_left_to_the_api_server() -> None:
    made = replace(pod(BARE), placement=Placement(has_pod_resources=True))
    proposal = Proposal(made, (target("1"),), None)
    assert qos_class_kept(proposal, AROUND, Ledger()) is proposal


def test_with_the_switch_off_nothing_changes() -> None:
    proposal = Proposal(pod(BARE), (target("1"),), None)
    assert qos_class_kept(proposal, circumstances(vpa_of(IPOR), GATES_ON), Ledger()) is proposal


def test_whole_rounds_with_pods_that_have_nothing() -> None:
    made = pod(container("c"))
    scene = Scene(vpa_of(IPOR, minimum=1), (made,), settings=EVENKEEL)
    assert scene.played().said == ["p evict qos_would_change"], "case:28"
    (decision,) = replace(scene, vpa=vpa_of(IN_PLACE, minimum=1)).played().decisions
    assert (decision.action, decision.reason) == (Action.SKIP, WOULD_CHANGE), "beyond:B-21"
    assert decision.detail
    came_back = annotated(made, vpaUpdates="Pod resources updated by v: container 0: cpu request, memory request")
    assert replace(scene, pods=(came_back,)).played().said == ["p skip qos_would_change"], "case:28"
    told_nothing = annotated(made, vpaUpdates="Pod resources updated by my-request: container 0: ")
    assert replace(scene, pods=(told_nothing,)).played().said == ["p evict qos_would_change"]


def test_whole_rounds_to_the_edge_of_guaranteed() -> None:
    only_requests = (ContainerPolicy("c", controlled_values=ControlledValues.REQUESTS_ONLY),)
    vpa = vpa_of(IPOR, recommended("c", "2/2Gi"), minimum=1, policies=only_requests)
    scene = Scene(vpa, (pod(container("c", "100m/100Mi", "1/1Gi")),), settings=EVENKEEL)
    (decision,) = scene.played().decisions
    assert decision.patches is not None
    assert [o["value"] for o in sent(decision.patches.resize) if o["op"] == "add"] == ["1", "1073741823"]
    asking = pod(container("c", "1/1073741823", "1/1Gi"))
    assert replace(scene, pods=(asking,)).played().said == ["p wait already_requested"]


SHARES = st.sampled_from(["-", "1m/1", "1/1Gi", "1/1Mi", "2/1Gi"])


@st.composite
def proposals(draw: st.DrawFn) -> Proposal:
    """Draw a resize of two containers of any class."""

    def lists() -> tuple[str, str]:
        limits = draw(SHARES)
        return draw(st.sampled_from(["-", "1m/1", limits])), limits

    containers = [container(name, *lists()) for name in ("a", "b")]
    targets = [ContainerTarget(amounts(requests), amounts(limits)) for requests, limits in (lists(), lists())]
    return Proposal(pod(*containers), tuple(targets), None)


@given(proposals())
def test_no_resize_changes_the_class(proposal: Proposal) -> None:
    found = qos_class_kept(proposal, AROUND, Ledger())
    if isinstance(found, Hindrance):
        assert found.reason is WOULD_CHANGE
        assert spec_qos(resized(proposal.pod, proposal.targets)) is not pod_qos(proposal.pod)
        return
    after: Pod = resized(proposal.pod, found.targets)
    assert spec_qos(after) is pod_qos(proposal.pod), "beyond:B-21"
    again = qos_class_kept(replace(found, pod=after), AROUND, Ledger())
    assert isinstance(again, Proposal)
    assert again.targets == found.targets, "a shaped resize is shaped no further"

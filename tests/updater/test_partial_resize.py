"""Leaving out of a resize what is not worth it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.capping import process
from autoscaling.limitrange import NO_LIMITS
from autoscaling.pod import Container, ContainerStatus, Pod, ResizePolicy
from autoscaling.resources import ContainerResources
from autoscaling.target_resources import ContainerTarget, container_targets
from autoscaling.vpa import ContainerRecommendation, Vpa
from tests.builders import amounts, container, pod, printed, recommended
from tests.updater.situations import (
    EVENKEEL,
    GATES_ON,
    HOUR,
    IPOR,
    MINUTE,
    NOW,
    Scene,
    annotated,
    circumstances,
    killed,
    sent,
    vpa_of,
)
from updater.decision import Action, Reason
from updater.ledger import Ledger
from updater.partial_resize import only_what_is_worth_it
from updater.shaping import Hindrance, Proposal

WIDE = {"lower": "1m/1", "upper": "9/9Gi"}


def old(made: Pod) -> Pod:
    return replace(made, start_time=NOW - 12 * HOUR)


def restarting(made: Container, *resources: str) -> Container:
    return replace(made, resize_policy=tuple(ResizePolicy(name, restarts_container=True) for name in resources))


def proposed(made: Pod, vpa: Vpa, expired: tuple[str, ...] = ()) -> Proposal:
    processed = process(made, vpa, NO_LIMITS)
    return Proposal(made, container_targets(made, vpa, processed, NO_LIMITS), processed, expired=expired)


def shaped(made: Pod, *recommendations: ContainerRecommendation) -> Proposal | Hindrance:
    vpa = vpa_of(IPOR, *recommendations)
    return only_what_is_worth_it(proposed(made, vpa), circumstances(vpa, EVENKEEL), Ledger())


def left(found: Proposal | Hindrance) -> Mapping[str, str] | Reason:
    """Return what would be set, as ``container.resource`` to ``request limit``, or what hinders."""
    if isinstance(found, Hindrance):
        return found.reason
    seen: dict[str, str] = {}
    for each, target in zip(found.pod.containers, found.targets, strict=True):
        if target is not None:
            requests, limits = printed(target.requests), printed(target.limits)
            assert limits.keys() <= requests.keys()
            seen |= {f"{each.name}.{name}": f"{value} {limits.get(name, '-')}" for name, value in requests.items()}
    return seen


SMALL = Reason.CHANGE_TOO_SMALL


@pytest.mark.parametrize(
    ("row", "age", "resources", "recommendation", "expected"),
    [
        # Out of bounds, whatever its age and however little it is.
        ("beyond:B-23", 0, "99m/100", recommended("c", "100m/109", "100m/1", "1/1Gi"), {"c.cpu": "100m -"}),
        # What is large goes along, so that the pod is not resized twice (product 6, the burn workload).
        (
            "beyond:B-23",
            0,
            "99m/100",
            recommended("c", "100m/110", "100m/1", "1/1Gi"),
            {"c.cpu": "100m -", "c.memory": "110 -"},
        ),
        ("beyond:B-23", 0, "100m/100", recommended("c", "101m/150", "100m/1", "1/1Gi"), SMALL),
        ("beyond:B-23", 0, "101m/100", recommended("c", "100m/109", "1m/1", "100m/1Gi"), {"c.cpu": "100m -"}),
        ("beyond:B-23 no request", 0, "-/100", recommended("c", "100m/101", **WIDE), {"c.cpu": "100m -"}),
        # Within bounds only what differs by a tenth, in a pod of twelve hours.
        ("beyond:B-23", 12, "100m/100", recommended("c", "110m/109", **WIDE), {"c.cpu": "110m -"}),
        ("beyond:B-23", 12, "100m/100", recommended("c", "90m/150", **WIDE), {"c.cpu": "90m -", "c.memory": "150 -"}),
        ("beyond:B-23", 11, "100m/100", recommended("c", "200m/200", **WIDE), SMALL),
        # Both together are worth it where neither is.
        ("beyond:B-23", 12, "100m/100", recommended("c", "105m/105", **WIDE), {"c.cpu": "105m -", "c.memory": "105 -"}),
        ("beyond:B-23", 12, "100m/100", recommended("c", "105m/104", **WIDE), SMALL),
        # Limits go with their requests.
        ("beyond:B-23", 12, "100m/100 200m/200", recommended("c", "200m/105", **WIDE), {"c.cpu": "200m 400m"}),
        ("beyond:B-23", 12, "100m/100 200m/-", recommended("c", "105m/200", **WIDE), {"c.memory": "200 -"}),
    ],
)
def test_what_stays(
    row: str,
    age: int,
    resources: str,
    recommendation: ContainerRecommendation,
    expected: Mapping[str, str] | Reason,
) -> None:
    requests, _, limits = resources.partition(" ")
    made = replace(pod(container("c", requests, limits or "-")), start_time=NOW - age * HOUR)
    assert left(shaped(made, recommendation)) == expected, row


def test_each_container_is_judged_by_itself() -> None:
    made = old(pod(container("a", "1/1Gi"), container("b", "100m/100Mi"), container("other", "1")))
    a, b = recommended("a", "990m/1Gi", **WIDE), recommended("b", "300m/100Mi", **WIDE)
    assert left(shaped(made, a, b)) == {"b.cpu": "300m -"}


def test_what_restarts_a_container_does_not_go_along() -> None:
    """Spec: beyond:B-23, updater:K-16. The pod is young, so its memory within bounds is no reason to restart it."""
    recommendation = recommended("c", "250m/300", "200m/1", "1/1Gi")
    young = pod(restarting(container("c", "100m/100"), "memory"))
    assert left(shaped(young, recommendation)) == {"c.cpu": "250m -"}
    free = pod(restarting(container("c", "100m/100"), "cpu"))
    assert left(shaped(free, recommendation)) == {"c.cpu": "250m -", "c.memory": "300 -"}


def test_a_pod_that_is_due_only_as_a_whole_is_left_alone() -> None:
    # Six in a hundred of cpu in one container and of memory in the other add up for the pod (updater P-5).
    made = old(pod(container("a", "1/10Mi"), container("b", "10m/100Mi")))
    vpa = vpa_of(IPOR, recommended("a", "1060m/10Mi", **WIDE), recommended("b", "10m/106Mi", **WIDE), minimum=1)
    assert Scene(vpa, (made,), settings=EVENKEEL).played().said == ["p skip change_too_small"]
    assert Scene(vpa, (made,), settings=GATES_ON).played().said == ["p resize worthwhile_change"]


@pytest.mark.parametrize(
    ("row", "policies", "recommendation", "expected"),
    [
        ("updater:K-16", ("memory",), recommended("c", "200m/109", **WIDE), {"c.cpu": "200m -"}),
        ("updater:K-16", ("memory",), recommended("c", "200m/110", **WIDE), {"c.cpu": "200m -", "c.memory": "110 -"}),
        ("updater:K-16", ("memory",), recommended("c", "105m/105", **WIDE), {"c.cpu": "105m -"}),
        ("updater:K-16", ("cpu", "memory"), recommended("c", "105m/105", **WIDE), SMALL),
        ("updater:K-16", ("cpu",), recommended("c", "101m/100", "101m/1", "1/1Gi"), {"c.cpu": "101m -"}),
    ],
)
def test_nothing_restarts_for_less_than_the_threshold(
    row: str,
    policies: tuple[str, ...],
    recommendation: ContainerRecommendation,
    expected: Mapping[str, str] | Reason,
) -> None:
    made = old(pod(restarting(container("c", "100m/100"), *policies)))
    assert left(shaped(made, recommendation)) == expected, row


@pytest.mark.parametrize(
    ("row", "policies", "memory", "expected"),
    [
        ("updater:P-6", (), "101", {"c.memory": "101 -"}),
        ("updater:P-6 shrinking helps nobody", (), "99", SMALL),
        ("updater:P-6", ("memory",), "109", SMALL),
        ("updater:P-6", ("memory",), "110", {"c.memory": "110 -", "d.memory": "110 -"}),
    ],
)
def test_a_killed_container_gets_its_memory(
    row: str, policies: tuple[str, ...], memory: str, expected: Mapping[str, str] | Reason
) -> None:
    made = killed(pod(restarting(container("c", "100m/100"), *policies), container("d", "100m/100")), MINUTE, MINUTE)
    recommendations = [recommended(name, f"105m/{memory}", **WIDE) for name in ("c", "d")]
    assert left(shaped(made, *recommendations)) == expected, row


def test_a_resize_under_way_is_judged_by_what_it_asks_for_too() -> None:
    in_force = ContainerResources(amounts("100m/100"))
    made = replace(pod(container("c", "500m/100")), statuses=(ContainerStatus("c", resources=in_force),))
    assert left(shaped(made, recommended("c", "105m/105", "1m/1", "200m/1Gi"))) == {"c.cpu": "105m -"}
    assert left(shaped(made, recommended("c", "105m/105", "1m/1", "500m/1Gi"))) is SMALL


def test_a_boost_that_is_over_is_taken_back_whole() -> None:
    made = annotated(pod(container("c", "200m/100"), container("d", "100m/100")), boost="{}")
    vpa = vpa_of(IPOR, recommended("c", "195m/101", **WIDE), recommended("d", "101m/101", **WIDE))
    found = only_what_is_worth_it(proposed(made, vpa, expired=("c",)), circumstances(vpa, EVENKEEL), Ledger())
    assert left(found) == {"c.cpu": "195m -", "c.memory": "101 -"}


def test_where_nothing_is_set_at_all_that_stays_so() -> None:
    vpa = vpa_of(IPOR, recommended("other", "1"))
    proposal = proposed(pod(container("c")), vpa)
    assert only_what_is_worth_it(proposal, circumstances(vpa, EVENKEEL), Ledger()) is proposal


def test_a_container_without_a_recommendation_gets_nothing() -> None:
    vpa = vpa_of(IPOR, recommended("c", "100m/100"))
    found = replace(proposed(pod(container("c", "1/1")), vpa), processed=None)
    assert left(only_what_is_worth_it(found, circumstances(vpa, EVENKEEL), Ledger())) is SMALL


def test_whole_rounds() -> None:
    vpa = vpa_of(IPOR, recommended("a", "300m/300Mi"), recommended("b", "101m/101Mi", **WIDE), minimum=1)
    made = pod(container("a", "100m/300Mi"), restarting(container("b", "100m/100Mi"), "cpu", "memory"), name="p0")
    (decision,) = Scene(vpa, (made,), settings=EVENKEEL).played().decisions
    assert decision.action is Action.RESIZE
    assert decision.patches is not None
    assert [o["path"] for o in sent(decision.patches.resize) if o["op"] == "add"] == [
        "/spec/containers/0/resources/requests/cpu"
    ]
    (decision,) = Scene(vpa, (made,), settings=GATES_ON).played().decisions
    assert decision.patches is not None
    assert len([o for o in decision.patches.resize if o.verb.value == "add"]) == 4


REQUESTS = st.integers(1, 400)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Pod, tuple[ContainerRecommendation, ...]]:
    """Draw a pod with two containers and what is recommended for them."""
    containers, recommendations = [], []
    for name in ("a", "b"):
        cpu, memory, low = draw(REQUESTS), draw(REQUESTS), draw(st.integers(1, 200))
        made = container(name, f"{cpu}m/{memory}", draw(st.sampled_from(["-", f"{cpu}m/{memory}", "1/1000"])))
        containers.append(restarting(made, *draw(st.sets(st.sampled_from(["cpu", "memory"])))))
        target, high = low + draw(REQUESTS), low + draw(st.integers(400, 800))
        recommendations.append(recommended(name, f"{target}m/{target}", f"{low}m/{low}", f"{high}m/{high}"))
    return replace(pod(*containers), start_time=NOW - draw(st.integers(0, 24)) * HOUR), tuple(recommendations)


@given(cases())
def test_nothing_below_its_lower_bound_is_left_out_and_nothing_is_added(
    case: tuple[Pod, tuple[ContainerRecommendation, ...]],
) -> None:
    made, recommendations = case
    vpa = vpa_of(IPOR, *recommendations)
    whole = proposed(made, vpa)
    found = only_what_is_worth_it(whole, circumstances(vpa, EVENKEEL), Ledger())
    targets = found.targets if isinstance(found, Proposal) else (None,) * len(made.containers)
    for each, entry, all_of_it, target in zip(made.containers, recommendations, whole.targets, targets, strict=True):
        assert all_of_it is not None
        stays = target or ContainerTarget()
        below = {n for n, low in (entry.lower_bound or {}).items() if (each.resources.requests or {})[n] < low}
        assert below <= stays.requests.keys(), "beyond:B-23"
        assert stays.requests.items() <= all_of_it.requests.items()
        assert stays.limits == {n: a for n, a in all_of_it.limits.items() if n in stays.requests}
    assert only_what_is_worth_it(whole, circumstances(vpa, GATES_ON), Ledger()) is whole

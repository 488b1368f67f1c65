"""Pods that the admission controller has just made: the updater finds nothing to do about them (cases 46 and 47)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from admission.pod_patch import new_resources
from autoscaling.acceptable_targets import acceptable_targets, limits_for_capping
from autoscaling.errors import InvalidObjectError
from autoscaling.limit_range_check import completed, faults
from autoscaling.limitrange import LimitRange, LimitRangeItem, LimitType, merge
from autoscaling.pod import Container, ContainerStatus
from autoscaling.resources import CPU, MEMORY
from autoscaling.vpa import ContainerPolicy, ContainerRecommendation, ControlledValues, ScalingMode, Vpa
from tests.builders import container, limit_range, pod, printed, recommended
from tests.updater.disruptions import ready
from tests.updater.drawing import containers, entries, limit_ranges
from tests.updater.situations import EVENKEEL, GATES_ON, HOUR, IPOR, RECREATE, Scene, replica_set, small, vpa_of
from updater.decision import Action
from updater.resized_pod import resized
from updater.settings import Settings


def pod_limits(maximum: str | None = None, minimum: str | None = None) -> LimitRangeItem:
    """Return a LimitRange item for whole pods."""
    return limit_range(LimitType.POD, maximum=maximum, minimum=minimum)


APP, SIDE, BARE = container("c", "-/512Mi", "-/1Gi"), container("side", "-/64Mi", "-/64Mi"), container("bare")
WANTED = recommended("c", "-/1Gi", lower="-/512Mi", upper="-/2Gi")


@pytest.mark.parametrize(
    ("row", "others", "in_evenkeel", "in_upstream"),
    [
        ("case:47 a", (SIDE,), ("480Mi", "960Mi"), None),
        ("case:47 b", (BARE,), ("512Mi", "1Gi"), None),
        ("case:47 a b", (SIDE, BARE), ("480Mi", "960Mi"), None),
        ("case:47 c", (), ("512Mi", "1Gi"), ("512Mi", "1Gi")),
    ],
)
@pytest.mark.parametrize("spares_others", [True, False])
def test_what_is_recommended_fits_beside_what_is_not(
    row: str,
    others: tuple[Container, ...],
    in_evenkeel: tuple[str, str],
    in_upstream: tuple[str, str] | None,
    *,
    spares_others: bool,
) -> None:
    limits = merge((LimitRange("default", "l", (pod_limits("-/1Gi"),)),))
    expected = in_evenkeel if spares_others else in_upstream
    if expected is None:
        with pytest.raises(InvalidObjectError):
            new_resources(pod(APP, *others), vpa_of(IPOR, WANTED), limits)
        return
    app, *rest = new_resources(pod(APP, *others), vpa_of(IPOR, WANTED), limits, spares_others=spares_others)
    assert (printed(app.requests)["memory"], printed(app.limits)["memory"]) == expected, row
    assert not any(each.requests or each.limits for each in rest), row


def test_what_fits_beside_nothing_is_an_error_that_says_so() -> None:
    limits = merge((LimitRange("default", "l", (pod_limits("-/64Mi"),)),))
    with pytest.raises(InvalidObjectError, match="'side' without a recommended memory leave none"):
        new_resources(pod(APP, SIDE), vpa_of(IPOR, WANTED), limits, spares_others=True)


@pytest.mark.parametrize(
    ("row", "others", "settings", "expected"),
    [
        ("case:47 a", (SIDE,), EVENKEEL, ["p0 resize outside_bounds", "p1 resize outside_bounds"]),
        ("case:47 b", (BARE,), EVENKEEL, ["p0 resize outside_bounds", "p1 resize outside_bounds"]),
        ("case:47 a", (SIDE,), GATES_ON, ["p0 skip invalid_object", "p1 resize outside_bounds"]),
        ("case:47 b", (BARE,), GATES_ON, ["p0 skip invalid_object", "p1 resize outside_bounds"]),
    ],
)
def test_one_such_pod_stops_no_other(
    row: str, others: tuple[Container, ...], settings: Settings, expected: list[str]
) -> None:
    """Spec: beyond:B-32, updater:K-31."""
    # A target of less than the pod has, as what is left beside the others is less.
    app = container("c", "100m/512Mi", "-/1Gi")
    wanted = recommended("c", "250m/1Gi", lower="200m/512Mi", upper="1/2Gi")
    pods = (ready(pod(app, *others, name="p0")), ready(small("p1", "100m/512Mi", "-/1Gi")))
    settings = replace(
        settings, eviction_tolerance=1.0, behaviour=replace(settings.behaviour, memory_shrink_guard=False)
    )
    made = Scene(vpa_of(IPOR, wanted), pods, settings=settings, limits=(pod_limits("-/1Gi"),))
    assert made.played().said == expected, row


def of_resources(entry: ContainerRecommendation, names: tuple[str, ...]) -> ContainerRecommendation:
    """Return a recommendation for these resources only, as controlledResources make it."""
    target, lower, upper, uncapped = (
        {name: amount for name, amount in (vector or {}).items() if name in names}
        for vector in (entry.target, entry.lower_bound, entry.upper_bound, entry.uncapped_target)
    )
    return replace(entry, target=target, lower_bound=lower, upper_bound=upper, uncapped_target=uncapped)


@st.composite
def vpas(draw: st.DrawFn) -> Vpa:
    """Draw a VPA for one or both of two containers and resources, with bounds of any width."""
    found = [draw(entries(name)) for name in draw(st.sampled_from([("c",), ("c", "d")]))]
    found[0] = of_resources(found[0], draw(st.sampled_from([(CPU, MEMORY), (CPU,), (MEMORY,)])))
    values = draw(st.sampled_from(ControlledValues))
    off = (ContainerPolicy("d", mode=ScalingMode.OFF),) if len(found) == 1 else ()
    return vpa_of(
        draw(st.sampled_from([IPOR, RECREATE])),
        *found,
        minimum=1,
        policies=(ContainerPolicy("*", controlled_values=values), *off),
    )


@given(
    st.tuples(containers("c", asks=4, asks_nothing=1), containers("d", asks=4, asks_nothing=1)),
    vpas(),
    limit_ranges(),
    st.sampled_from([0, 13]),
    st.booleans(),
)
def test_nothing_is_done_about_a_pod_as_admission_made_it(
    template: tuple[Container, ...], wanted: Vpa, items: tuple[LimitRangeItem, ...], hours: int, is_known: bool
) -> None:
    """Whatever its age and the LimitRanges, which are applied to target and bounds apart (spec: limits:S8.3)."""
    bare = completed(pod(*template, name="p0"), items)
    limits = merge((LimitRange("default", "l", items),))
    # Whether one was beyond the LimitRanges without us is told from its template.
    assume(is_known or not faults(bare, items))
    try:
        targets = new_resources(bare, wanted, limits_for_capping(bare, limits), spares_others=True)
    except InvalidObjectError:
        return
    made = resized(bare, acceptable_targets(bare, targets, limits))
    if faults(made, items):
        return
    statuses = tuple(
        ContainerStatus(c.name, c.resources, allocated=c.resources.requests, is_running=True) for c in made.containers
    )
    subject = ready(replace(made, statuses=statuses))
    asked = {each.name: each.resources for each in template}
    owner = replace(replica_set(1), template=asked if is_known else {})
    scene = Scene(wanted, (subject,), workloads=(owner,), settings=EVENKEEL, limits=items)
    assert subject.start_time is not None
    played = replace(scene, now=subject.start_time + hours * HOUR).played()
    assert [d.action for d in played.decisions] == [Action.SKIP], f"case:46 {played.said}"

"""The updater wants no more for a pod than admission would give it (spec: beyond:B-12, beyond:B-17, case:46)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admission.pod_patch import new_resources
from autoscaling.acceptable_targets import Targets, acceptable_targets, limits_for_capping
from autoscaling.asked_resources import ASKED_ANNOTATION, asked_text
from autoscaling.errors import InvalidObjectError
from autoscaling.limit_range_check import completed, faults
from autoscaling.limitrange import LimitRange, LimitRangeItem, LimitType, NamespaceLimits, merge
from autoscaling.placement import Placement
from autoscaling.pod import Container, ContainerStatus, Pod
from autoscaling.pod_totals import Basis, Side, pod_total
from autoscaling.quantity import Quantity
from autoscaling.resources import ResourceList
from autoscaling.vpa import ContainerPolicy, ControlledValues, Vpa
from tests.builders import amounts, container, limit_range, pod, printed, recommended
from tests.updater.disruptions import ready
from tests.updater.drawing import SIZES, containers, entries, limit_ranges
from tests.updater.situations import EVENKEEL, HOUR, IPOR, NOW, RECREATE, Scene, replica_set, vpa_of
from updater.admissible import recommendation_for, targets_for
from updater.circumstances import Circumstances, Memory
from updater.decision import Action
from updater.resized_pod import resized

WANTED = recommended("c", "1/1Gi", lower="900m/900Mi", upper="2/2Gi")


def with_room(requests: str) -> Pod:
    """Return a pod with requests of its own."""
    return replace(pod(container("c", "100m/100Mi")), placement=Placement(requests=amounts(requests)))


ENTRIES: list[tuple[str, Pod, tuple[LimitRangeItem, ...], bool, tuple[str, str, str]]] = [
    ("beyond:B-17", pod(container("c", "100m/100Mi")), (), True, ("1/1Gi", "900m/900Mi", "2/2Gi")),
    ("beyond:B-17", with_room("600m/-"), (), True,
     ("600m/1Gi", "-/900Mi", "-/2Gi")),
    ("beyond:B-17", with_room("100m/-"), (), True,
     ("-/1Gi", "-/900Mi", "-/2Gi")),
    ("beyond:B-17", with_room("600m/-"), (), False,
     ("1/1Gi", "900m/900Mi", "2/2Gi")),
    ("beyond:B-12", pod(container("c", "100m/-", "200m/-")), (limit_range(LimitType.POD, maximum="1/-"),), True,
     ("500m/1Gi", "-/900Mi", "-/2Gi")),
]  # fmt: skip


def circumstances(scaler: Vpa, limits: NamespaceLimits, *, is_on: bool = True) -> Circumstances:
    behaviour = replace(EVENKEEL.behaviour, only_what_is_accepted=is_on)
    return Circumstances(scaler, limits, NOW, replace(EVENKEEL, behaviour=behaviour), Memory())


def within(items: tuple[LimitRangeItem, ...]) -> NamespaceLimits:
    return merge([LimitRange("default", "l", items)])


@pytest.mark.parametrize(("row", "subject", "items", "is_on", "expected"), ENTRIES)
def test_what_a_recommendation_comes_to(
    row: str, subject: Pod, items: tuple[LimitRangeItem, ...], is_on: bool, expected: tuple[str, str, str]
) -> None:
    around = circumstances(vpa_of(IPOR, WANTED), within(items), is_on=is_on)
    found = recommendation_for(subject, subject, around)
    assert found is not None
    (entry,) = found.recommendation.containers
    lists = (entry.target, entry.lower_bound or {}, entry.upper_bound or {})
    assert lists == tuple(amounts(text) for text in expected), f"{row} {[printed(each) for each in lists]}"
    (target,) = targets_for(subject, subject, found, around)
    assert target.requests == entry.target, row


def admitted(subject: Pod, scaler: Vpa, limits: NamespaceLimits) -> Targets:
    """Return what the webhook gives a new pod."""
    targets = new_resources(subject, scaler, limits_for_capping(subject, limits), spares_others=True)
    return acceptable_targets(subject, targets, limits)


@st.composite
def vpas(draw: st.DrawFn) -> Vpa:
    """Draw a VPA for one or both of two containers."""
    names = draw(st.sampled_from([("c",), ("c", "d")]))
    policy = ContainerPolicy("*", controlled_values=draw(st.sampled_from(ControlledValues)))
    found = [draw(entries(name)) for name in names]
    return vpa_of(draw(st.sampled_from([IPOR, RECREATE])), *found, minimum=1, policies=(policy,))


def room_for(subject: Pod, more: int) -> ResourceList:
    """Return requests of a pod as a whole that leave so much, in thousandths of a core and mebibytes."""
    asked = pod_total(subject, Side.REQUESTS, Basis.SPEC)
    extra = {"cpu": more * 10**6, "memory": more * 2**20 * 10**9}
    return {name: Quantity(asked.get(name, 0) + extra[name]) for name in extra}


@given(
    st.tuples(containers("c"), containers("d")),
    vpas(),
    limit_ranges(width=3),
    st.one_of(st.none(), SIZES),
    st.booleans(),
)
def test_nothing_is_done_about_a_pod_as_admission_made_it(
    template: tuple[Container, ...], wanted: Vpa, items: tuple[LimitRangeItem, ...], room: int | None, is_known: bool
) -> None:
    """Spec: case:46: whatever LimitRanges and the pod's own resources have held back, however old it is."""
    bare, limits = completed(pod(*template, name="p0"), items), within(items)
    if room is not None:
        bare = replace(bare, placement=Placement(has_pod_resources=True, requests=room_for(bare, room)))
    try:
        made = resized(bare, admitted(bare, wanted, limits))
    except InvalidObjectError:
        return
    noted = asked_text(bare, limits)
    if faults(made, items):
        # Nothing that the VPA may change brings such a pod within its LimitRanges: it is refused, with or without it.
        assert noted, f"case:46 {faults(made, items)}"
        return
    made = replace(made, annotations={ASKED_ANNOTATION: noted} if noted else None)
    statuses = tuple(
        ContainerStatus(c.name, c.resources, allocated=c.resources.requests, is_running=True) for c in made.containers
    )
    subject = ready(replace(made, statuses=statuses))
    asked = {each.name: each.resources for each in template} if is_known else {}
    owner = replace(replica_set(1), template=asked)
    scene = Scene(wanted, (subject,), workloads=(owner,), settings=EVENKEEL, limits=items)
    assert subject.start_time is not None
    for age in (0, 13):
        played = replace(scene, now=subject.start_time + age * HOUR).played()
        assert [d.action for d in played.decisions] == [Action.SKIP], f"case:46 {played.said}"

"""New resources that the API server takes wherever it takes the pod as it is (spec: beyond:B-12, beyond:B-17)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.acceptable_targets import MOST_STARTING, Targets, acceptable_targets, limits_for_capping
from autoscaling.limitrange import NO_LIMITS, LimitRange, LimitRangeItem, LimitType, NamespaceLimits, merge
from autoscaling.placement import Placement
from autoscaling.pod import Container, Pod
from autoscaling.quantity import Quantity
from autoscaling.resources import ContainerResources
from autoscaling.sidecars import with_sidecars
from autoscaling.target_resources import NOTHING, ContainerTarget
from tests.builders import amounts, container, limit_range, pod, printed, sidecar, with_init_containers

CONTAINER, POD = LimitType.CONTAINER, LimitType.POD


def within(*items: LimitRangeItem) -> NamespaceLimits:
    return merge([LimitRange("default", "l", items)])


def whole(requests: str = "-", limits: str = "-", overhead: str = "-") -> Placement:
    return Placement(
        overhead=amounts(overhead), has_pod_resources=True, requests=amounts(requests), limits=amounts(limits)
    )


def wanted(requests: str, limits: str = "-") -> ContainerTarget:
    return ContainerTarget(amounts(requests), amounts(limits))


def said(targets: Targets) -> list[tuple[dict[str, str], dict[str, str]]]:
    return [(printed(target.requests), printed(target.limits)) for target in targets]


def both(requests: str, limits: str = "-") -> tuple[dict[str, str], dict[str, str]]:
    return printed(amounts(requests)), printed(amounts(limits))


@dataclass(frozen=True)
class Case:
    pod: Pod
    targets: Targets
    expected: list[tuple[dict[str, str], dict[str, str]]]
    limits: NamespaceLimits = NO_LIMITS
    notes: tuple[str, ...] = ()


ONE = pod(container("c", "100m/100Mi", "200m/200Mi"))
TWO = pod(container("c", "100m/100Mi"), container("d", "100m/100Mi"))
RATIO = replace(limit_range(CONTAINER), ratio=amounts("-/2"))

CASES: list[tuple[str, Case]] = [
    ("beyond:B-12 nothing binds", Case(ONE, (wanted("1/1Gi", "2/2Gi"),), [both("1/1Gi", "2/2Gi")])),
    ("limits:46 a limit of zero", Case(
        pod(container("c", "100m/-", "-/0")), (wanted("300m/300Mi"),), [both("300m")],
        notes=("memory not set: its limit is zero",))),
    ("limits:47 a limit of zero, kept", Case(pod(container("c", "-", "0/0")), (wanted("300m/0"),), [both("-")])),
    ("limits:60 negative", Case(ONE, (wanted("1/-1", "2/-2"),), [both("1", "2")],
                                notes=("memory not set: the recommendation is negative",))),
    ("admission:7.1 above its own limit", Case(
        ONE, (wanted("1/150Mi"),), [both("200m/150Mi")],
        notes=("cpu held back by the bounds of its container",))),
    ("limits:17 above the maximum", Case(
        ONE, (wanted("3/3Gi", "6/6Gi"),), [both("3/2Gi", "4/2Gi")], within(limit_range(CONTAINER, maximum="4/2Gi")))),
    ("limits:16 below the minimum", Case(
        ONE, (wanted("20m/20Mi", "40m/400Mi"),), [both("50m/50Mi", "50m/400Mi")],
        within(limit_range(CONTAINER, minimum="50m/50Mi")))),
    ("case:5 limits that stay", Case(
        pod(container("c", "-/1Gi", "-/2Gi")), (wanted("-/300Mi"),), [both("-/1Gi")], within(RATIO))),
    ("case:5 limits that follow", Case(
        pod(container("c", "-/1Gi", "-/2Gi")), (wanted("-/300Mi", "-/1Gi"),), [both("-/300Mi", "-/600Mi")],
        within(RATIO))),
    ("limits:20 no limit under a maximum", Case(
        pod(container("c", "100m")), (wanted("8"),), [both("-")], within(limit_range(CONTAINER, maximum="2")),
        ("cpu held back by the bounds of its container", "cpu not set: the pod would be refused"))),
    ("beyond:B-17 room", Case(replace(TWO, placement=whole("2/2Gi")), (wanted("1/1Gi"),) * 2, [both("1/1Gi")] * 2)),
    ("beyond:B-17 requests of the pod", Case(
        replace(TWO, placement=whole("1/-")), (wanted("1/1Gi"), wanted("900m/1Gi")),
        [both("524m/1Gi"), both("476m/1Gi")],
        notes=("cpu held back by the pod's own requests",))),
    ("admission:13 (11) limits of the pod", Case(
        replace(ONE, placement=whole("4/4Gi", "4/4Gi")), (wanted("3/3Gi", "6/6Gi"),), [both("3/3Gi", "4/4Gi")])),
    ("beyond:B-17 no room at all", Case(
        replace(TWO, placement=whole("200m/-")), (wanted("1"), wanted("50m")), [both("150m"), both("50m")],
        notes=("cpu held back by the pod's own requests",))),
    ("beyond:B-17 a full pod", Case(
        replace(TWO, placement=whole("200m/-")), (wanted("1"), NOTHING), [both("-"), both("-")],
        notes=("cpu not set: the pod's own requests",))),
    ("limits:28 maximum of pods", Case(
        pod(container("c", "500m", "1"), container("d", "500m", "500m")), (wanted("1", "2"), wanted("1", "1")),
        [both("750m", "1500m"), both("750m", "750m")], within(limit_range(POD, maximum="2250m")),
        ("cpu held back by the LimitRange for pods",))),
    ("limits:29 minimum of pods", Case(
        pod(container("c", "1", "2"), container("d", "1", "2")), (wanted("100m", "200m"), wanted("600m", "1200m")),
        [both("538m", "1076m"), both("795m", "1590m")], within(limit_range(POD, minimum="1333m")))),
    ("case:47 nothing for the other", Case(
        pod(container("c", "-/512Mi", "-/1Gi"), container("bare")), (wanted("-/1Gi", "-/2Gi"), NOTHING),
        [both("-"), both("-")], within(limit_range(POD, maximum="-/1Gi")),
        ("memory not set: the LimitRange for pods",))),
    ("beyond:B-17 overhead", Case(
        replace(pod(container("c", "1", "1")), placement=Placement(overhead=amounts("500m"))), (wanted("3", "3"),),
        [both("1500m", "1500m")], within(limit_range(POD, maximum="2")))),
    ("beyond:B-16 beside what starts", Case(
        with_sidecars(with_init_containers(
            replace(pod(container("c", "1")), placement=whole("4")), sidecar("s", "1"), container("i", "2"))),
        (wanted("2"), wanted("3")), [both("2"), both("2")])),
    ("beyond:B-16 a sidecar that is not scaled", Case(
        with_init_containers(replace(pod(container("c", "1")), placement=whole("4")), sidecar("s", "1")),
        (wanted("5"),), [both("3")])),
]  # fmt: skip


@pytest.mark.parametrize(("row", "case"), CASES)
def test_what_is_left_of_a_target(row: str, case: Case) -> None:
    held = acceptable_targets(case.pod, case.targets, case.limits)
    expected = [tuple({name: Quantity.parse(a) for name, a in each.items()} for each in pair) for pair in case.expected]
    assert [(target.requests, target.limits) for target in held] == expected, f"{row} {said(held)}"
    if case.notes:
        assert held[0].held_back == case.notes, row
    assert any(target.held_back for target in held) is (said(held) != said(case.targets)), row


@pytest.mark.parametrize("name", ["example.com/gpu", "example.com/a~b", "hugepages-2Mi", "ephemeral-storage"])
def test_only_cpu_and_memory_are_set(name: str) -> None:
    """Spec: admission:7.1."""
    target = ContainerTarget({**amounts("1/1Gi"), name: Quantity.parse("1")})
    (held,) = acceptable_targets(pod(container("c")), (target,), NO_LIMITS)
    assert held == ContainerTarget(amounts("1/1Gi"), {}, held_back=(f"{name} not set: neither cpu nor memory",))


@pytest.mark.parametrize(("inits", "is_set"), [(MOST_STARTING, True), (MOST_STARTING + 1, False)])
@pytest.mark.parametrize("bounds", [within(limit_range(POD, maximum="1000")), NO_LIMITS])
def test_a_bounded_pod_with_more_init_containers_than_anybody_means_stays_as_it_is(
    inits: int, is_set: bool, bounds: NamespaceLimits
) -> None:
    """Spec: beyond:B-32."""
    kinds = (sidecar, container)
    started = [kinds[number % 2](f"i{number}", "1", "1") for number in range(inits)]
    subject = with_sidecars(with_init_containers(pod(container("c", "1", "1")), *started))
    held = acceptable_targets(subject, tuple(wanted("2", "2") for _ in subject.containers), bounds)
    is_bound = bounds is not NO_LIMITS
    assert all(bool(target.requests) is (is_set or not is_bound) for target in held)
    if is_bound and not is_set:
        assert held[0].held_back == ("cpu not set: more than 200 init containers",)


def test_a_pod_that_is_beyond_the_limit_range_is_scaled_to_it_as_before() -> None:
    """Spec: limits:27, beyond:B-12."""
    limits = within(limit_range(POD, maximum="200m/-"))
    assert limits_for_capping(pod(container("c", "100m", "200m")), limits) == replace(limits, pod=None)
    assert limits_for_capping(pod(container("c", "100m", "300m")), limits) is limits
    assert limits_for_capping(ONE, NO_LIMITS) is NO_LIMITS


AMOUNTS = st.sampled_from([None, 0, 1, 2, 3, 5, 8, 13, 21])


def of_cpu(amount: int | None) -> dict[str, Quantity]:
    return {} if amount is None else {"cpu": Quantity.of_milli(amount)}


@st.composite
def resources(draw: st.DrawFn) -> ContainerResources:
    """Draw requests and limits as the API server stores them."""
    request, limit = draw(AMOUNTS), draw(AMOUNTS)
    if request is not None and limit is not None and request > limit:
        request, limit = limit, request
    return ContainerResources(of_cpu(limit if request is None else request), of_cpu(limit))


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    """Draw a pod with cpu only, in thousandths of a core."""
    regular = tuple(Container(f"c{n}", draw(resources())) for n in range(draw(st.integers(1, 3))))
    inits = tuple(
        Container(f"i{n}", draw(resources()), is_sidecar=draw(st.booleans())) for n in range(draw(st.integers(0, 2)))
    )
    own, cap, overhead = (draw(st.one_of(st.none(), st.integers(0, 60))) for _ in range(3))
    made = with_init_containers(pod(*regular), *inits)
    if own is None and cap is not None:
        # The API server gives a pod with a limit of its own a request, too: what its containers come to, if anything.
        asked = peak([(c, milli(c.resources.requests)) for c in (*made.containers, *made.init_containers)])
        own = cap if asked is None else asked
    placement = Placement(
        overhead=of_cpu(overhead),
        has_pod_resources=own is not None or cap is not None,
        requests=of_cpu(own),
        limits=of_cpu(cap),
    )
    made = replace(made, placement=placement)
    return with_sidecars(made) if draw(st.booleans()) else made


@st.composite
def items(draw: st.DrawFn) -> LimitRangeItem:
    """Draw an item of a LimitRange."""
    least, most = draw(AMOUNTS), draw(AMOUNTS)
    ratio = draw(st.one_of(st.none(), st.none(), st.integers(1, 4)))
    return LimitRangeItem(
        draw(st.sampled_from(LimitType)),
        maximum=of_cpu(None if most is None else 3 * most),
        minimum=of_cpu(least),
        ratio={} if ratio is None else {"cpu": Quantity.of_units(ratio)},
    )


@st.composite
def situations(draw: st.DrawFn) -> tuple[Pod, Targets, NamespaceLimits]:
    """Draw a pod that the API server takes, LimitRanges, and what its containers are to get."""
    limits = within(*draw(st.lists(items(), max_size=3)))
    subject = draw(pods().filter(lambda made: is_taken(made, limits)))
    targets = []
    for each in subject.containers:
        request, more = draw(AMOUNTS), draw(AMOUNTS)
        has_limit = bool(each.resources.limits) and draw(st.booleans())
        limit = of_cpu(request + (more or 0)) if has_limit and request is not None else {}
        targets.append(ContainerTarget(of_cpu(request), limit))
    return subject, tuple(targets), limits


def given_to(subject: Pod, targets: Targets) -> Pod:
    """Return a pod as a patch would make it, with the API server's default of requests."""
    made = []
    for each, target in zip(subject.containers, targets, strict=True):
        limits = {**(each.resources.limits or {}), **target.limits}
        requests = {**limits, **(each.resources.requests or {}), **target.requests}
        made.append(replace(each, resources=ContainerResources(requests, limits)))
    return replace(subject, containers=tuple(made))


def is_taken(subject: Pod, limits: NamespaceLimits) -> bool:
    """Say whether the API server takes a pod: its rules for cpu, written down once more from its documentation."""
    everybody = [
        (each, milli(each.resources.requests), milli(each.resources.limits))
        for each in (*subject.containers, *subject.init_containers)
    ]
    if any(limit is not None and (request or 0) > limit for _, request, limit in everybody):
        return False
    whole_pod = subject.placement or Placement()
    own, cap, extra = milli(whole_pod.requests), milli(whole_pod.limits), milli(whole_pod.overhead) or 0
    regular = [entry for entry in everybody if entry[0].init_position is None]
    requests = peak([(each, request) for each, request, _ in everybody])
    limit_sum = peak([(each, limit) for each, _, limit in everybody])
    if own is not None and (requests or 0) > own:
        return False
    if cap is not None and (any((limit or 0) > cap for _, _, limit in regular) or (own or 0) > cap):
        return False
    of_pod = (own if own is not None else requests, cap if cap is not None else limit_sum)
    total = (None if of_pod[0] is None and not extra else (of_pod[0] or 0) + extra, of_pod[1])
    if total[1] is not None:
        total = (total[0], total[1] + extra)
    for item in limits.items:
        scopes = [(r, li) for _, r, li in everybody] if item.type is CONTAINER else [total]
        if not all(is_within(request, limit, item) for request, limit in scopes):
            return False
    return True


def is_within(request: int | None, limit: int | None, item: LimitRangeItem) -> bool:
    """Say whether amounts are within one item."""
    least, most, ratio = milli(item.minimum), milli(item.maximum), milli(item.ratio)
    if least is not None and (request is None or request < least or (limit is not None and limit < least)):
        return False
    if most is not None and (limit is None or limit > most or (request or 0) > most):
        return False
    return ratio is None or (bool(request) and bool(limit) and (limit or 0) / (request or 1) <= ratio / 1000)


def peak(amounts_of: list[tuple[Container, int | None]]) -> int | None:
    """Return the most that a pod comes to at any time of its life."""
    if all(amount is None for _, amount in amounts_of):
        return None
    running, most = 0, 0
    inits = [(c.init_position, c, amount or 0) for c, amount in amounts_of if c.init_position is not None]
    for _, each, amount in sorted(inits, key=lambda entry: entry[0]):
        most = max(most, running + amount)
        running += amount if each.is_sidecar else 0
    return max(most, running + sum(amount or 0 for c, amount in amounts_of if c.init_position is None))


def milli(amounts_of: Mapping[str, Quantity] | None) -> int | None:
    found = (amounts_of or {}).get("cpu")
    return None if found is None else found.milli_value()


@given(situations())
def test_what_is_taken_without_us_is_taken_with_us(drawn: tuple[Pod, Targets, NamespaceLimits]) -> None:
    """Spec: beyond:B-17."""
    subject, targets, limits = drawn
    held = acceptable_targets(subject, targets, limits)
    assert is_taken(given_to(subject, held), limits), said(held)
    for each, target in zip(targets, held, strict=True):
        assert bool(target.held_back) is (each != target)
        assert set(target.requests) <= set(each.requests)
        assert set(target.limits) <= set(each.limits)


@given(situations())
def test_what_would_be_taken_is_not_touched(drawn: tuple[Pod, Targets, NamespaceLimits]) -> None:
    """Spec: beyond:B-12: nothing is further from the recommendation than needed."""
    subject, targets, limits = drawn
    zeros = any(milli(each.resources.limits) == 0 for each in subject.containers)
    if not zeros and is_taken(given_to(subject, targets), limits):
        assert acceptable_targets(subject, targets, limits) == targets


@given(situations())
def test_held_again_nothing_changes(drawn: tuple[Pod, Targets, NamespaceLimits]) -> None:
    """Spec: case:46."""
    subject, targets, limits = drawn
    made = given_to(subject, acceptable_targets(subject, targets, limits))
    assert given_to(made, acceptable_targets(made, targets, limits)).containers == made.containers

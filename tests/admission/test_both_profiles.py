"""What new pods get in both profiles, where upstream is known to do badly (limits section 8, admission section 13)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest

from admission.boosting import BoostRules
from admission.review import ReviewRequest, ReviewRules, SubmittedPod, review
from admission.verdict import Outcome
from admission.vpa_matching import ClusterView
from admission.vpa_validation import Gates
from autoscaling.behaviour import Behaviour, Profile
from autoscaling.limitrange import LimitRange, LimitRangeItem, LimitType, merge
from autoscaling.matching import of_labels
from autoscaling.placement import Placement
from autoscaling.pod import Owner, Pod
from autoscaling.quantity import Quantity
from autoscaling.targets import KnownControllers
from autoscaling.vpa import BoostType, ContainerPolicy, ControlledValues, CpuBoost, ScalingMode, StartupBoost, Vpa
from autoscaling.workload import Workload
from tests.builders import amounts, container, limit_range, pod, recommended, sidecar, vpa, with_init_containers

CONTAINER, POD = LimitType.CONTAINER, LimitType.POD
ONLY_REQUESTS = ContainerPolicy("*", controlled_values=ControlledValues.REQUESTS_ONLY)
UNCHANGED = "unchanged"
"""Written instead of amounts where the pod comes in without a patch."""


def view(the_vpa: Vpa, items: tuple[LimitRangeItem, ...]) -> ClusterView:
    deployment = Owner("apps/v1", "Deployment", "d", controller=True)
    workloads = (
        Workload("ReplicaSet", "default", "rs", of_labels({"app": "a"}), owners=(deployment,)),
        Workload("Deployment", "default", "d", of_labels({"app": "a"})),
    )
    limits = {"default": merge([LimitRange("default", "l", items)])}
    return ClusterView(True, {"default": {("Deployment", "d"): (the_vpa,)}}, KnownControllers.of(workloads, {}), limits)


def asked_for(subject: Pod) -> ReviewRequest:
    presence = ((True,) * len(subject.containers), (True,) * len(subject.init_containers))
    return ReviewRequest("", "v1", "pods", "Pod", "default", subject.name, SubmittedPod(subject, *presence))


@dataclass(frozen=True)
class Case:
    """A pod, and what its containers are set to: ``requests limits`` of each, a dash for what is left as it is."""

    pod: Pod
    vpa: Vpa
    upstream: str
    evenkeel: str
    items: tuple[LimitRangeItem, ...] = ()
    boost: StartupBoost | None = None
    cap: Quantity | None = None


def set_by(case: Case, profile: Profile) -> str:
    """Return what a review sets, in the notation of the table."""
    boosts = None if case.boost is None else BoostRules(case.cap)
    rules = ReviewRules("autoscaling.k8s.io", Gates(), Behaviour.of(profile), boosts)
    verdict = review(asked_for(case.pod), view(replace(case.vpa, startup_boost=case.boost), case.items), rules)
    assert verdict.is_allowed
    if verdict.outcome is Outcome.SKIPPED:
        return UNCHANGED
    values = {operation.path: operation.value for operation in verdict.patch}
    inits = [f"initContainers/{index}" for index in range(len(case.pod.init_containers))]
    places = [f"containers/{index}" for index in range(len(case.pod.containers))]
    places += [place for place in inits if any(place in path for path in values)]
    return "; ".join(_of_one(values, place) for place in places)


def _of_one(values: Mapping[str, object], place: str) -> str:
    """Write down what one container is set to."""
    pairs = []
    for kind in ("requests", "limits"):
        found = [values.get(f"/spec/{place}/resources/{kind}/{name}", "-") for name in ("cpu", "memory")]
        pairs.append("-" if found == ["-", "-"] else "/".join(map(str, found)))
    return " ".join(pairs)


def with_policy(policy: ContainerPolicy, *wanted: str) -> Vpa:
    entries = (recommended(f"c{index}", target) for index, target in enumerate(wanted) if target != "none")
    return vpa(*entries, policies=[policy])


def wanting(*wanted: str) -> Vpa:
    return with_policy(ContainerPolicy("*"), *wanted)


def one(requests: str = "-", limits: str = "-") -> Pod:
    return pod(container("c0", requests, limits))


def two(first: tuple[str, str], second: tuple[str, str]) -> Pod:
    return pod(container("c0", *first), container("c1", *second))


def factor(number: int) -> StartupBoost:
    return StartupBoost(CpuBoost(BoostType.FACTOR, factor=number))


ONE_AND_ONE = ("1/1Gi", "1/1Gi")
HALF_ON = ("1/1Gi", "2/2Gi")
OFF_FOR_C1 = [ContainerPolicy("c1", mode=ScalingMode.OFF)]
SIDECARS = with_init_containers(pod(container("c0", "1/1Gi")), container("c1", "1/1Gi"), sidecar("c2", "1/1Gi"))
SHARED = Placement(has_pod_resources=True, requests=amounts("2/2Gi"), limits=amounts("3/3Gi"))
NEGATIVE = StartupBoost(CpuBoost(BoostType.QUANTITY, quantity=Quantity.parse("-3")))


def most(kind: LimitType, text: str) -> LimitRangeItem:
    return limit_range(kind, maximum=text)


def least(kind: LimitType, text: str) -> LimitRangeItem:
    return limit_range(kind, minimum=text)


TABLE: list[tuple[str, Case]] = [
    ("limits:S8.1 requests without a recommendation", Case(
        two(ONE_AND_ONE, ("-/512Mi", "500m/512Mi")), wanting("4/4Gi", "none"), UNCHANGED,
        "1500m/1536Mi 1500m/1536Mi; - -", (most(POD, "2/2Gi"),))),
    ("limits:S8.1 neither", Case(
        two(ONE_AND_ONE, ("-", "-")), wanting("4/4Gi", "none"), UNCHANGED, "2/2Gi 2/2Gi; - -", (most(POD, "2/2Gi"),))),
    ("limits:S8.1 one resource below the minimum", Case(
        two(HALF_ON, HALF_ON), wanting("1/-", "1/1Gi"), "1/0 2/-; 1/4Gi 2/8Gi", "1/- 2/-; 1/3Gi 2/6Gi",
        (least(POD, "1/4Gi"),))),
    ("limits:S8.1 one resource above the maximum", Case(
        two(("1/512Mi", "1/1Gi"), ONE_AND_ONE), wanting("1/-", "1/4Gi"), "1/-1 1/-2; 1/3Gi 1/3Gi",
        "1/- 1/-; 1/2Gi 1/2Gi", (most(POD, "8/3Gi"),))),
    ("limits:S8.2", Case(
        two(ONE_AND_ONE, ONE_AND_ONE), vpa(recommended("c0", "1500m/1536Mi"), policies=OFF_FOR_C1),
        "1200m/1288490188 1200m/1288490188; 800m/858993459 800m/858993459", "- -; - -", (most(POD, "2/2Gi"),))),
    ("limits:S8.4 beyond the maximum of pods", Case(
        one("1/1Gi", "8/8Gi"), wanting("100m/100Mi"), "500m/500Mi 4/4000Mi", "- -",
        (limit_range(POD, minimum="500m/500Mi", maximum="2/2Gi"),))),
    ("limits:S8.4 beyond the maximum of containers", Case(
        one(*HALF_ON), with_policy(ContainerPolicy("*", min_allowed=amounts("3/3Gi")), "3/4Gi"), "3/3Gi 6/6Gi",
        "3/2Gi 4/2Gi", (most(CONTAINER, "4/2Gi"),))),
    ("limits:S8.4 below the minimum of containers", Case(
        one(*HALF_ON), with_policy(ContainerPolicy("*", max_allowed=amounts("200m/200Mi")), "100m/100Mi"),
        "200m/200Mi 400m/400Mi", "500m/512Mi 500m/512Mi", (least(CONTAINER, "500m/512Mi"),))),
    ("limits:S8.5", Case(
        pod(*(container(f"c{index}", *HALF_ON) for index in range(3))), wanting(*("100m/100",) * 3),
        "; ".join(("334m/333 668m/666",) * 3), "332m/332 665m/665; 334m/334 667m/667; 334m/334 667m/667",
        (least(POD, "1/1000"),))),
    ("limits:S8.6 of containers", Case(
        one("100m/100Mi"), wanting("8/8Gi"), "8/8Gi -", "- -", (most(CONTAINER, "2/1Gi"),))),
    ("limits:S8.6 of pods", Case(one("1/1Gi"), wanting("8/8Gi"), "8/8Gi -", "- -", (most(POD, "4/4Gi"),))),
    ("limits:S8.7 of containers", Case(
        one("1/1Gi", "4/4Gi"), with_policy(ONLY_REQUESTS, "3/3Gi"), "1/1Gi -", "3/3Gi -",
        (most(CONTAINER, "4/4Gi"),))),
    ("limits:S8.7 below the minimum", Case(
        one("1/1Gi", "4/4Gi"), with_policy(ONLY_REQUESTS, "100m/100Mi"), "500m/512Mi -", "500m/512Mi -",
        (least(CONTAINER, "500m/512Mi"),))),
    ("limits:S8.7 limits that follow", Case(
        one("1/1Gi", "4/4Gi"), wanting("3/3Gi"), "1/1Gi 4/4Gi", "1/1Gi 4/4Gi", (most(CONTAINER, "4/4Gi"),))),
    ("limits:S8.7 of pods", Case(
        two(("1/1Gi", "4/4Gi"), ("1/1Gi", "4/4Gi")), with_policy(ONLY_REQUESTS, "2/2Gi", "2/2Gi"),
        "1/1Gi -; 1/1Gi -", "2/2Gi -; 2/2Gi -", (most(POD, "8/8Gi"),))),
    ("limits:S8.8", Case(
        two(("1/1Gi", "-"), HALF_ON), wanting("3/3Gi", "2/2Gi"), "1500m/1536Mi -; 1/1Gi 2/2Gi", "- -; - -",
        (most(POD, "2/2Gi"),))),
    ("limits:S8.9 limits follow", Case(one("100m/100Mi", "0/0"), wanting("300m/300Mi"), "300m/300Mi -", "- -")),
    ("limits:S8.9 RequestsOnly", Case(
        one("100m/100Mi", "0/0"), with_policy(ONLY_REQUESTS, "300m/300Mi"), "0/0 -", "- -")),
    ("limits:S8.10, case:5", Case(
        one("-/1Gi", "-/2Gi"), with_policy(ONLY_REQUESTS, "-/300Mi"), "-/300Mi -", "-/1Gi -",
        (LimitRangeItem(CONTAINER, ratio=amounts("-/2")),))),
    ("limits:S8.11", Case(
        one("100m/64Mi", "1/1Gi"), with_policy(ContainerPolicy("*", max_allowed=amounts("1/1Gi")), "25m/262144k"),
        "25m/262144k 250m/4000Mi", "25m/262144k 250m/4000Mi")),
    ("limits:S8.12", Case(
        one("100m/100Mi", "200m/200Mi"), wanting("150m"), "150m/- 300m/-", "150m/- 300m/-")),
    ("limits:S8.16, admission:13.11", Case(
        replace(one(*HALF_ON), placement=SHARED), wanting("2500m/1Gi"), "2500m/1Gi 5/2Gi", "2/1Gi 2666m/2Gi")),
    ("beyond:B-16, admission:7.1.6, admission:13.11", Case(
        SIDECARS, wanting(*("2/2Gi",) * 3), "2/2Gi -", "2/2Gi -; 2/2Gi -")),
    ("case:1 the limit by ratio passes maxAllowed", Case(
        one("-/1024M", "-/8Gi"), with_policy(ContainerPolicy("*", max_allowed=amounts("-/8Gi")), "-/1Gi"),
        "-/1Gi -/9007199254", "-/1Gi -/9007199254")),
    ("case:1 a ratio of 20", Case(one("1m/10Mi", "20m/50Mi"), wanting("25m"), "25m/- 500m/-", "25m/- 500m/-")),
    ("case:6", Case(one("10", "10"), with_policy(ONLY_REQUESTS, "10350m"), "10/- -", "10/- -")),
    ("admission:13.12 LimitRange", Case(
        one("1", "2"), wanting("1"), "4/- 8/-", "3/- 3/-", (most(CONTAINER, "3"),), factor(4))),
    ("admission:13.12 a cap below the recommendation", Case(
        one("1", "2"), wanting("2"), "1/- 2/-", "1/- 2/-", (), factor(2), Quantity.parse("1"))),
    ("admission:13.12 negative", Case(one("1"), wanting("2"), "-1/- -", "- -", (), NEGATIVE)),
    ("admission:13.12 mode Off", Case(
        one("1"), with_policy(ContainerPolicy("*", mode=ScalingMode.OFF), "2"), "- -", "- -", (), factor(2))),
    ("admission:13.22", Case(
        one("1", "2"), with_policy(ONLY_REQUESTS, "2"), "1999m/- -", "1999m/- -", (), factor(2))),
    ("admission:8.5 maxAllowed does not bound a boost", Case(
        one("1", "2"), with_policy(ContainerPolicy("*", max_allowed=amounts("1500m")), "2"), "3/- 6/-", "3/- 6/-", (),
        factor(2))),
    ("api:7.4 a bound below zero", Case(
        one("1"), with_policy(ContainerPolicy("*", max_allowed=amounts("-1")), "2"), "-1/- -", "- -")),
    ("admission:8.3 a factor below one leaves the pod alone", Case(
        one("1", "2"), wanting("2"), UNCHANGED, UNCHANGED, (), factor(0))),
    ("admission:8.3 a factor of one", Case(one("1", "2"), wanting("2"), "2/- 4/-", "2/- 4/-", (), factor(1))),
    ("admission:8.10, admission:13.2", Case(one("1", "2"), wanting("2"), UNCHANGED, UNCHANGED, (), StartupBoost())),
]  # fmt: skip


@pytest.mark.parametrize(("row", "case"), TABLE, ids=[row for row, _ in TABLE])
def test_what_a_new_pod_is_set_to(row: str, case: Case) -> None:
    found = {profile: set_by(case, profile) for profile in (Profile.UPSTREAM, Profile.EVENKEEL)}
    assert found == {Profile.UPSTREAM: case.upstream, Profile.EVENKEEL: case.evenkeel}, row

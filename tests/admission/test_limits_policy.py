"""Ways in which a container's limits follow its new requests, in both profiles (spec: beyond:B-13, B-16 and B-17).

The ways ``ratio`` and ``none`` are ``controlledValues`` of a container's policy: RequestsAndLimits, which also counts
where nothing is said, and RequestsOnly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from admission.odd_limits import LIMITS_ANNOTATION
from admission.review import ReviewRequest, ReviewRules, SubmittedPod, review
from admission.verdict import Outcome, Reason
from admission.vpa_matching import ClusterView
from admission.vpa_validation import Gates
from autoscaling.asked_resources import ASKED_ANNOTATION
from autoscaling.behaviour import Behaviour, Profile
from autoscaling.limitrange import LimitRange, LimitRangeItem, LimitType, merge
from autoscaling.matching import of_labels
from autoscaling.placement import Placement
from autoscaling.pod import Owner, Pod
from autoscaling.targets import KnownControllers
from autoscaling.vpa import ContainerPolicy, ControlledValues, Vpa
from autoscaling.workload import Workload
from tests.builders import amounts, container, limit_range, pod, recommended, sidecar, vpa, with_init_containers

RATIO, NONE = ControlledValues.REQUESTS_AND_LIMITS, ControlledValues.REQUESTS_ONLY
BOTH = (Profile.EVENKEEL, Profile.UPSTREAM)
UPDATES = "/metadata/annotations/vpaUpdates"


def reviewed(subject: Pod, given: Vpa, profile: Profile, *items: LimitRangeItem) -> tuple[Reason, Mapping[str, str]]:
    """Return the reason of the verdict on a pod, and what is set, by path."""
    deployment = Owner("apps/v1", "Deployment", "d", controller=True)
    workloads = (
        Workload("ReplicaSet", "default", "rs", of_labels({"app": "a"}), owners=(deployment,)),
        Workload("Deployment", "default", "d", of_labels({"app": "a"})),
    )
    vpas, limits = {"default": {("Deployment", "d"): (given,)}}, {"default": merge([LimitRange("default", "l", items)])}
    view = ClusterView(True, vpas, KnownControllers.of(workloads, {}), limits)
    presence = ((True,) * len(subject.containers), (True,) * len(subject.init_containers))
    request = ReviewRequest("", "v1", "pods", "Pod", "default", subject.name, SubmittedPod(subject, *presence))
    verdict = review(request, view, ReviewRules("autoscaling.k8s.io", Gates(), Behaviour.of(profile)))
    assert verdict.outcome is Outcome.APPLIED
    return verdict.reason, {operation.path: str(operation.value) for operation in verdict.patch}


def amounts_at(values: Mapping[str, str], place: str) -> str:
    """Return requests and limits that are set at a place, as ``cpu/memory cpu/memory``."""
    named = [
        "/".join(values.get(f"/spec/{place}/resources/{kind}/{name}", "-") for name in ("cpu", "memory"))
        for kind in ("requests", "limits")
    ]
    return " ".join(named)


def entitled(way: ControlledValues | None, *, most: str = "-", named: str = "c") -> ContainerPolicy:
    return ContainerPolicy(named, controlled_values=way, max_allowed=amounts(most) if most != "-" else {})


WAYS: list[tuple[str, tuple[ContainerPolicy, ...] | None, Pod, str]] = [
    ("beyond:B-13 ratio by default", None, pod(container("c", "50m/32Mi", "500m/64Mi")), "400m/100Mi 4/200Mi"),
    ("beyond:B-13 ratio not named", (entitled(None),), pod(container("c", "50m/32Mi", "500m/64Mi")),
     "400m/100Mi 4/200Mi"),
    ("beyond:B-13 ratio", (entitled(RATIO),), pod(container("c", "50m/32Mi", "500m/64Mi")), "400m/100Mi 4/200Mi"),
    ("beyond:B-13 none", (entitled(NONE),), pod(container("c", "50m/32Mi", "500m/640Mi")), "400m/100Mi -/-"),
    ("beyond:B-13 none, by the policy of all others", (entitled(NONE, named="*"),),
     pod(container("c", "50m/32Mi", "500m/640Mi")), "400m/100Mi -/-"),
    ("beyond:B-13 ratio, by a policy of its own", (entitled(NONE, named="*"), entitled(RATIO)),
     pod(container("c", "50m/32Mi", "500m/64Mi")), "400m/100Mi 4/200Mi"),
    ("beyond:B-13 ratio without limits", (entitled(RATIO),), pod(container("c", "50m/32Mi")), "400m/100Mi -/-"),
    ("beyond:B-13 ratio, limits alone", (entitled(RATIO),), pod(container("c", "-", "100m/50Mi")),
     "400m/100Mi 400m/100Mi"),
    ("beyond:B-13 none without limits", (entitled(NONE),), pod(container("c", "50m/32Mi")), "400m/100Mi -/-"),
    ("beyond:B-13, case:6 none below the recommendation", (entitled(NONE),),
     pod(container("c", "50m/32Mi", "300m/64Mi")), "300m/64Mi -/-"),
    ("beyond:B-13, case:1 ratio beyond maxAllowed", (entitled(RATIO, most="400m/100Mi"),),
     pod(container("c", "50m/32Mi", "500m/64Mi")), "400m/100Mi 4/200Mi"),
    ("beyond:B-13 none and maxAllowed", (entitled(NONE, most="300m/64Mi"),),
     pod(container("c", "50m/32Mi", "500m/640Mi")), "300m/64Mi -/-"),
]  # fmt: skip


@pytest.mark.parametrize("profile", BOTH, ids=lambda profile: profile.value)
@pytest.mark.parametrize(("row", "policies", "subject", "wanted"), WAYS, ids=[row for row, *_ in WAYS])
def test_limits_follow_or_stay(
    profile: Profile, row: str, policies: tuple[ContainerPolicy, ...] | None, subject: Pod, wanted: str
) -> None:
    given = vpa(recommended("c", "400m/100Mi"), policies=None if policies is None else list(policies))
    assert amounts_at(reviewed(subject, given, profile)[1], "containers/0") == wanted, row


NOTES: list[tuple[str, ContainerPolicy, Pod, str]] = [
    ("beyond:B-13 ratio", entitled(RATIO), pod(container("c", "50m/32Mi", "500m/64Mi")),
     "cpu request, memory request, cpu limit, memory limit"),
    ("beyond:B-13 none", entitled(NONE), pod(container("c", "50m/32Mi", "500m/640Mi")), "cpu request, memory request"),
    ("beyond:B-13, case:1 no limit to scale", entitled(RATIO), pod(container("c", "50m/32Mi", "-/64Mi")),
     "cpu: limit NOT set since originalLimit is nil or 0, cpu request, memory request, memory limit"),
    ("beyond:B-13, case:6 capped to what stays", entitled(NONE), pod(container("c", "50m/32Mi", "300m/640Mi")),
     "cpu capped to container limit, cpu request, memory request"),
    ("beyond:B-13, case:1 capped to maxAllowed", entitled(RATIO, most="200m/-"),
     pod(container("c", "50m/32Mi", "500m/64Mi")),
     "cpu capped to maxAllowed, cpu request, memory request, cpu limit, memory limit"),
]  # fmt: skip


@pytest.mark.parametrize("profile", BOTH, ids=lambda profile: profile.value)
@pytest.mark.parametrize(("row", "policy", "subject", "notes"), NOTES, ids=[row for row, *_ in NOTES])
def test_the_annotation_explains_what_is_odd(
    profile: Profile, row: str, policy: ContainerPolicy, subject: Pod, notes: str
) -> None:
    values = reviewed(subject, vpa(recommended("c", "400m/100Mi"), policies=[policy]), profile)[1]
    assert values[UPDATES] == f"Pod resources updated by v: container 0: {notes}", row


def odd(what: str, times: str, most: str) -> str:
    return f"c: {what} has the ratio {times} to its request and passes maxAllowed {most}, which bounds requests only"


ODD: list[tuple[str, Pod, str, ContainerPolicy | None, str]] = [
    ("case:1", pod(container("c", "-/1024M", "-/8Gi")), "-/1Gi", entitled(RATIO, most="-/8Gi"),
     odd("memory limit 9007199254", "8.388608", "8Gi")),
    ("beyond:B-13 both", pod(container("c", "50m/32Mi", "500m/64Mi")), "1/1Gi", entitled(None, most="400m/100Mi"),
     f"{odd('cpu limit 4', '10', '400m')}; {odd('memory limit 200Mi', '2', '100Mi')}"),
    ("beyond:B-13 just so much", pod(container("c", "50m", "100m")), "200m", entitled(None, most="400m/-"), ""),
    ("beyond:B-13 a little more", pod(container("c", "50m", "101m")), "200m", entitled(None, most="400m/-"),
     odd("cpu limit 404m", "2.02", "400m")),
    ("beyond:B-13 a third", pod(container("c", "3m", "10m")), "300m", entitled(None, most="300m/-"),
     odd("cpu limit 1", "3.333333", "300m")),
    ("beyond:B-13 no policy", pod(container("c", "50m", "500m")), "1", None, ""),
    ("beyond:B-13 no bound", pod(container("c", "50m", "500m")), "1", entitled(RATIO, most="0/0"), ""),
    ("beyond:B-13 none", pod(container("c", "50m", "5")), "1", entitled(NONE, most="1/-"), ""),
    ("beyond:B-13 no limits", pod(container("c", "50m")), "1", entitled(RATIO, most="1/-"), ""),
]  # fmt: skip


@pytest.mark.parametrize(("row", "subject", "target", "policy", "reason"), ODD, ids=[row for row, *_ in ODD])
def test_a_limit_above_max_allowed_is_explained(
    row: str, subject: Pod, target: str, policy: ContainerPolicy | None, reason: str
) -> None:
    given = vpa(recommended("c", target), policies=None if policy is None else [policy])
    explained, plain = (reviewed(subject, given, profile)[1] for profile in BOTH)
    annotation = f"/metadata/annotations/{LIMITS_ANNOTATION.replace('/', '~1')}"
    assert explained.get(annotation, "") == reason, row
    assert plain == {path: value for path, value in explained.items() if path != annotation}, row


ASKING: list[tuple[str, Pod, tuple[LimitRangeItem, ...], str]] = [
    ("case:46 within", pod(container("c", "2", "2")), (limit_range(LimitType.CONTAINER, maximum="2/-"),), ""),
    ("case:46 beyond", pod(container("c", "2", "2")), (limit_range(LimitType.CONTAINER, maximum="1/-"),),
     '{"c":{"requests":{"cpu":"2"},"limits":{"cpu":"2"}}}'),
]  # fmt: skip


@pytest.mark.parametrize(("row", "subject", "items", "noted"), ASKING, ids=[row for row, *_ in ASKING])
def test_what_a_pod_beyond_its_limit_ranges_asked_for_is_noted(
    row: str, subject: Pod, items: tuple[LimitRangeItem, ...], noted: str
) -> None:
    given, path = vpa(recommended("c", "500m")), f"/metadata/annotations/{ASKED_ANNOTATION.replace('/', '~1')}"
    found, plain = (reviewed(subject, given, profile, *items)[1] for profile in BOTH)
    assert found.get(path, "") == noted, row
    assert path not in plain, row


SIDECAR = with_init_containers(
    pod(container("c", "1/1Gi", "2/2Gi")), container("setup", "1/1Gi", "2/2Gi"), sidecar("s", "100m/100Mi", "200m/1Gi")
)
SIDECAR_ROWS: list[tuple[str, Profile, ControlledValues, str]] = [
    ("beyond:B-16 ratio", Profile.EVENKEEL, RATIO, "150m/400Mi 300m/4Gi"),
    ("beyond:B-16 none", Profile.EVENKEEL, NONE, "150m/400Mi -/-"),
    ("case:26 ratio", Profile.UPSTREAM, RATIO, "-/- -/-"),
    ("case:26 none", Profile.UPSTREAM, NONE, "-/- -/-"),
]


@pytest.mark.parametrize(("row", "profile", "way", "wanted"), SIDECAR_ROWS)
def test_limits_of_sidecars(row: str, profile: Profile, way: ControlledValues, wanted: str) -> None:
    given = vpa(*(recommended(name, "150m/400Mi") for name in ("c", "setup", "s")), policies=[entitled(way, named="*")])
    values = reviewed(SIDECAR, given, profile)[1]
    assert amounts_at(values, "initContainers/1") == wanted, row
    assert amounts_at(values, "initContainers/0") == "-/- -/-", row
    assert amounts_at(values, "containers/0").startswith("150m/400Mi"), row


def with_room(requests: str, limits: str, *parts: tuple[str, str]) -> Pod:
    subject = pod(*(container(f"c{index}", *part) for index, part in enumerate(parts)))
    own = Placement(has_pod_resources=True, requests=amounts(requests), limits=amounts(limits))
    return replace(subject, placement=own)


POD_LEVEL: list[tuple[str, ControlledValues, Pod, str, str, Reason]] = [
    ("beyond:B-17 fits", RATIO, with_room("2/2Gi", "4/4Gi", ("100m/100Mi", "200m/200Mi")), "1/1Gi",
     "1/1Gi 2/2Gi", Reason.PATCHED),
    ("beyond:B-17 just fits", RATIO, with_room("1/1Gi", "2/2Gi", ("100m/100Mi", "200m/200Mi")), "1/1Gi",
     "1/1Gi 2/2Gi", Reason.PATCHED),
    ("beyond:B-17 requests beyond the pod's", NONE, with_room("600m/2Gi", "4/4Gi", ("100m/100Mi", "2/2Gi")), "1/1Gi",
     "600m/1Gi -/-", Reason.HELD_BACK),
    ("beyond:B-17 limits beyond the pod's", RATIO, with_room("2/2Gi", "2/3Gi", ("100m/100Mi", "400m/200Mi")), "1/1Gi",
     "1/1Gi 2/2Gi", Reason.HELD_BACK),
]  # fmt: skip


@pytest.mark.parametrize(("row", "way", "subject", "target", "wanted", "reason"), POD_LEVEL)
def test_no_more_than_a_pod_has_as_a_whole(
    row: str, way: ControlledValues, subject: Pod, target: str, wanted: str, reason: Reason
) -> None:
    given = vpa(recommended("c0", target), policies=[entitled(way, named="*")])
    found, values = reviewed(subject, given, Profile.EVENKEEL)
    assert (found, amounts_at(values, "containers/0")) == (reason, wanted), row
    found, values = reviewed(subject, given, Profile.UPSTREAM)
    assert found is Reason.PATCHED, row
    assert amounts_at(values, "containers/0").startswith(target), "upstream knows nothing of it"

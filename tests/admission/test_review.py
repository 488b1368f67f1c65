"""Verdicts on requests: what is let in, changed or refused, and why (spec: admission:4, admission:12)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admission.field_errors import Fault
from admission.pod_patch import LARGEST_ANNOTATIONS
from admission.review import (
    PatchMemory,
    ReviewRequest,
    ReviewRules,
    SubmittedPod,
    Unreadable,
    VpaChange,
    review,
)
from admission.submitted_vpa import SubmittedVpa, submitted_vpa
from admission.verdict import Outcome, Reason, Subject
from admission.vpa_matching import ClusterView
from admission.vpa_validation import Gates
from autoscaling.behaviour import Behaviour, Profile
from autoscaling.limitrange import LimitRange, LimitType, NamespaceLimits, merge
from autoscaling.matching import of_labels
from autoscaling.placement import Placement
from autoscaling.pod import ContainerStatus, Owner, Pod
from autoscaling.resources import ContainerResources
from autoscaling.targets import KnownControllers
from autoscaling.vpa import Vpa
from autoscaling.workload import Workload
from tests.builders import (
    amounts,
    container,
    limit_range,
    pod,
    recommended,
    sidecar,
    vpa,
    with_init_containers,
)

GROUP = "autoscaling.evenkeel.dev"
RULES = ReviewRules(GROUP, Gates(), Behaviour())
UPSTREAM_RULES = ReviewRules("autoscaling.k8s.io", Gates(), Behaviour.of(Profile.UPSTREAM))
POD = pod(container("c", "50m/32Mi", "500m/64Mi"))


def view(given_vpa: Vpa | None = None, *, limits: NamespaceLimits | None = None, complete: bool = True) -> ClusterView:
    one = given_vpa or vpa(recommended("c", "400m/100Mi"))
    deployment = Owner("apps/v1", "Deployment", "d", controller=True)
    selector = of_labels({"app": "a"})
    workloads = (
        Workload("ReplicaSet", "default", "rs", selector, owners=(deployment,)),
        Workload("Deployment", "default", "d", selector),
    )
    return ClusterView(
        complete,
        {"default": {("Deployment", "d"): (one,)}},
        KnownControllers.of(workloads, {}),
        {} if limits is None else {"default": limits},
    )


def pod_request(given_pod: Pod = POD, *, version: str = "v1", present: bool = True) -> ReviewRequest:
    presence = (tuple(present for _ in each) for each in (given_pod.containers, given_pod.init_containers))
    submitted = SubmittedPod(given_pod, *presence)
    return ReviewRequest("", version, "pods", "Pod", "default", given_pod.name, submitted)


def vpa_request(new: dict[str, object], old: dict[str, object] | None = None, *, group: str = GROUP) -> ReviewRequest:
    before = submitted_vpa({"spec": old}) if old is not None else SubmittedVpa()
    change = VpaChange(submitted_vpa({"spec": new}), before)
    return ReviewRequest(group, "v1", "verticalpodautoscalers", "VerticalPodAutoscaler", "default", "v", change)


def test_a_matched_pod_is_patched() -> None:
    verdict = review(pod_request(), view(), RULES)
    assert (verdict.subject, verdict.outcome, verdict.reason) == (Subject.POD, Outcome.APPLIED, Reason.PATCHED)
    assert verdict.is_allowed
    assert verdict.vpa == "v"
    assert str(verdict.object) == "Pod default/p"
    assert "/spec/containers/0/resources/requests/cpu" in [operation.path for operation in verdict.patch]


def test_a_matched_pod_without_any_change_counts_as_applied() -> None:
    """Spec: admission:7.2.4."""
    verdict = review(pod_request(), view(vpa(recommended("other", "1/1Gi"))), RULES)
    assert (verdict.outcome, verdict.reason) == (Outcome.APPLIED, Reason.PATCHED)


def test_pods_of_one_template_share_their_patch() -> None:
    """Spec: performance A-2; the verdict is the pod's own all the same."""
    memory, given_view = PatchMemory(4), view()
    first = review(pod_request(), given_view, RULES, memory)
    second = review(pod_request(replace(POD, name="q", uid="u", annotations={"a": "b"})), given_view, RULES, memory)
    third = review(pod_request(replace(POD, name="r", uid="v", annotations={"c": "d"})), given_view, RULES, memory)
    assert first == review(pod_request(), given_view, RULES)
    assert second.patch is third.patch
    assert first.patch != second.patch
    assert (str(second.object), str(third.object)) == ("Pod default/q", "Pod default/r")


ONE_VIEW = view(limits=NamespaceLimits(container=limit_range(LimitType.CONTAINER, maximum="1/1Gi")))
BARE = pod(container("c"))
OWN_REQUESTS = Placement(has_pod_resources=True, requests=amounts("100m/-"))
OTHER_TEMPLATES: list[tuple[str, ReviewRequest, ClusterView, ReviewRules]] = [
    ("other containers", pod_request(replace(POD, containers=(container("c", "60m/32Mi"),))), view(), RULES),
    ("another VPA", pod_request(), view(vpa(recommended("c", "300m/100Mi"))), RULES),
    ("other limits", pod_request(), ONE_VIEW, RULES),
    ("an init container", pod_request(with_init_containers(POD, sidecar("s", "1/1Gi"))), view(), RULES),
    ("a status", pod_request(replace(POD, statuses=(ContainerStatus("c", ContainerResources()),))), view(), RULES),
    ("a status that counts",
     pod_request(replace(POD, statuses=(ContainerStatus("c", ContainerResources()),))), view(), UPSTREAM_RULES),
    ("requests of the pod", pod_request(replace(POD, placement=OWN_REQUESTS)), view(), RULES),
    ("no resources object", pod_request(BARE, present=False), view(), RULES),
    ("an empty resources object", pod_request(BARE), view(), RULES),
]  # fmt: skip


@pytest.mark.parametrize(("what", "request_", "given_view", "rules"), OTHER_TEMPLATES)
def test_what_is_remembered_changes_no_verdict(
    what: str, request_: ReviewRequest, given_view: ClusterView, rules: ReviewRules
) -> None:
    """Spec: performance A-2; also where nearly everything is as in an earlier review."""
    memory, base = PatchMemory(16), view()
    for earlier in (pod_request(), pod_request(BARE), pod_request(BARE, present=False)):
        review(earlier, base, rules, memory)
        review(earlier, given_view, rules, memory)
    for _ in range(2):
        assert review(request_, given_view, rules, memory) == review(request_, given_view, rules), what


_STATUS = (ContainerStatus("c", container("c", "70m/70Mi").resources),)
PODS = st.builds(
    replace,
    st.sampled_from([POD, BARE, with_init_containers(POD, sidecar("s", "1/1Gi")), pod(container("c"), container("d"))]),
    name=st.sampled_from(["p", "q", ""]),
    annotations=st.sampled_from([None, {}, {"a": "b"}]),
    statuses=st.sampled_from([(), (), _STATUS]),
)
VPAS = [
    vpa(recommended("c", "400m/100Mi")),
    vpa(recommended("c", "300m/100Mi"), recommended("s", "2/2Gi")),
    vpa(recommended("other", "1/1Gi")),
]
LIMITS = [
    None,
    NamespaceLimits(container=limit_range(LimitType.CONTAINER, maximum="1/1Gi")),
    NamespaceLimits(pod=limit_range(LimitType.POD, maximum="2/2Gi")),
]
VIEWS = [view(each, limits=limits) for each in VPAS for limits in LIMITS]
REVIEWS = st.tuples(PODS, st.booleans(), st.sampled_from(VIEWS))


@pytest.mark.parametrize("rules", [RULES, UPSTREAM_RULES], ids=["evenkeel", "upstream"])
@given(reviews=st.lists(REVIEWS, max_size=20))
def test_a_small_memory_never_changes_a_verdict(
    rules: ReviewRules, reviews: list[tuple[Pod, bool, ClusterView]]
) -> None:
    """Spec: performance A-2."""
    memory = PatchMemory(2)
    for given_pod, present, given_view in reviews:
        request = pod_request(given_pod, present=present)
        assert review(request, given_view, rules, memory) == review(request, given_view, rules)


UPDATES = "/metadata/annotations/vpaUpdates"


def test_what_is_held_back_is_told() -> None:
    """Spec: beyond:B-17, admission:7.3.1: in the reason, for log and metric, and in the annotation."""
    full = replace(pod(container("c", "100m/100Mi")), placement=OWN_REQUESTS)
    verdict = review(pod_request(full), view(vpa(recommended("c", "400m/200Mi"))), RULES)
    assert (verdict.outcome, verdict.reason) == (Outcome.APPLIED, Reason.HELD_BACK)
    assert verdict.detail == "c: cpu not set: the pod's own requests"
    values = {operation.path: operation.value for operation in verdict.patch}
    assert (
        values[UPDATES]
        == "Pod resources updated by v: container 0: cpu not set: the pod's own requests, memory request"
    )
    verdict = review(pod_request(full), view(vpa(recommended("c", "400m"))), RULES)
    values = {operation.path: operation.value for operation in verdict.patch}
    assert values == {
        "/metadata/annotations": {},
        UPDATES: "Pod resources updated by v: container 0: cpu not set: the pod's own requests",
        "/metadata/annotations/vpaObservedContainers": "c",
    }


def test_in_profile_upstream_nothing_is_held_back() -> None:
    """Spec: admission:13.11."""
    full = replace(pod(container("c", "100m/100Mi")), placement=OWN_REQUESTS)
    verdict = review(pod_request(full), view(vpa(recommended("c", "400m"))), UPSTREAM_RULES)
    assert verdict.reason is Reason.PATCHED
    assert "/spec/containers/0/resources/requests/cpu" in [operation.path for operation in verdict.patch]


ROOM = LARGEST_ANNOTATIONS - len("a")


@pytest.mark.parametrize(
    ("row", "annotations", "reason"),
    [
        ("beyond:B-17", {"a": "x" * (ROOM - 125)}, Reason.PATCHED),
        ("beyond:B-17", {"a": "x" * (ROOM - 124)}, Reason.ANNOTATIONS_FULL),
        ("beyond:B-17", {"a": "ü" * (ROOM // 2)}, Reason.ANNOTATIONS_FULL),
        ("beyond:B-17", {"a": "x" * (ROOM - 400), "vpaUpdates": "y" * 300}, Reason.PATCHED),
    ],
)
def test_annotations_are_not_made_larger_than_the_api_server_takes(
    row: str, annotations: dict[str, str], reason: Reason
) -> None:
    given_view = view(vpa(recommended("c", "400m/100Mi")))
    verdict = review(pod_request(replace(POD, annotations=annotations)), given_view, RULES)
    assert verdict.reason is reason, row
    assert bool(verdict.patch) is (reason is Reason.PATCHED)
    assert review(pod_request(replace(POD, annotations=annotations)), given_view, UPSTREAM_RULES).patch


def test_a_pod_that_cannot_be_fitted_is_told_by_its_own_name_each_time() -> None:
    memory, given_view = PatchMemory(4), view(vpa(recommended("c", "4/4Gi")), limits=UNFITTABLE)
    for name in ("p", "q"):
        verdict = review(pod_request(replace(TWO, name=name)), given_view, RULES, memory)
        assert verdict.reason is Reason.CANNOT_BE_CAPPED
        assert f"Pod default/{name}" in verdict.detail


UNFITTABLE = merge([LimitRange("default", "l", (limit_range(LimitType.POD, maximum="2/2Gi"),))])
TWO = pod(container("c", "1/1Gi", "1/1Gi"), container("large", "2/2Gi", "2/2Gi"))

LET_IN: list[tuple[str, ReviewRequest, ClusterView, Reason]] = [
    ("admission:6.1", pod_request(version="v2"), view(), Reason.UNSUPPORTED_POD_VERSION),
    ("admission:12.4", replace(pod_request(), object=Unreadable("no JSON")), view(), Reason.UNREADABLE_POD),
    ("admission:12.4", replace(pod_request(), object=None), view(), Reason.UNREADABLE_POD),
    (
        "admission:12.4",
        pod_request(TWO),
        view(vpa(recommended("c", "4/4Gi")), limits=UNFITTABLE),
        Reason.CANNOT_BE_CAPPED,
    ),
    ("admission:12.5", pod_request(replace(POD, owners=())), view(), Reason.NO_CONTROLLER),
    ("admission:12.5", pod_request(replace(POD, labels={})), view(), Reason.NO_MATCHING_VPA),
    ("beyond:B-32", pod_request(), view(complete=False), Reason.CACHES_NOT_SYNCED),
]


@pytest.mark.parametrize(("row", "request_", "given_view", "reason"), LET_IN)
def test_a_pod_is_never_refused(row: str, request_: ReviewRequest, given_view: ClusterView, reason: Reason) -> None:
    verdict = review(request_, given_view, RULES)
    assert verdict.is_allowed, row
    assert (verdict.patch, verdict.warnings) == ((), ()), row
    assert (verdict.subject, verdict.outcome, verdict.reason) == (Subject.POD, Outcome.SKIPPED, reason), row


def test_what_cannot_be_capped_says_which_container_and_what_to_do() -> None:
    verdict = review(pod_request(TWO), view(vpa(recommended("c", "4/4Gi")), limits=UNFITTABLE), RULES)
    assert "'large'" in verdict.detail
    assert verdict.vpa == "v"


@pytest.mark.parametrize(("rules", "outcome"), [(RULES, Outcome.APPLIED), (UPSTREAM_RULES, Outcome.SKIPPED)])
def test_a_container_without_a_recommendation_keeps_what_it_has(rules: ReviewRules, outcome: Outcome) -> None:
    """Spec: case:47, beyond:B-12."""
    subject = pod(container("c", "1/1Gi", "1/1Gi"), container("bare"))
    verdict = review(pod_request(subject), view(vpa(recommended("c", "4/4Gi")), limits=UNFITTABLE), rules)
    assert verdict.outcome is outcome
    paths = {operation.path: operation.value for operation in verdict.patch if "/spec/" in operation.path}
    assert not any("containers/1" in path for path in paths)
    if outcome is Outcome.APPLIED:
        assert paths["/spec/containers/0/resources/limits/memory"] == "2Gi"


@pytest.mark.parametrize(
    ("group", "resource", "named"),
    [
        ("apps", "deployments", "deployments.apps"),
        ("", "configmaps", "configmaps"),
        ("autoscaling.k8s.io", "verticalpodautoscalers", "verticalpodautoscalers.autoscaling.k8s.io"),
    ],
)
def test_another_resource_is_let_in_unchanged(group: str, resource: str, named: str) -> None:
    """Spec: admission:4.3.3; upstream's objects are another resource while the own group is served."""
    verdict = review(replace(pod_request(), group=group, resource=resource, object=None), view(), RULES)
    assert verdict.is_allowed
    assert (verdict.subject, verdict.outcome) == (Subject.UNKNOWN, Outcome.ERROR)
    assert (verdict.reason, verdict.detail) == (Reason.UNSUPPORTED_RESOURCE, named)


def test_an_invalid_vpa_is_refused_with_every_error() -> None:
    """Spec: admission:4.3.5, admission:12.6."""
    request = vpa_request({"updatePolicy": {"updateMode": "Auto", "minReplicas": 0}, "recommenders": [{}, {}]})
    verdict = review(request, view(), RULES)
    assert (verdict.subject, verdict.outcome, verdict.reason) == (Subject.VPA, Outcome.SKIPPED, Reason.INVALID_VPA)
    assert not verdict.is_allowed
    assert verdict.denial is not None
    assert (verdict.denial.group, verdict.denial.kind, verdict.denial.name) == (GROUP, "VerticalPodAutoscaler", "v")
    assert [error.path for error in verdict.denial.errors] == ["spec.updatePolicy.minReplicas", "spec.recommenders"]
    assert len(verdict.warnings) == 1
    assert verdict.patch == ()
    assert "minReplicas" in verdict.detail


@pytest.mark.parametrize("submitted", [Unreadable("spec is a string"), None])
def test_an_unreadable_vpa_is_refused_without_warnings(submitted: Unreadable | None) -> None:
    """Spec: admission:5.24, undecodable object."""
    verdict = review(replace(vpa_request({}), object=submitted), view(), RULES)
    assert verdict.denial is not None
    assert [(error.path, error.fault) for error in verdict.denial.errors] == [(".", Fault.INTERNAL)]
    assert verdict.warnings == ()


def test_a_vpa_without_update_policy_gets_one() -> None:
    """Spec: admission:5.23, on creation as on update."""
    for request in (vpa_request({}), vpa_request({}, old={"updatePolicy": {"updateMode": "Off"}})):
        verdict = review(request, view(), RULES)
        assert (verdict.outcome, verdict.reason) == (Outcome.APPLIED, Reason.DEFAULTED)
        assert [operation.path for operation in verdict.patch] == ["/spec/updatePolicy"]


@pytest.mark.parametrize(
    ("behaviour", "paths"), [(Behaviour(), []), (Behaviour.of(Profile.UPSTREAM), ["/spec/updatePolicy"])]
)
def test_a_vpa_without_spec_gets_no_patch_that_would_not_fit(behaviour: Behaviour, paths: list[str]) -> None:
    """Spec: admission:5.23; the definition of the kind asks for a spec."""
    request = replace(vpa_request({}), object=VpaChange(SubmittedVpa(), SubmittedVpa()))
    verdict = review(request, view(), replace(RULES, behaviour=behaviour))
    assert verdict.is_allowed
    assert [operation.path for operation in verdict.patch] == paths


def test_a_valid_vpa_is_let_in_as_it_is() -> None:
    """Spec: api:1.3."""
    verdict = review(vpa_request({"updatePolicy": {"updateMode": "Auto"}}), view(), RULES)
    assert (verdict.outcome, verdict.reason, verdict.patch) == (Outcome.SKIPPED, Reason.VALID_VPA, ())
    assert verdict.is_allowed
    assert len(verdict.warnings) == 1


def test_the_group_served_is_the_one_validated() -> None:
    upstream = vpa_request({"updatePolicy": {}}, group="autoscaling.k8s.io")
    assert not review(upstream, view(), UPSTREAM_RULES).is_allowed
    assert review(upstream, view(), RULES).reason is Reason.UNSUPPORTED_RESOURCE


def test_a_vpa_is_validated_while_the_caches_are_still_empty() -> None:
    assert not review(vpa_request({"updatePolicy": {}}), view(complete=False), RULES).is_allowed


def test_a_submitted_status_counts_with_upstream_only() -> None:
    """Spec: admission:7.1.4."""
    claimed = ContainerStatus("c", ContainerResources(amounts("1m/1Ki"), amounts("2m/2Ki")))
    request = pod_request(replace(POD, statuses=(claimed,)))

    def new_cpu_limit(rules: ReviewRules) -> object:
        patch = review(request, view(), rules).patch
        return next(operation.value for operation in patch if operation.path.endswith("limits/cpu"))

    assert new_cpu_limit(RULES) == "4"
    assert new_cpu_limit(UPSTREAM_RULES) == "800m"


def test_an_existing_resources_object_is_replaced_with_upstream_only() -> None:
    """Spec: admission:13.5."""
    bare = pod_request(pod(container("c")))
    paths = [[operation.path for operation in review(bare, view(), rules).patch] for rules in (RULES, UPSTREAM_RULES)]
    assert ["/spec/containers/0/resources" in found for found in paths] == [False, True]


SIDECAR_POD = with_init_containers(
    pod(container("app", "1/1Gi", "2/2Gi")), container("setup", "1/1Gi"), sidecar("proxy", "100m/100Mi", "200m/200Mi")
)
SIDECAR_VPA = vpa(*(recommended(name, "400m/400Mi") for name in ("app", "proxy", "setup")))


def sidecar_request(given_pod: Pod = SIDECAR_POD, present: tuple[bool, ...] = (True, True)) -> ReviewRequest:
    request = pod_request(given_pod)
    return replace(request, object=SubmittedPod(given_pod, (True,), present))


@pytest.mark.parametrize(
    ("row", "rules", "indices", "updates", "observed"),
    [
        (
            "case:26 evenkeel",
            RULES,
            ["/spec/containers/0", "/spec/initContainers/1"],
            ["container 0", "init container 1"],
            "app, proxy",
        ),
        ("case:26 upstream", UPSTREAM_RULES, ["/spec/containers/0"], ["container 0"], "app"),
    ],
)
def test_a_sidecar_is_admitted_and_a_plain_init_container_is_not(
    row: str, rules: ReviewRules, indices: list[str], updates: list[str], observed: str
) -> None:
    """Spec: beyond:B-16."""
    patch = review(sidecar_request(), view(SIDECAR_VPA), rules).patch
    values = {operation.path: operation.value for operation in patch}
    amounts_by_path = {path: value for path, value in values.items() if path.startswith("/spec/")}
    expected: dict[str, object] = {}
    for index in indices:
        new = {"requests/cpu": "400m", "requests/memory": "400Mi", "limits/cpu": "800m", "limits/memory": "800Mi"}
        expected |= {f"{index}/resources/{name}": value for name, value in new.items()}
    assert amounts_by_path == expected, row
    everything = "cpu request, memory request, cpu limit, memory limit"
    said = "; ".join(f"{place}: {everything}" for place in updates)
    assert values["/metadata/annotations/vpaUpdates"] == f"Pod resources updated by v: {said}"
    assert values["/metadata/annotations/vpaObservedContainers"] == observed


@pytest.mark.parametrize(("present", "made"), [((False, True), False), ((True, False), True)])
def test_the_resources_object_of_a_sidecar_is_its_own(present: tuple[bool, ...], *, made: bool) -> None:
    """Spec: beyond:B-16, admission:13.5."""
    bare = with_init_containers(pod(container("app", "1")), container("setup"), sidecar("proxy"))
    patch = review(sidecar_request(bare, present), view(SIDECAR_VPA), RULES).patch
    assert ("/spec/initContainers/1/resources" in [operation.path for operation in patch]) is made


def test_a_submitted_status_of_a_sidecar_does_not_count() -> None:
    """Spec: beyond:B-16, admission:7.1.4."""
    claimed = ContainerStatus("proxy", ContainerResources(amounts("1m/1Ki"), amounts("100m/100Ki")))
    patch = review(sidecar_request(replace(SIDECAR_POD, init_statuses=(claimed,))), view(SIDECAR_VPA), RULES).patch
    values = {operation.path: operation.value for operation in patch}
    assert values["/spec/initContainers/1/resources/limits/cpu"] == "800m"
    kept = replace(RULES, behaviour=replace(RULES.behaviour, submitted_status_ignored=False))
    patch = review(sidecar_request(replace(SIDECAR_POD, init_statuses=(claimed,))), view(SIDECAR_VPA), kept).patch
    values = {operation.path: operation.value for operation in patch}
    assert values["/spec/initContainers/1/resources/limits/cpu"] == "40"


def test_limits_of_whole_pods_hold_with_the_sidecars_in_them() -> None:
    """Spec: beyond:B-16: 2.4 cores of limits are wanted where 1.2 are allowed."""
    limits = merge([LimitRange("default", "l", (limit_range(LimitType.POD, maximum="1200m/-"),))])
    patch = review(
        sidecar_request(), view(vpa(*(recommended(n, "600m") for n in ("app", "proxy"))), limits=limits), RULES
    )
    values = {operation.path: operation.value for operation in patch.patch}
    assert [values[f"/spec/{place}/resources/limits/cpu"] for place in ("containers/0", "initContainers/1")] == [
        "600m",
        "600m",
    ]

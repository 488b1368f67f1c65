"""Verdicts on pods of one template are remembered as long as all that was looked up for them stays the same.

Spec: performance A-2, admission:6, admission:7.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admission.review import ReviewRules
from admission.shell.exchange import Memory, read_question, verdict_on
from admission.verdict import Outcome, Reason, Subject, Verdict
from admission.verdict_memory import Notes, VerdictMemory
from admission.vpa_matching import ClusterView, TargetName
from admission.vpa_validation import Gates
from autoscaling.behaviour import Behaviour, Profile
from autoscaling.limitrange import LimitType, NamespaceLimits
from autoscaling.matching import of_labels
from autoscaling.ownership import ControllerKey, ScaleAnswer
from autoscaling.pod import Owner
from autoscaling.targets import KnownControllers, WorkloadKey
from autoscaling.vpa import TargetRef, UpdateMode, UpdatePolicy, Vpa
from autoscaling.workload import Workload
from tests.builders import limit_range, recommended, vpa

GROUP = "autoscaling.evenkeel.dev"
RULES = ReviewRules(GROUP, Gates(), Behaviour())
UPSTREAM_RULES = ReviewRules(GROUP, Gates(), Behaviour.of(Profile.UPSTREAM))
PODS = {"group": "", "version": "v1", "resource": "pods"}
DEPLOYMENT = Owner("apps/v1", "Deployment", "d", controller=True)
ROLLOUT = Owner("example.com/v1", "Rollout", "r", controller=True)
ROLLOUT_KEY = ControllerKey("default", "Rollout", "r", "example.com/v1")
TARGET = ("Deployment", "d")
REPLICA_SET = ("default", "ReplicaSet", "rs")
A_DEPLOYMENT = ("default", "Deployment", "d")
SELECTOR = of_labels({"app": "a"})
A_JOB = Workload("Job", "default", "j", SELECTOR)
OTHER_SELECTOR = of_labels({"app": "b"})
ADVICE = vpa(recommended("c", "400m/100Mi"))
SMALL = NamespaceLimits(container=limit_range(LimitType.CONTAINER, minimum="600m/1Gi"))


@dataclass(slots=True)
class Cluster:
    """Caches that live on while one view of them is looked into."""

    vpas: dict[str, dict[TargetName, tuple[Vpa, ...]]] = field(default_factory=lambda: {"default": {TARGET: (ADVICE,)}})
    workloads: dict[WorkloadKey, Workload] = field(
        default_factory=lambda: {
            ("default", "ReplicaSet", "rs"): Workload("ReplicaSet", "default", "rs", SELECTOR, owners=(DEPLOYMENT,)),
            ("default", "Deployment", "d"): Workload("Deployment", "default", "d", SELECTOR),
        }
    )
    scales: dict[ControllerKey, ScaleAnswer] = field(default_factory=dict)
    limits: dict[str, NamespaceLimits] = field(default_factory=dict)

    def view(self) -> ClusterView:
        return ClusterView(True, self.vpas, KnownControllers(self.workloads, self.scales), self.limits)


def pod_json(**metadata: object) -> dict[str, object]:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "u", "controller": True}
    return {
        "metadata": {"generateName": "rs-", "labels": {"app": "a"}, "ownerReferences": [owner], **metadata},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "50m", "memory": "32Mi"}}}]},
        "status": {},
    }


def body(pod: object, **request: object) -> bytes:
    fields = {"uid": "u1", "resource": PODS, "namespace": "default", "operation": "CREATE", "object": pod}
    review = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {**fields, **request}}
    return json.dumps(review).encode()


def asked(raw: bytes, view: ClusterView, memory: Memory | None, rules: ReviewRules = RULES) -> Verdict:
    return verdict_on(read_question(raw), view, rules, memory)


def test_the_second_pod_of_a_template_is_not_decided_on_again() -> None:
    """Spec: performance A-2; what is the request's own, and what nobody reads, may differ."""
    memory, view = Memory.of(4), Cluster().view()
    first = asked(body(pod_json()), view, memory)
    assert (first.outcome, first.reason, str(first.object)) == (Outcome.APPLIED, Reason.PATCHED, "Pod default/rs-%")
    other = pod_json(managedFields=[{"manager": "m"}], creationTimestamp=None)
    other["spec"] = {"volumes": [{"name": "kube-api-access-x7f2k"}], **dict(other["spec"])}  # type: ignore[call-overload]
    again = body(other, uid="u2")
    assert asked(again, view, memory) is first


def test_a_dry_run_is_told_as_such_and_remembered_as_none() -> None:
    """Spec: performance A-2, beyond:B-32."""
    memory, view = Memory.of(4), Cluster().view()
    tried = [asked(body(pod_json(), dryRun=True), view, memory) for _ in range(2)]
    real = asked(body(pod_json()), view, memory)
    assert [verdict.is_dry_run for verdict in (*tried, real)] == [True, True, False]
    assert tried == [replace(real, is_dry_run=True)] * 2


Change = Callable[[Cluster], object]


def replaced(cluster: Cluster, kind: str, **changes: object) -> None:
    name = {"ReplicaSet": "rs", "Deployment": "d"}[kind]
    key = ("default", kind, name)
    cluster.workloads[key] = replace(cluster.workloads[key], **changes)  # type: ignore[arg-type]


def vpas_are(cluster: Cluster, *vpas: Vpa) -> None:
    cluster.vpas["default"][TARGET] = vpas


def owned_by_rollout(cluster: Cluster, answer: ScaleAnswer) -> None:
    replaced(cluster, "Deployment", owners=(ROLLOUT,))
    cluster.scales[ROLLOUT_KEY] = answer


OFF = replace(ADVICE, update_policy=UpdatePolicy(mode=UpdateMode.OFF))
NEWER = replace(vpa(recommended("c", "500m/100Mi")), name="a")
CHANGES: list[tuple[str, Change, Reason]] = [
    ("admission:6.5 VPA changed", lambda c: vpas_are(c, vpa(recommended("c", "300m/100Mi"))), Reason.PATCHED),
    ("admission:6.8 mode Off", lambda c: vpas_are(c, OFF), Reason.NO_MATCHING_VPA),
    ("admission:6.9 a stronger VPA", lambda c: vpas_are(c, ADVICE, NEWER), Reason.PATCHED),
    ("admission:6.5 VPA gone", lambda c: c.vpas["default"].pop(TARGET), Reason.NO_MATCHING_VPA),
    ("admission:6.5 last VPA gone", lambda c: c.vpas.pop("default"), Reason.NO_MATCHING_VPA),
    ("admission:6.5 namespace emptied", lambda c: c.vpas["default"].clear(), Reason.NO_MATCHING_VPA),
    ("admission:6.6 selector", lambda c: replaced(c, "Deployment", selector=OTHER_SELECTOR), Reason.NO_MATCHING_VPA),
    ("admission:6.4 owner gone", lambda c: replaced(c, "ReplicaSet", owners=()), Reason.NO_MATCHING_VPA),
    ("admission:6.4 ReplicaSet gone", lambda c: c.workloads.pop(REPLICA_SET), Reason.OWNER_NOT_KNOWN),
    ("admission:6.4 Deployment gone", lambda c: c.workloads.pop(A_DEPLOYMENT), Reason.OWNER_NOT_KNOWN),
    ("admission:6.4 owner above", lambda c: owned_by_rollout(c, ScaleAnswer(True)), Reason.NO_MATCHING_VPA),
    ("admission:6.4 owner not scalable", lambda c: owned_by_rollout(c, ScaleAnswer(False)), Reason.PATCHED),
    ("admission:6.4 owner not known", lambda c: replaced(c, "Deployment", owners=(ROLLOUT,)), Reason.OWNER_NOT_CACHED),
    ("limits:10 LimitRange", lambda c: c.limits.update(default=SMALL), Reason.PATCHED),
]  # fmt: skip


@pytest.mark.parametrize("rules", [RULES, UPSTREAM_RULES], ids=["evenkeel", "upstream"])
@pytest.mark.parametrize(("row", "change", "reason"), CHANGES, ids=[row for row, _, _ in CHANGES])
def test_whatever_was_looked_up_and_changes_has_the_next_pod_decided_on_anew(
    row: str, change: Change, reason: Reason, rules: ReviewRules
) -> None:
    memory, cluster, raw = Memory.of(4), Cluster(), body(pod_json())
    view = cluster.view()
    before = asked(raw, view, memory, rules)
    assert asked(raw, view, memory, rules) is before
    change(cluster)
    after = asked(raw, view, memory, rules)
    assert after is not before, row
    assert after == asked(raw, view, None, rules), row
    assert (after.reason, after == before) == (reason, row == "admission:6.4 owner not scalable"), row


UNREAD: list[tuple[str, Change]] = [
    ("another VPA", lambda c: c.vpas["default"].update({("Deployment", "e"): (NEWER,)})),
    ("another namespace", lambda c: c.vpas.update(other={TARGET: (NEWER,)})),
    ("another workload", lambda c: c.workloads.update({("default", "Job", "j"): A_JOB})),
    ("other limits", lambda c: c.limits.update(other=SMALL)),
    ("another scale", lambda c: c.scales.update({ROLLOUT_KEY: ScaleAnswer(True)})),
]  # fmt: skip


@pytest.mark.parametrize(("what", "change"), UNREAD)
def test_what_was_not_looked_up_may_change(what: str, change: Change) -> None:
    """Spec: performance A-2."""
    memory, cluster, raw = Memory.of(4), Cluster(), body(pod_json())
    view = cluster.view()
    before = asked(raw, view, memory)
    change(cluster)
    assert asked(raw, view, memory) is before, what


LIKES: list[tuple[str, Change]] = [
    ("a ReplicaSet whose status changed", lambda c: replaced(c, "ReplicaSet")),
    ("a Deployment whose status changed", lambda c: replaced(c, "Deployment", selector=of_labels({"app": "a"}))),
    ("a scale that was read again", lambda c: c.scales.update({ROLLOUT_KEY: ScaleAnswer(False)})),
]


@pytest.mark.parametrize(("what", "change"), LIKES)
def test_workloads_and_scales_may_be_replaced_by_their_likes(what: str, change: Change) -> None:
    """Spec: performance A-2; what changes after that is noticed all the same."""
    memory, cluster, raw = Memory.of(4), Cluster(), body(pod_json())
    owned_by_rollout(cluster, ScaleAnswer(False))
    view = cluster.view()
    before = asked(raw, view, memory)
    for _ in range(2):
        change(cluster)
        assert asked(raw, view, memory) is before, what
    owned_by_rollout(cluster, ScaleAnswer(True))
    assert asked(raw, view, memory).reason is Reason.NO_MATCHING_VPA, what


def test_vpas_of_a_namespace_that_was_emptied_meanwhile_are_looked_up_anew() -> None:
    """Spec: performance A-2, admission:6.5; the ones before it are kept apart from the ones after, be they the same."""
    memory, cluster, raw = Memory.of(4), Cluster(), body(pod_json())
    view = cluster.view()
    before = asked(raw, view, memory)
    cluster.vpas["default"] = dict(cluster.vpas["default"])
    after = asked(raw, view, memory)
    assert after is not before
    assert after == before
    cluster.vpas["default"][TARGET] = (OFF,)
    assert asked(raw, view, memory).reason is Reason.NO_MATCHING_VPA


def test_a_verdict_that_lacks_something_is_not_remembered() -> None:
    """Spec: admission:6.4; whoever asks next would have to have it looked up, too."""
    memory, cluster, raw = Memory.of(4), Cluster(), body(pod_json())
    replaced(cluster, "Deployment", owners=(ROLLOUT,))
    view = cluster.view()
    verdict = asked(raw, view, memory)
    assert verdict.to_look_up == ROLLOUT_KEY
    assert asked(raw, view, memory) is not verdict


def test_nothing_is_remembered_before_the_caches_are_filled_nor_for_another_view() -> None:
    """Spec: beyond:B-32."""
    memory, cluster, raw = Memory.of(4), Cluster(), body(pod_json())
    filling = replace(cluster.view(), is_complete=False)
    assert asked(raw, filling, memory).reason is Reason.CACHES_NOT_SYNCED
    view = cluster.view()
    verdict = asked(raw, view, memory)
    assert verdict.reason is Reason.PATCHED
    assert asked(raw, view, memory) is verdict
    assert asked(raw, cluster.view(), memory) is not verdict


def target(name: str) -> Vpa:
    kinds = {"d": ("Deployment", "apps/v1"), "rs": ("ReplicaSet", "apps/v1"), "r": ("Rollout", "example.com/v1")}
    kind, version = kinds[name]
    return replace(ADVICE, name=f"v-{name}", target_ref=TargetRef(kind, name, version))


METADATA: st.SearchStrategy[dict[str, object]] = st.fixed_dictionaries(
    {},
    optional={
        "name": st.just("p"),
        "namespace": st.sampled_from(["default", "other"]),
        "generateName": st.sampled_from(["rs-", "x-"]),
        "labels": st.sampled_from([{}, {"app": "a", "x": "y"}, None]),
        "annotations": st.sampled_from([{}, {"a": "b"}, None, {"a": 1}]),
        "ownerReferences": st.sampled_from([[], None]),
        "uid": st.sampled_from(["", "u"]),
    },
)
RESOURCES = st.sampled_from(
    [{}, None, {"requests": {"cpu": "50m"}}, {"limits": {"memory": "1Gi"}}, {"requests": {"cpu": "x"}}]
)
CONTAINERS = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from(["c", "s"])}, optional={"resources": RESOURCES}), max_size=2
)
SPECS = st.fixed_dictionaries(
    {"containers": CONTAINERS},
    optional={
        "initContainers": CONTAINERS,
        "nodeName": st.sampled_from(["", "n", 1]),
        "resources": RESOURCES,
        "overhead": st.sampled_from([{"cpu": "1"}]),
    },
)
STATUSES = st.sampled_from([{}, {}, {"phase": "Pending"}, {"containerStatuses": [{"name": "c", "resources": {}}]}])
BODIES = st.builds(
    lambda metadata, spec, status, request: body({**pod_json(**metadata), "spec": spec, "status": status}, **request),
    METADATA,
    SPECS,
    STATUSES,
    st.fixed_dictionaries(
        {},
        optional={
            "namespace": st.sampled_from(["default", "other"]),
            "name": st.just("n"),
            "dryRun": st.booleans(),
            "resource": st.sampled_from([{**PODS, "version": "v2"}, {**PODS, "group": "x"}]),
        },
    ),
)
ANY_CHANGE = st.one_of(
    st.sampled_from([change for _, change, _ in CHANGES] + [change for _, change in (*UNREAD, *LIKES)]),
    st.just(lambda c: c.vpas.update({namespace: dict(targets) for namespace, targets in c.vpas.items()})),
    st.builds(
        lambda which, name: (
            lambda c: c.vpas.setdefault(which, {}).update(
                {(target(name).target_ref.kind, name): (target(name),)}  # type: ignore[union-attr]
            )
        ),
        st.sampled_from(["default", "other"]),
        st.sampled_from(["d", "rs", "r"]),
    ),
)


def try_change(change: Change, cluster: Cluster) -> None:
    """What is gone already cannot go again."""
    try:
        change(cluster)
    except KeyError:
        return


@pytest.mark.parametrize("rules", [RULES, UPSTREAM_RULES], ids=["evenkeel", "upstream"])
@given(steps=st.lists(st.one_of(st.lists(BODIES, min_size=1, max_size=3), ANY_CHANGE), max_size=12))
def test_a_memory_never_changes_a_verdict(rules: ReviewRules, steps: list[list[bytes] | Change]) -> None:
    """Spec: performance A-2; each pod that was asked about is asked about again after each change."""
    memory, cluster, seen = Memory.of(3), Cluster(), [body(pod_json())]
    view = cluster.view()
    for step in steps:
        if isinstance(step, list):
            seen += step
        else:
            try_change(step, cluster)
        for raw in seen * 2:
            assert asked(raw, view, memory, rules) == asked(raw, view, None, rules)


VERDICT = Verdict(Subject.POD, Outcome.SKIPPED, Reason.NO_CONTROLLER)


def test_the_oldest_verdict_makes_room() -> None:
    """Spec: performance A-2."""
    memory, view = VerdictMemory(2), Cluster().view()
    for text in ("a", "b", "a", "c"):
        memory.keep(text, VERDICT, Notes(view))
    assert [memory.recall(text, view) for text in "abc"] == [None, VERDICT, VERDICT]


def test_a_noted_view_tells_only_what_can_be_noted() -> None:
    """Spec: performance A-2."""
    notes = Notes(Cluster().view())
    assert notes.noted_view.limits.get("default") is None
    assert not notes.noted_view.limits
    with pytest.raises(TypeError, match="one key at a time"):
        iter(notes.noted_view.limits)
    with pytest.raises(TypeError, match="how many keys"):
        len(notes.noted_view.limits)

"""A whole cluster for webhooks, made up from a seed, with the reviews that they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from e2e.parity.process.admission.pods import make_pod
from e2e.parity.process.admission.submissions import changed, make_submission
from e2e.parity.process.world import surroundings
from e2e.parity.process.world.dice import Dice
from e2e.parity.process.world.recommendations import RecommendationMaker
from e2e.parity.process.world.scalers import API_VERSION, KIND, Choices, ScalerMaker
from e2e.parity.process.world.workloads import Container, Group, Workload, WorkloadMaker, reference_to
from evenkeel.simulator.api.fields import JsonObject, encode, text

_NAMESPACES = {surroundings.FREE: 0.55, surroundings.CONTAINER_LIMITED: 0.3, surroundings.POD_LIMITED: 0.15}
_SHARES = {"pod": 0.6, "vpa": 0.33, "odd": 0.07}
PROBE = "probe"
"""Name of a workload whose pods are certainly changed, once a webhook knows the cluster."""


@dataclass(frozen=True, slots=True)
class Review:
    """One review.

    Args:
        what: What it is about, for messages.
        body: As it is sent.
        content_type: As it is sent.
    """

    what: str
    body: bytes
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class AdmissionCluster:
    """A cluster.

    Args:
        seed: From which it was made up.
        flags: Flags of the webhooks.
        objects: Everything in it.
        probe: A review whose answer has a patch once a webhook knows the cluster.
        reviews: The reviews.
    """

    seed: str
    flags: tuple[str, ...]
    objects: tuple[JsonObject, ...]
    probe: Review
    reviews: tuple[Review, ...]


class ClusterMaker:
    """Makes a cluster up.

    Args:
        seed: From what.
        now: From when all ages in it count.
        size: How many workloads it has.
        reviews: How many reviews there are.
    """

    def __init__(self, seed: str, now: datetime, size: int, reviews: int) -> None:
        self._dice = Dice(seed, "cluster")
        self._seed, self._size, self._reviews = seed, size, reviews
        self._has_vpa_config = self._dice.chance(0.5)
        self._workloads = WorkloadMaker(Dice(seed, "workloads"), now)
        self._has_boosts = self._dice.chance(0.6)
        choices = Choices(oom_seconds=self._has_vpa_config, oom_bumps=self._has_vpa_config, boosts=self._has_boosts)
        self._scalers = ScalerMaker(Dice(seed, "vpas"), now, choices)
        self._recommendations = RecommendationMaker(Dice(seed, "recommendations"))

    def make(self) -> AdmissionCluster:
        """Make it up."""
        objects: list[JsonObject] = [surroundings.custom_definition(), *surroundings.namespaces()]
        objects += surroundings.limit_ranges(self._dice)
        probe, probed = self._probe()
        objects += probe
        workloads = [self._workload(objects, f"w{index}") for index in range(self._size)]
        reviews = tuple(self._review(number, workloads) for number in range(self._reviews))
        flags = (
            f"--feature-gates=InPlace={'true' if self._dice.chance(0.5) else 'false'}",
            f"--feature-gates=PerVPAConfig={'true' if self._has_vpa_config else 'false'}",
            f"--feature-gates=CPUStartupBoost={'true' if self._has_boosts and self._dice.chance(0.7) else 'false'}",
            *self._dice.some(("--max-allowed-cpu-boost=700m",), 0.3),
            *self._dice.some(("--vpa-object-namespace=free",), 0.15),
        )
        return AdmissionCluster(self._seed, flags, tuple(objects), probed, reviews)

    def _probe(self) -> tuple[list[JsonObject], Review]:
        """Return a workload with a VPA, and the review of a pod of it."""
        container = Container("c0", {"cpu": 100}, {})
        labels = {"app": PROBE}
        spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}}
        metadata = {"name": PROBE, "namespace": surroundings.FREE, "uid": PROBE}
        owner: JsonObject = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec}
        target = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": PROBE}
        entry = {"containerName": "c0", "target": {"cpu": "200m"}}
        vpa: JsonObject = {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": {"name": PROBE, "namespace": surroundings.FREE},
            "spec": {"targetRef": target, "updatePolicy": {"updateMode": "Initial"}},
            "status": {"recommendation": {"containerRecommendations": [entry]}},
        }
        pod: JsonObject = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**metadata, "labels": labels, "ownerReferences": [reference_to(owner)]},
            "spec": {"containers": [container.body()]},
        }
        return [owner, vpa], _pod_review("the probe", pod, surroundings.FREE)

    def _workload(self, objects: list[JsonObject], name: str) -> Workload:
        """Make up a workload and its VPAs."""
        dice = self._dice
        workload = self._workloads.make(name, dice.weighted(_NAMESPACES))
        objects += workload.objects
        scalers = [self._scalers.make(f"{name}-vpa", workload)] if dice.chance(0.92) else []
        scalers += [self._scalers.rival_of(one, workload) for one in scalers if dice.chance(0.15)]
        for scaler in scalers:
            scaler["status"] = self._recommendations.status(workload.containers)
        objects += scalers
        return workload

    def _review(self, number: int, workloads: list[Workload]) -> Review:
        """Make a review up."""
        dice = self._dice
        workload = dice.pick(workloads)
        match dice.weighted(_SHARES):
            case "pod":
                group = dice.pick(workload.groups)
                return _pod_review(
                    f"review {number}, a pod of {workload.name}", make_pod(dice, workload, group), workload.namespace
                )
            case "vpa":
                return self._vpa_review(number, workload)
            case _:
                return self._odd_review(number, workload)

    def _vpa_review(self, number: int, workload: Workload) -> Review:
        dice = self._dice
        vpa = make_submission(dice, self._scalers, workload)
        request = _request(
            {"group": "autoscaling.k8s.io", "version": "v1", "kind": KIND},
            {"group": "autoscaling.k8s.io", "version": "v1", "resource": "verticalpodautoscalers"},
            vpa,
        )
        if dice.chance(0.4):
            old = changed(dice, self._scalers, workload, vpa)
            request |= {"operation": "UPDATE", "oldObject": old}
        return Review(f"review {number}, a VPA", encode(_review_of(request)))

    def _odd_review(self, number: int, workload: Workload) -> Review:
        """Make up a review with which something is wrong."""
        dice, what = self._dice, f"review {number}"
        pod = make_pod(dice, workload, Group(None, {}, 1))
        request = _request(_POD_KIND, _PODS, pod)
        match dice.pick(
            ("no json", "no request", "content type", "resource", "version", "no object", "no pod", "no kind")
        ):
            case "no json":
                return Review(f"{what}, no JSON", dice.pick((b"", b"{", b"[]", b"null", b'"x"')))
            case "no request":
                return Review(
                    f"{what}, no request", encode({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"})
                )
            case "content type":
                kind = dice.pick(("application/json; charset=utf-8", "text/plain", "application/yaml"))
                return Review(f"{what}, {kind}", encode(_review_of(request)), kind)
            case "resource":
                request["resource"] = {"group": "apps", "version": "v1", "resource": "deployments"}
            case "version":
                request["resource"] = {**_PODS, "version": "v2"}
            case "no object":
                request["object"] = None
            case "no pod":
                request["object"] = {**pod, "spec": dice.pick((5, "x", []))}
            case _:
                del request["requestKind"]
        return Review(f"{what}, odd", encode(_review_of(request)))


_POD_KIND: JsonObject = {"group": "", "version": "v1", "kind": "Pod"}
_PODS: JsonObject = {"group": "", "version": "v1", "resource": "pods"}


def _pod_review(what: str, pod: JsonObject, namespace: str) -> Review:
    """Return the review of a pod's creation."""
    return Review(what, encode(_review_of({**_request(_POD_KIND, _PODS, pod), "namespace": namespace})))


def _request(kind: JsonObject, resource: JsonObject, obj: JsonObject) -> JsonObject:
    return {
        "uid": "0-1-2-3",
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": text(obj, "metadata", "name"),
        "namespace": text(obj, "metadata", "namespace"),
        "operation": "CREATE",
        "userInfo": {"username": "somebody"},
        "object": obj,
        "oldObject": None,
        "dryRun": False,
    }


def _review_of(request: JsonObject) -> JsonObject:
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def owners_of(objects: tuple[JsonObject, ...]) -> Iterator[str]:
    """Yield the kinds of all controllers, for figures."""
    for one in objects:
        if one["kind"] not in {KIND, "Namespace", "LimitRange", "CustomResourceDefinition"}:
            yield str(one["kind"])

"""What is submitted to an API server while a webhook listens: pods, new VPAs and changed ones, none of them stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from e2e.parity.process.admission.pods import make_pod
from e2e.parity.process.admission.submissions import make_submission, spoil
from e2e.parity.process.client import JSON, MERGE_PATCH, collection_path, path_of
from e2e.parity.process.updater.cluster import UpdaterCluster
from e2e.parity.process.world import surroundings
from e2e.parity.process.world.dice import Dice
from e2e.parity.process.world.scalers import API_VERSION, KIND, Choices, ScalerMaker
from e2e.parity.process.world.workloads import Container, Workload, reference_to
from evenkeel.simulator.api.fields import JsonObject, text

_SHARES = {"pod": 0.7, "VPA": 0.2, "changed VPA": 0.1}
_NOT_STORED = "?dryRun=All"
_PROBE = "probe"


@dataclass(frozen=True, slots=True)
class Submission:
    """One request that stores nothing.

    Args:
        what: What it is about, for messages.
        method: HTTP method.
        path: Path and query.
        body: What is submitted.
        content_type: In which form.
    """

    what: str
    method: str
    path: str
    body: JsonObject
    content_type: str = JSON


class SubmissionMaker:
    """Makes submissions up.

    Args:
        seed: From what.
        now: From when ages count.
        cluster: Whose workloads they are about.
        has_boosts: Whether VPAs may boost the CPU of new pods.
    """

    def __init__(self, seed: str, now: datetime, cluster: UpdaterCluster, *, has_boosts: bool) -> None:
        self._dice = Dice(seed, "submissions")
        self._cluster = cluster
        choices = Choices(oom_seconds=True, oom_bumps=True, boosts=has_boosts)
        self._scalers = ScalerMaker(Dice(seed, "submitted"), now, choices)

    def make(self, count: int) -> Iterator[Submission]:
        """Make some up."""
        workloads = [one for one in self._cluster.drawn if one.namespace != surroundings.IGNORED]
        for number in range(count):
            yield self._one(number, self._dice.pick(workloads))

    def _one(self, number: int, workload: Workload) -> Submission:
        dice = self._dice
        match dice.weighted(_SHARES):
            case "pod":
                pod = make_pod(dice, workload, dice.pick(workload.groups))
                path = collection_path("v1", "Pod", workload.namespace)
                what = f"submission {number}, a pod of {workload.namespace}/{workload.name}"
                return Submission(what, "POST", f"{path}{_NOT_STORED}", pod)
            case "VPA":
                vpa = make_submission(dice, self._scalers, workload)
                path = collection_path(API_VERSION, KIND, workload.namespace)
                return Submission(f"submission {number}, a VPA", "POST", f"{path}{_NOT_STORED}", vpa)
            case _:
                old = dice.pick(self._cluster.scalers)
                new = self._scalers.make("any", workload)
                if dice.chance(0.5):
                    spoil(dice, new)
                what = f"submission {number}, {text(old, 'metadata', 'name')} with another spec"
                return Submission(what, "PATCH", f"{path_of(old)}{_NOT_STORED}", {"spec": new["spec"]}, MERGE_PATCH)


def probe() -> tuple[list[JsonObject], Submission]:
    """Return a workload with a VPA, and a pod of it, which a webhook changes as soon as it knows the cluster."""
    labels = {"app": _PROBE}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [Container("c0", {"cpu": 100}, {}).body()]}}
    metadata = {"name": _PROBE, "namespace": surroundings.FREE}
    owner: JsonObject = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {**metadata, "uid": _PROBE},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template},
    }
    vpa: JsonObject = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": metadata,
        "spec": {
            "targetRef": {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": _PROBE},
            "updatePolicy": {"updateMode": "Initial"},
            "recommenders": [{"name": "by-hand"}],
        },
        "status": {
            "recommendation": {"containerRecommendations": [{"containerName": "c0", "target": {"cpu": "200m"}}]}
        },
    }
    pod: JsonObject = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**metadata, "labels": labels, "ownerReferences": [reference_to(owner)]},
        "spec": template["spec"],
    }
    path = collection_path("v1", "Pod", surroundings.FREE)
    return [owner, vpa], Submission("the probe", "POST", f"{path}{_NOT_STORED}", pod)

"""Pods as a recommender looks at them, made up by chance, with what befalls them between two rounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from e2e.parity.process.changes import Change, ChangeKind, partial
from e2e.parity.process.world.dice import Dice
from e2e.parity.process.world.workloads import Container, Group, Workload
from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.clock import rfc3339

_NEVER = "2026-01-01T00:00:00Z"


@dataclass(slots=True)
class LivePod:
    """A pod of a made-up cluster in the course of time.

    Args:
        workload: Its workload.
        group: Its group there.
        name: Its name.
        uid: Its uid.
        containers: What its containers have.
        phase: Its phase.
        has_init: Whether it has an init container.
        shows_resources: Whether its status shows what the containers have.
        restarts: How often its containers were restarted.
        killed: The container that was killed for lack of memory last, and when.
        labels: Its labels.
    """

    workload: Workload
    group: Group
    name: str
    uid: str
    containers: tuple[Container, ...]
    phase: str
    has_init: bool
    shows_resources: bool
    labels: dict[str, str]
    restarts: int = 0
    killed: tuple[str, str] | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.workload.namespace, self.name

    def body(self) -> JsonObject:
        """Return the object."""
        metadata: JsonObject = {
            "name": self.name,
            "namespace": self.workload.namespace,
            "uid": self.uid,
            "labels": dict(self.labels),
            "creationTimestamp": _NEVER,
        }
        if self.group.owner is not None:
            metadata["ownerReferences"] = [self.group.owner]
        spec: JsonObject = {"nodeName": "node-1", "containers": [one.body() for one in self.containers]}
        if self.has_init:
            spec["initContainers"] = [{"name": "init", "image": "made-up:1"}]
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": self.status()}

    def status(self) -> JsonObject:
        """Return its status."""
        return {
            "phase": self.phase,
            "startTime": _NEVER,
            "qosClass": "Burstable",
            "containerStatuses": [self._container(one) for one in self.containers],
        }

    def _container(self, container: Container) -> JsonObject:
        status: JsonObject = {
            "name": container.name,
            "image": "made-up:1",
            "imageID": "",
            "ready": True,
            "restartCount": self.restarts if self.killed and self.killed[0] == container.name else 0,
            "state": {"running": {"startedAt": _NEVER}},
        }
        if self.killed and self.killed[0] == container.name:
            ended = {"reason": "OOMKilled", "exitCode": 137, "startedAt": _NEVER, "finishedAt": self.killed[1]}
            status["lastState"] = {"terminated": ended}
        if self.shows_resources:
            status["resources"] = container.resources()
        return status


def make_pod(dice: Dice, workload: Workload, group: Group, name: str) -> LivePod:
    """Make a pod up."""
    return LivePod(
        workload,
        group,
        name,
        dice.uid(),
        workload.containers,
        dice.weighted({"Running": 0.9, "Succeeded": 0.03, "Failed": 0.03, "Pending": 0.04}),
        has_init=dice.chance(0.15),
        shows_resources=dice.chance(0.6),
        labels=dict(group.labels),
    )


class Fate:
    """Makes up what befalls the pods of a cluster between two rounds.

    Args:
        dice: Its chance.
        pods: The pods; changed as things befall them.
    """

    def __init__(self, dice: Dice, pods: list[LivePod]) -> None:
        self._dice = dice
        self._pods = pods

    def strike(self, moment: datetime) -> Iterator[Change]:
        """Yield what happens around a moment."""
        for pod in list(self._pods):
            what = self._dice.weighted(
                {"": 0.72, "kill": 0.12, "evict": 0.03, "go": 0.05, "follow": 0.05, "relabel": 0.03}
            )
            match what:
                case "kill":
                    yield self._killed(pod, moment)
                case "evict":
                    yield Change(ChangeKind.CREATE, self._eviction(pod, moment))
                case "go":
                    self._pods.remove(pod)
                    yield Change(ChangeKind.DELETE, pod.body())
                case "follow":
                    yield self._successor(pod)
                case "relabel":
                    pod.labels = {**pod.labels, "tier": self._dice.pick(("front", "back"))}
                    yield Change(ChangeKind.MERGE, partial(pod.body(), metadata=pod.body()["metadata"]))

    def _killed(self, pod: LivePod, moment: datetime) -> Change:
        """Let a container of a pod be killed for lack of memory, and start again."""
        at = moment - timedelta(seconds=self._dice.pick((5, 600, 4000, 50_000, 200_000)))
        pod.restarts += 1
        pod.killed = (self._dice.pick(pod.containers).name, rfc3339(at))
        return Change(ChangeKind.MERGE, partial(pod.body(), status=pod.status()))

    def _eviction(self, pod: LivePod, moment: datetime) -> JsonObject:
        """Return the event by which a kubelet tells that it evicted a pod for lack of memory."""
        names = [one.name for one in pod.containers]
        used = [str(self._dice.memory_bytes()) for _ in names]
        annotations = {
            "offending_containers": ",".join(names),
            "offending_containers_usage": ",".join(used),
            "starved_resource": ",".join(self._dice.pick(("memory", "memory", "ephemeral-storage")) for _ in names),
        }
        metadata: JsonObject = {
            "name": f"{pod.name}.{self._dice.uid()[:8]}",
            "namespace": pod.workload.namespace,
            "creationTimestamp": rfc3339(moment),
            "annotations": annotations,
        }
        about = {
            "kind": "Pod",
            "namespace": pod.workload.namespace,
            "name": pod.name,
            "uid": pod.uid,
            "apiVersion": "v1",
        }
        told = {"reason": "Evicted", "type": "Warning", "message": "no memory left"}
        return {"apiVersion": "v1", "kind": "Event", "metadata": metadata, "involvedObject": about, **told}

    def _successor(self, pod: LivePod) -> Change:
        """Let another pod of the same group come."""
        name = f"{pod.workload.name}-s{self._dice.uid()[:6]}"
        new = make_pod(self._dice, pod.workload, pod.group, name)
        self._pods.append(new)
        return Change(ChangeKind.CREATE, new.body())

"""Nodes on an API server, without HTTP: what the tests of the kubelet's life play on."""

from __future__ import annotations

from datetime import timedelta

from evenkeel.simulator.api.builtin import PODS
from evenkeel.simulator.api.fields import JsonObject, as_object, child, copy_of, ensure, number, rows, text
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.store import Change, ChangeType
from evenkeel.simulator.clock import ManualClock
from evenkeel.simulator.kubelet.kubelet import Kubelet
from evenkeel.simulator.kubelet.nodes import Nodes
from evenkeel.simulator.kubelet.settings import Amounts, NodeSettings, Timing
from evenkeel.simulator.workloads.catalogue import Catalogue
from evenkeel.simulator.workloads.choices import USAGE_KEY
from evenkeel.simulator.workloads.demand import Behaviour
from tests.evenkeel.simulator.kubelet.pods import GIBIBYTE, container

SECOND = timedelta(seconds=1)
NODE = NodeSettings("n", Amounts(4000, 8 * GIBIBYTE))


class Stage:
    """One node, and pods on it.

    Args:
        settings: The node.
        timing: How fast it is.
        seed: Another seed gives other delays.
    """

    def __init__(self, settings: NodeSettings = NODE, timing: Timing | None = None, seed: int = 0) -> None:
        self.clock = ManualClock()
        self.start = self.clock.now()
        self.server = ApiServer(self.clock, seed=seed)
        self.catalogue = Catalogue(self.clock.now())
        self.nodes = Nodes(self.server, self.catalogue, seed=seed)
        self.versions: list[tuple[float, JsonObject]] = []
        self.server.store.versions.observe(PODS, self._notice)
        self.kubelet: Kubelet = self.nodes.add(settings, timing)

    def _notice(self, change: Change) -> None:
        if change.type is not ChangeType.DELETED:
            self.versions.append((self.elapsed, change.after.body))

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return (self.clock.now() - self.start).total_seconds()

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.advance(timedelta(seconds=seconds))

    def create(
        self, name: str, *containers: JsonObject, behaviour: Behaviour | None = None, **spec: object
    ) -> JsonObject:
        """Create a pod on the node."""
        metadata: JsonObject = {"name": name, "namespace": "default"}
        if behaviour is not None:
            self.catalogue.add(name, behaviour)
            metadata["annotations"] = {USAGE_KEY: name}
        whole: JsonObject = {"nodeName": "n", "containers": list(containers) or [container()]} | spec
        return self.server.store.create(
            {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": whole, "status": {"phase": "Pending"}}
        )

    def run(self, name: str, *containers: JsonObject, behaviour: Behaviour | None = None, **spec: object) -> JsonObject:
        """Create a pod and let it come up."""
        self.create(name, *containers, behaviour=behaviour, **spec)
        self.advance(4)
        pod = self.read(name)
        assert text(pod, "status", "phase") == "Running", pod
        return pod

    def read(self, name: str) -> JsonObject:
        """Return a pod."""
        return self.server.store.read("v1", "Pod", name, "default")

    def exists(self, name: str) -> bool:
        """Say whether a pod's object is there."""
        return self.server.store.find("v1", "Pod", name, "default") is not None

    def change(self, name: str, resources: JsonObject, container_name: str = "app") -> None:
        """Write other resources into a pod's spec, as the resize subresource does."""
        pod = self.read(name)
        listed = [*rows(pod, "spec", "containers"), *rows(pod, "spec", "initContainers")]
        next(c for c in listed if text(c, "name") == container_name)["resources"] = copy_of(resources)
        self.server.store.update(pod)

    def delete(self, name: str, grace_seconds: int = 30) -> None:
        """Begin the deletion of a pod."""
        pod = self.read(name)
        metadata = ensure(pod, "metadata")
        metadata["deletionTimestamp"] = "2026-01-01T01:00:00Z"
        metadata["deletionGracePeriodSeconds"] = grace_seconds
        metadata["generation"] = number(metadata, "generation") + 1
        self.server.store.update(pod)

    def phase(self, name: str) -> str:
        """Return a pod's phase."""
        return text(self.read(name), "status", "phase")

    def status(self, name: str, container_name: str = "app") -> JsonObject:
        """Return the status of a container."""
        pod = self.read(name)
        listed = [*rows(pod, "status", "containerStatuses"), *rows(pod, "status", "initContainerStatuses")]
        return next(s for s in listed if text(s, "name") == container_name)

    def state(self, name: str, container_name: str = "app") -> str:
        """Return the state of a container in a word, with its reason if it has one."""
        state = child(self.status(name, container_name), "state")
        (word,) = state
        reason = text(as_object(state[word]), "reason")
        return f"{word} {reason}".strip()

    def restarts(self, name: str) -> int:
        """Return how often the container was restarted."""
        return number(self.status(name), "restartCount")

    def reasons(self, name: str) -> list[str]:
        """Return the reasons of the events about a pod, in the order of their first writing, counts in brackets."""
        found = [e for e in self.server.store.list("v1", "Event") if text(e, "involvedObject", "name") == name]
        found.sort(key=lambda e: text(e, "metadata", "name").rpartition(".")[2])
        return [text(e, "reason") + (f"[{e['count']}]" if e["count"] != 1 else "") for e in found]

    def condition(self, name: str, kind: str) -> JsonObject:
        """Return a condition of a pod, empty when it is not there."""
        listed = rows(self.read(name), "status", "conditions")
        return next((row for row in listed if text(row, "type") == kind), {})

    def until(self, check: object, seconds: float = 60) -> float:
        """Move from timer to timer until a check holds; return when that was."""
        assert callable(check)
        deadline = self.clock.now() + timedelta(seconds=seconds)
        while not check():
            due = self.clock.next_timer()
            assert due is not None
            assert due <= deadline, "it does not come to that"
            self.clock.set(max(due, self.clock.now()))
        return self.elapsed

"""All simulated nodes of a cluster, and who tells them about their pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from evenkeel.simulator.api.builtin import PODS
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.store import Change, ChangeType, Stored
from evenkeel.simulator.kubelet.kubelet import Kubelet, Surroundings, node_name_of
from evenkeel.simulator.kubelet.metrics import MeteredNode, NodeMetricsSource
from evenkeel.simulator.kubelet.settings import NodeSettings, Timing
from evenkeel.simulator.workloads.demand import DemandSource

_USUAL = Timing()


class Nodes:
    """The nodes of one cluster.

    Args:
        server: Its API server.
        source: What containers do.
        seed: Makes everything repeatable.
        timing: How fast nodes are unless told otherwise.
    """

    def __init__(self, server: ApiServer, source: DemandSource, *, seed: int = 0, timing: Timing = _USUAL) -> None:
        self._server = server
        self._timing = timing
        self._kubelets: dict[str, Kubelet] = {}
        self._pods: dict[str, dict[str, Stored]] = {}
        self._surroundings = Surroundings(server.store, server.clock, source, self.pods_of, seed)
        self.metrics = NodeMetricsSource(self._metered, server.clock.now, server.clock.now(), timing.scrape)
        self._stop = server.store.versions.observe(PODS, self._take_in)
        for stored in server.store.versions.snapshot(PODS):
            self._note(ChangeType.ADDED, stored)

    def add(self, settings: NodeSettings, timing: Timing | None = None) -> Kubelet:
        """Add a node whose kubelet runs.

        Raises:
            ValueError: There is one of that name.
        """
        if settings.name in self._kubelets:
            raise ValueError(f"node {settings.name}: exists already; choose another name")
        kubelet = Kubelet(settings, timing or self._timing, self._surroundings, len(self._kubelets))
        self._kubelets[settings.name] = kubelet
        kubelet.start_at_once()
        return kubelet

    def __getitem__(self, name: str) -> Kubelet:
        """Return a node by name.

        Raises:
            KeyError: There is none of that name.
        """
        return self._kubelets[name]

    def metrics_text(self, name: str) -> str:
        """Return what the ``/metrics`` of a node's kubelet shows, empty where none runs."""
        kubelet = self._kubelets.get(name)
        return kubelet.metrics_text() if kubelet is not None else ""

    def all(self) -> list[Kubelet]:
        """Return all nodes, by name."""
        return [self._kubelets[name] for name in sorted(self._kubelets)]

    def pods_of(self, name: str) -> Mapping[str, Stored]:
        """Return the pods bound to a node, by uid."""
        return self._pods.get(name, {})

    def close(self) -> None:
        """Take no more notice of pods."""
        self._stop()

    def _metered(self) -> Iterable[MeteredNode]:
        """Yield what metrics.k8s.io may show, by node."""
        return (kubelet.metered() for kubelet in self.all())

    def _take_in(self, change: Change) -> None:
        """Hand a change of a pod to the kubelet of its node; nothing is done here, as a write is under way."""
        self._note(change.type, change.after)
        kubelet = self._kubelets.get(node_name_of(change.after))
        if kubelet is not None:
            kubelet.deliver(change)

    def _note(self, kind: ChangeType, stored: Stored) -> None:
        """Keep the newest state of each bound pod."""
        name = node_name_of(stored)
        if not name:
            return
        pods = self._pods.setdefault(name, {})
        if kind is ChangeType.DELETED:
            pods.pop(stored.uid, None)
        else:
            pods[stored.uid] = stored

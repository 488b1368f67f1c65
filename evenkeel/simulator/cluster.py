"""A whole simulated cluster: API server, controllers, nodes and metrics, on one clock."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from evenkeel.simulator.administrator import Administrator
from evenkeel.simulator.api.access import ADMIN
from evenkeel.simulator.api.calls import User
from evenkeel.simulator.api.fields import JsonObject, rows, text
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.clock import EPOCH, Clock, ManualClock
from evenkeel.simulator.controllers.context import Settings as ControllerSettings
from evenkeel.simulator.controllers.plane import ControlPlane
from evenkeel.simulator.controllers.turns import advance
from evenkeel.simulator.kubelet.nodes import Nodes
from evenkeel.simulator.kubelet.settings import NodeSettings, Timing
from evenkeel.simulator.manifests import Manifests
from evenkeel.simulator.workloads.catalogue import Catalogue
from evenkeel.simulator.workloads.sharing import ReadyPods

_LOOPBACK = "127.0.0.1"
_AS_PROCESSES = {"Deployment", "PodDisruptionBudget"}
"""Kinds of manifests that are about pods; the processes are none here."""


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """What a simulated cluster is made of.

    Args:
        nodes: Its nodes.
        seed: Makes uids, names and everything else that is left to chance repeatable.
        start: What its clock shows at first.
        controllers: How fast controllers act.
        timing: How fast the parts of its nodes are.
    """

    nodes: tuple[NodeSettings, ...] = (NodeSettings("node-1"),)
    seed: int = 0
    start: datetime = EPOCH
    controllers: ControllerSettings = field(default_factory=ControllerSettings)
    timing: Timing = field(default_factory=Timing)


class SimulatedCluster:
    """A cluster in memory, with RBAC on.

    Everything in it happens on its clock, which stands still until it is moved: by ``advance``, or by the lock-step
    clock where other processes take part. ``serving.serve`` puts its API server on a port.

    Args:
        settings: What it is made of.
        clock: Its clock, if it is not to be one that stands still.
    """

    def __init__(self, settings: ClusterSettings, clock: Clock | None = None) -> None:
        self.clock = clock or ManualClock(settings.start)
        self.admin_token = secrets.token_urlsafe()
        self.server = ApiServer(self.clock, seed=settings.seed, tokens={self.admin_token: ADMIN}, rbac=True)
        self.plane = ControlPlane(self.server, settings.controllers)
        self.catalogue = Catalogue(self.clock.now(), sharing=ReadyPods(self.server.store.versions))
        self.nodes = Nodes(self.server, self.catalogue, seed=settings.seed)
        self.server.metrics = self.nodes.metrics
        self.server.kubelet_metrics = self.nodes.metrics_text
        self.administrator = Administrator(self.server)
        self._settings = settings

    def start(self) -> None:
        """Let the controllers act, and add the nodes."""
        self.plane.start()
        for node in self._settings.nodes:
            self.nodes.add(node, self._settings.timing)

    async def close(self) -> None:
        """Let nothing act any more."""
        self.plane.stop()
        await self.plane.turns.close()

    async def advance(self, by: timedelta) -> None:
        """Move the clock on, step by step; not while a lock-step clock does that.

        Raises:
            TypeError: The clock moves by itself.
        """
        if not isinstance(self.clock, ManualClock):
            raise TypeError("this cluster's clock moves by itself; wait for it instead")
        await advance(self.clock, self.plane.turns, self.clock.now() + by)

    async def install(self, manifests: Manifests) -> tuple[str, ...]:
        """Apply everything of an installation that is not a process, definitions and namespaces first.

        Returns:
            The kinds that this API server does not have and that were left out.

        Raises:
            StatusError: The API server refuses an object.
        """
        first = {"Namespace": 0, "CustomResourceDefinition": 1}
        missing: set[str] = set()
        for one in sorted(manifests.objects, key=lambda one: first.get(text(one, "kind"), 2)):
            if text(one, "kind") in _AS_PROCESSES:
                continue
            if not self.administrator.serves(one):
                missing.add(text(one, "kind"))
                continue
            await self.administrator.apply(one)
        return tuple(sorted(missing))

    def token_of(self, namespace: str, service_account: str) -> str:
        """Return a new token of a service account.

        Raises:
            StatusError: There is no such service account.
        """
        self.server.store.read("v1", "ServiceAccount", service_account, namespace)
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
        token = secrets.token_urlsafe()
        self.server.access.tokens[token] = User(f"system:serviceaccount:{namespace}:{service_account}", groups)
        return token

    async def expose(self, namespace: str, service: str, port: int) -> None:
        """Let a Service lead to a port of this machine.

        Raises:
            StatusError: There is no such Service.
        """
        found = self.server.store.read("v1", "Service", service, namespace)
        endpoints: JsonObject = {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": {"name": service, "namespace": namespace},
            "subsets": [
                {
                    "addresses": [{"ip": _LOOPBACK}],
                    "ports": [{"name": name, "port": port} for name in _port_names(found)],
                }
            ],
        }
        await self.administrator.apply(endpoints)


def _port_names(service: JsonObject) -> Iterable[str]:
    """Return the names of a Service's ports."""
    return [text(port, "name") for port in rows(service, "spec", "ports")]

"""The control plane: every controller of one cluster, and the scheduler."""

from __future__ import annotations

from datetime import datetime

from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.clock import ManualClock
from evenkeel.simulator.controllers.autoscalers import AutoscalerController
from evenkeel.simulator.controllers.budgets import BudgetController
from evenkeel.simulator.controllers.context import Context, Settings
from evenkeel.simulator.controllers.cronjobs import CronJobController
from evenkeel.simulator.controllers.daemonsets import DaemonSetController
from evenkeel.simulator.controllers.deployments import DeploymentController
from evenkeel.simulator.controllers.event_expiry import EventExpiry
from evenkeel.simulator.controllers.garbage import GarbageCollector
from evenkeel.simulator.controllers.jobs import FinishedJobController, JobController
from evenkeel.simulator.controllers.namespaces import NamespaceController
from evenkeel.simulator.controllers.node_taints import NodeTaintController
from evenkeel.simulator.controllers.quotas import QuotaController
from evenkeel.simulator.controllers.reconciler import Reconciler
from evenkeel.simulator.controllers.replicasets import ReplicaSetController, ReplicationControllerController
from evenkeel.simulator.controllers.scheduler import Scheduler
from evenkeel.simulator.controllers.statefulsets import StatefulSetController
from evenkeel.simulator.controllers.taint_eviction import TaintEvictionController
from evenkeel.simulator.controllers.turns import Turns, advance

CONTROLLERS: tuple[type[Reconciler], ...] = (
    NamespaceController,
    NodeTaintController,
    TaintEvictionController,
    DeploymentController,
    ReplicaSetController,
    ReplicationControllerController,
    StatefulSetController,
    DaemonSetController,
    JobController,
    FinishedJobController,
    CronJobController,
    AutoscalerController,
    BudgetController,
    QuotaController,
    GarbageCollector,
    EventExpiry,
    Scheduler,
)
"""Every controller, in the order in which they see a change."""


class ControlPlane:
    """All controllers of one cluster.

    Args:
        server: The API server that they work on.
        settings: What may differ from cluster to cluster.
    """

    def __init__(self, server: ApiServer, settings: Settings | None = None) -> None:
        self._server = server
        self._context = Context(server, settings or Settings())
        self._controllers = [make(self._context) for make in CONTROLLERS]

    @property
    def turns(self) -> Turns:
        """The steps of the controllers; whoever moves the clock waits until they are settled."""
        return self._context.turns

    def start(self) -> None:
        """Take in what is there, and keep it as declared from now on."""
        self._context.start()
        for controller in self._controllers:
            controller.start()

    def stop(self) -> None:
        """Act no more."""
        for controller in self._controllers:
            controller.stop()

    async def advance(self, until: datetime) -> None:
        """Move the server's clock to a moment, waiting at each step for what the controllers do.

        Raises:
            TypeError: The server's clock moves by itself.
        """
        clock = self._server.clock
        if not isinstance(clock, ManualClock):
            raise TypeError(f"{type(clock).__name__} moves by itself; give the server a ManualClock to move it by hand")
        await advance(clock, self.turns, until)

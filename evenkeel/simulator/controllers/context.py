"""What all controllers of one cluster share."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from evenkeel.simulator.api.builtin import PODS
from evenkeel.simulator.api.kinds import GroupResource, Kind
from evenkeel.simulator.api.objects import ObjectStore
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.store import Store
from evenkeel.simulator.controllers.index import ControlledIndex
from evenkeel.simulator.controllers.turns import Turns

DEPLOYMENTS = GroupResource("apps", "deployments")
REPLICA_SETS = GroupResource("apps", "replicasets")
STATEFUL_SETS = GroupResource("apps", "statefulsets")
DAEMON_SETS = GroupResource("apps", "daemonsets")
REVISIONS = GroupResource("apps", "controllerrevisions")
REPLICATION_CONTROLLERS = GroupResource("", "replicationcontrollers")
JOBS = GroupResource("batch", "jobs")
CRON_JOBS = GroupResource("batch", "cronjobs")
NODES = GroupResource("", "nodes")


@dataclass(frozen=True, slots=True)
class Settings:
    """What may differ from cluster to cluster.

    Args:
        latency: From a change until a controller acts on it; above zero, as nothing may happen inside a write.
        event_lifetime: After which an event is removed.
        quota_sync_period: How often every quota is counted anew, whatever changed.
        autoscaler_period: How often every HorizontalPodAutoscaler is looked at.
    """

    latency: timedelta = timedelta(milliseconds=10)
    event_lifetime: timedelta = timedelta(hours=1)
    quota_sync_period: timedelta = timedelta(minutes=5)
    autoscaler_period: timedelta = timedelta(seconds=15)

    def __post_init__(self) -> None:
        if self.latency <= timedelta(0):
            raise ValueError(f"latency {self.latency}: a controller acts after a change; give it a time above zero")


class Context:
    """What all controllers of one cluster share.

    Args:
        server: The API server.
        settings: What may differ.
    """

    def __init__(self, server: ApiServer, settings: Settings) -> None:
        self.server = server
        self.settings = settings
        self.turns = Turns(server.store.versions)
        self.pods = ControlledIndex(server.store.versions, PODS)
        self.replica_sets = ControlledIndex(server.store.versions, REPLICA_SETS)
        self.revisions = ControlledIndex(server.store.versions, REVISIONS)
        self.jobs = ControlledIndex(server.store.versions, JOBS)

    @property
    def objects(self) -> ObjectStore:
        """Whole objects."""
        return self.server.store

    @property
    def versions(self) -> Store:
        """Stored bodies and their changes."""
        return self.server.store.versions

    def now(self) -> datetime:
        """Return the present moment."""
        return self.server.clock.now()

    def start(self) -> None:
        """Begin to keep the indexes."""
        for index in (self.pods, self.replica_sets, self.revisions, self.jobs):
            index.start()

    def kind(self, resource: GroupResource) -> Kind:
        """Return a built-in kind in version v1."""
        found = self.server.registry.at(resource.group, "v1", resource.plural)
        assert found is not None
        return found

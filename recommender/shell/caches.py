"""What the recommender watches, and the OOM kills that it notices on the way."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from typing import TypeVar

from autoscaling.behaviour import UPSTREAM, Behaviour, HpaConflict
from autoscaling.errors import InvalidObjectError
from autoscaling.hpa import Hpa
from autoscaling.kube.client import KubeClient
from autoscaling.kube.controllers import ControllerCache
from autoscaling.kube.decoders import identified, versioned
from autoscaling.kube.event_ledger import EventDraft
from autoscaling.kube.events import EventRecorder
from autoscaling.kube.invalid_objects import telling
from autoscaling.kube.optional import OptionalStore
from autoscaling.kube.paths import (
    DAEMON_SETS,
    EVENTS,
    HORIZONTAL_POD_AUTOSCALERS,
    NODES,
    PODS,
    Selection,
    checkpoints,
    vertical_pod_autoscalers,
)
from autoscaling.kube.table import Change, Key
from autoscaling.kube.watch import StoreCallbacks, WatchedStore
from autoscaling.node import Node
from autoscaling.pod import Pod
from autoscaling.runtime.startup import logging_callbacks
from autoscaling.vpa import Vpa
from autoscaling.wire.hpas import decode_hpa
from autoscaling.wire.nodes import decode_node
from autoscaling.wire.objects import decode_vpa
from autoscaling.wire.pods import (
    decode_placed_pod_outline,
    decode_placed_pod_outline_with_sidecars,
    decode_pod_outline,
    decode_pod_outline_with_sidecars,
)
from autoscaling.workload import Workload
from recommender.checkpoint import ContainerCheckpoint
from recommender.node_fit import KnownNodes
from recommender.oom import OomRecord
from recommender.pod_changes import PodChanges
from recommender.resource_reads import ReadingTally
from recommender.shell.noticed_kills import NoticedKills
from recommender.wire.checkpoints import decode_checkpoint
from recommender.wire.eviction_events import decode_eviction

KNOWN_PODS = "status.phase!=Pending"
"""Pods that have started; finished ones stay until they are deleted (recommender 3.3)."""

_POD_DECODERS = {
    (False, False): decode_pod_outline,
    (False, True): decode_pod_outline_with_sidecars,
    (True, False): decode_placed_pod_outline,
    (True, True): decode_placed_pod_outline_with_sidecars,
}
"""How pods are read, by whether where they may run is asked for and whether their sidecars count."""

_EVICTIONS = "reason=Evicted"

Evictions = tuple[OomRecord, ...]
T = TypeVar("T")


class Caches:
    """Stores of all that a round looks at.

    Args:
        client: Calls to the API server.
        group: API group of VPAs and checkpoints.
        namespace: Only this one; empty for all.
        behaviour: Whether horizontal autoscalers and nodes are watched, too, whether Jobs are known by their owners,
            whether native sidecars count as containers, and whether OOM kills count that show when a pod is first seen.

    Attributes:
        hpas: Horizontal autoscalers; None where they are not watched.
        nodes: Nodes; None where they are not watched, as where one namespace alone does not tell what DaemonSets take.
        newer: VPAs that have come or changed since a round took them, by namespace and name; follows every change.
        kills: OOM kills noticed since the last round.
        readings: From where the resources of all known containers are read.
        left_out: How many states of objects could not be read since the last look, by kind.
        events: Takes events on VPAs that cannot be read; None while those are not told of there.
    """

    def __init__(
        self,
        client: KubeClient,
        group: str,
        namespace: str,
        behaviour: Behaviour = UPSTREAM,
    ) -> None:
        self.newer: dict[Key, Vpa] = {}
        self.kills = NoticedKills(behaviour)
        self._changes = PodChanges()
        self.readings = ReadingTally()
        self.left_out: Counter[str] = Counter()
        self.events: EventRecorder | None = None
        self.controllers = ControllerCache(
            client, namespace, self._telling(Workload), runs_match_by_owner=behaviour.jobs_and_cronjobs_match_by_owner
        )
        self.vpas = WatchedStore(
            client,
            Selection(vertical_pod_autoscalers(group), namespace),
            versioned(decode_vpa),
            self._following_vpas(vertical_pod_autoscalers(group).api_version),
        )
        self.checkpoints = WatchedStore(
            client,
            Selection(checkpoints(group), namespace),
            identified(decode_checkpoint),
            self._telling(ContainerCheckpoint),
        )
        told, asks_for_nodes = self._telling(Pod), behaviour.node_fit and not namespace
        self.pods = WatchedStore(
            client,
            Selection(PODS, namespace, field_selector=KNOWN_PODS),
            versioned(_POD_DECODERS[asks_for_nodes, behaviour.native_sidecars]),
            StoreCallbacks(self._pod_changed, told.on_unreadable, told.on_trouble),
        )
        told_of_events = self._telling(tuple)
        self.evictions = WatchedStore(
            client,
            Selection(EVENTS, namespace, field_selector=_EVICTIONS),
            identified(decode_eviction),
            StoreCallbacks(self._event_changed, told_of_events.on_unreadable, told_of_events.on_trouble),
        )
        self.hpas: OptionalStore[Hpa] | None = None
        if behaviour.hpa_conflict is not HpaConflict.OFF:
            selection = Selection(HORIZONTAL_POD_AUTOSCALERS, namespace)
            self.hpas = OptionalStore(client, selection, versioned(decode_hpa), self._telling(Hpa))
        self.nodes: OptionalStore[Node] | None = None
        if asks_for_nodes:
            self.nodes = OptionalStore(client, Selection(NODES), identified(decode_node), self._telling(Node))

    @property
    def _optional(self) -> tuple[OptionalStore[Hpa] | OptionalStore[Node], ...]:
        """What is good to know, but need not be allowed to be listed."""
        return tuple(store for store in (self.hpas, self.nodes) if store is not None)

    def _telling(self, kind: type[T]) -> StoreCallbacks[T]:
        """Return callbacks that log what cannot be read or reached, and count what cannot be read."""
        told = logging_callbacks(kind)

        def leave_out(error: InvalidObjectError) -> None:
            self.left_out[error.ref.kind] += 1
            if told.on_unreadable is not None:
                told.on_unreadable(error)

        return replace(told, on_unreadable=leave_out)

    def _following_vpas(self, api_version: str) -> StoreCallbacks[Vpa]:
        """Return callbacks that note which VPAs change, and tell of those that cannot be read on themselves as well."""
        told = self._telling(Vpa)
        on_unreadable = telling(told.on_unreadable, api_version, self._record)
        return replace(told, on_change=self._vpa_changed, on_unreadable=on_unreadable)

    def start(self) -> list[asyncio.Task[None]]:
        """Follow everything; returns the tasks for whoever supervises the process."""
        stores = [self.vpas.start(), self.checkpoints.start(), self.pods.start(), self.evictions.start()]
        stores += [store.start() for store in self._optional]
        return [*stores, *self.controllers.start()]

    async def stop(self) -> None:
        """End all tasks."""
        await asyncio.gather(
            self.vpas.stop(),
            self.checkpoints.stop(),
            self.pods.stop(),
            self.evictions.stop(),
            self.controllers.stop(),
            *(store.stop() for store in self._optional),
        )

    async def wait_synced(self, seconds: float) -> None:
        """Wait until everything has been listed completely, but for what is optional and may not be listed.

        Raises:
            ApiError: Something was not in time; says what and why.
        """
        await asyncio.gather(
            self.vpas.wait_synced(seconds),
            self.checkpoints.wait_synced(seconds),
            self.pods.wait_synced(seconds),
            self.evictions.wait_synced(seconds),
            self.controllers.wait_synced(seconds),
            *(store.wait_settled(seconds) for store in self._optional),
        )

    def take_vpas(self) -> tuple[Vpa, ...]:
        """Return all VPAs as they are now, for a round to observe."""
        self.newer.clear()
        return self.vpas.snapshot()

    def follow_pods(self) -> PodChanges:
        """Return what keeps account of changes from now on, for whoever asked last; all pods there are count as new."""
        self._changes = PodChanges(dict(self.pods.items()))
        return self._changes

    def known_nodes(self) -> KnownNodes | None:
        """Return the nodes and what else tells of their room; do not keep it over an await. None where not known."""
        if self.nodes is None or not self.nodes.is_known:
            return None
        daemon_sets = self.controllers.stores[DAEMON_SETS.kind].snapshot()
        workloads, versions = self.controllers.known().workloads, self.controllers.versions
        return KnownNodes(self.nodes.snapshot(), daemon_sets, workloads, versions)

    def _record(self, draft: EventDraft) -> None:
        if self.events is not None:
            self.events.record(draft)

    def take_left_out(self) -> dict[str, int]:
        """Return how many states of objects could not be read since the last call, by kind."""
        found = dict(self.left_out)
        self.left_out.clear()
        return found

    def _vpa_changed(self, change: Change[Vpa]) -> None:
        if change.new is not None:
            self.newer[change.key] = change.new
        else:
            self.newer.pop(change.key, None)

    def _pod_changed(self, change: Change[Pod]) -> None:
        self._changes.note(change.key, change.new)
        self.readings.replace(change.old, change.new)
        if change.new is not None:
            kills = self.kills.look(change, is_synced=self.pods.is_synced)
            self.readings.add(change.new, (kill.container for kill in kills))

    def _event_changed(self, change: Change[Evictions]) -> None:
        # An event that changes has been seen before; only a new one tells of an eviction.
        if change.old is None and change.new is not None:
            self.kills.notice(change.new)

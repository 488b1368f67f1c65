"""The caches that reviews look at: VPAs, LimitRanges and controllers, kept by watches and calls in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from admission.vpa_matching import ClusterView, TargetName
from autoscaling.behaviour import UPSTREAM, Behaviour
from autoscaling.kube.client import KubeClient
from autoscaling.kube.controllers import ControllerCache
from autoscaling.kube.decoders import identified, versioned
from autoscaling.kube.paths import LIMIT_RANGES, Selection, vertical_pod_autoscalers
from autoscaling.kube.table import Change
from autoscaling.kube.watch import WatchedStore
from autoscaling.limitrange import LimitRange, NamespaceLimits, merge
from autoscaling.ownership import ControllerKey
from autoscaling.runtime.contradictions import ContradictionReport
from autoscaling.runtime.startup import logging_callbacks
from autoscaling.targets import target_key
from autoscaling.vpa import Vpa
from autoscaling.wire.objects import decode_limit_range, decode_vpa
from autoscaling.workload import Workload

_SLICE = 100
"""Targets looked at between two looks at other work: reviews come first."""


class VpaIndex:
    """VPAs by namespace and target, kept up to date change by change."""

    def __init__(self) -> None:
        self._by_namespace: dict[str, dict[TargetName, tuple[Vpa, ...]]] = {}

    @property
    def by_namespace(self) -> Mapping[str, Mapping[TargetName, tuple[Vpa, ...]]]:
        """Live view; VPAs without a target are not in it (spec: admission:6.5)."""
        return self._by_namespace

    def apply(self, change: Change[Vpa]) -> None:
        """Take in one change."""
        if change.old is not None:
            self._remove(change.old)
        if change.new is not None:
            self._add(change.new)

    def _remove(self, vpa: Vpa) -> None:
        targets = self._by_namespace.get(vpa.namespace)
        if vpa.target_ref is None or targets is None:
            return
        name = (vpa.target_ref.kind, vpa.target_ref.name)
        left = tuple(other for other in targets.get(name, ()) if other.name != vpa.name)
        if left:
            targets[name] = left
            return
        targets.pop(name, None)
        if not targets:
            del self._by_namespace[vpa.namespace]

    def _add(self, vpa: Vpa) -> None:
        if vpa.target_ref is None:
            return
        targets = self._by_namespace.setdefault(vpa.namespace, {})
        name = (vpa.target_ref.kind, vpa.target_ref.name)
        targets[name] = (*targets.get(name, ()), vpa)


class LimitIndex:
    """The LimitRanges of each namespace, merged when one of them changes."""

    def __init__(self) -> None:
        self._objects: dict[str, dict[str, LimitRange]] = {}
        self._merged: dict[str, NamespaceLimits] = {}
        self._report = ContradictionReport()

    @property
    def by_namespace(self) -> Mapping[str, NamespaceLimits]:
        """Live view; namespaces without LimitRanges are not in it."""
        return self._merged

    def apply(self, change: Change[LimitRange]) -> None:
        """Take in one change."""
        namespace, name = change.key
        objects = self._objects.setdefault(namespace, {})
        if change.new is not None:
            objects[name] = change.new
        else:
            objects.pop(name, None)
        if objects:
            # By name, so that which default counts last does not depend on the order of events.
            self._merged[namespace] = merge(objects[each] for each in sorted(objects))
            self._report.look(namespace, self._merged[namespace])
        else:
            del self._objects[namespace]
            self._merged.pop(namespace, None)


class Caches:
    """Everything that reviews look at.

    Args:
        client: Calls to the API server.
        group: API group of the VPAs.
        namespace: Only this one; empty for all.
        behaviour: Whether Jobs are known by their owners, and targets by their API groups.
    """

    def __init__(self, client: KubeClient, group: str, namespace: str = "", behaviour: Behaviour = UPSTREAM) -> None:
        self._compares_groups = behaviour.custom_controllers
        self._vpas = VpaIndex()
        self._complete_view: ClusterView | None = None
        self._limits = LimitIndex()
        vpa_callbacks = replace(logging_callbacks(Vpa), on_change=self._take_vpa)
        limit_callbacks = replace(logging_callbacks(LimitRange), on_change=self._limits.apply)
        vpas = Selection(vertical_pod_autoscalers(group), namespace)
        limits = Selection(LIMIT_RANGES, namespace)
        self._vpa_store = WatchedStore(client, vpas, versioned(decode_vpa), vpa_callbacks)
        self._limit_store = WatchedStore(client, limits, identified(decode_limit_range), limit_callbacks)
        self._controllers = ControllerCache(
            client,
            namespace,
            logging_callbacks(Workload),
            runs_match_by_owner=behaviour.jobs_and_cronjobs_match_by_owner,
        )

    def start(self) -> list[asyncio.Task[None]]:
        """Fill the caches and follow what changes; returns the tasks for whoever supervises the process."""
        return [self._vpa_store.start(), self._limit_store.start(), *self._controllers.start()]

    async def stop(self) -> None:
        """End all tasks."""
        await self._vpa_store.stop()
        await self._limit_store.stop()
        await self._controllers.stop()

    async def wait_synced(self, seconds: float) -> None:
        """Wait until every cache has been filled once.

        Raises:
            ApiError: One was not in time; says which and why.
        """
        await asyncio.gather(
            self._vpa_store.wait_synced(seconds),
            self._limit_store.wait_synced(seconds),
            self._controllers.wait_synced(seconds),
        )

    @property
    def is_synced(self) -> bool:
        """Whether every cache has been filled once."""
        return self._vpa_store.is_synced and self._limit_store.is_synced and self._controllers.is_synced

    def view(self) -> ClusterView:
        """Return the caches as they are now; not to be kept over an await.

        Once they are complete they stay so, and as everything in a view is live, one serves for good.
        """
        if self._complete_view is not None:
            return self._complete_view
        view = ClusterView(
            self.is_synced,
            self._vpas.by_namespace,
            self._controllers.known(),
            self._limits.by_namespace,
            self._compares_groups,
        )
        if view.is_complete:
            self._complete_view = view
        return view

    def look_up_later(self, key: ControllerKey) -> None:
        """Have the scale of a controller read, for the next pod that belongs to it."""
        self._controllers.look_up_later(key)

    async def look_up(self, key: ControllerKey) -> None:
        """Wait until the scale of a controller is known, good or bad."""
        await self._controllers.look_up(key)

    async def keep_targets_known(self) -> None:
        """Have the scales of all targets of other than well-known kinds read; those known count as used.

        A target that no pod was created of for long would else be forgotten, and the next pod not recognised.
        """
        for place, vpa in enumerate(self._vpa_store.snapshot()):
            if place % _SLICE == 0:
                await asyncio.sleep(0)
            self._look_up_target(vpa)

    def _take_vpa(self, change: Change[Vpa]) -> None:
        """Take in one change of a VPA."""
        self._vpas.apply(change)
        if change.new is not None:
            self._look_up_target(change.new)

    def _look_up_target(self, vpa: Vpa) -> None:
        """Have the scale of a VPA's target read, where its kind is not one of the cached ones."""
        key = target_key(vpa)
        if key is not None and not key.is_well_known:
            self._controllers.look_up_later(key)

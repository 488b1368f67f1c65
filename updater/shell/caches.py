"""What the updater watches, and the frozen snapshot that a round looks at."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

from autoscaling.behaviour import UPSTREAM, Behaviour
from autoscaling.kube.client import KubeClient
from autoscaling.kube.controllers import ControllerCache
from autoscaling.kube.decoders import identified, versioned
from autoscaling.kube.event_ledger import EventDraft
from autoscaling.kube.events import EventRecorder
from autoscaling.kube.invalid_objects import telling
from autoscaling.kube.paths import LIMIT_RANGES, PODS, Selection, vertical_pod_autoscalers
from autoscaling.kube.table import Change
from autoscaling.kube.watch import WatchedStore
from autoscaling.limitrange import LimitRange
from autoscaling.matching import NOTHING, SelectingVpa, Selector, controlling_vpa
from autoscaling.ownership import ControllerKey, OwnerLookupError, OwnerNotCachedError, pod_controller
from autoscaling.pod import Pod
from autoscaling.runtime.contradictions import ContradictionReport
from autoscaling.runtime.startup import logging_callbacks
from autoscaling.targets import KnownControllers, target_selector
from autoscaling.vpa import UpdateMode, Vpa
from autoscaling.wire.objects import decode_limit_range, decode_vpa
from autoscaling.wire.pods import (
    decode_placed_pod,
    decode_placed_pod_with_sidecars,
    decode_pod,
    decode_pod_with_sidecars,
)
from autoscaling.workload import Workload
from updater.shell.surrounding_stores import SurroundingStores
from updater.snapshot import Snapshot
from updater.surroundings import Interest

T = TypeVar("T")

LIVE_PODS = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
"""Pods that have a node and have not ended (updater M-4)."""

_POD_DECODERS = {
    (False, False): decode_pod,
    (False, True): decode_pod_with_sidecars,
    (True, False): decode_placed_pod,
    (True, True): decode_placed_pod_with_sidecars,
}
"""How pods are read, by whether where they may run is asked for and whether their sidecars count."""


class Caches:
    """Stores of all that a round looks at.

    Args:
        client: Calls to the API server.
        group: API group of the VPAs.
        namespace: Only this one; empty for all.
        on_pod: Told of every pod that came or changed.
        behaviour: Whether Jobs are known by their owners, whether native sidecars count as containers, and whether
            what is around the pods is looked at.

    Attributes:
        around: Nodes, disruption budgets and quotas.
        events: Takes events on VPAs that cannot be read; None while those are not told of there.
    """

    def __init__(
        self,
        client: KubeClient,
        group: str,
        namespace: str,
        on_pod: Callable[[Pod], None] | None = None,
        behaviour: Behaviour = UPSTREAM,
    ) -> None:
        self._on_pod = on_pod
        self.events: EventRecorder | None = None
        self._is_by_target = behaviour.custom_controllers
        self._report = ContradictionReport()
        self.controllers = ControllerCache(
            client,
            namespace,
            logging_callbacks(Workload),
            runs_match_by_owner=behaviour.jobs_and_cronjobs_match_by_owner,
        )
        told, resource = logging_callbacks(Vpa), vertical_pod_autoscalers(group)
        self.vpas = WatchedStore(
            client,
            Selection(resource, namespace),
            versioned(decode_vpa),
            replace(told, on_unreadable=telling(told.on_unreadable, resource.api_version, self._record)),
        )
        interest = Interest.of(behaviour)
        self.around = SurroundingStores(client, namespace, interest)
        self.pods = WatchedStore(
            client,
            Selection(PODS, namespace, field_selector=LIVE_PODS),
            versioned(_POD_DECODERS[interest.placements, behaviour.native_sidecars]),
            replace(logging_callbacks(Pod), on_change=self._pod_changed),
        )
        self.limit_ranges = WatchedStore(
            client,
            Selection(LIMIT_RANGES, namespace),
            identified(decode_limit_range),
            logging_callbacks(LimitRange),
        )

    def start(self) -> list[asyncio.Task[None]]:
        """Follow everything; returns the tasks for whoever supervises the process."""
        named = [self.vpas.start(), self.pods.start(), self.limit_ranges.start()]
        return [*named, *self.around.start(), *self.controllers.start()]

    async def stop(self) -> None:
        """End all tasks."""
        for store in (self.vpas, self.pods, self.limit_ranges):
            await store.stop()
        await self.around.stop()
        await self.controllers.stop()

    async def wait_synced(self, seconds: float) -> None:
        """Wait until everything has been listed completely, but for what is around the pods and may not be listed.

        Raises:
            ApiError: Something was not in time; says what and why.
        """
        await asyncio.gather(
            self.vpas.wait_synced(seconds),
            self.pods.wait_synced(seconds),
            self.limit_ranges.wait_synced(seconds),
            self.controllers.wait_synced(seconds),
            self.around.wait_settled(seconds),
        )

    def _record(self, draft: EventDraft) -> None:
        if self.events is not None:
            self.events.record(draft)

    def _pod_changed(self, change: Change[Pod]) -> None:
        if change.new is not None and self._on_pod is not None:
            self._on_pod(change.new)

    async def controlling(self, pod: Pod) -> SelectingVpa | None:
        """Return the VPA of any mode that controls a pod, None where none does or its owners cannot be followed."""
        key = pod_controller(pod)
        if key is None:
            return None
        try:
            topmost = await self._settled(partial(_climb, key))
        except OwnerLookupError:
            return None
        if topmost is None:
            return None
        in_namespace = [vpa for vpa in self.vpas.snapshot() if vpa.namespace == pod.namespace]
        candidates = [SelectingVpa(vpa, await self._selector(vpa)) for vpa in in_namespace]
        found: Vpa | None = None
        if self._is_by_target:
            # One in mode Off yields to any other, as it does in the webhook that boosted the pod (beyond:B-30).
            acting = [c for c in candidates if c.vpa.update_mode is not UpdateMode.OFF]
            found = controlling_vpa(acting, topmost, pod.labels, compares_groups=True)
        found = found or controlling_vpa(candidates, topmost, pod.labels, compares_groups=self._is_by_target)
        return next((candidate for candidate in candidates if candidate.vpa is found), None)

    async def observe(self) -> Snapshot:
        """Return the cluster as it is now; scales of custom controllers are looked up where they are not known yet."""
        vpas, pods = self.vpas.snapshot(), self.pods.snapshot()
        selecting = [SelectingVpa(vpa, await self._selector(vpa)) for vpa in vpas]
        for key in dict.fromkeys(key for pod in pods if (key := pod_controller(pod)) is not None):
            with suppress(OwnerLookupError):
                await self._settled(partial(_climb, key))
        known = self.controllers.known()
        snapshot = Snapshot.of(
            selecting, pods, self.controllers.workloads(), known.scales, self.limit_ranges.snapshot()
        )
        for namespace, limits in snapshot.limits.items():
            self._report.look(namespace, limits)
        return replace(snapshot, surroundings=self.around.surroundings())

    async def _selector(self, vpa: Vpa) -> Selector:
        """Return the selector of a VPA's target; one that cannot be told matches nothing."""
        try:
            return await self._settled(lambda known: target_selector(vpa, known))
        except OwnerLookupError:
            return NOTHING

    async def _settled(self, compute: Callable[[KnownControllers], T]) -> T:
        """Compute at once where everything is cached, and look scales up only where one is missing."""
        try:
            return compute(self.controllers.known())
        except OwnerNotCachedError:
            return await self.controllers.settled(compute)


def _climb(start: ControllerKey, known: KnownControllers) -> ControllerKey | None:
    """Climb from a pod's controller, so that every scale on the way is looked up."""
    return known.topmost(start)

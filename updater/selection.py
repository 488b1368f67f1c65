"""Which VPAs take part in a round, and which live pods each of them controls (updater M-8, M-9)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from autoscaling.matching import SelectingVpa, controlling_vpa
from autoscaling.objectref import ObjectRef
from autoscaling.ownership import ControllerKey, Controllers, OwnerLookupError, pod_controller
from autoscaling.pod import Pod, PodPhase
from autoscaling.vpa import UpdateMode, Vpa
from updater.decision import Reason
from updater.settings import Settings
from updater.snapshot import Snapshot

_FINISHED = frozenset({PodPhase.SUCCEEDED, PodPhase.FAILED})
_PASSIVE = {UpdateMode.OFF: Reason.UPDATES_OFF, UpdateMode.INITIAL: Reason.NEW_PODS_ONLY}


@dataclass(frozen=True, slots=True)
class Member:
    """A live pod with the group it belongs to: its direct controller, of whatever API version (updater R-1)."""

    pod: Pod
    group: ObjectRef


@dataclass(frozen=True, slots=True)
class ControlledPods:
    """A VPA with the live pods that it controls, in cache order; there is at least one."""

    vpa: Vpa
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class DroppedVpa:
    """A VPA that takes no part in the round, and why."""

    vpa: ObjectRef
    reason: Reason


@dataclass(frozen=True, slots=True)
class Selection:
    """What a round works on.

    Args:
        controlled: VPAs that take part and control pods, in the snapshot's order.
        dropped: VPAs that take no part; they win no pod from others either.
        live_uids: UIDs of all live pods, None where no VPA takes part and pods were not looked at.
    """

    controlled: tuple[ControlledPods, ...]
    dropped: tuple[DroppedVpa, ...]
    live_uids: frozenset[str] | None


def is_live(pod: Pod) -> bool:
    """Say whether a pod is placed on a node, not finished and not on its way out (updater M-4, M-9)."""
    return bool(pod.node_name) and not pod.is_terminating and pod.phase not in _FINISHED


def passive_reason(vpa: Vpa) -> Reason | None:
    """Return why a VPA leaves running pods alone by its mode, None where it does not (updater M-8, M-15)."""
    return _PASSIVE.get(vpa.update_mode)


def select(snapshot: Snapshot, settings: Settings) -> Selection:
    """Choose the VPAs of a round and find the pods of each.

    A pod whose owners cannot be followed to the top belongs to no VPA.
    """
    chosen: list[SelectingVpa] = []
    dropped: list[DroppedVpa] = []
    for candidate in snapshot.vpas:
        reason = _drop_reason(candidate, settings)
        if reason is None:
            chosen.append(candidate)
        else:
            dropped.append(DroppedVpa(candidate.vpa.ref, reason))
    if not chosen:
        return Selection((), tuple(dropped), None)
    live = [pod for pod in snapshot.pods if is_live(pod)]
    members = _members(live, chosen, snapshot.controllers)
    return Selection(
        controlled=tuple(ControlledPods(c.vpa, tuple(members[c.vpa.ref])) for c in chosen if c.vpa.ref in members),
        dropped=tuple(dropped),
        live_uids=frozenset(pod.uid for pod in live),
    )


def _drop_reason(candidate: SelectingVpa, settings: Settings) -> Reason | None:
    """Return why a VPA takes no part, None where it does.

    A configured boost keeps a passive VPA in whatever the boost's gate says.
    """
    vpa = candidate.vpa
    if vpa.namespace in settings.ignored_namespaces:
        return Reason.NAMESPACE_IGNORED
    passive = passive_reason(vpa)
    if passive is not None and not vpa.has_startup_boost:
        return passive
    return Reason.TARGET_UNRESOLVED if candidate.selector.is_nothing else None


def _members(
    pods: Iterable[Pod],
    chosen: Iterable[SelectingVpa],
    controllers: Controllers,
) -> dict[ObjectRef, list[Member]]:
    """Return the pods of each VPA, by the VPA's name."""
    climb = _Climb(controllers, _by_target(chosen))
    members: defaultdict[ObjectRef, list[Member]] = defaultdict(list)
    for pod in pods:
        direct = pod_controller(pod)
        found = climb.from_controller(direct) if direct is not None else None
        if found is None:
            continue
        vpa = controlling_vpa(found.candidates, found.topmost, pod.labels)
        if vpa is not None:
            members[vpa.ref].append(Member(pod, found.group))
    return members


def _by_target(chosen: Iterable[SelectingVpa]) -> dict[tuple[str, str, str], list[SelectingVpa]]:
    """Return the VPAs by namespace, kind and name of their targets."""
    index: defaultdict[tuple[str, str, str], list[SelectingVpa]] = defaultdict(list)
    for candidate in chosen:
        target = candidate.vpa.target_ref
        if target is not None:
            index[candidate.vpa.namespace, target.kind, target.name].append(candidate)
    return index


@dataclass(frozen=True, slots=True)
class _Route:
    """What all pods of one direct controller have in common: the topmost controller and the VPAs for that."""

    group: ObjectRef
    topmost: ControllerKey
    candidates: tuple[SelectingVpa, ...]


class _Climb:
    """Finds the route of a direct controller once, for all of its pods."""

    def __init__(self, controllers: Controllers, index: dict[tuple[str, str, str], list[SelectingVpa]]) -> None:
        self._controllers = controllers
        self._index = index
        self._routes: dict[ControllerKey, _Route | None] = {}

    def from_controller(self, direct: ControllerKey) -> _Route | None:
        """Return the route, None where no VPA can be at its end."""
        if direct not in self._routes:
            self._routes[direct] = self._find(direct)
        return self._routes[direct]

    def _find(self, direct: ControllerKey) -> _Route | None:
        """Climb and look up the VPAs at the top."""
        try:
            topmost = self._controllers.topmost(direct)
        except OwnerLookupError:
            return None
        if topmost is None:
            return None
        candidates = self._index.get((topmost.namespace, topmost.kind, topmost.name))
        if not candidates:
            return None
        return _Route(ObjectRef(direct.kind, direct.namespace, direct.name), topmost, tuple(candidates))

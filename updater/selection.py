"""Which VPAs take part in a round, and which live pods each of them controls (updater M-8, M-9)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from autoscaling.matching import SelectingVpa, Selector, is_of_group, strongest
from autoscaling.objectref import ObjectRef
from autoscaling.ownership import ControllerKey, Controllers, OwnerLookupError, pod_controller
from autoscaling.pod import Pod, PodPhase
from autoscaling.vpa import TargetRef, UpdateMode, Vpa
from updater.decision import Reason
from updater.recall import Kept
from updater.settings import Settings
from updater.snapshot import Snapshot

_FINISHED = frozenset({PodPhase.SUCCEEDED, PodPhase.FAILED})
_NO_GROUP = ObjectRef("", "", "")
_RIVALS = 2
"""VPAs for one target between which somebody has to choose."""
_PASSIVE = {UpdateMode.OFF: Reason.UPDATES_OFF, UpdateMode.INITIAL: Reason.NEW_PODS_ONLY}


@dataclass(frozen=True, slots=True)
class Member:
    """A live pod with the group it belongs to: its direct controller, of whatever API version (updater R-1)."""

    pod: Pod
    group: ObjectRef


@dataclass(frozen=True, slots=True)
class Placed:
    """A live pod with its group.

    Args:
        direct: The key by which its owners are followed; None where it has no controller.
        matched: A selector that is known to match it, mostly that of its VPA.
    """

    member: Member
    direct: ControllerKey | None
    matched: Selector | None = None


@dataclass(frozen=True, slots=True)
class ControlledPods:
    """A VPA with the live pods that it controls, in cache order; there is at least one."""

    vpa: Vpa
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class DroppedVpa:
    """A VPA of which something is to be said by itself, mostly that it takes no part in the round, and why."""

    vpa: ObjectRef
    reason: Reason
    detail: str = ""


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


def select(snapshot: Snapshot, settings: Settings, placed: Kept[int, Placed] | None = None) -> Selection:
    """Choose the VPAs of a round and find the pods of each.

    Args:
        placed: Where pods belonged in the round before; filled for the next one.

    A pod whose owners cannot be followed to the top belongs to no VPA. With ``custom_controllers`` a VPA whose mode
    leaves running pods alone keeps its pods from the others all the same (updater K-27).
    """
    placed = placed if placed is not None else Kept()
    chosen: list[SelectingVpa] = []
    dropped: list[DroppedVpa] = []
    for candidate in snapshot.vpas:
        reason = _drop_reason(candidate, settings)
        if reason is None:
            chosen.append(candidate)
        else:
            dropped.append(DroppedVpa(candidate.vpa.ref, reason))
    dropped += conflicts(snapshot.vpas, settings)
    if not chosen:
        return Selection((), tuple(dropped), None)
    live = _live(snapshot.pods, placed)
    is_by_target = settings.behaviour.custom_controllers
    contenders = [c for c in snapshot.vpas if _contends(c, settings)] if is_by_target else chosen
    taking_part = {candidate.vpa.ref for candidate in chosen}
    controlled = _controlled(placed, live, contenders, snapshot.controllers, is_by_target=is_by_target)
    return Selection(
        controlled=tuple(one for one in controlled if one.vpa.ref in taking_part),
        dropped=tuple(dropped),
        live_uids=frozenset(one.member.pod.uid for one in live),
    )


def conflicts(vpas: Iterable[SelectingVpa], settings: Settings) -> tuple[DroppedVpa, ...]:
    """Return what is said of VPAs that share a target with others; those in mode Off are nobody's rivals.

    Spec: beyond:B-30, case:23.
    """
    if not settings.behaviour.custom_controllers:
        return ()
    rivals: defaultdict[tuple[str, str, str, str], list[Vpa]] = defaultdict(list)
    for selecting in vpas:
        vpa = selecting.vpa
        if vpa.target_ref is not None and vpa.update_mode is not UpdateMode.OFF:
            target = vpa.target_ref
            rivals[vpa.namespace, _target_group(target), target.kind, target.name].append(vpa)
    return tuple(
        DroppedVpa(vpa.ref, Reason.TARGET_CONFLICT, _conflict_detail(vpa, together))
        for together in rivals.values()
        if len(together) > 1
        for vpa in together
    )


def _target_group(target: TargetRef) -> str:
    """Return the API group of a target, for well-known kinds whatever it was called before."""
    return ControllerKey("", target.kind, target.name, target.api_version).group


def _conflict_detail(vpa: Vpa, together: Iterable[Vpa]) -> str:
    """Say which of several VPAs counts and which ones do not."""
    rivals = list(together)
    winner = strongest(rivals)
    others = ", ".join(sorted(rival.name for rival in rivals if rival.ref != vpa.ref))
    counts = "this one counts" if winner is vpa else f"{winner.name if winner else ''} counts"
    return f"{others}; as the older one {counts}; delete the others or give them targets of their own"


def _contends(candidate: SelectingVpa, settings: Settings) -> bool:
    """Say whether a VPA keeps pods from others, whether or not it takes part in the round (updater K-27)."""
    return candidate.vpa.namespace not in settings.ignored_namespaces and not candidate.selector.is_nothing


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


def _live(pods: Iterable[Pod], placed: Kept[int, Placed]) -> list[Placed]:
    """Return the live pods with where they belong.

    A snapshot never changes, so one that is still the same object is told by that alone.
    """
    former, present = placed.former, placed.present
    groups: dict[ControllerKey | None, ObjectRef] = {}
    live: list[Placed] = []
    for pod in pods:
        key = id(pod)
        one = former.get(key)
        if one is None:
            if not is_live(pod):
                continue
            one = _place(pod, groups)
        present[key] = one
        live.append(one)
    return live


def _place(pod: Pod, groups: dict[ControllerKey | None, ObjectRef]) -> Placed:
    """Find a pod's direct controller.

    Args:
        groups: What controllers found so far are called; one object for all pods of a controller.
    """
    direct = pod_controller(pod)
    if direct not in groups:
        groups[direct] = ObjectRef(direct.kind, direct.namespace, direct.name) if direct else _NO_GROUP
    return Placed(Member(pod, groups[direct]), direct)


def _controlled(
    placed: Kept[int, Placed],
    live: Iterable[Placed],
    chosen: Iterable[SelectingVpa],
    controllers: Controllers,
    *,
    is_by_target: bool,
) -> tuple[ControlledPods, ...]:
    """Return the pods of each VPA that has some."""
    contenders = [_Contender(candidate) for candidate in chosen]
    climb = _Climb(controllers, contenders, is_by_target=is_by_target)
    # The pods of a controller mostly share the object that names it, which is much quicker to look up than its name.
    routes: dict[int, tuple[_Contender, ...]] = {}
    for one in live:
        member = one.member
        route = routes.get(id(member.group))
        if route is None:
            route = routes[id(member.group)] = climb.from_controller(one.direct)
        for contender in route:
            selector = contender.selecting.selector
            # A selector stays the same object as long as its workload is unchanged, so its labels are compared once.
            if selector is not one.matched:
                if not selector.matches(member.pod.labels):
                    continue
                placed.keep(id(member.pod), Placed(member, one.direct, selector))
            contender.members.append(member)
            break
    return tuple(ControlledPods(c.selecting.vpa, tuple(c.members)) for c in contenders if c.members)


@dataclass(slots=True)
class _Contender:
    """A VPA with the pods that it has won so far."""

    selecting: SelectingVpa
    members: list[Member] = field(default_factory=list)


class _Climb:
    """Finds the VPAs whose target is at the top of a direct controller once, for all of its pods."""

    def __init__(self, controllers: Controllers, contenders: Iterable[_Contender], *, is_by_target: bool) -> None:
        self._is_by_target = is_by_target
        self._controllers = controllers
        self._routes: dict[ControllerKey | None, tuple[_Contender, ...]] = {None: ()}
        self._by_target: defaultdict[tuple[str, str, str], list[_Contender]] = defaultdict(list)
        for contender in contenders:
            vpa = contender.selecting.vpa
            if vpa.target_ref is not None:
                self._by_target[vpa.namespace, vpa.target_ref.kind, vpa.target_ref.name].append(contender)

    def from_controller(self, direct: ControllerKey | None) -> tuple[_Contender, ...]:
        """Return those VPAs, the strongest first."""
        if direct is not None and direct not in self._routes:
            self._routes[direct] = self._find(direct)
        return self._routes[direct]

    def _find(self, direct: ControllerKey) -> tuple[_Contender, ...]:
        """Climb and look up the VPAs at the top."""
        try:
            topmost = self._controllers.topmost(direct)
        except OwnerLookupError:
            return ()
        if topmost is None:
            return ()
        contenders = self._by_target.get((topmost.namespace, topmost.kind, topmost.name), [])
        if self._is_by_target:
            contenders = [c for c in contenders if _is_of_group(c, topmost)]
        if len(contenders) < _RIVALS:
            return tuple(contenders)
        ranked = tuple(_ranked(contenders))
        if self._is_by_target:
            # One in mode Off acts on no pod, so it yields to any other, as it does in the webhook.
            ranked = tuple(sorted(ranked, key=lambda c: c.selecting.vpa.update_mode is UpdateMode.OFF))
        return ranked


def _is_of_group(contender: _Contender, topmost: ControllerKey) -> bool:
    """Say whether a VPA's target is of the controller's API group."""
    target = contender.selecting.vpa.target_ref
    return target is not None and is_of_group(target, topmost)


def _ranked(contenders: Iterable[_Contender]) -> Iterator[_Contender]:
    """Yield VPAs for one target, the strongest first."""
    left = {contender.selecting.vpa.ref: contender for contender in contenders}
    while (winner := strongest(c.selecting.vpa for c in left.values())) is not None:
        yield left.pop(winner.ref)

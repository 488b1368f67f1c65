"""Taking CPU start-up boosts back: what is to be done about one pod (updater section 5, upstream-1.8.1 2.5)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum

from autoscaling.capping import process
from autoscaling.errors import MALFORMED, InvalidObjectError
from autoscaling.limitrange import NamespaceLimits
from autoscaling.matching import SelectingVpa
from autoscaling.objectref import ObjectRef
from autoscaling.ownership import pod_controller
from autoscaling.pod import READY, ConditionStatus, Container, Pod, PodPhase
from autoscaling.quantity import Quantity
from autoscaling.resources import ResourceList
from autoscaling.startup_boost import BOOST_ANNOTATION_PREFIX, boosted_containers, is_over, remaining
from autoscaling.target_resources import NOTHING, ContainerTarget, container_targets
from autoscaling.vpa import UpdateMode, Vpa
from autoscaling.workload import NO_TEMPLATE, Template, Workload
from updater.audit import Audit
from updater.decision import Action, Decision, Reason, VpaScope
from updater.group import Group, form_groups
from updater.patches import in_place_patches, resize_patch
from updater.pod_resources import is_fixed_as_a_whole
from updater.protection import restart_budgets, restarts_under_way
from updater.resize_progress import resize_progress
from updater.resize_request import restarts_to_note
from updater.selection import Member
from updater.settings import Settings
from updater.shaping import Hindrance, Proposal
from updater.surroundings import UNKNOWN, Surroundings
from updater.templates import template_of, with_own_ratios

Targets = tuple[ContainerTarget | None, ...]
"""What each container of a pod gets; None for one that is left out altogether."""


class Verdict(Enum):
    """What becomes of a boosted pod's place in the queue."""

    FORGET = "forget"
    LATER = "later"
    """Looked at again when the shortest boost is over."""
    BACK_OFF = "back_off"
    UNKNOWN_VPA = "unknown_vpa"
    """No VPA controls the pod: tried again a few times, then forgotten."""
    ATTEMPT = "attempt"


@dataclass(frozen=True, slots=True)
class Step:
    """What is done about one pod now.

    Args:
        wait: With LATER, how long.
        expired: With ATTEMPT, the containers whose boost is over.
    """

    verdict: Verdict
    wait: timedelta = timedelta(0)
    expired: tuple[str, ...] = ()


def is_worth_a_look(pod: Pod, settings: Settings) -> bool:
    """Say whether an event of a pod puts it into the queue (upstream-1.8.1 UQ-1)."""
    ready = pod.condition(READY)
    return (
        ready is not None
        and ready.status is ConditionStatus.TRUE
        and bool(boosted_containers(pod.annotations))
        and pod.namespace not in settings.ignored_namespaces
    )


def next_step(pod: Pod | None, vpa: Vpa | None, now: datetime) -> Step:
    """Say what is done about a pod of the queue; the first row that fits counts (upstream-1.8.1 UQ-4).

    Args:
        pod: As cached; None where it is gone.
        vpa: The VPA that controls it, in whatever mode; None where none does or that cannot be told.
    """
    boosted = boosted_containers(pod.annotations) if pod is not None else ()
    if pod is None or not boosted:
        return Step(Verdict.FORGET)
    if vpa is None:
        return Step(Verdict.UNKNOWN_VPA)
    expired = tuple(name for name in boosted if is_over(pod, vpa, name, now))
    if expired:
        return Step(Verdict.ATTEMPT, expired=expired)
    left = [wait for name in boosted if (wait := remaining(pod, vpa, name, now)) is not None and wait > timedelta(0)]
    return Step(Verdict.LATER, wait=min(left)) if left else Step(Verdict.BACK_OFF)


@dataclass(frozen=True, slots=True)
class UnboostContext:
    """What an attempt looks at besides the pod.

    Args:
        vpa: The controlling VPA with the selector of its target.
        pods: All cached pods of the namespace.
        workloads: Cached controllers by kind, namespace and name.
        limits: Merged LimitRanges of the namespace.
        settings: Flags, gates and behaviour.
        surroundings: Where the disruption budgets of the namespace are known, those.
    """

    vpa: SelectingVpa
    pods: Iterable[Pod]
    workloads: dict[ObjectRef, Workload]
    limits: NamespaceLimits
    settings: Settings
    surroundings: Surroundings = UNKNOWN


def unboost(pod: Pod, expired: tuple[str, ...], around: UnboostContext) -> Decision:
    """Decide on taking boosts back in place; anything but a RESIZE is tried again later (upstream-1.8.1 UQ-6).

    The group is reckoned afresh from all pods that the VPA's selector matches, so attempts do not limit each other.

    Raises:
        InvalidObjectError: The pod does not fit its LimitRanges, or its annotation cannot be read.
    """
    vpa = around.vpa.vpa
    members = [
        Member(other, ObjectRef(key.kind, key.namespace, key.name))
        for other in around.pods
        if not other.is_terminating
        and around.vpa.selector.matches(other.labels)
        and (key := pod_controller(other)) is not None
    ]
    scope = VpaScope(vpa.ref, vpa.update_mode, len(members))
    member = next((m for m in members if m.pod.ref == pod.ref), None)
    groups = form_groups(members, vpa, around.workloads, around.settings)
    group: Group | Reason = groups.of(member.group) if member is not None else Reason.REPLICAS_UNKNOWN
    obstacle = _obstacle(pod, group, around.settings) if member is not None else Reason.REPLICAS_UNKNOWN
    if obstacle is not None:
        return Decision(pod.ref, Action.WAIT, obstacle, scope)
    basis = with_own_ratios(pod, _template(member, around), vpa, around.limits.items)
    targets = _targets(basis, expired, around)
    if (held := _why_not_restarted(pod, targets, group, around)) is not None:
        return Decision(pod.ref, Action.WAIT, held.reason, scope, held.detail)
    resize = resize_patch(pod, targets)
    if not resize:
        return Decision(pod.ref, Action.FAIL, Reason.BOOST_OVER, scope)
    behaviour = around.settings.behaviour
    guarded = behaviour.uid_preconditions
    patches = in_place_patches(pod, resize, is_guarded=guarded, expired_boosts=expired)
    attempt = Decision(pod.ref, Action.RESIZE, Reason.BOOST_OVER, scope, uid=pod.uid, is_guarded=guarded)
    attempt = replace(attempt, audit=Audit(pod, targets, vpa))
    return replace(attempt, patches=patches, restarts=restarts_to_note(pod) if behaviour.timers else None)


def _template(member: Member | None, around: UnboostContext) -> Template:
    """Return what the template of a pod's controller asks for, empty where the pod has none (updater K-17)."""
    if member is None:
        return NO_TEMPLATE
    return template_of(member.pod, member.group, around.workloads, around.settings.behaviour)


def _obstacle(pod: Pod, group: Group | Reason, settings: Settings) -> Reason | None:
    """Return why a pod cannot be resized now, whatever that would change, None where it can (updater U-3)."""
    if pod.phase is PodPhase.PENDING:
        return Reason.POD_PENDING
    if isinstance(group, Reason):
        return group
    if resize_progress(pod, settings.behaviour) is not None:
        return Reason.RESIZE_PENDING
    if is_fixed_as_a_whole(pod, settings.behaviour):
        return Reason.POD_HAS_RESOURCES
    return None if settings.behaviour.pdbs_are_read_too or group.bears(pod) else group.shortage


def _why_not_restarted(pod: Pod, targets: Targets, group: Group | Reason, around: UnboostContext) -> Hindrance | None:
    """Return what keeps a container from being restarted for the end of its boost, None where nothing does or need.

    The boost itself lifts minReplicas (updater R-3).
    """
    bearing = replace(group, is_below_minimum=False) if isinstance(group, Group) else None
    proposal = Proposal(pod, targets, None, group=bearing)
    spent = restarts_under_way(around.pods, around.surroundings.budgets or {}, around.settings.behaviour)
    found = restart_budgets(proposal, around.settings, around.surroundings, spent)
    return found if isinstance(found, Hindrance) else None


def _targets(pod: Pod, expired: tuple[str, ...], around: UnboostContext) -> Targets:
    """Return what each container gets (updater U-5).

    In mode Off only containers whose boost is over change, back to what they had. In every other mode a container that
    was never boosted gets its recommendation as well.
    """
    vpa, limits = around.vpa.vpa, around.limits
    is_off, spares_others = vpa.update_mode is UpdateMode.OFF, around.settings.behaviour.limit_range_and_quota
    is_wanted = vpa.recommendation is not None and not is_off
    processed = process(pod, vpa, limits, spares_others=spares_others) if is_wanted else None
    targets = with_boosts_taken_back(pod, expired, container_targets(pod, vpa, processed, limits))
    if not is_off:
        return targets
    pairs = zip(pod.containers, targets, strict=True)
    return tuple(target if container.name in expired else None for container, target in pairs)


def with_boosts_taken_back(pod: Pod, expired: tuple[str, ...], recommended: tuple[ContainerTarget, ...]) -> Targets:
    """Return what each container of a pod with boosts gets (updater U-5).

    Args:
        expired: Containers whose boost is over: they get what is recommended, or what they had where that is nothing.
        recommended: For each of ``pod.containers``; those still boosted are left out.

    Raises:
        InvalidObjectError: An annotation of an expired boost cannot be read.
    """
    boosted = frozenset(boosted_containers(pod.annotations))
    targets: list[ContainerTarget | None] = []
    for container, target in zip(pod.containers, recommended, strict=True):
        if container.name in expired:
            # An annotation that cannot be read is an obstacle even where it would not be needed.
            original = _original(pod, container)
            targets.append(target if target.requests or target.limits else original)
        else:
            targets.append(None if container.name in boosted else target)
    return tuple(targets)


def _original(pod: Pod, container: Container) -> ContainerTarget:
    """Return a container's own resources out of its boost annotation (updater U-1).

    Raises:
        InvalidObjectError: The annotation cannot be read.
    """
    key = f"{BOOST_ANNOTATION_PREFIX}{container.name}"
    try:
        read = json.loads(pod.annotation(key) or "")
        kept = {} if read is None else read
        return replace(NOTHING, requests=_amounts(kept.get("requests")), limits=_amounts(kept.get("limits")))
    except MALFORMED as error:
        problem = f"annotation {key} cannot be read: {error}"
        raise InvalidObjectError(pod.ref, problem, remedy="correct it, or replace the pod") from error


def _amounts(kept: dict[str, str] | None) -> ResourceList:
    """Return amounts as the annotation keeps them; it need not have any."""
    return {name: Quantity.parse(text) for name, text in (kept or {}).items()}

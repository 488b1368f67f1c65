"""A cluster as one command saw it: what the processes follow all the time, read once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from autoscaling.hpa import Hpa
from autoscaling.matching import SelectingVpa, controlling_vpa
from autoscaling.objectref import ObjectRef
from autoscaling.ownership import OwnerLookupError, pod_controller
from autoscaling.pod import Pod
from autoscaling.targets import KnownControllers
from autoscaling.vpa import UpdateMode, Vpa
from updater.selection import is_live
from updater.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Survey:
    """What was read.

    Args:
        snapshot: What the updater looks at in a round.
        known: Controllers, with which targets are resolved.
        hpas: Horizontal autoscalers.
        problems: What could not be read, each in words that name the way out.
    """

    snapshot: Snapshot
    known: KnownControllers
    hpas: tuple[Hpa, ...] = ()
    problems: tuple[str, ...] = ()

    def vpa(self, namespace: str, name: str) -> SelectingVpa | None:
        """Return one VPA with the selector of its target, None where there is none of that name."""
        wanted = (namespace, name)
        return next((c for c in self.snapshot.vpas if (c.vpa.namespace, c.vpa.name) == wanted), None)

    def pod(self, namespace: str, name: str) -> Pod | None:
        """Return one pod, None where there is none of that name."""
        wanted = (namespace, name)
        return next((pod for pod in self.snapshot.pods if (pod.namespace, pod.name) == wanted), None)


@dataclass(frozen=True, slots=True)
class Control:
    """Which VPA controls which live pods.

    Args:
        pods: By VPA; one that controls none is missing.
        vpas: By pod.
    """

    pods: Mapping[ObjectRef, tuple[Pod, ...]] = field(default_factory=dict)
    vpas: Mapping[ObjectRef, Vpa] = field(default_factory=dict)


def control(survey: Survey) -> Control:
    """Find the VPA of any mode that controls each live pod; one in mode Off yields to any other (updater K-27)."""
    in_namespace = _by_namespace(survey)
    pods: defaultdict[ObjectRef, list[Pod]] = defaultdict(list)
    vpas: dict[ObjectRef, Vpa] = {}
    for pod in survey.snapshot.pods:
        candidates = in_namespace.get(pod.namespace)
        found = _controlling(pod, candidates, survey.known) if candidates and is_live(pod) else None
        if found is not None:
            vpas[pod.ref] = found
            pods[found.ref].append(pod)
    return Control({ref: tuple(those) for ref, those in pods.items()}, vpas)


def controlling(pod: Pod, survey: Survey) -> Vpa | None:
    """Return the VPA that controls one pod, be it live or not; None where none does."""
    return _controlling(pod, _by_namespace(survey).get(pod.namespace, []), survey.known)


def _by_namespace(survey: Survey) -> Mapping[str, list[SelectingVpa]]:
    """Return the VPAs of each namespace that has any."""
    found: defaultdict[str, list[SelectingVpa]] = defaultdict(list)
    for candidate in survey.snapshot.vpas:
        found[candidate.vpa.namespace].append(candidate)
    return found


def _controlling(pod: Pod, candidates: list[SelectingVpa], known: KnownControllers) -> Vpa | None:
    """Return the VPA that controls a pod, None where none does or its owners cannot be followed."""
    direct = pod_controller(pod)
    if direct is None:
        return None
    try:
        topmost = known.topmost(direct)
    except OwnerLookupError:
        return None
    if topmost is None:
        return None
    acting = [c for c in candidates if c.vpa.update_mode is not UpdateMode.OFF]
    found = controlling_vpa(acting, topmost, pod.labels, compares_groups=True)
    return found or controlling_vpa(candidates, topmost, pod.labels, compares_groups=True)

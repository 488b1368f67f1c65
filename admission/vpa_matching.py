"""Which VPA a new pod belongs to, over caches given as one view (spec: admission:6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from admission.verdict import Reason
from autoscaling.limitrange import NamespaceLimits
from autoscaling.matching import SelectingVpa, controlling_vpa
from autoscaling.ownership import (
    ControllerKey,
    NodeOwnerError,
    OwnerLookupError,
    OwnerNotCachedError,
    pod_controller,
)
from autoscaling.pod import Pod
from autoscaling.targets import KnownControllers, target_selector
from autoscaling.vpa import UpdateMode, Vpa

TargetName = tuple[str, str]
"""Kind and name of a VPA's target; the API version does not count there (spec: admission:6.5)."""


@dataclass(frozen=True, slots=True)
class ClusterView:
    """What the caches hold at the moment of one review.

    Args:
        is_complete: Whether every cache has been filled once; before that nothing in here means anything.
        vpas: By namespace, then by target; VPAs without a target are left out.
        controllers: The well-known workloads, and what scale subresources of others said.
        limits: By namespace, its LimitRanges merged.
        compares_groups: Whether a target is told by its API group, too (beyond:B-30).
    """

    is_complete: bool
    vpas: Mapping[str, Mapping[TargetName, tuple[Vpa, ...]]]
    controllers: KnownControllers
    limits: Mapping[str, NamespaceLimits]
    compares_groups: bool = False


@dataclass(frozen=True, slots=True)
class Match:
    """The VPA of a pod, or why there is none.

    Args:
        reason: Only looked at where ``vpa`` is None.
        detail: More about the reason.
        to_look_up: A controller whose scale subresource has to be read before pods like this one can be matched.
    """

    vpa: Vpa | None
    reason: Reason = Reason.NO_MATCHING_VPA
    detail: str = ""
    to_look_up: ControllerKey | None = None


def match_vpa(pod: Pod, view: ClusterView) -> Match:
    """Return the VPA that controls a pod.

    Spec: admission:6.3 to admission:6.10. Mode Off counts only with a boost, and is left out before the strongest of
    several is chosen.
    """
    controller = pod_controller(pod)
    if controller is None:
        return Match(None, Reason.NO_CONTROLLER)
    in_namespace = view.vpas.get(pod.namespace)
    if not in_namespace:
        # Whoever owns the pod, nothing could match; so nobody is looked up for it.
        return Match(None, Reason.NO_MATCHING_VPA)
    try:
        topmost = view.controllers.topmost(controller)
    except NodeOwnerError:
        return Match(None, Reason.STATIC_POD)
    except OwnerNotCachedError as error:
        return _not_cached(error)
    except OwnerLookupError as error:
        return Match(None, Reason.OWNER_NOT_KNOWN, str(error))
    if topmost is None:
        return Match(None, Reason.OWNER_NOT_SCALABLE, str(controller))
    candidates = _with_selectors(in_namespace.get((topmost.kind, topmost.name), ()), view)
    try:
        return Match(controlling_vpa(candidates, topmost, pod.labels, compares_groups=view.compares_groups))
    except OwnerNotCachedError as error:
        return _not_cached(error)


def _not_cached(error: OwnerNotCachedError) -> Match:
    """Say whose scale has to be read first."""
    return Match(None, Reason.OWNER_NOT_CACHED, str(error), error.key)


def _with_selectors(vpas: tuple[Vpa, ...], view: ClusterView) -> Iterator[SelectingVpa]:
    """Yield the VPAs that may act on new pods, each with its target's selector; those without one are left out.

    Raises:
        OwnerNotCachedError: Whether one of them has a selector is not known yet.
    """
    for vpa in vpas:
        if vpa.update_mode is UpdateMode.OFF and not vpa.has_startup_boost:
            continue
        try:
            selector = target_selector(vpa, view.controllers)
        except OwnerNotCachedError:
            raise
        except OwnerLookupError:
            continue
        yield SelectingVpa(vpa, selector)

"""Checks of what gets in each other's way: horizontal autoscalers, VPAs for one target.

Spec: beyond:B-14, beyond:B-30, beyond:B-39.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from autoscaling.hpa import Hpa, HpaIndex
from autoscaling.matching import SelectingVpa
from autoscaling.policy import container_policy, controlled_resources, scaling_mode
from autoscaling.targets import target_key
from autoscaling.vpa import DEFAULT_CONTAINER, ScalingMode, UpdateMode, Vpa
from evenkeel.inspection.findings import Area, Finding, Level
from updater.selection import conflicts
from updater.settings import Settings


def horizontal_findings(vpas: Iterable[Vpa], hpas: Iterable[Hpa]) -> Iterator[Finding]:
    """Yield the VPAs whose target is scaled horizontally by the use of what they control."""
    index = HpaIndex(hpas)
    for vpa in vpas:
        key = target_key(vpa)
        for hpa in index.of((key,)) if key is not None else ():
            shared = sorted({metric.resource for metric in hpa.metrics} & _controlled(vpa))
            if shared:
                resources = " and ".join(shared)
                yield Finding(
                    Area.CONFLICTS,
                    Level.NOTE if vpa.update_mode is UpdateMode.OFF else Level.WARNING,
                    f"{hpa.ref} scales the target of {vpa.ref} by its use of {resources}, which the VPA sizes, too",
                    f"take {resources} out of the VPA's controlledResources, or scale by another metric; meanwhile "
                    "requests of it are held",
                )


def _controlled(vpa: Vpa) -> set[str]:
    """Return the resources that a VPA sizes in any container."""
    names = [policy.container_name for policy in vpa.container_policies or ()]
    policies = [container_policy(vpa, name) for name in (*names, DEFAULT_CONTAINER)]
    sized = (policy for policy in policies if scaling_mode(policy) is not ScalingMode.OFF)
    return {resource for policy in sized for resource in controlled_resources(policy)}


def rival_vpa_findings(vpas: Iterable[SelectingVpa], foreign: Iterable[Vpa], settings: Settings) -> Iterator[Finding]:
    """Yield VPAs that share a target.

    Args:
        vpas: Those of the group that is looked at.
        foreign: Those of the other API group.
        settings: What the updater is set to do, as it chooses between them.
    """
    listed = tuple(vpas)
    for each in conflicts(listed, settings):
        yield Finding(
            Area.CONFLICTS,
            Level.WARNING,
            f"{each.vpa} shares its target with {each.detail.partition(';')[0]}",
            each.detail.partition(";")[2].strip() or "delete all but one of them",
        )
    targets: defaultdict[object, list[str]] = defaultdict(list)
    for vpa in foreign:
        if vpa.update_mode is not UpdateMode.OFF:
            targets[target_key(vpa)].append(vpa.name)
    for selecting in listed:
        own = selecting.vpa
        rivals = targets.get(target_key(own), []) if own.update_mode is not UpdateMode.OFF else []
        if rivals:
            yield Finding(
                Area.CONFLICTS,
                Level.PROBLEM,
                f"{own.ref} has the same target as {', '.join(sorted(rivals))} of the other API group, and both act",
                "set updateMode Off in one of them",
            )

"""Adding a CPU start-up boost to what a new pod's containers get (spec: admission:8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from autoscaling.pod import Pod
from autoscaling.policy import container_policy, scaling_mode
from autoscaling.quantity import Quantity
from autoscaling.startup_boost import boosted_target, original_resources_text
from autoscaling.target_resources import NOTHING, ContainerTarget
from autoscaling.vpa import ScalingMode, Vpa


@dataclass(frozen=True, slots=True)
class BoostRules:
    """What a process is told about boosts, where they are on.

    Args:
        cap: Most CPU that a boost may come to; None for no cap.
    """

    cap: Quantity | None = None


@dataclass(frozen=True, slots=True)
class Boosts:
    """What a boost adds to a patch.

    Args:
        originals: By container index, the annotation text that keeps the container's own resources.
        skipped: Indices of containers that are left out of the patch altogether.
    """

    originals: Mapping[int, str] = field(default_factory=dict)
    skipped: frozenset[int] = frozenset()


NO_BOOSTS = Boosts()


def with_boosts(
    pod: Pod, vpa: Vpa, targets: tuple[ContainerTarget, ...], rules: BoostRules
) -> tuple[tuple[ContainerTarget, ...], Boosts]:
    """Return new targets with boosts, and what goes with them.

    A container whose policy is Off is skipped: it gets neither a boost nor anything else.

    Raises:
        InvalidObjectError: A boost that applies is empty or cannot be reckoned.
    """
    changed: list[ContainerTarget] = []
    originals: dict[int, str] = {}
    skipped: set[int] = set()
    for index, (container, target) in enumerate(zip(pod.containers, targets, strict=True)):
        if scaling_mode(container_policy(vpa, container.name)) is ScalingMode.OFF:
            skipped.add(index)
            changed.append(NOTHING)
            continue
        boosted = boosted_target(vpa, container, target, rules.cap)
        changed.append(boosted or target)
        if boosted is not None:
            originals[index] = original_resources_text(container.resources)
    return tuple(changed), Boosts(originals, frozenset(skipped))

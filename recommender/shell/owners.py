"""Keeps the sharing keys of pods up to date with the controllers above them."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from autoscaling.behaviour import Behaviour
from autoscaling.kube.controllers import ControllerCache
from autoscaling.ownership import ControllerKey, pod_controller
from autoscaling.pod import Pod
from recommender.label_sets import TrackedVpa
from recommender.owner_keys import OwnerKeys, SharingRules


class OwnerFollower:
    """Climbs to topmost controllers, looking up scales of custom ones.

    Args:
        behaviour: Tells for which pods owners count.
        controllers: What is known of controllers.

    Attributes:
        keys: The sharing keys.
    """

    def __init__(self, behaviour: Behaviour, controllers: ControllerCache) -> None:
        self.keys = OwnerKeys(SharingRules.of(behaviour), controllers.known)
        self._controllers = controllers
        self._versions: tuple[int, ...] = ()

    def follow(self, vpas: Collection[TrackedVpa]) -> None:
        """Note the targets of VPAs, some of which only they tell of."""
        self.keys.forget_selectors(len(vpas))
        # Asked of each VPA in each round, and practically all have a target of a well-known kind.
        self.keys.targets = tuple(
            (tracked.controllers[0], tracked.pod_selector)
            for tracked in vpas
            if len(tracked.controllers) == 1
            and not tracked.controllers[0].is_well_known
            and tracked.pod_selector is not None
        )

    async def to_observe(self, changed: Collection[Pod], pods: Collection[Pod]) -> list[Pod]:
        """Settle whose all pods are, and return those that the model has to look at: changed, or owned otherwise.

        Args:
            changed: Those that are new or have changed, and whatever else the model has to look at anyway.
            pods: All pods.
        """
        moved = await self._settle(changed)
        self.keys.prune(pods)
        if not moved:
            return list(changed)
        known = {id(pod) for pod in changed}
        return [*changed, *(pod for pod in pods if id(pod) not in known and pod_controller(pod) in moved)]

    async def _settle(self, changed: Collection[Pod]) -> set[ControllerKey]:
        """Climb where that is due, and return the direct controllers whose pods get other keys now."""
        moved = set()
        versions = self._controllers.versions
        doubtful = self.keys.doubtful(changed, are_workloads_as_before=versions == self._versions)
        self._versions = versions
        for controller in doubtful:
            if await self._controllers.settled(partial(self.keys.settle, controller)):
                moved.add(controller)
        return moved

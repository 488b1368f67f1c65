"""Keeps the sharing keys of pods up to date with the controllers above them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

from autoscaling.behaviour import Behaviour
from autoscaling.kube.controllers import ControllerCache
from autoscaling.ownership import ControllerKey, pod_controller
from autoscaling.pod import Pod
from recommender.cluster_model import NamespacedName
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
        targets = ((tracked.controllers, tracked.pod_selector) for tracked in vpas)
        self.keys.targets = tuple(
            (controllers[0], selector)
            for controllers, selector in targets
            if selector is not None and len(controllers) == 1 and not controllers[0].is_well_known
        )

    async def to_observe(
        self, pods: Collection[Pod], seen: Mapping[NamespacedName, Pod], *, is_each_due: bool
    ) -> list[Pod]:
        """Settle whose all pods are, and return those that the model has to look at: new, changed, or owned otherwise.

        Args:
            pods: All pods.
            seen: As they were when they were last looked at.
            is_each_due: Whether the model has to look at every pod anyway.
        """
        fresh = [pod for pod in pods if is_each_due or seen.get((pod.namespace, pod.name)) is not pod]
        moved = await self._settle(fresh)
        self.keys.prune(pods)
        if not moved or is_each_due:
            return fresh
        known = {id(pod) for pod in fresh}
        return fresh + [pod for pod in pods if id(pod) not in known and pod_controller(pod) in moved]

    async def _settle(self, fresh: Collection[Pod]) -> set[ControllerKey]:
        """Climb where that is due, and return the direct controllers whose pods get other keys now."""
        moved = set()
        versions = self._controllers.versions
        doubtful = self.keys.doubtful(fresh, are_workloads_as_before=versions == self._versions)
        self._versions = versions
        for controller in doubtful:
            if await self._controllers.settled(partial(self.keys.settle, controller)):
                moved.add(controller)
        return moved

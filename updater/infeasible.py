"""Memory of recommendations that a node could not accommodate, as a reducer (mode InPlace only)."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from autoscaling.vpa import Recommendation


@dataclass(frozen=True, slots=True)
class InfeasibleMemory:
    """The raw recommendation that was last found infeasible, by UID of the pod.

    An entry lasts as long as its pod; success does not clear it (updater D-46, W-16).
    """

    recommendations: Mapping[str, Recommendation] = field(default_factory=dict)

    def remembering(self, recommendations: Mapping[str, Recommendation]) -> InfeasibleMemory:
        """Return the memory with entries, by UID, set or replaced (updater M-20)."""
        return InfeasibleMemory({**self.recommendations, **recommendations}) if recommendations else self

    def keeping(self, uids: AbstractSet[str]) -> InfeasibleMemory:
        """Return the memory without the entries of other pods than these (updater M-10)."""
        if self.recommendations.keys() <= uids:
            return self
        return InfeasibleMemory({uid: r for uid, r in self.recommendations.items() if uid in uids})

    def holds_back(self, uid: str, recommendation: Recommendation | None) -> bool:
        """Say whether a recommendation need not be tried: one is remembered and this asks for no less of anything.

        Targets are compared exactly, for containers and resources that both name (updater C-3 row 5, P-7 step 1).
        """
        remembered = self.recommendations.get(uid)
        return remembered is not None and not (recommendation and _asks_for_less(recommendation, remembered))


def _asks_for_less(new: Recommendation, old: Recommendation) -> bool:
    """Say whether some target of the new recommendation is strictly below that of the old one."""
    old_targets = {entry.container_name: entry.target for entry in old.containers}
    return any(
        quantity < old_targets[entry.container_name][name]
        for entry in new.containers
        if entry.container_name in old_targets
        for name, quantity in entry.target.items()
        if name in old_targets[entry.container_name]
    )

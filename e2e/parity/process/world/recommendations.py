"""Recommendations made up by chance around what containers request."""

from __future__ import annotations

from collections.abc import Iterable

from e2e.parity.process.world.dice import Dice, amounts_json
from e2e.parity.process.world.workloads import Amounts, Container
from evenkeel.simulator.api.fields import JsonObject

_FALLBACK: Amounts = {"cpu": 50, "memory": 64 * 2**20}
_LEAST: Amounts = {"cpu": 1, "memory": 2**20}
_TRANSITION = "2026-01-01T00:00:00Z"
_VECTORS = ("target", "lowerBound", "upperBound", "uncappedTarget")


class RecommendationMaker:
    """Makes recommendations up.

    Args:
        dice: Their chance.
    """

    def __init__(self, dice: Dice) -> None:
        self._dice = dice

    def status(self, containers: Iterable[Container], *, complete: bool = False) -> JsonObject:
        """Make the status of a VPA up.

        Args:
            containers: Containers of the pods.
            complete: Whether each of them must get all amounts.
        """
        dice = self._dice
        if dice.chance(0.06):
            return {
                "conditions": [{"type": "RecommendationProvided", "status": "False", "lastTransitionTime": _TRANSITION}]
            }
        kept = [one for one in containers if complete or dice.chance(0.94)]
        entries = [self.entry(one, complete=complete) for one in kept]
        if not complete and dice.chance(0.05):
            entries.append({**self.entry(Container("gone", {}, {})), "containerName": "gone"})
        provided = {"type": "RecommendationProvided", "status": "True", "lastTransitionTime": _TRANSITION}
        return {"conditions": [provided], "recommendation": {"containerRecommendations": entries}}

    def entry(self, container: Container, *, complete: bool = False) -> JsonObject:
        """Make up what is recommended for one container."""
        dice = self._dice
        resources = (
            ("cpu", "memory")
            if complete
            else dice.weighted({("cpu", "memory"): 0.9, ("cpu",): 0.05, ("memory",): 0.05})
        )
        vectors: dict[str, Amounts] = {vector: {} for vector in _VECTORS}
        for resource in resources:
            request = container.requests.get(resource, _FALLBACK[resource])
            for vector, amount in zip(_VECTORS, self._around(resource, request), strict=True):
                vectors[vector][resource] = amount
        if not complete:
            for vector in dice.some(_VECTORS[1:], 0.04):
                del vectors[vector]
        return {"containerName": container.name, **{name: amounts_json(amounts) for name, amounts in vectors.items()}}

    def _around(self, resource: str, request: int) -> tuple[int, int, int, int]:
        """Make up target, lower and upper bound and uncapped target for one resource."""
        dice = self._dice
        relation = dice.weighted({"more": 0.3, "less": 0.16, "near": 0.3, "far within": 0.14, "same": 0.1})
        match relation:
            case "more":
                target = request * dice.within(1.3, 6.0)
                lower, upper = target * dice.within(0.8, 0.99), target * dice.within(1.1, 3)
            case "less":
                target = request * dice.within(0.1, 0.6)
                lower, upper = target * dice.within(0.3, 0.95), target * dice.within(1.05, 1.4)
            case "near":
                target = request * dice.within(0.97, 1.03)
                lower, upper = target * 0.5, target * 3
            case "far within":
                target = request * dice.pick((dice.within(0.5, 0.85), dice.within(1.2, 2.5)))
                lower, upper = min(target, request) * 0.9, max(target, request) * 1.2
            case _:
                target, lower, upper = float(request), request * 0.7, request * 1.5
        least = _LEAST[resource]
        rounded = [max(least, int(amount)) for amount in (target, lower, upper)]
        if resource == "memory" and dice.chance(0.5):
            rounded = [amount // 2**20 * 2**20 for amount in rounded]
        uncapped = max(least, int(target * dice.pick((1, 1, 1.3))))
        return rounded[0], rounded[1], rounded[2], uncapped

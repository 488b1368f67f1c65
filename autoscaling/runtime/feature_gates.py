"""Upstream's feature gates, as ``--feature-gates`` sets them (spec: api:3, recommender:9.3)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from autoscaling.runtime.go_literals import parse_bool


class Gate(StrEnum):
    """A gate that can be switched on by itself; all of them are alpha and off."""

    CPU_STARTUP_BOOST = "CPUStartupBoost"
    IN_PLACE = "InPlace"
    PER_VPA_CONFIG = "PerVPAConfig"


_ALL_ALPHA, _ALL_BETA = "AllAlpha", "AllBeta"
KNOWN_GATES = (_ALL_ALPHA, _ALL_BETA, *(gate.value for gate in Gate))
RETIRED_GATES = frozenset({"InPlaceOrRecreate"})


@dataclass(frozen=True, slots=True)
class FeatureGates:
    """The gates as set so far.

    Args:
        settings: Name and value, sorted by name; a gate that is not listed is off.
        retired: Gates named on the command line that upstream had once and has no more, sorted.
    """

    settings: tuple[tuple[str, bool], ...] = ()
    retired: tuple[str, ...] = ()

    def is_on(self, gate: Gate) -> bool:
        """Say whether a gate is on."""
        return dict(self.settings).get(gate.value, False)

    def with_text(self, text: str) -> FeatureGates:
        """Apply one ``--feature-gates`` value to what earlier ones set.

        ``AllAlpha`` reaches only the gates that nothing has set yet, whatever the order within the value; what it
        set once stays set when a later value turns ``AllAlpha`` around. There is no beta gate for ``AllBeta`` to
        reach.

        Args:
            text: ``A=true,B=false``; spaces around items and values do not count.

        Raises:
            ValueError: A gate is unknown, or its value is missing or no truth value.
        """
        named: dict[str, bool] = {}
        for item in filter(None, (part.strip() for part in text.split(","))):
            name, separator, value = (part.strip() for part in item.partition("="))
            if not separator:
                raise ValueError(f"{name} needs a value, as in {name}=true")
            if name not in KNOWN_GATES and name not in RETIRED_GATES:
                raise ValueError(f"there is no feature gate {name}")
            named[name] = parse_bool(value)
        retired = set(self.retired) | (named.keys() & RETIRED_GATES)
        settings = dict(self.settings) | {name: on for name, on in named.items() if name not in RETIRED_GATES}
        if _ALL_ALPHA in named:
            settings = {gate.value: named[_ALL_ALPHA] for gate in Gate} | settings
        return FeatureGates(tuple(sorted(settings.items())), tuple(sorted(retired)))

    def __str__(self) -> str:
        """Print as ``A=true,B=false``, sorted."""
        return ",".join(f"{name}={str(on).lower()}" for name, on in self.settings)

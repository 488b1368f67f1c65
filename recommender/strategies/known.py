"""The strategies that a recommender knows: its own and those of other distributions.

Spec: beyond B-10.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from autoscaling.vpa import is_strategy_name
from recommender.strategies.faults import Fault, FaultReason
from recommender.strategies.interface import Strategy
from recommender.strategies.shipped import SHIPPED
from recommender.strategies.vpa import BUILT_IN

OWN_STRATEGIES: Final[Mapping[str, Strategy]] = {**BUILT_IN, **SHIPPED}
"""The strategies of this distribution, by name."""

OWN_NAMES: Final = frozenset(OWN_STRATEGIES)
"""Their names."""

ENTRY_POINTS: Final = "evenkeel.strategies"
"""Group of entry points by which distributions name their strategies."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """A strategy of another distribution.

    Args:
        name: Name of its entry point.
        distribution: Name and version of the distribution.
        strategy: The strategy.
    """

    name: str
    distribution: str
    strategy: Strategy


_STATEFUL: Final[Mapping[str, Plugin]] = {
    name: Plugin(name, "evenkeel", strategy) for name, strategy in SHIPPED.items()
}
"""The strategies of this distribution that keep states of their own, by name."""


@dataclass(frozen=True, slots=True)
class KnownStrategies:
    """What ``spec.recommender.strategy`` may name beside what this distribution brings.

    Args:
        plugins: Strategies of others, by name.
        broken: Why a strategy that is installed cannot be used, by name.
    """

    plugins: Mapping[str, Plugin] = field(default_factory=dict)
    broken: Mapping[str, Fault] = field(default_factory=dict)

    @property
    def stateful(self) -> Mapping[str, Plugin]:
        """All that keep states of their own, by name."""
        return {**_STATEFUL, **self.plugins}

    @property
    def names(self) -> frozenset[str]:
        """Names of all that can be used."""
        return OWN_NAMES | frozenset(self.plugins)


def known_strategies(found: Iterable[Plugin | Fault]) -> tuple[KnownStrategies, tuple[Fault, ...]]:
    """Take what distributions bring; of two strategies of one name the first counts, and none takes a built-in's.

    Args:
        found: Strategies, and what failed to become one.

    Returns:
        What there is, and all that is wrong.
    """
    plugins: dict[str, Plugin] = {}
    broken: dict[str, Fault] = {}
    faults: list[Fault] = []
    for each in found:
        if isinstance(each, Fault):
            broken.setdefault(each.strategy, each)
            faults.append(each)
        elif each.name in OWN_NAMES or each.name in plugins:
            whose = "built in" if each.name in OWN_NAMES else f"taken by {plugins[each.name].distribution}"
            problem = f"the name {each.name} is {whose}"
            faults.append(Fault(each.name, each.distribution, FaultReason.NAME_TAKEN, problem))
        else:
            plugins[each.name] = each
    usable = {name: fault for name, fault in broken.items() if name not in OWN_NAMES and name not in plugins}
    return KnownStrategies(plugins, usable), tuple(faults)


def as_plugin(name: str, distribution: str, loaded: object) -> Plugin | Fault:
    """Take the object that an entry point stands for as a strategy, if it looks like one.

    Args:
        name: Name of the entry point.
        distribution: Name and version of the distribution.
        loaded: The object.
    """
    problem = _misfit(name, loaded)
    if problem:
        return Fault(name, distribution, FaultReason.SHAPE, problem)
    return Plugin(name, distribution, cast("Strategy", loaded))


def _misfit(name: str, loaded: object) -> str:
    """Return in what an object does not look like a strategy; empty where it does."""
    if not is_strategy_name(name):
        return f"its entry point is called {name!r}, which is no name of a strategy"
    if isinstance(loaded, type):
        return f"its entry point stands for the class {loaded.__name__}, not for an object of it"
    called = getattr(loaded, "name", None)
    if called != name:
        return f"its attribute name is {called!r}, not {name!r} as its entry point is called"
    if not callable(getattr(loaded, "start", None)):
        return "it has no method start"
    return ""

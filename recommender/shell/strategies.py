"""Strategies of other distributions: found by their entry points, and their failures told (spec: beyond:B-10)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, EntryPoint, distributions
from typing import Final

import structlog
from prometheus_client import Counter

from recommender.strategies.faults import Fault, FaultReason, error_text
from recommender.strategies.known import ENTRY_POINTS, KnownStrategies, Plugin, as_plugin, known_strategies

_LEFT_OUT: Final = frozenset({"evenkeel", ""})
"""Ourselves, and what has no name, as it is half installed."""

_SEPARATORS: Final = re.compile("[-_.]+")
"""Are all alike in names."""

log = structlog.get_logger()


def load_strategies() -> tuple[KnownStrategies, tuple[Fault, ...]]:
    """Import what other distributions name as strategies; one that fails keeps no other from being loaded.

    Returns:
        What there is, and all that is wrong.
    """
    known, faults = known_strategies(_found())
    for plugin in known.plugins.values():
        log.info("strategy found", strategy=plugin.name, distribution=plugin.distribution)
    return known, faults


def _found() -> Iterator[Plugin | Fault]:
    """Yield strategies and failures, by the names of their distributions; of two of one name the first on the path."""
    installed = tuple(distributions())
    # To learn the names of all takes twenty times as long, and is of use only where somebody else brings strategies.
    if all(_name_of(each) in _LEFT_OUT for each in installed if _may_bring_strategies(each)):
        return
    first: dict[str, Distribution] = {}
    for distribution in installed:
        first.setdefault(_name_of(distribution), distribution)
    for name in sorted(first.keys() - _LEFT_OUT):
        yield from _strategies_of(name, first[name])


def _may_bring_strategies(distribution: Distribution) -> bool:
    """Say whether a distribution names strategies; one whose file cannot be read is looked at more closely."""
    try:
        return ENTRY_POINTS in (distribution.read_text("entry_points.txt") or "")
    except Exception:  # noqa: BLE001 - files that anybody may have written
        return True


def _name_of(distribution: Distribution) -> str:
    """Return a distribution's name as all spellings of it are compared; empty where it has none that can be read."""
    try:
        if not (distribution.read_text("METADATA") or distribution.read_text("PKG-INFO")):
            return ""
        found = distribution.metadata
    except Exception:  # noqa: BLE001 - files that anybody may have written
        return ""
    return _SEPARATORS.sub("-", found["Name"]).lower() if "Name" in found else ""


def _strategies_of(name: str, distribution: Distribution) -> Iterator[Plugin | Fault]:
    """Yield the strategies of one distribution."""
    described = f"{name} {distribution.version}"
    try:
        points = tuple(distribution.entry_points.select(group=ENTRY_POINTS))
    except Exception as error:  # noqa: BLE001 - files that anybody may have written
        log.warning("entry points not read", distribution=described, error=error_text(error))
        return
    for point in sorted(points, key=lambda each: each.name):
        yield _loaded(point, described)


def _loaded(point: EntryPoint, distribution: str) -> Plugin | Fault:
    try:
        found = point.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code
        problem = f"importing {point.value} raised {error_text(error)}"
        return Fault(point.name, distribution, FaultReason.IMPORT, problem)
    return as_plugin(point.name, distribution, found)


class FaultReporter:
    """Tells of failures: all are counted, and one that goes on from round to round is logged once.

    Args:
        errors: Counts by strategy and reason.
    """

    def __init__(self, errors: Counter) -> None:
        self._errors = errors
        self._told: frozenset[tuple[str, FaultReason]] = frozenset()

    def report(self, faults: Iterable[Fault]) -> None:
        """Tell of the failures of one round."""
        failed: dict[tuple[str, FaultReason], Fault] = {}
        for fault in faults:
            self._errors.labels(fault.strategy, fault.reason.value).inc()
            failed.setdefault((fault.strategy, fault.reason), fault)
        for kind in failed.keys() - self._told:
            _log(failed[kind])
        self._told = frozenset(failed)


def _log(fault: Fault) -> None:
    log.error(
        "strategy cannot be used",
        strategy=fault.strategy,
        distribution=fault.distribution,
        reason=fault.reason.value,
        error=fault.problem,
        until="the recommender restarts" if fault.is_lasting else "the next round",
    )

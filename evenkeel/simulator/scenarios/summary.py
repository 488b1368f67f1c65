"""What happened in a run, counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evenkeel.simulator.scenarios.happenings import (
    Complained,
    Decided,
    Happening,
    PodChange,
    PodHappening,
    Recommended,
    Resized,
    ResizeStatus,
    Restarted,
    Told,
)


def summary(happenings: Sequence[Happening]) -> list[tuple[str, int]]:
    """Return how often what happened, in the order in which one asks; what did not happen is left out."""
    counted = [(label, sum(map(belongs, happenings))) for label, belongs in _COUNTED]
    return [(label, count) for label, count in counted if count]


def _decided(action: str) -> Callable[[Happening], bool]:
    return lambda one: isinstance(one, Decided) and one.action == action


def _status(reason: str) -> Callable[[Happening], bool]:
    return lambda one: isinstance(one, ResizeStatus) and one.reason == reason


def _pods(change: PodChange) -> Callable[[Happening], bool]:
    return lambda one: isinstance(one, PodHappening) and one.change is change


_COUNTED: tuple[tuple[str, Callable[[Happening], bool]], ...] = (
    ("recommendations changed", lambda one: isinstance(one, Recommended)),
    ("decisions to resize", _decided("resize")),
    ("decisions to evict", _decided("evict")),
    ("resizes of containers carried out", lambda one: isinstance(one, Resized)),
    ("resizes deferred", _status("Deferred")),
    ("resizes infeasible", _status("Infeasible")),
    ("resizes in error", _status("Error")),
    ("pods evicted by the updater", lambda one: isinstance(one, Told) and one.reason == "EvictedByVPA"),
    ("restarts of containers", lambda one: isinstance(one, Restarted)),
    ("restarts after OOMKilled", lambda one: isinstance(one, Restarted) and one.reason == "OOMKilled"),
    ("pods created", _pods(PodChange.CREATED)),
    ("pods gone", _pods(PodChange.GONE)),
    ("warnings and errors of the processes", lambda one: isinstance(one, Complained)),
)

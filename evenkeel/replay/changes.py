"""When a request is changed: the updater's own judgement on a pod of one container (spec: quality Q-5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from autoscaling.behaviour import Behaviour, Profile
from autoscaling.limitrange import NO_LIMITS
from autoscaling.pod import Container, ContainerStatus, Pod, Termination
from autoscaling.quantity import Quantity
from autoscaling.resources import CPU, MEMORY, ContainerResources, ResourceList
from autoscaling.vpa import ContainerRecommendation, Recommendation, Vpa
from updater.acceptance import judge
from updater.circumstances import Circumstances, Memory
from updater.priority import score
from updater.screening import Standing, may_be_worthwhile
from updater.settings import Settings

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

RESOURCES: Final = (CPU, MEMORY)
"""Resources in the order in which arrays hold them."""

_START: Final = datetime(2000, 1, 1, tzinfo=UTC)
_CONTAINER: Final = "replayed"
_VPA: Final = Vpa("replay", "replayed")
_SETTINGS: Final = Settings(behaviour=Behaviour.of(Profile.UPSTREAM))
_MEMORY: Final = Memory()
_THOUSANDTHS: Final = 2.0**70
"""Thousandths in a core or byte as they are told to a judgement that knows nothing of units but ratios.

Recommendations of other strategies than vpa-default are no whole amounts; as a power of two this takes every bit along.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Kills:
    """The last OOM events of each series; float64[n], seconds, -inf before the first.

    Args:
        last: When the last one began.
        before: When the one before it did.
    """

    last: Floats
    before: Floats

    @classmethod
    def none(cls, count: int) -> Kills:
        """Return those of so many series that had none."""
        return cls(np.full(count, -np.inf), np.full(count, -np.inf))

    def of(self, rows: NDArray[np.int64]) -> Kills:
        """Return those of some series."""
        return Kills(self.last[rows], self.before[rows])

    def are_quick(self, times: Floats) -> Flags:
        """Say of each series whether its last kill is a short while ago and came a short while after the one before."""
        short = _SETTINGS.evict_after_oom_threshold.total_seconds()
        had_two = np.isfinite(self.before)
        with np.errstate(invalid="ignore"):
            quick: Flags = had_two & (self.last - self.before < short) & (times - self.last < short)
        return quick


def are_worthwhile(standing: Standing, times: Floats, kills: Kills) -> Flags:
    """Say of each series whether the updater would change its requests.

    Args:
        standing: Requests and recommendations in cores and bytes, float64[2, n] each.
        times: float64[n], seconds from the start of each pod.
        kills: OOM events of each.

    Returns:
        bool[n].
    """
    old = times >= _SETTINGS.lifetime_threshold.total_seconds()
    found = may_be_worthwhile(standing, old, kills.are_quick(times), _SETTINGS.pod_update_threshold)
    for place in np.flatnonzero(found).tolist():
        found[place] = _is_accepted(standing, place, times, kills)
    return found


def _is_accepted(standing: Standing, place: int, times: Floats, kills: Kills) -> bool:
    """Return the judgement on one series."""
    pod = Pod(
        _VPA.namespace,
        _VPA.name,
        start_time=_START,
        containers=(Container(_CONTAINER, ContainerResources(_amounts(standing.requests, place))),),
        statuses=(ContainerStatus(_CONTAINER, last_terminated=_last_kill(kills, place)),),
    )
    recommendation = Recommendation(
        (
            ContainerRecommendation(
                _CONTAINER,
                _amounts(standing.targets, place),
                _amounts(standing.lower, place),
                _amounts(standing.upper, place),
            ),
        )
    )
    now = _moment(float(times[place]))
    circumstances = Circumstances(_VPA, NO_LIMITS, now, _SETTINGS, _MEMORY)
    return judge(pod, recommendation, score(pod, recommendation), circumstances).is_given


def _amounts(columns: Floats, place: int) -> ResourceList:
    """Return the amounts of one series, without those that there are not."""
    amounts: Mapping[str, Quantity] = {
        name: Quantity.of_milli(int(value * _THOUSANDTHS))
        for name, value in zip(RESOURCES, columns[:, place].tolist(), strict=True)
        if value == value  # noqa: PLR0124 what is no number equals nothing
    }
    return dict(amounts)


def _last_kill(kills: Kills, place: int) -> Termination | None:
    last, before = float(kills.last[place]), float(kills.before[place])
    if last == -np.inf:
        return None
    return Termination("OOMKilled", _moment(max(before, 0.0)), _moment(last))


def _moment(seconds: float) -> datetime:
    return _START + timedelta(seconds=seconds)

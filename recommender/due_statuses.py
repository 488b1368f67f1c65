"""Which statuses a round writes: of most VPAs decided by columns, of the others one by one, by the same rules.

Spec: recommender 5; performance R-3.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from autoscaling.vpa import VpaCondition
from recommender.cautions import Cautions
from recommender.label_sets import TrackedVpa
from recommender.observed_statuses import Frame, ObservedStatuses
from recommender.recommendation_table import RecommendationTable
from recommender.status import Findings, VpaStatus, status_after
from recommender.write_rule import NamespacedName, WriteRule

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RoundFindings:
    """What one round found out about all VPAs.

    Args:
        recommendations: Of each.
        pod_counts: int64[vpas], how many known pods each selects.
        problems: Of each VPA, why its target cannot be used; empty where it can.
        judged: Types of further conditions that the round decides on.
        cautions: Those of these types that hold, of each VPA that has any.
        standing: Those that hold for all.
        unreadable: VPAs of which what is known is out of date, so that their statuses are left as they are.
    """

    recommendations: RecommendationTable
    pod_counts: Integers
    problems: Mapping[NamespacedName, str]
    judged: frozenset[str] = frozenset()
    cautions: Cautions = field(default_factory=dict)
    standing: tuple[VpaCondition, ...] = ()
    unreadable: Collection[NamespacedName] = ()

    @property
    def vpas(self) -> tuple[TrackedVpa, ...]:
        """The VPAs."""
        return self.recommendations.groups.vpas

    @property
    def is_readable(self) -> Flags:
        """bool[vpas], whose statuses are written at all."""
        if not self.unreadable:
            return np.ones(len(self.vpas), dtype=np.bool_)
        return _flags(tracked.key not in self.unreadable for tracked in self.vpas)

    @property
    def is_unsupported(self) -> Flags:
        """bool[vpas], whose targets cannot be used."""
        if not any(self.problems.values()):
            return np.zeros(len(self.vpas), dtype=np.bool_)
        return _flags(bool(self.problems[tracked.key]) for tracked in self.vpas)

    @property
    def has_conditions(self) -> Flags:
        """bool[vpas], who has conditions beyond upstream's."""
        if not self.cautions or self.standing:
            return np.full(len(self.vpas), bool(self.standing))
        return _flags(tracked in self.cautions for tracked in self.vpas)

    def of(self, places: Integers) -> list[Findings]:
        """Return what was found out about some VPAs, one by one.

        Args:
            places: int64[n], places of the VPAs.
        """
        chosen = [self.vpas[place] for place in places.tolist()]
        columns = zip(chosen, self.recommendations.of(places), self.pod_counts[places].tolist(), strict=True)
        return [
            Findings(
                recommendation,
                pod_count > 0,
                self.problems[tracked.key] or None,
                self.judged,
                self.cautions.get(tracked, ()) + self.standing,
            )
            for tracked, recommendation, pod_count in columns
        ]


def _flags(each: Iterable[bool]) -> Flags:
    return np.fromiter(each, dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class DueStatuses:
    """Statuses to be written, in this order.

    Args:
        recommendations: Of all VPAs.
        places: Places of the VPAs.
        changed: By place, the statuses with other conditions than observed; the others keep theirs.
    """

    recommendations: RecommendationTable
    places: tuple[int, ...]
    changed: Mapping[int, VpaStatus]

    def __len__(self) -> int:
        """Number of statuses."""
        return len(self.places)


def due_statuses(
    findings: RoundFindings, observed: ObservedStatuses[Frame], rule: WriteRule, now: datetime
) -> DueStatuses:
    """Return the statuses that are to be written; with a threshold, those first that were written longest ago.

    Args:
        findings: What the round found out.
        observed: What the same VPAs carry.
        rule: Which changes are worth a write.
        now: The time of the round.
    """
    table, vpas = findings.recommendations, findings.vpas
    keeps_conditions = observed.tells_no_more & (findings.pod_counts > 0) & ~table.is_empty
    keeps_conditions &= ~(findings.is_unsupported | findings.has_conditions)
    is_readable = findings.is_readable
    by_columns = np.flatnonzero(keeps_conditions & is_readable)
    is_due = np.zeros(len(vpas), dtype=np.bool_)
    is_due[by_columns] = _due_by_amounts(table, observed, rule, by_columns, now)
    changed: dict[int, VpaStatus] = {}
    others = np.flatnonzero(~keeps_conditions & is_readable)
    for place, each in zip(others.tolist(), findings.of(others), strict=True):
        status = status_after(vpas[place].vpa, each, now)
        if rule.is_due(status, vpas[place].vpa, now):
            changed[place] = status
            is_due[place] = True
    places = np.flatnonzero(is_due).tolist()
    if rule.threshold:
        places.sort(key=lambda place: rule.last_write(vpas[place].vpa))
    return DueStatuses(table, tuple(places), changed)


def _due_by_amounts(
    table: RecommendationTable, observed: ObservedStatuses[Frame], rule: WriteRule, places: Integers, now: datetime
) -> Flags:
    """Say which statuses are due of VPAs that keep their conditions, as ``WriteRule.is_due`` does one by one."""
    is_due: Flags = ~observed.is_current[places]
    current = np.flatnonzero(~is_due)
    if not len(current):
        return is_due
    found = observed.compare(table, places[current], rule.threshold)
    if rule.threshold <= 0:
        is_due[current] = found.differs
        return is_due
    is_due[current] = found.has_moved
    for at in current[found.differs & ~found.has_moved].tolist():
        is_due[at] = rule.is_overdue(table.groups.vpas[places[at]].vpa, now)
    return is_due

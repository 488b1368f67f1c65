"""From a round's histories to the statuses that are written (spec: recommender:5, recommender:6.2 step 4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np
import structlog

from autoscaling.hpa import HpaIndex
from autoscaling.runtime.collector import collector_paused
from recommender.cautions import judged_types
from recommender.cluster_model import ClusterModel, NamespacedName
from recommender.due_statuses import DueStatuses, RoundFindings, due_statuses
from recommender.hpa_conflict import note_horizontal_scaling
from recommender.label_sets import TrackedVpa
from recommender.node_fit import NodeFit
from recommender.observed_statuses import ObservedStatuses
from recommender.recommending import recommend
from recommender.removed_containers import without_removed
from recommender.shell.metrics import ObjectLabels
from recommender.shell.parts import LoopSettings, Parts
from recommender.status import MISSING_PATIENCE, USAGE_FALLBACK, Findings
from recommender.wire.status_patches import StatusFrame
from recommender.write_rule import WriteRule

log = structlog.get_logger()


@dataclass(slots=True)
class StatusUpdates:
    """Recommends for all VPAs and writes their statuses.

    Attributes:
        fit: Holds what is recommended to what nodes have; None where nobody asks.
        missing_since: Since when each VPA has been without a recommendation, and when that was last reported.
    """

    settings: LoopSettings
    parts: Parts
    model: ClusterModel
    fit: NodeFit | None = None
    missing_since: dict[NamespacedName, datetime] = field(default_factory=dict)
    _observed: ObservedStatuses[StatusFrame] = field(init=False)
    _rule: WriteRule = field(init=False)

    def __post_init__(self) -> None:
        self._observed = ObservedStatuses(self.parts.statuses.frame)
        self._rule = WriteRule(self.settings.status_change_threshold, self.parts.driver.now())

    def forget(self, key: NamespacedName) -> None:
        """Drop what is remembered of a VPA that is gone."""
        self.missing_since.pop(key, None)
        self._rule.forget(key)

    async def run(self, problems: Mapping[NamespacedName, str]) -> None:
        """Recommend for all VPAs at once and write the statuses that are due.

        Args:
            problems: Of each VPA, why its target cannot be used; empty where it can.
        """
        now = self.parts.driver.now()
        with collector_paused():
            due = self._due(problems, now)
        written = await self.parts.statuses.write_due(due, self._observed.frames, self.settings.status_budget)
        for vpa in written:
            self._rule.note(vpa, now)
        log.info("round recommended", vpas=len(self.model.vpas), statuses_due=len(due), statuses_written=len(written))

    def _due(self, problems: Mapping[NamespacedName, str], now: datetime) -> DueStatuses:
        """Recommend for all VPAs at once and return the statuses that are to be written."""
        caches, behaviour = self.parts.caches, self.settings.behaviour
        if caches.hpas is not None:
            note_horizontal_scaling(self.model, HpaIndex(caches.hpas.snapshot()), caches.pods.snapshot())
        groups = self.model.groups()
        self._observed.look(groups)
        if behaviour.renamed_or_removed_containers:
            groups = without_removed(self.model, groups, now)
        groups = self.model.strategies.applied(groups, now)
        recommended = recommend(self.model, groups, self.settings.estimator, self.settings.rendering, behaviour)
        known = caches.known_nodes()
        if self.fit is not None and known is not None:
            recommended = self.fit.applied(recommended, known)
        judged, standing = judged_types(behaviour), self.parts.standing
        findings = RoundFindings(
            recommended.recommendations,
            np.array([tracked.pod_count for tracked in groups.vpas], dtype=np.int64),
            problems,
            judged if standing is None else judged | {USAGE_FALLBACK},
            recommended.cautions,
            () if standing is None else standing.conditions(),
            caches.vpas.unreadable,
        )
        quality = self.parts.metrics.quality
        quality.show_changes(self._observed.stated_mode, findings.pod_counts, recommended.changes)
        self._show_objects(findings)
        self._report_missing(findings, now)
        return due_statuses(findings, self._observed, self._rule, now)

    def _show_objects(self, findings: RoundFindings) -> None:
        """Show how many VPAs there are of each kind."""
        truths = ~findings.recommendations.is_empty, findings.pod_counts > 0, findings.is_unsupported
        codes = self._observed.kind
        for flags in truths:
            codes = codes * 2 + flags
        counts = np.bincount(codes[findings.is_readable])
        objects: dict[ObjectLabels, int] = {}
        for code in np.flatnonzero(counts).tolist():
            mode, api_version = self._observed.kinds[code >> len(truths)]
            labels = mode, bool(code & 4), api_version, bool(code & 2), bool(code & 1)
            objects[labels] = int(counts[code])
        self.parts.metrics.show_objects(objects)

    def _report_missing(self, findings: RoundFindings, now: datetime) -> None:
        """Tell of first recommendations, and of VPAs that are left without one."""
        is_readable, is_empty = findings.is_readable, findings.recommendations.is_empty
        is_provided = is_readable & ~is_empty
        if self.missing_since:
            for place in np.flatnonzero(is_provided).tolist():
                self.missing_since.pop(findings.vpas[place].key, None)
        for place in np.flatnonzero(is_provided & ~self._observed.has_recommendation).tolist():
            vpa = findings.vpas[place].vpa
            if vpa.created:
                self.parts.metrics.recommendation_latency.observe((now - vpa.created).total_seconds())
        without = np.flatnonzero(is_readable & is_empty)
        for place, each in zip(without.tolist(), findings.of(without), strict=True):
            self._remind(findings.vpas[place], each, now)

    def _remind(self, tracked: TrackedVpa, findings: Findings, now: datetime) -> None:
        """Log a VPA that has been without a recommendation for half an hour, and every half hour again."""
        since = self.missing_since.setdefault(tracked.key, now)
        if now - since > MISSING_PATIENCE:
            log.warning(
                "no recommendation",
                object=str(tracked.vpa.ref),
                minutes=int(MISSING_PATIENCE / timedelta(minutes=1)),
                has_pods=findings.has_pods,
                unsupported=findings.unsupported or "",
            )
            self.missing_since[tracked.key] = now

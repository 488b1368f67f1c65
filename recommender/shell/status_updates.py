"""From a round's histories to the statuses that are written (spec: recommender:5, recommender:6.2 step 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from autoscaling.hpa import HpaIndex
from autoscaling.pod import Pod
from autoscaling.runtime.collector import collector_paused
from autoscaling.vpa import Vpa, VpaCondition
from recommender.cautions import judged_types
from recommender.cluster_model import ClusterModel, NamespacedName
from recommender.hpa_conflict import note_horizontal_scaling
from recommender.label_sets import TrackedVpa
from recommender.recommending import recommend
from recommender.removed_containers import without_removed
from recommender.shell.metrics import ObjectLabels
from recommender.shell.parts import LoopSettings, Parts
from recommender.status import (
    MISSING_PATIENCE,
    USAGE_FALLBACK,
    Findings,
    VpaStatus,
    has_recommendation,
    status_after,
)
from recommender.write_rule import WriteRule

log = structlog.get_logger()


@dataclass(slots=True)
class StatusUpdates:
    """Recommends for all VPAs and writes their statuses.

    Attributes:
        missing_since: Since when each VPA has been without a recommendation, and when that was last reported.
    """

    settings: LoopSettings
    parts: Parts
    model: ClusterModel
    missing_since: dict[NamespacedName, datetime] = field(default_factory=dict)
    _rule: WriteRule = field(init=False)

    def __post_init__(self) -> None:
        self._rule = WriteRule(self.settings.status_change_threshold, self.parts.driver.now())

    def forget(self, key: NamespacedName) -> None:
        """Drop what is remembered of a VPA that is gone."""
        self.missing_since.pop(key, None)
        self._rule.forget(key)

    async def run(self, problems: Mapping[NamespacedName, str], pods: Collection[Pod]) -> None:
        """Recommend for all VPAs at once and write the statuses that are due.

        Args:
            problems: Of each VPA, why its target cannot be used; empty where it can.
            pods: All pods as they are now.
        """
        now = self.parts.driver.now()
        with collector_paused():
            due = self._due(problems, pods, now)
        written = await self.parts.statuses.write(due, self.settings.status_budget)
        for vpa in written:
            self._rule.note(vpa, now)
        log.info("round recommended", vpas=len(self.model.vpas), statuses_due=len(due), statuses_written=len(written))

    def _due(
        self, problems: Mapping[NamespacedName, str], pods: Collection[Pod], now: datetime
    ) -> list[tuple[Vpa, VpaStatus]]:
        """Recommend for all VPAs at once and return the statuses that are to be written."""
        caches, metrics, behaviour = self.parts.caches, self.parts.metrics, self.settings.behaviour
        if caches.hpas is not None:
            note_horizontal_scaling(self.model, HpaIndex(caches.hpas.snapshot()), pods)
        groups, unreadable = self.model.groups(), caches.vpas.unreadable
        if behaviour.renamed_or_removed_containers:
            groups = without_removed(self.model, groups, now)
        groups = self.model.strategies.applied(groups, now)
        recommended = recommend(self.model, groups, self.settings.estimator, self.settings.rendering, behaviour)
        pod_counts = [tracked.pod_count for tracked in groups.vpas]
        metrics.quality.show_changes(groups.vpas, pod_counts, recommended.changes)
        judged, cautions = judged_types(behaviour), recommended.cautions
        standing: tuple[VpaCondition, ...] = ()
        if self.parts.standing is not None:
            judged, standing = judged | {USAGE_FALLBACK}, self.parts.standing.conditions()
        due: list[tuple[Vpa, VpaStatus]] = []
        objects: Counter[ObjectLabels] = Counter()
        for tracked, pod_count, recommendation in zip(
            groups.vpas, pod_counts, recommended.recommendations, strict=True
        ):
            if unreadable and tracked.key in unreadable:
                # What is known of it is out of date, so its status is left as it is.
                continue
            findings = Findings(
                recommendation,
                pod_count > 0,
                problems[tracked.key] or None,
                judged,
                cautions.get(tracked, ()) + standing,
            )
            status = status_after(tracked.vpa, findings, now)
            objects[_labels(tracked, findings)] += 1
            self._report_missing(tracked, findings, now)
            if self._rule.is_due(status, tracked.vpa, now):
                due.append((tracked.vpa, status))
        metrics.show_objects(objects)
        return sorted(due, key=lambda entry: self._rule.last_write(entry[0])) if self._rule.threshold else due

    def _report_missing(self, tracked: TrackedVpa, findings: Findings, now: datetime) -> None:
        """Log a VPA that has been without a recommendation for half an hour, and every half hour again."""
        vpa = tracked.vpa
        if findings.recommendation.containers:
            if self.missing_since:
                self.missing_since.pop(tracked.key, None)
            if vpa.created and not has_recommendation(vpa):
                self.parts.metrics.recommendation_latency.observe((now - vpa.created).total_seconds())
            return
        since = self.missing_since.setdefault(tracked.key, now)
        if now - since > MISSING_PATIENCE:
            log.warning(
                "no recommendation",
                object=str(vpa.ref),
                minutes=int(MISSING_PATIENCE / timedelta(minutes=1)),
                has_pods=findings.has_pods,
                unsupported=findings.unsupported or "",
            )
            self.missing_since[tracked.key] = now


def _labels(tracked: TrackedVpa, findings: Findings) -> ObjectLabels:
    """Return what a VPA is counted under in the gauge of objects."""
    return (
        tracked.vpa.update_mode,
        bool(findings.recommendation.containers),
        tracked.api_version,
        findings.has_pods,
        findings.unsupported is not None,
    )

"""HorizontalPodAutoscalers: as many replicas as the use of a resource calls for, set through the scale subresource."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from evenkeel.simulator.api.builtin import AUTOSCALERS, PODS
from evenkeel.simulator.api.fields import JsonObject, child, copy_of, labels_of, number, text
from evenkeel.simulator.api.selectors import LabelSelector, parse_label_selector
from evenkeel.simulator.api.status import StatusError
from evenkeel.simulator.api.store import Change, ChangeType, Key, Stored
from evenkeel.simulator.controllers.autoscaler_pace import Memory, Noted, Question, settle
from evenkeel.simulator.controllers.autoscaler_replicas import NoProposalError, Scene, propose
from evenkeel.simulator.controllers.autoscaler_samples import samples_of
from evenkeel.simulator.controllers.autoscaler_spec import Metric, Wish, wish_of
from evenkeel.simulator.controllers.autoscaler_status import (
    ABLE,
    ACTIVE,
    Condition,
    Report,
    settled_conditions,
    status_of,
)
from evenkeel.simulator.controllers.autoscaler_verdict import Finding, Verdict, inactive, judge
from evenkeel.simulator.controllers.reconciler import Reconciler
from evenkeel.simulator.controllers.scales import NoScaleError, Scale, scale_of_reference


@dataclass(frozen=True, slots=True)
class _View:
    """An autoscaler in one moment.

    Args:
        stored: The object.
        wish: What it asks for.
        scale: The size of its target.
    """

    stored: Stored
    wish: Wish
    scale: Scale


class AutoscalerController(Reconciler):
    """Scales the targets of HorizontalPodAutoscalers of autoscaling/v2 (spec: case:43).

    Each is looked at once in a period, whatever changes meanwhile. Usage comes straight from the source of the metrics
    API, so that faults of requests do not reach it; metrics other than those of pods' resources are not served here.
    """

    component: ClassVar[str] = "horizontal-pod-autoscaler"

    def start(self) -> None:
        """Follow autoscalers."""
        kind = self.context.server.registry.at(AUTOSCALERS.group, "v2", AUTOSCALERS.plural)
        assert kind is not None
        self._kind = kind
        self._memories: dict[str, Memory] = {}
        self._stops.append(self.context.versions.observe(AUTOSCALERS, self._follow))
        for stored in self.context.versions.snapshot(AUTOSCALERS):
            self.mark(stored.key, self.context.settings.autoscaler_period)

    def _follow(self, change: Change) -> None:
        """Come to an autoscaler a period after it appeared, and forget it when it has gone; changes bring no turn."""
        if change.type is ChangeType.DELETED:
            self._memories.pop(change.after.uid, None)
            return
        self.mark(change.after.key, self.context.settings.autoscaler_period)

    async def reconcile(self, key: Key) -> None:
        """Scale the target of an autoscaler if need be, and say what came of it.

        Raises:
            StatusError: The autoscaler was written meanwhile.
        """
        stored = self.context.versions.read(AUTOSCALERS, key)
        if stored is None:
            return
        self.mark(key, self.context.settings.autoscaler_period)
        wish = wish_of(stored.body)
        try:
            scale = scale_of_reference(self.context, key[0], wish.target)
        except NoScaleError as error:
            self._warn(stored, "FailedGetScale", str(error))
            failed = Condition(ABLE, holds=False, reason="FailedGetScale", message=str(error))
            self._write(stored, Report(number(stored.body, "status", "currentReplicas"), _desired(stored), (failed,)))
            return
        first = Noted(self.context.now(), scale.replicas)
        self._memories.setdefault(stored.uid, Memory(recommendations=(first,)))
        self._write(stored, await self._act(_View(stored, wish, scale)))

    async def _act(self, view: _View) -> Report:
        """Bring a target to the size that it should have."""
        current, wish = view.scale.replicas, view.wish
        found = Condition(ABLE, holds=True, reason="SucceededGetScale", message="the size of the target is known")
        if current == 0:
            message = "the target asks for no replicas, which switches scaling off"
            return Report(0, 0, (found, Condition(ACTIVE, holds=False, reason="ScalingDisabled", message=message)))
        if current > wish.most:
            return await self._rescale(view, Report(current, wish.most, (found,)), "there are more than maxReplicas")
        if current < wish.least:
            return await self._rescale(view, Report(current, wish.least, (found,)), "there are fewer than minReplicas")
        return await self._follow_metrics(view, found)

    async def _follow_metrics(self, view: _View, found: Condition) -> Report:
        """Do what the metrics call for, within window, pace and bounds."""
        current, uid = view.scale.replicas, view.stored.uid
        verdict = self._verdict(view)
        conditions = (found, verdict.active)
        if verdict.desired is None:
            self._warn(view.stored, "FailedComputeMetricsReplicas", verdict.active.message)
            return Report(current, _desired(view.stored), conditions, verdict.rows)
        settled = settle(Question(current, verdict.desired, view.wish, self.context.now()), self._memories[uid])
        self._memories[uid] = settled.memory
        report = Report(current, settled.replicas, (*conditions, *settled_conditions(view.wish, settled)), verdict.rows)
        if settled.replicas == current:
            return report
        grows = settled.replicas > current
        return await self._rescale(view, report, f"{verdict.leader} is {'above' if grows else 'below'} its aim")

    def _verdict(self, view: _View) -> Verdict:
        """Return what the metrics of an autoscaler call for."""
        try:
            selector = parse_label_selector(view.scale.selector)
        except StatusError as error:
            self._warn(view.stored, "InvalidSelector", error.message)
            return inactive("InvalidSelector", error.message)
        if not selector.requirements:
            message = "the target's scale has no selector; what it scales cannot be found without one"
            self._warn(view.stored, "SelectorRequired", message)
            return inactive("InvalidSelector", message)
        pods = self._pods(view.stored.key[0], selector)
        if rivals := self._rivals(view.stored, pods):
            message = f"pods of the target are scaled by {', '.join(rivals)} as well"
            self._warn(view.stored, "AmbiguousSelector", message)
            return inactive("AmbiguousSelector", message)
        bodies = [pod.body for pod in pods]
        findings = [self._look(view, metric, bodies) for metric in view.wish.metrics]
        return judge(findings, view.scale.replicas)

    def _look(self, view: _View, metric: Metric, pods: list[JsonObject]) -> Finding:
        """Return what one metric calls for."""
        try:
            samples = samples_of(metric, self._usage(view.stored.key[0]), _names(pods))
            proposal = propose(metric, Scene(view.scale.replicas, pods, samples, self.context.now()), view.wish.pace)
        except NoProposalError as error:
            finding = Finding(metric, problem=str(error))
            self._warn(view.stored, finding.reason, finding.problem)
            return finding
        return Finding(metric, proposal)

    def _usage(self, namespace: str) -> Iterator[JsonObject]:
        """Yield what the metrics API says of the pods of a namespace."""
        rows_of_all = self.context.server.metrics.pods()
        return (row for row in rows_of_all if text(row, "metadata", "namespace") == namespace)

    def _pods(self, namespace: str, selector: LabelSelector) -> list[Stored]:
        """Return the pods that a selector finds."""
        pods = self.context.versions.snapshot(PODS, namespace)
        return [pod for pod in pods if selector.matches(labels_of(pod.body))]

    def _rivals(self, stored: Stored, pods: list[Stored]) -> list[str]:
        """Return the other autoscalers whose targets have some of the same pods."""
        found: list[str] = []
        for other in self.context.versions.snapshot(AUTOSCALERS, stored.key[0]):
            if other.uid == stored.uid:
                continue
            try:
                scale = scale_of_reference(self.context, other.key[0], child(other.body, "spec", "scaleTargetRef"))
                selector = parse_label_selector(scale.selector)
            except (NoScaleError, StatusError):
                continue
            if selector.requirements and any(selector.matches(labels_of(pod.body)) for pod in pods):
                found.append(other.key[1])
        return found

    async def _rescale(self, view: _View, report: Report, why: str) -> Report:
        """Tell the target how many replicas it shall have."""
        current, desired = report.current, report.desired
        try:
            await self.actor.scale(view.scale.kind, view.scale.stored, desired)
        except StatusError as error:
            message = f"the target cannot be told to have {desired} replicas: {error.message}"
            self._warn(view.stored, "FailedRescale", message)
            failed = Condition(ABLE, holds=False, reason="FailedUpdateScale", message=message)
            return replace(report, desired=_desired(view.stored), conditions=(*report.conditions, failed))
        said = f"from {current} to {desired} replicas: {why}"
        self.recorder.normal((self._kind, view.stored), "SuccessfulRescale", said)
        memory = self._memories.get(view.stored.uid, Memory())
        self._memories[view.stored.uid] = memory.resized(self.context.now(), desired - current, view.wish)
        done = Condition(ABLE, holds=True, reason="SucceededRescale", message=f"the target was told: {said}")
        return replace(report, conditions=(*report.conditions, done), rescaled=True)

    def _warn(self, stored: Stored, reason: str, message: str) -> None:
        self.recorder.warning((self._kind, stored), reason, message)

    def _write(self, stored: Stored, report: Report) -> None:
        """Write an autoscaler's status."""
        body = copy_of(stored.body)
        body["status"] = status_of(stored.body, report, self.context.now())
        self.context.objects.replace(self._kind, body, stored)


def _desired(stored: Stored) -> int:
    """Return how many replicas the last look came to."""
    return number(stored.body, "status", "desiredReplicas")


def _names(pods: list[JsonObject]) -> set[str]:
    return {text(pod, "metadata", "name") for pod in pods}

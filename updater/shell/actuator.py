"""Carrying out decisions: the calls that resize and evict, and what is told of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec
import structlog

from autoscaling.errors import ApiError, ApiUnreachableError
from autoscaling.kube.calls import NO_PRECONDITIONS, PatchType, Preconditions
from autoscaling.kube.client import KubeClient
from autoscaling.kube.event_ledger import EventDraft, EventKind, InvolvedObject
from autoscaling.kube.events import EventRecorder
from autoscaling.kube.paths import PODS
from autoscaling.kube.refusals import is_budget_refusal
from autoscaling.objectref import ObjectRef
from autoscaling.runtime.process import Driver
from autoscaling.vpa import UpdateMode
from autoscaling.wire.pods import decode_pod
from updater.decision import Action, Decision, Outcome, Reason
from updater.patches import Patch, annotations_set, is_carried_out, writes_anything
from updater.ratelimit import TokenBucket
from updater.resize_request import ResizeRequest, request_operation
from updater.shell.convergence_meter import ConvergenceMeter
from updater.shell.metrics import UpdaterMetrics
from updater.shell.notes import Note, Notes
from updater.shell.resize_spans import ResizeSpans
from updater.shell.verdicts import is_beyond_the_node, outcome_of

log = structlog.get_logger()


class _Metadata(msgspec.Struct, frozen=True):
    generation: int = 0


class _Answer(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()


@dataclass(slots=True)
class Buckets:
    """The two rate limiters: same settings, filled apart (updater X-11)."""

    eviction: TokenBucket
    in_place: TokenBucket


@dataclass(slots=True)
class Actuator:
    """Acts on decisions and says what came of each.

    Args:
        client: Calls to the API server.
        events: Where events go.
        metrics: Counters of what was done.
        buckets: Rate limiters; they outlive the round.
        driver: Tells the time.
        vpa_api_version: API version of the VPAs, for events on them.
        deadline: When the round must be over.
        touched: Of each VPA, the actions that succeeded in this round.
        convergence: Told of what puts an end to resizes under way; None where nobody follows them.
        notes: Takes the annotations that follow resizes; None where each is written right after its resize.
        spans: Told of resizes and evictions that were accepted; None where nobody follows them.
    """

    client: KubeClient
    events: EventRecorder
    metrics: UpdaterMetrics
    buckets: Buckets
    driver: Driver
    vpa_api_version: str
    deadline: datetime
    touched: set[tuple[ObjectRef, Action]] = field(default_factory=set)
    convergence: ConvergenceMeter | None = None
    notes: Notes | None = None
    spans: ResizeSpans | None = None

    async def carry_out(self, decision: Decision) -> Outcome:
        """Carry out one decision; what calls nothing is done at once."""
        if decision.action in {Action.WAIT, Action.SKIP}:
            if decision.reason is Reason.INFEASIBLE_REMEMBERED:
                self._told_infeasible(decision)
            return Outcome.DONE
        wait = self.take_token(decision)
        return Outcome.RATE_LIMITED if wait is None else await self.send(decision, wait)

    def take_token(self, decision: Decision) -> timedelta | None:
        """Take the token of an attempt, which keeps its place in the order of attempts however they are sent.

        Returns:
            How long the attempt has to wait; None where no token can be had in this round.
        """
        is_eviction = decision.action is Action.EVICT
        bucket = self.buckets.eviction if is_eviction else self.buckets.in_place
        token = bucket.take(self.driver.now(), self.deadline)
        if is_eviction:
            self.buckets.eviction = token.bucket
        else:
            self.buckets.in_place = token.bucket
        if token.wait is None and is_eviction:
            self._count_failed_eviction(decision, "EvictionRateLimiterWaitFailed")
        elif token.wait is None and decision.reason is not Reason.BOOST_OVER:
            self._count_failed_resize(decision, "InPlaceUpdateRateLimiterWaitFailed")
        return token.wait

    async def send(self, decision: Decision, wait: timedelta) -> Outcome:
        """Send an attempt for which there is a token, once that may be used."""
        if wait:
            await self.client.pacing.sleep(wait.total_seconds())
        if decision.action is Action.EVICT:
            return await self._evict(decision)
        if decision.action is Action.FAIL or decision.patches is None:
            self._count_failed_resize(decision, _failure(decision))
            return Outcome.FAILED
        return await self._resize(decision, decision.patches.resize, decision.patches.annotations)

    async def _resize(self, decision: Decision, resize: Patch, annotations: Patch) -> Outcome:
        """Send the resize and see to what is to be noted of it; only the former counts (updater X-3, X-5)."""
        ref, asked = decision.ref, self.driver.now()
        try:
            answer = await self._patch(ref, resize, "resize")
        except ApiError as error:
            earlier = await self._carried_out_before(decision, resize) if outcome_of(error) is Outcome.GONE else None
            if earlier is None:
                return self._resize_failed(decision, error)
            answer = earlier
        if self.spans is not None:
            self.spans.began(decision, _generation(answer), asked)
        await self._note(decision, (*annotations, *self._noted(decision, answer)))
        self._succeeded(decision)
        if decision.scope is not None:
            self.metrics.in_place_updated_pods.labels(str(decision.scope.size_log2), *_vpa_labels(decision)).inc()
        self._audited(decision, "InPlaceResizedByVPA", "Resize requested")
        return Outcome.DONE

    async def _carried_out_before(self, decision: Decision, resize: Patch) -> bytes | None:
        """Return the pod if it has what was asked for: a try whose answer was lost changed it, and so the next failed.

        Only a guarded resize fails then, as the pod's generation is another one.
        """
        if not decision.is_guarded:
            return None
        try:
            answer = await self.client.get(PODS.path(decision.ref.namespace, decision.ref.name))
        except ApiError:
            return None
        return answer if is_carried_out(resize, msgspec.json.decode(answer)) else None

    async def _note(self, decision: Decision, patch: Patch) -> None:
        """Write annotations, or have them written later; one of a boost goes at once, lest it be taken back again."""
        if not writes_anything(patch):
            return
        annotations = annotations_set(patch)
        if self.notes is not None and annotations is not None:
            self.notes.owe(Note(decision.ref, decision.uid, annotations))
            return
        try:
            await self._patch(decision.ref, patch)
        except ApiError as error:
            log.warning("annotation not written", pod=str(decision.ref), error=str(error))

    def _noted(self, decision: Decision, answer: bytes) -> Patch:
        """Return the operation that notes on the pod what was accepted just now, if that is wanted (beyond:B-20)."""
        if decision.restarts is None:
            return ()
        return (request_operation(ResizeRequest(_generation(answer), self.driver.now(), decision.restarts)),)

    def _resize_failed(self, decision: Decision, error: ApiError) -> Outcome:
        """Count a refused resize by its cause."""
        log.warning("resize failed", pod=str(decision.ref), error=str(error))
        in_place_only = decision.scope is not None and decision.scope.mode is UpdateMode.IN_PLACE
        in_place_only = in_place_only and decision.reason is not Reason.BOOST_OVER
        infeasible = in_place_only and is_beyond_the_node(error)
        self._count_failed_resize(decision, "InPlaceUpdateInfeasible" if infeasible else _failure(decision))
        return outcome_of(error)

    async def _evict(self, decision: Decision) -> Outcome:
        """Send an eviction and count what came of it."""
        ref = decision.ref
        try:
            seen = await self._seen_again(decision) if decision.is_guarded else NO_PRECONDITIONS
            await self.client.evict(ref.namespace, ref.name, seen)
        except ApiError as error:
            refused_by = "disruption budget" if is_budget_refusal(error) else "API server"
            log.warning("eviction failed", pod=str(ref), refused_by=refused_by, error=str(error))
            self._count_failed_eviction(decision, "EvictionError")
            return outcome_of(error)
        self._evicted(decision)
        if self.spans is not None:
            self.spans.evicted(decision.uid, self.driver.now())
        return Outcome.DONE

    async def _seen_again(self, decision: Decision) -> Preconditions:
        """Read the pod once more: a failed precondition of an eviction still spends its disruption budget (B-31).

        Returns:
            What the eviction asks for: this pod, as it was read now.

        Raises:
            ApiError: The pod is gone, on its way out or resized since the decision, or another one has its name.
        """
        ref, decided = decision.ref, decision.audit.pod if decision.audit is not None else None
        pod = decode_pod(await self.client.get(PODS.path(ref.namespace, ref.name)))
        if pod.uid != decision.uid:
            raise ApiUnreachableError(
                f"{ref}: it has been replaced meanwhile; its successor is judged in the next round"
            )
        if pod.is_terminating or (decided is not None and pod.generation != decided.generation):
            raise ApiUnreachableError(f"{ref}: somebody has changed it meanwhile; it is judged anew in the next round")
        return Preconditions(pod.uid, pod.resource_version)

    def _evicted(self, decision: Decision) -> None:
        """Count and tell a successful eviction."""
        self._succeeded(decision)
        self._audited(decision, "EvictedByVPA", "Evicted")
        scope = decision.scope
        if scope is None:
            return
        labels = (str(scope.size_log2), scope.mode.value, *_vpa_labels(decision))
        self.metrics.evicted_pods.labels(*labels).inc()
        involved = InvolvedObject(scope.vpa, self.vpa_api_version, scope.uid)
        message = f"Evicted pod {decision.ref.name}: {decision.reason.meaning}"
        self.events.record(EventDraft(involved, EventKind.NORMAL, "EvictedPod", message))

    def _succeeded(self, decision: Decision) -> None:
        if decision.scope is not None:
            self.touched.add((decision.scope.vpa, decision.action))
        if self.convergence is not None:
            self.convergence.changed(decision, self.driver.now())

    def _audited(self, decision: Decision, event: str, opening: str) -> None:
        """Log a change that was made and tell it on the pod: old and new amounts, reason, digest (beyond:B-42)."""
        audit, scope = decision.audit, decision.scope
        log.info(
            "pod changed",
            object=str(decision.ref),
            vpa=str(scope.vpa) if scope is not None else "",
            action=decision.action.value,
            reason=decision.reason.value,
            changes=list(audit.by_container()) if audit is not None else [],
            digest=audit.digest() if audit is not None else "",
        )
        closing = decision.reason.meaning
        message = audit.told(opening, closing) if audit is not None else f"{opening}: {closing}"
        self._tell(decision.ref, decision.uid, event, message)

    def _tell(self, pod: ObjectRef, uid: str, reason: str, message: str) -> None:
        self.events.record(EventDraft(InvolvedObject(pod, "v1", uid), EventKind.NORMAL, reason, message))

    def _told_infeasible(self, decision: Decision) -> None:
        """Tell that a remembered refusal keeps the pod as it is (upstream-1.8.1 2.6)."""
        if decision.scope is not None:
            self.metrics.infeasible_skips.labels(str(decision.scope.size_log2), *_vpa_labels(decision)).inc()
        self._tell(decision.ref, decision.uid, "InPlaceResizeSkipped", decision.reason.meaning)

    def _count_failed_resize(self, decision: Decision, reason: str) -> None:
        if decision.scope is not None:
            size = str(decision.scope.size_log2)
            self.metrics.failed_in_place_updates.labels(size, reason, *_vpa_labels(decision)).inc()

    def _count_failed_eviction(self, decision: Decision, reason: str) -> None:
        if decision.scope is not None:
            size, mode = str(decision.scope.size_log2), decision.scope.mode.value
            self.metrics.failed_evictions.labels(size, mode, reason, *_vpa_labels(decision)).inc()

    async def _patch(self, ref: ObjectRef, patch: Patch, subresource: str = "") -> bytes:
        """Send one JSON patch to a pod and return the pod as it is then."""
        body = msgspec.json.encode([operation.as_json() for operation in patch])
        return await self.client.patch(PODS.path(ref.namespace, ref.name, subresource), body, PatchType.JSON)


def _generation(answer: bytes) -> int:
    """Return the generation that a change has made of a pod."""
    return msgspec.json.decode(answer, type=_Answer).metadata.generation


def _failure(decision: Decision) -> str:
    """Return the metric's reason for a resize that failed (updater U-4, X-9)."""
    return "UnboostError" if decision.reason is Reason.BOOST_OVER else "InPlaceUpdateError"


def _vpa_labels(decision: Decision) -> tuple[str, str]:
    """Return the labels vpa_name and vpa_namespace."""
    vpa = decision.scope.vpa if decision.scope else ObjectRef("", "", "")
    return vpa.name, vpa.namespace

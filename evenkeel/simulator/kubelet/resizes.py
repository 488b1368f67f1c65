"""Resizes of one kubelet process: deciding, waiting, putting in force (spec: in-place-resize 3.1 to 3.7)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from enum import Enum

from autoscaling.resources import ContainerResources
from evenkeel.simulator.clock import Timer
from evenkeel.simulator.kubelet import events
from evenkeel.simulator.kubelet.accounting import spec_requests
from evenkeel.simulator.kubelet.actuation import (
    ContainerStep,
    MemoryUse,
    PodStep,
    Restarted,
    Step,
    memory_objection,
    steps_of,
)
from evenkeel.simulator.kubelet.conditions import DEFERRED, INFEASIBLE
from evenkeel.simulator.kubelet.context import Context
from evenkeel.simulator.kubelet.evaluation import Accepted, Deferred, Infeasible, Preempting, Unchanged, evaluate
from evenkeel.simulator.kubelet.events import Event
from evenkeel.simulator.kubelet.podview import PodView
from evenkeel.simulator.kubelet.queue import LAST, PendingResizes, Trigger, Urgency, next_retry
from evenkeel.simulator.kubelet.records import PodRecord
from evenkeel.simulator.kubelet.runtime import RuntimeCallError, Sandbox
from evenkeel.simulator.kubelet.script import Steps
from evenkeel.simulator.kubelet.settings import Amounts

YOUNG = timedelta(seconds=2)
"""Age of a container up to which a sync with the old allocation may still be under way."""


class Attempt(Enum):
    """How one resize step went."""

    NOTHING = "nothing to do"
    DONE = "done"
    REFUSED = "refused before any call"
    FAILED = "a call failed"


class Resizes:
    """The resizes of one kubelet process.

    Args:
        context: The process.
        request_sync: Asks for a sync of a pod.
        preempt: Ends enough other pods to meet a shortage and waits for that; says whether it could.
    """

    def __init__(
        self,
        context: Context,
        request_sync: Callable[[PodRecord], None],
        preempt: Callable[[PodRecord, Amounts], Steps],
    ) -> None:
        self.queue = PendingResizes()
        self._context = context
        self._request_sync = request_sync
        self._preempt = preempt
        self._started = context.now()
        self._last_attempt: datetime | None = None
        self._timer: Timer | None = None
        self.on_timer: Callable[[], None] = lambda: None

    def note_change(self, record: PodRecord, before: PodView) -> bool:
        """Take in a pod whose spec asks for other resources than before, and say whether that is to be decided now.

        Counts what is asked for; a pod that asks for what it has again waits no more (spec: in-place-resize 3.1).
        """
        held = before.desired
        for container in record.view.containers:
            if container.resizable:
                old = held.get(container.name, ContainerResources())
                self._context.metrics.count_request(container.resources, old)
        if record.view.is_asking_for(self._context.checkpoints.allocation(record.view)):
            self.queue.remove(record.view.uid)
            self._clear_pending(record)
            return False
        self.enqueue(record)
        return True

    def enqueue(self, record: PodRecord) -> None:
        """Let a pod wait for a decision."""
        self.queue.add(record.view.uid, self._urgency)
        self.arm()

    def forget(self, record: PodRecord) -> None:
        """Drop a pod that has gone."""
        self.queue.remove(record.view.uid)
        record.conditions.clear()
        self.count_pending()
        self._count_progress()

    def retry(self, trigger: Trigger) -> Steps:
        """Decide about every waiting resize, in order; one that does not fit does not hold up the next."""
        self._last_attempt = self._context.now()
        for uid in list(self.queue.uids):
            record = self._context.pods.get(uid)
            if record is None:
                self.queue.remove(uid)
                continue
            was_deferred = record.conditions.is_deferred()
            accepted: list[bool] = []
            yield from self._decide(record, accepted)
            if accepted and was_deferred:
                self._context.metrics.deferred_accepted[trigger.value] += 1
            self._request_sync(record)
        self.arm()

    def arm(self) -> None:
        """Set the timer of the next attempt; none is needed while nothing waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self.queue.uids:
            return
        timing, now = self._context.timing, self._context.now()
        first = self._started + timing.first_resize_retry
        due = next_retry(self._last_attempt, first, timing.resize_retry, now)
        self._timer = self._context.lifetime.later(due - now, self._fire)

    def _fire(self) -> None:
        """Tell the process that the timer went off."""
        self._timer = None
        self.on_timer()

    def settle(self, record: PodRecord) -> None:
        """Bring the progress condition up to date at the start of a sync; tell of a resize that is complete."""
        if any(self._context.actuation(record).changing()):
            record.conditions.keep_going(record.view.generation, self._context.now())
        else:
            self._complete(record)
        self._count_progress()

    def complete_too_early(self, record: PodRecord) -> None:
        """Tell of the completion of a resize that has not even begun, as a sync does that still has the old allocation.

        Spec: in-place-resize 3.11.
        """
        generation = record.conditions.finish()
        if generation is not None:
            in_force = self._context.checkpoints.in_force(record.view.uid)
            summary = events.resize_summary(record.view, in_force, generation)
            self._context.tell(record, Event(events.NORMAL, "ResizeCompleted", f"Pod resize completed: {summary}"))

    def actuate(self, record: PodRecord, restarted: Restarted, outcome: list[Attempt]) -> Steps:
        """Put in force what containers can take while they run; adds how it went to the outcome."""
        context, sandbox = self._context, self._context.sandbox(record)
        actuation = context.actuation(record)
        updating = any(actuation.updating(resource) for resource in ("memory", "cpu"))
        if sandbox is None or not (updating or restarted.names):
            outcome.append(Attempt.NOTHING)
            return
        began = context.now()
        yield context.timing.runtime_call
        objection = memory_objection(actuation, restarted, sandbox.cgroup, _memory_use(sandbox))
        if objection:
            outcome.append(Attempt.REFUSED)
        else:
            for step in steps_of(actuation, restarted, sandbox.cgroup):
                yield context.timing.runtime_call
                objection = self._carry_out(record, sandbox, step)
                if objection:
                    break
            outcome.append(Attempt.FAILED if objection else Attempt.DONE)
        context.metrics.time_step(context.now() - began, success=not objection)
        if objection:
            self._tell_failure(record, objection)

    def count_pending(self) -> None:
        """Count the waiting pods anew; done when one begins or ends to wait, not when its reason changes."""
        pending = self._context.metrics.pending
        pending.clear()
        for record in self._context.pods.values():
            if record.conditions.pending:
                pending[record.conditions.pending.reason.lower()] += 1

    def _urgency(self, uid: str) -> Urgency:
        """Return where a pod stands in the queue (spec: in-place-resize 3.3)."""
        record = self._context.pods[uid]
        view = record.view
        granted = spec_requests(view, self._context.checkpoints.allocation(view))
        pending = record.conditions.pending
        return Urgency(
            granted.is_below(spec_requests(view)),
            -view.priority,
            view.qos != "Guaranteed",
            pending.changed_at if pending else LAST,
        )

    def _decide(self, record: PodRecord, accepted: list[bool]) -> Steps:
        """Decide about one waiting resize; notes in the list that it was accepted."""
        context, view = self._context, record.view
        outcome = evaluate(view, context.checkpoints.allocation(view), context.node_without(record))
        if isinstance(outcome, Preempting):
            yield from self._preempt(record, outcome.shortage)
            outcome = evaluate(view, context.checkpoints.allocation(view), context.node_without(record))
        match outcome:
            case Unchanged():
                self.queue.remove(view.uid)
                self._clear_pending(record)
            case Accepted():
                self.queue.remove(view.uid)
                accepted.append(True)
                self._grant(record)
            case Infeasible(message, detail, with_event):
                self.queue.remove(view.uid)
                context.metrics.infeasible[detail] += 1
                self._put_off(record, INFEASIBLE, message, with_event=with_event)
            case Deferred(message):
                self._put_off(record, DEFERRED, message, with_event=True)
            case Preempting(_, refusal):
                self._put_off(record, DEFERRED, refusal.message, with_event=True)

    def _grant(self, record: PodRecord) -> None:
        """Make the spec the allocation of the whole pod."""
        context, view = self._context, record.view
        context.checkpoints.allocated[view.uid] = view.desired
        record.holds = None
        had_waited = record.conditions.pending is not None
        record.conditions.begin(view.generation, context.now())
        if had_waited:
            self.count_pending()
        self._count_progress()
        summary = events.resize_summary(view, view.desired, view.generation)
        context.tell(record, Event(events.NORMAL, "ResizeStarted", f"Pod resize started: {summary}"))
        share = context.timing.false_completion
        if share and self._is_young(record) and context.chance.random() < share:
            record.is_stale = True

    def _is_young(self, record: PodRecord) -> bool:
        """Say whether a container of a pod has only just started."""
        sandbox = self._context.sandbox(record)
        now = self._context.now()
        return any(now - container.started < YOUNG for container in (sandbox.running() if sandbox else ()))

    def _put_off(self, record: PodRecord, reason: str, message: str, *, with_event: bool) -> None:
        """Let a resize wait, or refuse it."""
        view, had_waited = record.view, record.conditions.pending is not None
        news = record.conditions.put_off(reason, message, view.generation, self._context.now())
        if not had_waited:
            self.count_pending()
        if news and with_event:
            summary = events.resize_summary(view, view.desired, view.generation, message)
            self._context.tell(record, Event(events.WARNING, f"Resize{reason}", f"Pod resize {reason}: {summary}"))

    def _clear_pending(self, record: PodRecord) -> None:
        """Let a pod wait no more."""
        if record.conditions.pending:
            record.conditions.pending = None
            self.count_pending()

    def _complete(self, record: PodRecord) -> None:
        """Tell of a resize that is complete, if there was one."""
        generation = record.conditions.finish()
        if generation is None:
            return
        allocation = self._context.allocation(record)
        summary = events.resize_summary(record.view, allocation, generation)
        self._context.tell(record, Event(events.NORMAL, "ResizeCompleted", f"Pod resize completed: {summary}"))

    def _count_progress(self) -> None:
        """Count the resizes under way."""
        records = self._context.pods.values()
        self._context.metrics.in_progress = sum(1 for record in records if record.conditions.progress)

    def _carry_out(self, record: PodRecord, sandbox: Sandbox, step: Step) -> str:
        """Make one call; returns what went wrong, empty for nothing."""
        runtime, uid = self._context.runtime, record.view.uid
        match step:
            case PodStep(cgroup):
                runtime.update_pod(uid, cgroup)
            case ContainerStep(name, cgroup, actuated) if sandbox.is_running(name):
                try:
                    runtime.update_container(uid, name, cgroup)
                except RuntimeCallError as error:
                    return f'container "{name}" cannot be resized: {error}'
                self._context.checkpoints.in_force(uid)[name] = actuated
        return ""

    def _tell_failure(self, record: PodRecord, message: str) -> None:
        """Note a failed attempt, and tell of it if it is news."""
        view = record.view
        news = record.conditions.fail(message, view.generation, self._context.now())
        self._count_progress()
        if news and record.conditions.progress:
            allocation = self._context.allocation(record)
            summary = events.resize_summary(view, allocation, record.conditions.progress.generation, message)
            self._context.tell(record, Event(events.WARNING, "ResizeError", f"Pod resize error: {summary}"))


def _memory_use(sandbox: Sandbox) -> MemoryUse:
    """Return how much memory a pod uses: the pod as last published, its containers as they are."""
    containers = {container.name: container.meter.usage_bytes for container in sandbox.running()}
    return MemoryUse(sandbox.meter.published_usage_bytes(), containers)

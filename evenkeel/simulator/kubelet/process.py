"""One run of the kubelet's program: it takes in changes of pods one after the other and hands them to its parts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

from evenkeel.simulator.api.fields import JsonObject, child, text
from evenkeel.simulator.api.store import Change, ChangeType, Stored
from evenkeel.simulator.clock import parse_rfc3339
from evenkeel.simulator.kubelet import events
from evenkeel.simulator.kubelet.accounting import effective_requests, spec_requests
from evenkeel.simulator.kubelet.admission import Candidate, Refusal, refusal_of, victims_for
from evenkeel.simulator.kubelet.conditions import ResizeConditions
from evenkeel.simulator.kubelet.context import Context
from evenkeel.simulator.kubelet.events import Event
from evenkeel.simulator.kubelet.podview import read_pod
from evenkeel.simulator.kubelet.queue import Trigger
from evenkeel.simulator.kubelet.records import Ending, PodRecord, Stage
from evenkeel.simulator.kubelet.resizes import Resizes
from evenkeel.simulator.kubelet.script import Script, Steps
from evenkeel.simulator.kubelet.settings import Amounts
from evenkeel.simulator.kubelet.worker import Workers

_AFTER_THE_WRITE = timedelta(microseconds=1)
_FINISHED_PHASES = ("Succeeded", "Failed")
_PREEMPTED = Ending(
    "Preempting", "Preempted in order to admit critical pod", "Ended by the kubelet to make room for a critical pod"
)


@dataclass(frozen=True, slots=True)
class Terminated:
    """A wish to end a pod.

    Args:
        uid: Which.
        ending: Why.
        grace_seconds: How long it may take.
        event: What is told about it before.
    """

    uid: str
    ending: Ending
    grace_seconds: int
    event: Event


class KubeletProcess:
    """One run of a kubelet.

    Args:
        context: What its parts share.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.workers = Workers(context)
        self.resizes = Resizes(context, self.workers.request_sync, self._make_room)
        self.workers.resizes = self.resizes
        self.resizes.on_timer = lambda: self._queue_job(lambda: self.resizes.retry(Trigger.PERIODIC))
        self._jobs: deque[Callable[[], Steps]] = deque()
        self._script: Script | None = None

    def begin(self, pods: Iterable[Stored]) -> None:
        """Take in the pods that are on the node already; done once, when the program is ready."""
        found = sorted(pods, key=lambda stored: (text(stored.body, "metadata", "creationTimestamp"), stored.key))
        for stored in found:
            self._queue_job(partial(self._take_in, stored.body, restarted=True))

    def end(self) -> None:
        """Stop: nothing that was under way goes on."""
        self.context.lifetime.over = True
        for record in self.context.pods.values():
            if record.script is not None:
                record.script.call_off()
        if self._script is not None:
            self._script.call_off()

    def deliver(self, change: Change) -> None:
        """Take in a change of a pod of this node, after the time that the watch takes; never within the write."""
        self.context.lifetime.later(
            max(self.context.timing.watch, _AFTER_THE_WRITE),
            lambda: self._queue_job(lambda: self._take_in_change(change)),
        )

    def end_pod(self, wish: Terminated) -> None:
        """End a pod for a reason of the node's own."""
        record = self.context.pods.get(wish.uid)
        if record is not None and record.stage is Stage.ACTIVE:
            self.context.tell(record, wish.event)
            self.workers.terminate(record, wish.ending, wish.grace_seconds)

    def container_ended(self, uid: str) -> None:
        """Take note that a container has ended; it shows at the next look at all of them."""
        record = self.context.pods.get(uid)
        if record is not None:
            self.workers.request_sync(record, self.context.relist_after(self.context.now()))

    def _queue_job(self, job: Callable[[], Steps]) -> None:
        """Do something once everything before it is done."""
        if self.context.lifetime.over:
            return
        self._jobs.append(job)
        if self._script is None:
            self._next_job()

    def _next_job(self) -> None:
        """Begin the next job, if there is one."""
        self._script = None
        if self._jobs:
            self._script = Script(self._jobs.popleft()(), self.context.lifetime.later, self._next_job)
            self._script.run()

    def _take_in_change(self, change: Change) -> Steps:
        """Take in one change."""
        body, uid = change.after.body, change.after.uid
        record = self.context.pods.get(uid)
        if change.type is ChangeType.DELETED:
            if record is not None:
                yield from self._remove(record)
        elif record is None:
            yield from self._take_in(body, restarted=False)
        elif _only_status_differs(body, record.view.body):
            yield from self._reconcile(record, body)
        else:
            yield from self._update(record, body)

    def _take_in(self, body: JsonObject, *, restarted: bool) -> Steps:
        """Take in a pod that is new to this process."""
        context, view = self.context, read_pod(body)
        if view.uid in context.pods:
            return
        record = PodRecord(view, context.now())
        if text(body, "status", "startTime"):
            record.started = parse_rfc3339(text(body, "status", "startTime"))
        record.status = child(body, "status") if restarted else {}
        context.pods[view.uid] = record
        if text(body, "status", "phase") in _FINISHED_PHASES:
            record.stage = Stage.FINISHED
            record.dead.open()
            return
        if restarted:
            record.conditions = ResizeConditions.restored(body, context.now())
        if view.deleting:
            self.workers.terminate(record)
            return
        yield from self._admit(record)

    def _admit(self, record: PodRecord) -> Steps:
        """Take a pod on, or turn it away; a pod with a checkpoint is judged by what it was granted before."""
        context, view = self.context, record.view
        allocation = context.checkpoints.allocation(view)
        requests = spec_requests(view, allocation)
        refusal = refusal_of(view, requests, context.node_without(record))
        if refusal and view.critical and refusal.shortage:
            yield from self._make_room(record, refusal.shortage)
            refusal = refusal_of(view, requests, context.node_without(record))
        if refusal:
            self._turn_away(record, refusal)
            return
        context.checkpoints.allocated[view.uid] = allocation
        if not view.is_asking_for(allocation):
            self.resizes.enqueue(record)
        self.workers.request_sync(record)

    def _turn_away(self, record: PodRecord, refusal: Refusal) -> None:
        """Let a pod fail because the node does not take it."""
        self.context.tell(record, Event(events.WARNING, refusal.reason, refusal.message))
        message = f"Pod was rejected: {refusal.message}"
        sandbox = self.context.sandbox(record)
        if sandbox is not None:
            self.workers.terminate(record, Ending(refusal.reason, message), grace_seconds=1)
            return
        record.stage = Stage.FINISHED
        record.ending = Ending(refusal.reason, message, rejected=True)
        record.synced_generation = record.view.generation
        record.dead.open()
        self.context.publish(record)

    def _update(self, record: PodRecord, body: JsonObject) -> Steps:
        """Take in a pod whose spec or metadata changed."""
        before, view = record.view, read_pod(body)
        record.view, record.holds = view, None
        if not view.is_asking_for(before.desired) and self.resizes.note_change(record, before):
            yield from self.resizes.retry(Trigger.POD_UPDATED)
        if view.deleting and not before.deleting:
            if record.stage is Stage.FINISHED:
                Script(self.workers.finish(record), self.context.lifetime.later, lambda: None).run()
            self.workers.terminate(record)
        self.workers.request_sync(record)

    def _reconcile(self, record: PodRecord, body: JsonObject) -> Steps:
        """Take in a pod of which only the status changed: smaller requests may make room for others."""
        context, before = self.context, record.view
        record.view, record.holds = replace(before, body=body), None
        if context.reports.is_overwritten(record, body):
            context.lifetime.later(context.timing.status_reconcile, lambda: self._put_right(record))
        if len(self.resizes.queue) and effective_requests(record.view).is_below(effective_requests(before)):
            yield from self.resizes.retry(Trigger.POD_RESIZED)

    def _put_right(self, record: PodRecord) -> None:
        """Write a status again that somebody else has overwritten."""
        if self.context.reports.is_overwritten(record, record.view.body):
            self.context.reports.rewrite(record)

    def _remove(self, record: PodRecord) -> Steps:
        """Drop a pod whose object has gone, which may make room for others."""
        context, uid = self.context, record.view.uid
        self.workers.abandon(record)
        self.resizes.forget(record)
        del context.pods[uid]
        context.checkpoints.forget(uid)
        context.recorder.forget(record.view)
        yield from self.resizes.retry(Trigger.PODS_REMOVED)

    def _make_room(self, record: PodRecord, shortage: Amounts) -> Steps:
        """End other pods so that a critical one fits, and wait until they are dead; nothing when all would not do."""
        context = self.context
        candidates = [
            Candidate(other.view.uid, other.view.qos, context.held_by(other))
            for other in context.others(record)
            if not other.view.critical and other.stage is Stage.ACTIVE
        ]
        doomed = [context.pods[uid] for uid in victims_for(shortage, candidates) or ()]
        for victim in doomed:
            event = Event(events.WARNING, _PREEMPTED.reason, _PREEMPTED.message)
            self.end_pod(Terminated(victim.view.uid, _PREEMPTED, victim.view.grace_seconds, event))
        for victim in doomed:
            yield victim.dead


def _only_status_differs(new: JsonObject, old: JsonObject) -> bool:
    """Say whether two versions of a pod agree in spec and in the metadata that people set."""
    return all(
        new.get(key) == old.get(key) for key in new.keys() | old.keys() if key not in {"metadata", "status"}
    ) and (_metadata(new) == _metadata(old))


def _metadata(body: JsonObject) -> JsonObject:
    """Return a pod's metadata without what changes with every write."""
    ignored = {"resourceVersion", "managedFields"}
    return {key: value for key, value in child(body, "metadata").items() if key not in ignored}

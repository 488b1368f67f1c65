"""Jobs: pods that run to an end, as often as wanted, failures aside."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar

from evenkeel.simulator.api.builtin import PODS
from evenkeel.simulator.api.fields import JsonObject, child, copy_of, ensure, number, rows, text
from evenkeel.simulator.api.jobs import claim_own_pods
from evenkeel.simulator.api.propagation import Propagation
from evenkeel.simulator.api.selectors import selector_of
from evenkeel.simulator.api.status import StatusError
from evenkeel.simulator.api.store import Change, ChangeType, Key, Stored
from evenkeel.simulator.clock import parse_rfc3339, rfc3339
from evenkeel.simulator.controllers.claims import Owner, adopters, claim, may_be_adopted, owner_keys
from evenkeel.simulator.controllers.context import JOBS
from evenkeel.simulator.controllers.deletion_order import deletion_order
from evenkeel.simulator.controllers.job_ledger import INDEX_ANNOTATION, Ledger, Ledgers, index_of, tally
from evenkeel.simulator.controllers.job_plan import (
    Ending,
    Progress,
    Verdict,
    free_indexes,
    read_indexes,
    verdict,
    wanted_active,
)
from evenkeel.simulator.controllers.pod_state import is_active, is_finished, is_going, is_ready
from evenkeel.simulator.controllers.reconciler import Reconciler
from evenkeel.simulator.controllers.templates import env_of, pod_of

_ENDED = tuple(ending.value for ending in Ending)


def ended_at(job: JsonObject) -> datetime | None:
    """Return when a Job ended, None while it goes on."""
    for row in rows(job, "status", "conditions"):
        if text(row, "type") in _ENDED and text(row, "status") == "True":
            return parse_rfc3339(text(row, "lastTransitionTime"))
    return None


class JobController(Reconciler):
    """Keeps the pods of Jobs."""

    component: ClassVar[str] = "job-controller"

    def start(self) -> None:
        """Follow Jobs and all pods."""
        self._kind = self.context.kind(JOBS)
        self._ledgers = Ledgers()
        self.follow_own(JOBS)
        self.follow(JOBS, self._forget)
        self.follow(PODS, self._jobs_of)

    async def reconcile(self, key: Key) -> None:
        """Count what has ended, end the Job or take its next step, and report.

        Raises:
            StatusError: The API server refused something.
        """
        stored = self.context.versions.read(JOBS, key)
        if stored is None:
            return
        if not child(stored.body, "spec", "selector"):
            body = copy_of(stored.body)
            claim_own_pods(body)
            stored = self.context.objects.replace(self._kind, body, stored)
        if ended_at(stored.body) is not None or is_going(stored.body):
            self._ledgers.close(stored.uid)
            return
        owner = Owner(self._kind, stored, selector_of(child(stored.body, "spec", "selector")))
        pods = claim(self.context, owner, self.context.kind(PODS), self.context.pods)
        ledger = self._ledgers.of(stored.uid)
        stored = self._write(stored, tally(stored.body, pods, ledger, self.context.now()))
        try:
            await self._step(Owner(self._kind, stored, owner.selector), pods, ledger)
        finally:
            self._report(key)

    def _forget(self, change: Change) -> list[Key]:
        """Forget a Job that has gone."""
        if change.type is ChangeType.DELETED:
            self._ledgers.close(change.after.uid)
        return []

    def _jobs_of(self, change: Change) -> list[Key]:
        """Return the Jobs that a change of a pod concerns."""
        keys = owner_keys(change, self._kind)
        if keys:
            self._ledgers.note(change)
        elif may_be_adopted(change):
            found = self.context.versions.snapshot(JOBS, change.after.key[0])
            pairs = ((stored.key, selector_of(child(stored.body, "spec", "selector"))) for stored in found)
            keys = adopters(pairs, change)
        return keys

    async def _step(self, owner: Owner, pods: list[Stored], ledger: Ledger) -> None:
        """Suspend, end or continue a Job."""
        body = owner.stored.body
        active = [pod for pod in pods if is_active(pod.body)]
        announced = _announced(body)
        progress = _progress(body, active)
        if announced is None and child(body, "spec").get("suspend") is True:
            await self._give_up(owner, active, ledger)
            return
        found = announced or verdict(progress, self.context.now())
        if found is not None:
            await self._end(owner, found, pods, ledger)
            return
        if progress.deadline is not None:
            self.mark_at(owner.stored.key, progress.deadline)
        missing = wanted_active(progress) - len(active)
        if missing < 0:
            surplus = deletion_order(active, active, self.context.now())[:-missing]
            await self._give_up(owner, surplus, ledger)
        elif missing > 0 and ledger.next_creation() > self.context.now():
            self.mark_at(owner.stored.key, ledger.next_creation())
        elif missing > 0:
            await self._create(owner, active, missing)

    async def _create(self, owner: Owner, active: list[Stored], count: int) -> None:
        """Create pods; those of an indexed Job get the lowest indexes that are free."""
        body = owner.stored.body
        indexes: list[int | None] = [None] * count
        if text(body, "spec", "completionMode") == "Indexed":
            taken = {*read_indexes(text(body, "status", "completedIndexes"))}
            taken |= {index for pod in active if (index := index_of(pod.body)) is not None}
            indexes = [*free_indexes(number(body, "spec", "completions"), taken, count)]
        for index in indexes:
            try:
                made = await self.actor.create(_pod(owner, index))
            except StatusError as error:
                self.recorder.warning(owner.about, "FailedCreate", f"a pod was refused: {error.message}")
                raise
            self.recorder.normal(owner.about, "SuccessfulCreate", f"created pod {made.key[1]}")

    async def _give_up(self, owner: Owner, pods: list[Stored], ledger: Ledger) -> None:
        """Delete pods that are not wanted any more; they do not count as failed."""
        for pod in pods:
            ledger.counted.add(pod.uid)
            await self.actor.delete(self.context.kind(PODS), pod)
            self.recorder.normal(owner.about, "SuccessfulDelete", f"deleted pod {pod.key[1]}")

    async def _end(self, owner: Owner, found: Verdict, pods: list[Stored], ledger: Ledger) -> None:
        """Announce a Job's end, delete what still runs, and once that has gone set the last condition."""
        conditions = list(rows(owner.stored.body, "status", "conditions"))
        if _announced(owner.stored.body) is None:
            conditions.append(_condition(found.ending.announced_by, found, self.context.now()))
            self._write(owner.stored, child(owner.stored.body, "status") | {"conditions": conditions})
        running = [pod for pod in pods if is_active(pod.body)]
        await self._give_up(owner, running, ledger)
        left = [pod for pod in self.context.pods.controlled_by(owner.stored.uid) if not is_finished(pod.body)]
        if left:
            return
        now = self.context.now()
        conditions.append(_condition(found.ending.value, found, now))
        status = child(owner.stored.body, "status") | {"conditions": conditions}
        if found.ending is Ending.COMPLETE:
            status["completionTime"] = rfc3339(now)
            self.recorder.normal(owner.about, "Completed", "the Job has ended as wanted")
        else:
            self.recorder.warning(owner.about, found.reason, f"the Job has failed: {found.message}")
        self._write(self.context.objects.existing(self._kind, owner.stored.key), status)

    def _report(self, key: Key) -> None:
        """Write the numbers of a Job's pods, when it started, and whether it is suspended."""
        current = self.context.versions.read(JOBS, key)
        if current is None:
            return
        pods = [pod.body for pod in self.context.pods.controlled_by(current.uid)]
        status = dict(child(current.body, "status"))
        active = [pod for pod in pods if is_active(pod)]
        status["ready"] = sum(1 for pod in active if is_ready(pod))
        status["terminating"] = sum(1 for pod in pods if is_going(pod) and not is_finished(pod))
        status.pop("active", None)
        if active:
            status["active"] = len(active)
        status.setdefault("uncountedTerminatedPods", {})
        self._suspend_or_resume(current.body, status)
        self._write(current, status)

    def _suspend_or_resume(self, body: JsonObject, status: JsonObject) -> None:
        """Keep the Suspended condition and the start time of a Job, in place; a resumed one starts anew."""
        suspended = child(body, "spec").get("suspend") is True
        earlier = next((row for row in rows(status, "conditions") if text(row, "type") == "Suspended"), None)
        if earlier is None and not suspended:
            status.setdefault("startTime", rfc3339(self.context.now()))
            return
        wanted = "True" if suspended else "False"
        if earlier is not None and text(earlier, "status") == wanted:
            return
        if not suspended:
            status["startTime"] = rfc3339(self.context.now())
        why = Verdict(Ending.COMPLETE, "JobSuspended" if suspended else "JobResumed", "spec.suspend has changed")
        condition = _condition("Suspended", why, self.context.now()) | {"status": wanted}
        others = [row for row in rows(status, "conditions") if row is not earlier]
        status["conditions"] = [*others, condition]

    def _write(self, stored: Stored, status: JsonObject) -> Stored:
        """Write a Job's status."""
        body = copy_of(stored.body)
        body["status"] = copy_of(status)
        return self.context.objects.replace(self._kind, body, stored)


def _progress(body: JsonObject, active: list[Stored]) -> Progress:
    """Return how far a Job is."""
    spec, status = child(body, "spec"), child(body, "status")
    started, seconds = text(status, "startTime"), spec.get("activeDeadlineSeconds")
    deadline = None
    if started and isinstance(seconds, int):
        deadline = parse_rfc3339(started) + timedelta(seconds=seconds)
    completions = spec.get("completions")
    restarts = 0
    if text(spec, "template", "spec", "restartPolicy") == "OnFailure":
        restarts = sum(_restarts(pod.body) for pod in active)
    return Progress(
        parallelism=number(spec, "parallelism", default=1),
        completions=completions if isinstance(completions, int) else None,
        backoff_limit=number(spec, "backoffLimit", default=6),
        deadline=deadline,
        succeeded=number(status, "succeeded"),
        failed=number(status, "failed"),
        active=len(active),
        restarts=restarts,
    )


def _restarts(pod: JsonObject) -> int:
    """Return how often the containers of a pod have restarted."""
    groups = ("containerStatuses", "initContainerStatuses")
    return sum(number(status, "restartCount") for group in groups for status in rows(pod, "status", group))


def _announced(body: JsonObject) -> Verdict | None:
    """Return the end that a Job's status announces, None when it announces none."""
    for row in rows(body, "status", "conditions"):
        for ending in Ending:
            if text(row, "type") == ending.announced_by and text(row, "status") == "True":
                return Verdict(ending, text(row, "reason"), text(row, "message"))
    return None


def _condition(kind: str, found: Verdict, now: datetime) -> JsonObject:
    """Return a condition of a Job that holds."""
    moment = rfc3339(now)
    return {
        "type": kind,
        "status": "True",
        "reason": found.reason,
        "message": found.message,
        "lastProbeTime": moment,
        "lastTransitionTime": moment,
    }


def _pod(owner: Owner, index: int | None) -> JsonObject:
    """Return one pod of a Job."""
    namespace, name = owner.stored.key
    template = child(owner.stored.body, "spec", "template")
    if index is None:
        return pod_of(template, owner.reference(), namespace, {"generateName": f"{name}-"})
    mark: JsonObject = {INDEX_ANNOTATION: str(index)}
    metadata: JsonObject = {"generateName": f"{name}-{index}-", "labels": mark, "annotations": mark}
    pod = pod_of(template, owner.reference(), namespace, metadata)
    ensure(pod, "spec").setdefault("hostname", f"{name}-{index}")
    env_of(pod, "JOB_COMPLETION_INDEX", {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX_ANNOTATION}']"}})
    return pod


class FinishedJobController(Reconciler):
    """Deletes Jobs some time after their end, when they say so."""

    component: ClassVar[str] = "ttl-after-finished-controller"

    def start(self) -> None:
        """Follow Jobs."""
        self.follow_own(JOBS)

    async def reconcile(self, key: Key) -> None:
        """Delete a Job whose time has come, and come again for one whose time will.

        Raises:
            StatusError: The API server refused it.
        """
        stored = self.context.versions.read(JOBS, key)
        seconds = child(stored.body, "spec").get("ttlSecondsAfterFinished") if stored else None
        ended = ended_at(stored.body) if stored else None
        if stored is None or ended is None or not isinstance(seconds, int) or is_going(stored.body):
            return
        due = ended + timedelta(seconds=seconds)
        if due > self.context.now():
            self.mark_at(key, due)
        else:
            await self.actor.delete(self.context.kind(JOBS), stored, Propagation.FOREGROUND)

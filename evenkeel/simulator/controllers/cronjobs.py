"""CronJobs: a Job from a template whenever the schedule says so."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from evenkeel.simulator.api.fields import JsonObject, child, copy_of, labels_of, number, rows, text
from evenkeel.simulator.api.propagation import Propagation
from evenkeel.simulator.api.status import StatusError
from evenkeel.simulator.api.store import Change, Key, Stored
from evenkeel.simulator.clock import parse_rfc3339, rfc3339
from evenkeel.simulator.controllers.claims import owner_keys, owner_reference
from evenkeel.simulator.controllers.context import CRON_JOBS, JOBS
from evenkeel.simulator.controllers.cron_schedule import CronSchedule, ScheduleError
from evenkeel.simulator.controllers.job_plan import Ending
from evenkeel.simulator.controllers.jobs import ended_at
from evenkeel.simulator.controllers.pod_state import created, is_going
from evenkeel.simulator.controllers.reconciler import Reconciler

SCHEDULED_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp"
MANY_MISSED = 100
"""From how many missed moments on a warning is given."""


@dataclass(frozen=True, slots=True)
class Missed:
    """The moments since the last run.

    Args:
        latest: The last of them, None when there is none.
        count: How many there are, up to one more than ``MANY_MISSED``.
    """

    latest: datetime | None = None
    count: int = 0


def missed_moments(schedule: CronSchedule, since: datetime, now: datetime) -> Missed:
    """Return the moments of a schedule after one moment and up to another."""
    latest: datetime | None = None
    for count in range(MANY_MISSED + 1):
        moment = schedule.after(latest or since)
        if moment is None or moment > now:
            return Missed(latest, count)
        latest = moment
    return Missed(_latest(schedule, now), MANY_MISSED + 1)


def _latest(schedule: CronSchedule, now: datetime) -> datetime | None:
    """Return the latest moment up to now, sought in ever longer spans of time; there has to be one."""
    span = timedelta(minutes=1)
    while (moment := schedule.after(now - span)) is None or moment > now:
        span *= 2
    while (following := schedule.after(moment)) is not None and following <= now:
        moment = following
    return moment


class CronJobController(Reconciler):
    """Keeps the Jobs of CronJobs."""

    component: ClassVar[str] = "cronjob-controller"

    def start(self) -> None:
        """Follow CronJobs and all Jobs."""
        self._kind = self.context.kind(CRON_JOBS)
        self.follow_own(CRON_JOBS)
        self.follow(JOBS, self._owners)

    async def reconcile(self, key: Key) -> None:
        """Note what has ended, start what is due, remove old history, and come again at the next moment.

        Raises:
            StatusError: The API server refused something.
        """
        stored = self.context.versions.read(CRON_JOBS, key)
        if stored is None or is_going(stored.body):
            return
        jobs = self.context.jobs.controlled_by(stored.uid)
        stored = self._report(stored, jobs)
        await self._clean_up(stored, jobs)
        try:
            schedule = CronSchedule(text(stored.body, "spec", "schedule"), text(stored.body, "spec", "timeZone"))
        except ScheduleError as error:
            self.recorder.warning((self._kind, stored), "UnparseableSchedule", str(error))
            return
        if child(stored.body, "spec").get("suspend") is not True:
            await self._start_due(stored, schedule)
        following = schedule.after(self.context.now())
        if following is not None:
            self.mark_at(key, following)

    def _owners(self, change: Change) -> list[Key]:
        """Return the CronJobs that a change of a Job concerns."""
        return owner_keys(change, self._kind)

    async def _start_due(self, stored: Stored, schedule: CronSchedule) -> None:
        """Start the Job of the latest moment that has been missed, if that is still wanted."""
        spec = child(stored.body, "spec")
        since = self._since(stored, spec.get("startingDeadlineSeconds"))
        missed = missed_moments(schedule, since, self.context.now())
        about = (self._kind, stored)
        if missed.latest is None:
            return
        if missed.count > MANY_MISSED:
            self.recorder.warning(about, "TooManyMissedTimes", f"more than {MANY_MISSED} moments have been missed")
        running = [job for job in self.context.jobs.controlled_by(stored.uid) if ended_at(job.body) is None]
        policy = text(spec, "concurrencyPolicy")
        if running and policy == "Forbid":
            self.recorder.normal(about, "JobAlreadyActive", "the Job of an earlier moment has not ended yet")
            return
        if policy == "Replace":
            for job in running:
                await self.actor.delete(self.context.kind(JOBS), job, Propagation.BACKGROUND)
                self.recorder.normal(about, "SuccessfulDelete", f"deleted Job {job.key[1]}")
        await self._create(stored, missed.latest)

    def _since(self, stored: Stored, deadline_seconds: object) -> datetime:
        """Return from when on moments may have been missed; what lies before the deadline is not made up for."""
        last = text(stored.body, "status", "lastScheduleTime")
        since = parse_rfc3339(last) if last else created(stored.body)
        if isinstance(deadline_seconds, int):
            since = max(since, self.context.now() - timedelta(seconds=deadline_seconds))
        return since

    async def _create(self, stored: Stored, moment: datetime) -> None:
        """Create the Job of one moment, once."""
        namespace, name = stored.key
        template = child(stored.body, "spec", "jobTemplate")
        kind = self.context.kind(JOBS)
        annotations = {**child(template, "metadata", "annotations"), SCHEDULED_AT: rfc3339(moment)}
        job: JsonObject = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {
                "name": f"{name[:41]}-{int(moment.timestamp()) // 60}",
                "namespace": namespace,
                "labels": labels_of(template),
                "annotations": annotations,
                "ownerReferences": [owner_reference(self._kind, stored)],
            },
            "spec": copy_of(child(template, "spec")),
        }
        try:
            made = await self.actor.create(job)
        except StatusError as error:
            if error.reason != "AlreadyExists":
                self.recorder.warning((self._kind, stored), "FailedCreate", f"a Job was refused: {error.message}")
                raise
        else:
            self.recorder.normal((self._kind, stored), "SuccessfulCreate", f"created Job {made.key[1]}")
        current = self.context.objects.existing(self._kind, stored.key)
        body = copy_of(current.body)
        body["status"] = {**child(body, "status"), "lastScheduleTime": rfc3339(moment)}
        self.context.objects.replace(self._kind, body, current)

    def _report(self, stored: Stored, jobs: list[Stored]) -> Stored:
        """Write which Jobs are active, and when one last succeeded."""
        kind, status = self.context.kind(JOBS), dict(child(stored.body, "status"))
        active: list[JsonObject] = [
            {
                "apiVersion": kind.api_version,
                "kind": kind.kind,
                "namespace": job.key[0],
                "name": job.key[1],
                "uid": job.uid,
            }
            for job in jobs
            if ended_at(job.body) is None
        ]
        status.pop("active", None)
        if active:
            status["active"] = active
        successes = [ended for job in jobs if _ended_as(job.body) is Ending.COMPLETE and (ended := ended_at(job.body))]
        known = text(status, "lastSuccessfulTime")
        if successes and (not known or max(successes) > parse_rfc3339(known)):
            status["lastSuccessfulTime"] = rfc3339(max(successes))
        body = copy_of(stored.body)
        body["status"] = status
        return self.context.objects.replace(self._kind, body, stored)

    async def _clean_up(self, stored: Stored, jobs: list[Stored]) -> None:
        """Delete the oldest ended Jobs beyond the limits of history."""
        limits = (("successfulJobsHistoryLimit", Ending.COMPLETE, 3), ("failedJobsHistoryLimit", Ending.FAILED, 1))
        for field, ending, default in limits:
            ended = [job for job in jobs if _ended_as(job.body) is ending]
            keep = number(stored.body, "spec", field, default=default)
            ended.sort(key=lambda job: (text(job.body, "status", "startTime"), job.key))
            for job in ended[: max(0, len(ended) - keep)]:
                await self.actor.delete(self.context.kind(JOBS), job, Propagation.BACKGROUND)
                self.recorder.normal((self._kind, stored), "SuccessfulDelete", f"deleted Job {job.key[1]}")


def _ended_as(job: JsonObject) -> Ending | None:
    """Return how a Job has ended, None while it goes on."""
    for row in rows(job, "status", "conditions"):
        for ending in Ending:
            if text(row, "type") == ending.value and text(row, "status") == "True":
                return ending
    return None

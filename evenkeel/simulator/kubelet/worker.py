"""Syncs of pods: what one sync does, in what order, and when the next one comes (spec: in-place-resize 3.6, 3.8)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from evenkeel.simulator.kubelet import events
from evenkeel.simulator.kubelet.accounting import spec_requests
from evenkeel.simulator.kubelet.actuation import restarts_of
from evenkeel.simulator.kubelet.cgroups import container_cgroup, pod_cgroup
from evenkeel.simulator.kubelet.context import Context
from evenkeel.simulator.kubelet.events import Event
from evenkeel.simulator.kubelet.podview import ContainerView, Role
from evenkeel.simulator.kubelet.records import BackOff, Ending, PodRecord, Stage, Waiting
from evenkeel.simulator.kubelet.resizes import Attempt, Resizes
from evenkeel.simulator.kubelet.runtime import Container, RuntimeCallError, Start, stop_time
from evenkeel.simulator.kubelet.script import Script, Steps
from evenkeel.simulator.kubelet.status import is_initialized, phase_of

_AT_ONCE = timedelta(0)
_HAND_OVER = timedelta(milliseconds=1)
"""How long a worker takes to wake up; what is asked of it within that time is one sync."""

_USUAL_INIT_TIME = timedelta(milliseconds=500)
"""How long an init container runs whose behaviour does not say when it ends."""


@dataclass(slots=True)
class _Findings:
    """What one sync has come upon.

    Args:
        retry: When to come back at the latest.
        changed: Whether containers or their values changed, which the next look at them shows.
    """

    retry: timedelta | None = None
    changed: bool = False

    def come_back(self, delay: timedelta) -> None:
        """Ask for another sync after a delay, or earlier if somebody asks for that."""
        self.retry = delay if self.retry is None else min(self.retry, delay)


class Workers:
    """The pod workers of one kubelet process.

    Args:
        context: The process.
        resizes: Its resizes; set by the process, as they need each other.
    """

    resizes: Resizes

    def __init__(self, context: Context) -> None:
        self._context = context

    def request_sync(self, record: PodRecord, at: datetime | None = None) -> None:
        """Ask for a sync: now, or at a later time, but only once containers were looked at since the last."""
        if record.stage is not Stage.ACTIVE:
            return
        context = self._context
        now = context.now()
        when = max(now + _HAND_OVER, at or now)
        if record.script is not None:
            record.again_at = when if record.again_at is None else min(record.again_at, when)
            return
        if record.last_sync is not None:
            when = max(when, context.relist_after(record.last_sync))
        if record.wake_at is not None and record.wake_at <= when:
            return
        if record.wake is not None:
            record.wake.cancel()
        record.wake_at = when
        record.wake = context.lifetime.later(when - now, lambda: self._wake(record))

    def terminate(self, record: PodRecord, ending: Ending | None = None, grace_seconds: int | None = None) -> None:
        """End a pod: because it is being deleted, or for a reason of the kubelet's own."""
        if record.stage is not Stage.ACTIVE:
            return
        record.stage = Stage.TERMINATING
        self._interrupt(record)
        grace = record.view.grace_seconds if grace_seconds is None else grace_seconds
        record.script = Script(
            self._termination(record, grace, ending), self._context.lifetime.later, lambda: self._over(record)
        )
        record.script.run()

    def abandon(self, record: PodRecord) -> None:
        """Kill what is left of a pod whose object has gone."""
        self._interrupt(record)
        record.stage = Stage.FINISHED
        self._context.runtime.remove_sandbox(record.view.uid)
        record.dead.open()

    def _interrupt(self, record: PodRecord) -> None:
        """Call off the sync of a pod that is under way or due."""
        for timer in (record.wake, record.resync):
            if timer is not None:
                timer.cancel()
        record.wake = record.wake_at = record.resync = None
        record.syncing = None
        if record.script is not None:
            record.script.call_off()
            record.script = None

    def _over(self, record: PodRecord) -> None:
        """Note the end of a termination."""
        record.script = None

    def _wake(self, record: PodRecord) -> None:
        """Sync a pod."""
        record.wake = record.wake_at = None
        if record.stage is Stage.ACTIVE and record.script is None:
            findings = _Findings()
            record.script = Script(
                self._sync(record, findings), self._context.lifetime.later, lambda: self._synced(record, findings)
            )
            record.script.run()

    def _synced(self, record: PodRecord, findings: _Findings) -> None:
        """Note the end of a sync, and when the next one is due."""
        context, now = self._context, self._context.now()
        record.script, record.last_sync, record.syncing = None, now, None
        again, record.again_at = record.again_at, None
        if record.resync is not None:
            record.resync.cancel()
        if context.timing.resync is not None:
            delay = context.stretched(context.timing.resync)
            record.resync = context.lifetime.later(delay, lambda: self.request_sync(record))
        if again is not None:
            self.request_sync(record, again)
        if findings.changed:
            self.request_sync(record, context.relist_after(now))
        if findings.retry is not None:
            self.request_sync(record, now + findings.retry)

    def _sync(self, record: PodRecord, findings: _Findings) -> Steps:
        """Bring a pod one step nearer to what it should be."""
        context = self._context
        if record.is_stale:
            record.is_stale = False
            self.resizes.complete_too_early(record)
            findings.changed = True
            return
        record.synced_generation = record.view.generation
        record.syncing = context.checkpoints.allocation(record.view)
        self.resizes.settle(record)
        scene = context.scene(record)
        context.publish(record)
        if phase_of(scene) in {"Succeeded", "Failed"}:
            self.terminate(record)
            return
        record.waiting = {}
        if context.sandbox(record) is None:
            yield from self._make_sandbox(record)
        restarted = restarts_of(context.actuation(record))
        for name in restarted.names:
            yield from self._stop(record, name, f"Container {name} resize requires restart")
            findings.changed = True
        yield from self._start_initial(record, findings, restarted.names)
        outcome: list[Attempt] = []
        yield from self.resizes.actuate(record, restarted, outcome)
        self._weigh(outcome, findings)
        for view in record.view.of_role(Role.REGULAR) if is_initialized(scene) else ():
            yield from self._keep_running(record, view, findings, at_once=view.name in restarted.names)

    def _weigh(self, outcome: list[Attempt], findings: _Findings) -> None:
        """Say when to come back after a resize step."""
        match outcome:
            case [Attempt.REFUSED]:
                findings.come_back(self._context.stretched(self._context.timing.error_retry))
            case [Attempt.DONE | Attempt.FAILED]:
                findings.changed = True

    def _make_sandbox(self, record: PodRecord) -> Steps:
        """Make a pod's sandbox."""
        context, view = self._context, record.view
        yield context.timing.sandbox
        allocation = context.allocation(record)
        cgroup = pod_cgroup(view, spec_requests(view, allocation).cpu_millis, allocation)
        context.runtime.create_sandbox(view.uid, cgroup)

    def _start_initial(self, record: PodRecord, findings: _Findings, restarting: tuple[str, ...]) -> Steps:
        """Start the next init container that is due, and sidecars that have ended."""
        context = self._context
        initialized = is_initialized(context.scene(record))
        for view in record.view.of_role(Role.INIT, Role.SIDECAR):
            container = context.scene(record).container(view.name)
            if view.role is Role.INIT and (initialized or (container and _ended_well(container))):
                continue
            if container is not None and container.running:
                if view.role is Role.INIT:
                    return
                continue
            yield from self._keep_running(record, view, findings, at_once=view.name in restarting)
            if not initialized:
                return

    def _keep_running(self, record: PodRecord, view: ContainerView, findings: _Findings, *, at_once: bool) -> Steps:
        """Start a container that does not run and should, unless it crashed too often of late."""
        context = self._context
        container = context.scene(record).container(view.name)
        if container is not None and container.running:
            return
        if container is not None and not at_once:
            if not _is_restarted(view, container, record.view.restart_policy):
                return
            waiting = self._back_off(record, view, container)
            if waiting is not None:
                delay, left = waiting
                self._hold_back(record, view, delay)
                findings.come_back(context.stretched(left))
                return
        yield from self._start(record, view, findings)

    def _start(self, record: PodRecord, view: ContainerView, findings: _Findings) -> Steps:
        """Start one container."""
        context, uid = self._context, record.view.uid
        context.tell(record, Event(events.NORMAL, "Pulled", f"Image {view.image} is on the node", view.name))
        yield context.timing.container_start
        resources = context.allocation(record).get(view.name, view.resources)
        behaviour = context.source.behaviour_of(record.view.body, view.name)
        ends = behaviour.exits_after
        if ends is None and view.role is Role.INIT:
            ends = _USUAL_INIT_TIME
        start = Start(view.name, container_cgroup(resources), ends, behaviour.exit_code)
        context.tell(record, Event(events.NORMAL, "Created", f"Container {view.name} created", view.name))
        try:
            context.runtime.start(uid, start)
        except RuntimeCallError as error:
            record.waiting[view.name] = Waiting("RunContainerError", str(error))
            context.tell(record, Event(events.WARNING, "Failed", f"Container {view.name}: {error}", view.name))
            findings.come_back(context.stretched(context.timing.error_retry))
            return
        context.checkpoints.in_force(uid)[view.name] = resources
        context.tell(record, Event(events.NORMAL, "Started", f"Container {view.name} started", view.name))
        findings.changed = True
        if behaviour.ready_after > _AT_ONCE:
            context.lifetime.later(behaviour.ready_after, lambda: self.request_sync(record))

    def _back_off(
        self, record: PodRecord, view: ContainerView, container: Container
    ) -> tuple[timedelta, timedelta] | None:
        """Return the delay of a crashed container and what is left of it, None when it may start now.

        A container with changed resources begins afresh (spec: in-place-resize 3.6).
        """
        context, ended = self._context, container.finished or container.started
        resources = context.allocation(record).get(view.name, view.resources)
        key = (view.name, repr(container_cgroup(resources)))
        known = record.back_offs.get(key)
        longest = context.timing.longest_back_off
        if known is None or ended - known.updated > 2 * longest:
            record.back_offs[key] = BackOff(context.timing.back_off, context.now())
            return None
        if context.now() < ended + known.delay:
            return known.delay, ended + known.delay - context.now()
        record.back_offs[key] = BackOff(min(2 * known.delay, longest), context.now())
        return None

    def _hold_back(self, record: PodRecord, view: ContainerView, delay: timedelta) -> None:
        """Note that a container waits out its crashes."""
        text = f"back-off {_duration(delay)} before container {view.name} starts again"
        record.waiting[view.name] = Waiting("CrashLoopBackOff", text)
        message = f"Back-off of container {view.name}, which keeps failing"
        self._context.tell(record, Event(events.WARNING, "BackOff", message, view.name))

    def _stop(self, record: PodRecord, name: str, why: str) -> Steps:
        """Stop one running container."""
        took, code = self._stop_time(record, name, record.view.grace_seconds)
        self._context.tell(record, Event(events.NORMAL, "Killing", why, name))
        yield took
        self._context.runtime.stopped(record.view.uid, name, code)

    def _stop_time(self, record: PodRecord, name: str, grace_seconds: int) -> tuple[timedelta, int]:
        """Return how long a container takes to stop, and its exit code."""
        behaviour = self._context.source.behaviour_of(record.view.body, name)
        took, killed = stop_time(behaviour.pre_stop + behaviour.stops_within, grace_seconds)
        return took, 137 if killed else behaviour.stop_code

    def _termination(self, record: PodRecord, grace_seconds: int, ending: Ending | None) -> Steps:
        """Stop a pod's containers, sidecars last, report that, and finish its deletion if it is being deleted."""
        context = self._context
        record.synced_generation = record.view.generation
        if record.status:
            context.publish(record)
        regular = [view.name for view in record.view.of_role(Role.REGULAR, Role.INIT)]
        yield from self._stop_all(record, regular, grace_seconds)
        for view in reversed(list(record.view.of_role(Role.SIDECAR))):
            yield from self._stop_all(record, [view.name], grace_seconds)
        record.stage, record.ending = Stage.FINISHED, ending
        record.holds = None
        self.resizes.forget(record)
        context.publish(record)
        record.dead.open()
        yield from self.finish(record)

    def finish(self, record: PodRecord) -> Steps:
        """Let the object of a pod that has ended go, if it is being deleted."""
        context = self._context
        if record.view.deleting:
            yield context.relist_after(context.now()) - context.now()
            context.reports.finish_deletion(record.view)

    def _stop_all(self, record: PodRecord, names: Iterable[str], grace_seconds: int) -> Steps:
        """Stop containers side by side."""
        context, waited = self._context, _AT_ONCE
        sandbox = context.sandbox(record)
        stops: list[tuple[timedelta, str, int]] = []
        for name in names:
            if sandbox is not None and sandbox.is_running(name):
                context.tell(record, Event(events.NORMAL, "Killing", f"Stopping container {name}", name))
                took, code = self._stop_time(record, name, grace_seconds)
                stops.append((took, name, code))
        for took, name, code in sorted(stops):
            yield took - waited
            waited = took
            context.runtime.stopped(record.view.uid, name, code)


def _ended_well(container: Container) -> bool:
    """Say whether a container has ended without error."""
    return not container.running and container.exit_code == 0


def _is_restarted(view: ContainerView, container: Container, policy: str) -> bool:
    """Say whether an ended container starts again."""
    if view.role is Role.SIDECAR:
        return True
    if view.role is Role.INIT:
        return policy != "Never" and container.exit_code != 0
    return policy == "Always" or (policy == "OnFailure" and container.exit_code != 0)


def _duration(delay: timedelta) -> str:
    """Return a duration as Go prints it, for whole seconds."""
    minutes, seconds = divmod(round(delay.total_seconds()), 60)
    return f"{minutes}m{seconds}s" if minutes else f"{seconds}s"

"""Workers that take CPU start-up boosts back, pod by pod and apart from the rounds (upstream-1.8.1 2.5)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from autoscaling.errors import InvalidObjectError
from autoscaling.limitrange import merge
from autoscaling.pod import Pod
from autoscaling.runtime.process import Driver
from updater.decision import Action, Outcome
from updater.settings import Settings
from updater.shell.actuator import Actuator
from updater.shell.caches import Caches
from updater.unboost import Step, UnboostContext, Verdict, is_worth_a_look, next_step, unboost

RESYNC_PERIOD = timedelta(minutes=10)
_TICK_SECONDS = 1e-6
"""Less than any clock tells apart; sums of pauses are off by less."""
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 1000.0
_TRIES_WITHOUT_VPA = 5
_SETTLING_SECONDS = 1.0
"""Time after a resize in which a watch may not show yet that the boost is gone; a look would resize a second time."""
_NO_DEADLINE = timedelta(days=365)

log = structlog.get_logger()

Key = tuple[str, str]
"""Namespace and name of a pod."""


@dataclass(slots=True)
class BoostQueue:
    """Pods to be looked at, each at its time, none twice at once.

    Args:
        clock: Seconds that only go forward.
    """

    clock: Callable[[], float]
    due: dict[Key, float] = field(default_factory=dict)
    failures: dict[Key, int] = field(default_factory=dict)
    held: dict[Key, float] = field(default_factory=dict)
    active: set[Key] = field(default_factory=set)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, key: Key, seconds: float = 0.0) -> None:
        """Have a pod looked at after so many seconds, or earlier where it was to be looked at earlier anyway."""
        at = max(self.clock() + seconds, self.held.get(key, 0.0))
        self.due[key] = min(at, self.due.get(key, at))
        self._changed.set()

    def hold(self, key: Key, seconds: float) -> None:
        """Have a pod not looked at for so many seconds, whatever happens to it meanwhile."""
        self.held[key] = self.clock() + seconds
        if key in self.due:
            self.due[key] = max(self.due[key], self.held[key])

    def back_off(self, key: Key) -> None:
        """Have a pod looked at again after a pause that doubles with every failure."""
        failed = self.failures.get(key, 0)
        self.failures[key] = failed + 1
        self.add(key, min(_FIRST_PAUSE_SECONDS * 2.0 ** min(failed, 20), _LONGEST_PAUSE_SECONDS))

    def forget(self, key: Key) -> None:
        """Forget a pod's failures."""
        self.failures.pop(key, None)

    async def take(self) -> Key:
        """Wait for a pod that is due and hand it out; ``done`` must follow."""
        while True:
            self._changed.clear()
            waiting = sorted((at, key) for key, at in self.due.items() if key not in self.active)
            if waiting and waiting[0][0] <= self.clock() + _TICK_SECONDS:
                key = waiting[0][1]
                del self.due[key]
                self.held.pop(key, None)
                self.active.add(key)
                return key
            with suppress(TimeoutError):
                async with asyncio.timeout(waiting[0][0] - self.clock() if waiting else None):
                    await self._changed.wait()

    def done(self, key: Key) -> None:
        """Let a pod be handed out again."""
        self.active.discard(key)
        self._changed.set()


def notice(queue: BoostQueue, settings: Settings, pod: Pod) -> None:
    """Have a pod that came or changed looked at, if it is boosted and Ready."""
    if is_worth_a_look(pod, settings):
        queue.add((pod.namespace, pod.name))


@dataclass(slots=True)
class Unboosting:
    """The workers of one updater.

    Args:
        queue: Pods to be looked at.
        caches: What the updater watches.
        actuator: Makes an actuator whose attempts may wait until a time.
        settings: Flags, gates and behaviour.
        driver: Tells the time.
    """

    queue: BoostQueue
    caches: Caches
    actuator: Callable[[datetime], Actuator]
    settings: Settings
    driver: Driver

    async def resync(self) -> None:
        """Look at every boosted pod again."""
        for pod in self.caches.pods.snapshot():
            notice(self.queue, self.settings, pod)

    async def work(self) -> None:
        """Look at one pod after the other, for ever."""
        while True:
            key = await self.queue.take()
            try:
                await self._look(key)
            except InvalidObjectError as error:
                log.warning("object left out", object=str(error.ref), error=str(error))
                self.queue.back_off(key)
            finally:
                self.queue.done(key)

    async def _look(self, key: Key) -> None:
        """Do what is due about one pod."""
        pod = self.caches.pods.find(key)
        controlling = await self.caches.controlling(pod) if pod is not None else None
        step = next_step(pod, controlling.vpa if controlling else None, self.driver.now())
        match step.verdict:
            case Verdict.LATER:
                self.queue.forget(key)
                self.queue.add(key, step.wait.total_seconds())
            case Verdict.UNKNOWN_VPA if self.queue.failures.get(key, 0) <= _TRIES_WITHOUT_VPA:
                self.queue.back_off(key)
            case Verdict.BACK_OFF:
                self.queue.back_off(key)
            case Verdict.ATTEMPT if pod is not None and controlling is not None:
                around = UnboostContext(
                    controlling,
                    [other for other in self.caches.pods.snapshot() if other.namespace == pod.namespace],
                    {workload.ref: workload for workload in self.caches.controllers.workloads()},
                    merge(one for one in self.caches.limit_ranges.snapshot() if one.namespace == pod.namespace),
                    self.settings,
                    self.caches.around.surroundings(),
                )
                await self._attempt(key, pod, step, around)
            case _:
                self.queue.forget(key)

    async def _attempt(self, key: Key, pod: Pod, step: Step, around: UnboostContext) -> None:
        """Try to take boosts back; whatever keeps that from succeeding, it is tried again."""
        decision = unboost(pod, step.expired, around)
        log.info("boost decided", object=str(pod.ref), action=decision.action.value, reason=decision.reason.value)
        if decision.action is Action.WAIT:
            self.queue.back_off(key)
            return
        outcome = await self.actuator(self.driver.now() + _NO_DEADLINE).carry_out(decision)
        if outcome is Outcome.DONE:
            self.queue.forget(key)
            self.queue.hold(key, _SETTLING_SECONDS)
        else:
            self.queue.back_off(key)

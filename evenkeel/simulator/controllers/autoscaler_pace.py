"""How fast an autoscaler follows what its metrics call for: windows, policies and bounds; pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from evenkeel.simulator.controllers.autoscaler_spec import DOWN_WINDOW, Policy, PolicyType, Rules, Selection, Wish

_FREE_GROWTH, _GROWTH_FACTOR = 4, 2
"""Where no pace is given, replicas at most double at a time, or come to four."""

_WHOLE = 100


@dataclass(frozen=True, slots=True)
class Noted:
    """A number with its time.

    Args:
        at: When.
        number: How many replicas were recommended, or were added or given up.
    """

    at: datetime
    number: int


@dataclass(frozen=True, slots=True)
class Memory:
    """What an autoscaler remembers; it is lost when the controller starts anew.

    Args:
        recommendations: What metrics called for, before any window or bound.
        added: Replicas that were added.
        removed: Replicas that were given up.
    """

    recommendations: tuple[Noted, ...] = ()
    added: tuple[Noted, ...] = ()
    removed: tuple[Noted, ...] = ()

    def resized(self, now: datetime, change: int, wish: Wish) -> Memory:
        """Return the memory after so many replicas were added, or given up if negative; only policies need it."""
        if not wish.pace.is_given:
            return self
        noted = Noted(now, abs(change))
        if change > 0:
            return replace(self, added=(*_recent(self.added, now, _longest(wish.pace.up)), noted))
        return replace(self, removed=(*_recent(self.removed, now, _longest(wish.pace.down)), noted))


@dataclass(frozen=True, slots=True)
class Settled:
    """What is done about a recommendation.

    Args:
        replicas: How many replicas there shall be.
        held_back: Why recent recommendations count rather than this one; empty when this one does.
        limited: What bounds the number; empty when nothing does.
        memory: What is remembered from now on.
    """

    replicas: int
    held_back: str
    limited: str
    memory: Memory


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be settled.

    Args:
        current: How many replicas there are.
        desired: How many the metrics call for.
        wish: What the autoscaler asks for.
        now: The present.
    """

    current: int
    desired: int
    wish: Wish
    now: datetime


def settle(question: Question, memory: Memory) -> Settled:
    """Decide how many replicas there shall be.

    Args:
        question: What the metrics call for.
        memory: What is remembered.

    Returns:
        The number, with reasons as the conditions AbleToScale and ScalingLimited have them.
    """
    stable, memory = _stabilised(question, memory)
    held_back = ""
    if stable != question.desired:
        grows = question.wish.pace.is_given and question.desired >= question.current
        held_back = "ScaleUpStabilized" if grows else "ScaleDownStabilized"
    stabilised = replace(question, desired=stable)
    replicas, limited = _paced(stabilised, memory) if question.wish.pace.is_given else _bounded(stabilised)
    return Settled(replicas, held_back, limited, memory)


def _stabilised(question: Question, memory: Memory) -> tuple[int, Memory]:
    """Return the recommendation that holds, by those of the windows, and the memory with the new one."""
    up, down = question.wish.pace.up.window, question.wish.pace.down.window
    now, desired = question.now, question.desired
    recent = memory.recommendations
    least = min([desired, *_numbers(recent, now - up)])
    most = max([desired, *_numbers(recent, now - down)])
    # Without a pace of its own an autoscaler may go back up to what it wanted lately, without asking its metrics.
    stable = min(max(question.current, least), most) if question.wish.pace.is_given else most
    kept = _recent(recent, now, max(up, down, DOWN_WINDOW))
    return stable, replace(memory, recommendations=(*kept, Noted(now, desired)))


def _bounded(question: Question) -> tuple[int, str]:
    """Return the number within the bounds of an autoscaler without a pace of its own, and what bounds it."""
    growth = max(_GROWTH_FACTOR * question.current, _FREE_GROWTH)
    most = min(question.wish.most, growth)
    if question.desired < question.wish.least:
        return question.wish.least, "TooFewReplicas"
    if question.desired > most:
        return most, "ScaleUpLimit" if growth < question.wish.most else "TooManyReplicas"
    return question.desired, ""


def _paced(question: Question, memory: Memory) -> tuple[int, str]:
    """Return the number that policies and bounds allow, and what bounds it."""
    current, desired, wish = question.current, question.desired, question.wish
    if desired > current:
        limit = max(current, _most(question, memory))
        most = min(limit, wish.most)
        if desired > most:
            return most, "ScaleUpLimit" if limit < wish.most else "TooManyReplicas"
    elif desired < current:
        limit = min(current, _fewest(question, memory))
        least = max(limit, wish.least)
        if desired < least:
            return least, "ScaleDownLimit" if limit > wish.least else "TooFewReplicas"
    return desired, ""


def _most(question: Question, memory: Memory) -> int:
    """Return up to how many replicas the policies let a target grow."""
    rules = question.wish.pace.up
    if rules.select is Selection.DISABLED:
        return question.current
    found = [_grown(policy, _start(question, memory, policy)) for policy in rules.policies]
    return (min if rules.select is Selection.MIN else max)(found)


def _fewest(question: Question, memory: Memory) -> int:
    """Return down to how many replicas the policies let a target shrink."""
    rules = question.wish.pace.down
    if rules.select is Selection.DISABLED:
        return question.current
    found = [_shrunk(policy, _start(question, memory, policy)) for policy in rules.policies]
    return (max if rules.select is Selection.MIN else min)(found)


def _grown(policy: Policy, start: int) -> int:
    if policy.type is PolicyType.PODS:
        return start + policy.value
    return math.ceil(start * (1 + policy.value / _WHOLE))


def _shrunk(policy: Policy, start: int) -> int:
    if policy.type is PolicyType.PODS:
        return start - policy.value
    return int(start * (1 - policy.value / _WHOLE))


def _start(question: Question, memory: Memory, policy: Policy) -> int:
    """Return how many replicas there were when a policy's period began."""
    since = question.now - policy.period
    return question.current - sum(_numbers(memory.added, since)) + sum(_numbers(memory.removed, since))


def _numbers(noted: Iterable[Noted], after: datetime) -> list[int]:
    """Return what was noted after a moment."""
    return [one.number for one in noted if one.at > after]


def _recent(noted: Iterable[Noted], now: datetime, kept: timedelta) -> tuple[Noted, ...]:
    """Return what is not older than what anybody will ask for."""
    return tuple(one for one in noted if one.at > now - kept)


def _longest(rules: Rules) -> timedelta:
    """Return the longest period of a direction's policies."""
    return max((policy.period for policy in rules.policies), default=timedelta(0))

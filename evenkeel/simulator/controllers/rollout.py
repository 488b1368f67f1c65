"""How many replicas each ReplicaSet of a Deployment should have next: pure numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from evenkeel.simulator.controllers.proportions import scaled


@dataclass(frozen=True, slots=True)
class SetState:
    """One ReplicaSet.

    Args:
        name: Its name.
        replicas: How many pods it is told to have.
        present: How many it reports.
        available: How many of them have been ready for long enough.
        created: When it was created.
        most: How many pods the whole Deployment was allowed when this set got its size; None when it does not say.
        desired: How many the Deployment asked for then; None when the set does not say.
    """

    name: str
    replicas: int
    present: int
    available: int
    created: datetime
    most: int | None = None
    desired: int | None = None


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far a rolling update may go.

    Args:
        replicas: How many pods the Deployment asks for.
        surge: How many more there may be.
        unavailable: How many fewer may be available.
    """

    replicas: int
    surge: int
    unavailable: int

    @classmethod
    def of(cls, replicas: int, surge: object, unavailable: object) -> Bounds:
        """Return the bounds that a strategy's two values stand for; both zero would let nothing move."""
        more = scaled(surge, replicas, round_up=True)
        fewer = min(scaled(unavailable, replicas, round_up=False), replicas)
        return cls(replicas, more, fewer or int(more == 0 and replicas > 0))

    @property
    def most(self) -> int:
        """How many pods there may be in all."""
        return self.replicas + self.surge if self.replicas else 0

    @property
    def least(self) -> int:
        """How many must stay available."""
        return self.replicas - self.unavailable


def grown(bounds: Bounds, new: SetState, old: Sequence[SetState]) -> int:
    """Return the next size of the new set: as large as the surge leaves room for."""
    if new.replicas >= bounds.replicas:
        return bounds.replicas
    room = bounds.replicas + bounds.surge - new.replicas - sum(state.replicas for state in old)
    return min(bounds.replicas, new.replicas + max(0, room))


def shrunk(bounds: Bounds, new: SetState, old: Sequence[SetState]) -> dict[str, int]:
    """Return the next sizes of the old sets, by name, for those that change.

    Pods that are not available go first, as nothing is lost with them; then as many as may be unavailable.
    """
    total = new.replicas + sum(state.replicas for state in old)
    spare = total - bounds.least - (new.replicas - new.available)
    if spare <= 0 or not any(state.replicas for state in old):
        return {}
    oldest_first = sorted(old, key=lambda state: (state.created, state.name))
    sizes: dict[str, int] = {state.name: state.replicas for state in old}
    for state in oldest_first:
        gone = min(spare, max(0, state.replicas - state.available))
        sizes[state.name] -= gone
        spare -= gone
    spare = new.available + sum(state.available for state in old) - bounds.least
    for state in oldest_first:
        gone = min(max(0, spare), sizes[state.name])
        sizes[state.name] -= gone
        spare -= gone
    return {state.name: sizes[state.name] for state in old if sizes[state.name] != state.replicas}


def rescaled(bounds: Bounds, new: SetState | None, old: Sequence[SetState]) -> dict[str, int]:
    """Return the sizes after the Deployment's own size has changed, by name, for the sets that change.

    Args:
        bounds: With the new size.
        new: The set of the present template, if there is one.
        old: The others.
    """
    every = ([new] if new else []) + list(old)
    active = [state for state in every if state.replicas > 0]
    single = _single(new, active, old)
    if single is not None:
        return _changed([single], {single.name: bounds.replicas})
    if new is not None and _is_saturated(bounds, new):
        return _changed(old, {state.name: 0 for state in old})
    return _changed(active, _in_proportion(bounds, active))


def _single(new: SetState | None, active: list[SetState], old: Sequence[SetState]) -> SetState | None:
    """Return the only set that matters: the active one, or when none is the new one or else the latest."""
    if len(active) > 1:
        return None
    if active:
        return active[0]
    return new or max(old, key=lambda state: (state.created, state.name), default=None)


def _is_saturated(bounds: Bounds, new: SetState) -> bool:
    """Say whether the new set has all that the Deployment asks for."""
    return new.replicas == new.available == new.desired == bounds.replicas


def _in_proportion(bounds: Bounds, active: list[SetState]) -> dict[str, int]:
    """Share a change of size out among the active sets by their sizes; what rounding leaves goes to the first."""
    change = bounds.most - sum(state.replicas for state in active)
    if change >= 0:
        ordered = sorted(active, key=lambda state: (state.created, state.name), reverse=True)
    else:
        ordered = sorted(active, key=lambda state: (state.created, state.name))
    ordered.sort(key=lambda state: -state.replicas)
    sizes: dict[str, int] = {state.name: state.replicas for state in ordered}
    left = change
    for state in ordered:
        share = _share(bounds, state)
        given = max(0, min(share, left)) if change >= 0 else min(0, max(share, left))
        sizes[state.name] = max(0, state.replicas + given)
        left -= given
    if ordered and left:
        sizes[ordered[0].name] = max(0, sizes[ordered[0].name] + left)
    return sizes


def _share(bounds: Bounds, state: SetState) -> int:
    """Return by how much one set would change alone."""
    if not bounds.replicas:
        return -state.replicas
    before = state.most or state.present
    if not before:
        return 0
    return (2 * state.replicas * bounds.most + before) // (2 * before) - state.replicas


def _changed(states: Sequence[SetState], sizes: dict[str, int]) -> dict[str, int]:
    """Return the sizes that differ from the present ones."""
    return {state.name: sizes[state.name] for state in states if sizes[state.name] != state.replicas}

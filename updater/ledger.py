"""What the changes of one round take up, so that no two of them count on the same thing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from autoscaling.objectref import ObjectRef
from autoscaling.vpa import Recommendation
from updater.storm_levels import Bucket

K = TypeVar("K")

Amounts = Mapping[str, int]
"""Resource name to an amount in nano-units (nano-cores, nano-bytes)."""


@dataclass(frozen=True, slots=True)
class Eviction:
    """A pod that was evicted, of which workload, and what its replacement is to get; None where that is unknown."""

    workload: ObjectRef
    uid: str
    wanted: Recommendation | None


@dataclass(frozen=True, slots=True)
class Claim:
    """What one change takes up, besides the budget of its group.

    Args:
        rooms: Growth by node; what shrinks is not counted before the node reports it.
        quotas: Growth by quota, under the quota's own resource names.
        budgets: Disruption budgets of which it uses one disruption.
        changes: Buckets that it takes one token from.
        eviction: The eviction that it is, where what comes of it is to be watched.
    """

    rooms: Mapping[str, Amounts] = field(default_factory=dict)
    quotas: Mapping[ObjectRef, Amounts] = field(default_factory=dict)
    budgets: tuple[ObjectRef, ...] = ()
    changes: tuple[Bucket, ...] = ()
    eviction: Eviction | None = None


NO_CLAIM = Claim()
"""What a change takes up that only shrinks and disrupts nobody."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """The sum of the claims of a round so far.

    Args:
        rooms: Growth by node.
        quotas: Growth by quota, under the quota's own resource names.
        budgets: Disruptions by disruption budget.
        changes: Tokens by bucket.
        stopped: Kinds of calls that are not made any more in this round, as the permission for them is missing.
        evictions: The evictions that are to be watched, by UID of the pod.
    """

    rooms: Mapping[str, Amounts] = field(default_factory=dict)
    quotas: Mapping[ObjectRef, Amounts] = field(default_factory=dict)
    budgets: Mapping[ObjectRef, int] = field(default_factory=dict)
    changes: Mapping[Bucket, int] = field(default_factory=dict)
    stopped: frozenset[str] = frozenset()
    evictions: Mapping[str, Eviction] = field(default_factory=dict)

    def without(self, call: str) -> Ledger:
        """Return the ledger of a round in which no more calls of a kind are made."""
        return replace(self, stopped=self.stopped | {call})

    def after(self, claim: Claim) -> Ledger:
        """Return the ledger with a change that was accepted."""
        if claim == NO_CLAIM:
            return self
        budgets = {ref: self.budgets.get(ref, 0) + 1 for ref in claim.budgets}
        changes = {bucket: self.changes.get(bucket, 0) + 1 for bucket in claim.changes}
        return Ledger(
            _summed(self.rooms, claim.rooms),
            _summed(self.quotas, claim.quotas),
            {**self.budgets, **budgets},
            {**self.changes, **changes},
            self.stopped,
            {**self.evictions, claim.eviction.uid: claim.eviction} if claim.eviction else self.evictions,
        )

    def without_claim(self, claim: Claim) -> Ledger:
        """Return the ledger with a change taken out again that came to nothing.

        What was sent may have been carried out all the same, so its tokens stay used up.
        """
        if claim == NO_CLAIM:
            return self
        rooms = {node: _negated(amounts) for node, amounts in claim.rooms.items()}
        quotas = {ref: _negated(amounts) for ref, amounts in claim.quotas.items()}
        budgets = {ref: self.budgets.get(ref, 0) - 1 for ref in claim.budgets}
        return replace(
            self,
            rooms=_summed(self.rooms, rooms),
            quotas=_summed(self.quotas, quotas),
            budgets={**self.budgets, **budgets},
            evictions={uid: one for uid, one in self.evictions.items() if one is not claim.eviction},
        )


def _summed(before: Mapping[K, Amounts], new: Mapping[K, Amounts]) -> Mapping[K, Amounts]:
    """Add amounts entry by entry."""
    if not new:
        return before
    return {**before, **{key: _added(before.get(key, {}), amounts) for key, amounts in new.items()}}


def _added(one: Amounts, other: Amounts) -> Amounts:
    """Add two lists of amounts."""
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


def _negated(amounts: Amounts) -> Amounts:
    """Return what takes amounts back."""
    return {name: -amount for name, amount in amounts.items()}

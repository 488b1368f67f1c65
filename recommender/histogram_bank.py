"""All histograms of one resource as one array: add, subtract, decay, merge, percentile.

One row is one histogram. Every operation works on many rows at once and leaves in each row, bit for bit, what the same
operations one after the other would have left.

A row's ``lowest`` and ``highest`` bucket are those that hold at least epsilon. Lighter buckets count in the row's total
but lie outside this range: they are neither walked by a percentile nor scaled nor merged.

Spec: recommender 1.2, 1.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from recommender.buckets import BucketScheme, Numbers
from recommender.instants import elapsed, nanoseconds, rounded
from recommender.kernels.columns import readable
from recommender.kernels.folding import Additions, Histograms
from recommender.kernels.suite import Kernels
from recommender.kernels.walking import Shares
from recommender.reference_times import ReferenceTimes, Span
from recommender.rows import doubled, grown, in_turns

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

_MAX_AGE_IN_HALF_LIVES = 100
_LONGEST = 2**62
_CHUNK = 2048


@dataclass(frozen=True, slots=True)
class WeightChanges:
    """Weights to add to or take from histograms, in this order.

    Args:
        rows: int64[n], histogram of each change; a row may occur more than once.
        buckets: int64[n] or int16[n].
        weights: float64[n] or one for all, at least 0, before decay.
        instants: int64[n], nanoseconds since the Unix epoch.
        taken: bool[n], whether the weight is taken away; None where all are added.
        distinct: int64[k], the rows that occur, and maybe others, each once; None where that is not known.
    """

    rows: Integers
    buckets: Integers | Numbers
    weights: Floats | float
    instants: Integers
    taken: Flags | None = None
    distinct: Integers | None = None

    def select(self, chosen: Flags) -> WeightChanges:
        """Return the chosen changes, in order."""
        weights = self.weights if isinstance(self.weights, float) else self.weights[chosen]
        taken = None if self.taken is None else self.taken[chosen]
        return replace(
            self,
            rows=self.rows[chosen],
            buckets=self.buckets[chosen],
            weights=weights,
            instants=self.instants[chosen],
            taken=taken,
        )


class HistogramBank:
    """Decaying histograms of one resource; mutable and owned by one task.

    Attributes:
        scheme: The buckets.
        half_life: Nanoseconds in which a weight halves.
        weights: float64[rows, buckets].
        totals: float64[rows].
        lowest: int16[rows], first bucket with at least epsilon; the last bucket where there is none.
        highest: int16[rows], last bucket with at least epsilon; 0 where there is none.
        references: Instant at which a row's weights count as they are; ``NEVER`` until it sees its first.
        kernels: What adds weights and walks percentiles; numpy does where there are none.

    Raises:
        ValueError: The half life is not positive.
    """

    def __init__(self, scheme: BucketScheme, half_life: timedelta, capacity: int = 64) -> None:
        self.scheme = scheme
        self.half_life = nanoseconds(half_life)
        if self.half_life <= 0:
            raise ValueError(f"half life {half_life}: must be longer than nothing")
        self._oldest = min(_MAX_AGE_IN_HALF_LIVES * self.half_life, _LONGEST)
        self.weights: Floats = np.zeros((capacity, scheme.count))
        self.totals: Floats = np.zeros(capacity)
        self.lowest: Numbers = np.full(capacity, scheme.count - 1, dtype=np.int16)
        self.highest: Numbers = np.zeros(capacity, dtype=np.int16)
        self.references = ReferenceTimes(self.half_life, capacity)
        self.kernels: Kernels | None = None

    def empty_copy(self, rows: int) -> HistogramBank:
        """Return a bank of the same buckets, half life and kernels with so many empty rows."""
        copy = HistogramBank(self.scheme, timedelta(microseconds=self.half_life // 1000), rows)
        copy.kernels = self.kernels
        return copy

    def reserve(self, rows: int) -> None:
        """Make row numbers below ``rows`` usable, growing by doubling."""
        if rows <= len(self.totals):
            return
        capacity = doubled(len(self.totals), rows)
        self.weights = grown(self.weights, capacity, 0)
        self.totals = grown(self.totals, capacity, 0)
        self.lowest = grown(self.lowest, capacity, self.scheme.count - 1)
        self.highest = grown(self.highest, capacity, 0)
        self.references.reserve(capacity)

    def clear(self, rows: Integers) -> None:
        """Make rows empty and forget their reference time."""
        self.weights[rows] = 0.0
        self.totals[rows] = 0.0
        self.lowest[rows] = self.scheme.count - 1
        self.highest[rows] = 0
        self.references.numbers[rows] = 0

    def is_empty(self, rows: Integers) -> Flags:
        """Say of each row whether no bucket holds epsilon."""
        empty: Flags = self.weights[rows, self.lowest[rows]] < self.scheme.epsilon
        return empty

    def apply(self, changes: WeightChanges) -> None:
        """Add and take weights, each multiplied by ``2**((instant - reference) / half_life)``.

        A row whose reference time lies more than 100 half lives before a change is first shifted to that change's
        instant, so a batch is cut there.
        """
        pending = changes
        while len(pending.rows):
            numbers, span = self._reference_numbers(pending), Span.of(pending.instants)
            shifting = self.references.are_older(numbers, span, self._oldest)
            if shifting is None:
                self._apply_unshifted(pending, numbers, span)
                return
            places = np.flatnonzero(shifting)
            rows, first = np.unique(pending.rows[places], return_index=True)
            cut = np.full(len(self.totals), len(pending.rows))
            cut[rows] = places[first]
            ready = np.arange(len(pending.rows)) < cut[pending.rows]
            if ready.any():
                kept = pending.select(ready)
                self._apply_unshifted(kept, self._reference_numbers(kept), Span.of(kept.instants))
            self.shift(rows, pending.instants[places[first]])
            pending = pending.select(~ready)

    def _reference_numbers(self, changes: WeightChanges) -> Integers:
        """Return the number of each row's reference time; a single one where all rows are known to share it."""
        if changes.distinct is not None:
            numbers = self.references.numbers.take(changes.distinct)
            if numbers.min() == numbers.max():
                return numbers[:1]
        return self.references.numbers.take(changes.rows)

    def _apply_unshifted(self, changes: WeightChanges, numbers: Integers, span: Span) -> None:
        """Fold in changes whose rows keep their reference times, given by number."""
        rows, buckets = changes.rows, changes.buckets
        weights = self.references.growth(numbers, span, changes.weights, self.kernels)
        if self.kernels is not None:
            additions = Additions(readable(rows), readable(buckets.astype(np.int16, copy=False)), readable(weights))
            if changes.taken is None:
                self.kernels.add(self._columns(), additions)
            else:
                self.kernels.add_or_take(self._columns(), additions, readable(changes.taken))
            return
        cells = rows * self.scheme.count
        cells += buckets
        flat = self.weights.reshape(-1)
        if changes.taken is None or not changes.taken.any():
            np.add.at(self.totals, rows, weights)
            np.add.at(flat, cells, weights)
        else:
            self._fold_totals(rows, weights, changes.taken)
            _fold_in_order(flat, cells, weights, changes.taken, self.scheme.epsilon)
            self._narrow_range(rows, buckets)
        self._widen_range(rows, buckets)

    def _columns(self) -> Histograms:
        """Return everything that kernels work on."""
        flat = self.weights.reshape(-1)
        return Histograms(flat, self.totals, self.lowest, self.highest, self.scheme.count, self.scheme.epsilon)

    def _fold_totals(self, rows: Integers, weights: Floats, taken: Flags) -> None:
        """Add to or take from totals in order."""
        signed = np.where(taken, -weights, weights)
        lost = np.bincount(rows, np.where(taken, weights, 0.0))
        totals = self.totals[: len(lost)]
        # What keeps half its weight whatever the order never falls below epsilon, so that it need not be looked for.
        is_safe = ((totals >= 2.0 * lost) & (totals >= 4.0 * self.scheme.epsilon)).take(rows)
        np.add.at(self.totals, rows[is_safe], signed[is_safe])
        risky = ~is_safe
        if risky.any():
            _fold_in_order(self.totals, rows[risky], weights[risky], taken[risky], self.scheme.epsilon)

    def _widen_range(self, rows: Integers, buckets: Integers | Numbers) -> None:
        """Take changed buckets that now hold epsilon into the range from ``lowest`` to ``highest``."""
        outside = (buckets < self.lowest.take(rows)) | (buckets > self.highest.take(rows))
        if outside.any():
            rows, buckets = rows[outside], buckets[outside].astype(np.int16)
            live = self.weights[rows, buckets] >= self.scheme.epsilon
            np.minimum.at(self.lowest, rows[live], buckets[live])
            np.maximum.at(self.highest, rows[live], buckets[live])

    def _narrow_range(self, rows: Integers, buckets: Integers | Numbers) -> None:
        """Find the range anew where a changed bucket at its end holds less than epsilon."""
        at_end = (buckets == self.lowest[rows]) | (buckets == self.highest[rows])
        bare = at_end & (self.weights[rows, buckets] < self.scheme.epsilon)
        if bare.any():
            self.find_range(np.unique(rows[bare]))

    def find_range(self, rows: Integers) -> None:
        """Find ``lowest`` and ``highest`` of rows anew from their weights."""
        live = self.weights[rows] >= self.scheme.epsilon
        some = live.any(axis=1)
        last = self.scheme.count - 1
        self.lowest[rows] = np.where(some, live.argmax(axis=1), last)
        self.highest[rows] = np.where(some, last - live[:, ::-1].argmax(axis=1), 0)

    def shift(self, rows: Integers, instants: Integers) -> None:
        """Move reference times to instants, rounded to a multiple of the half life since year 1, halves up.

        Args:
            rows: int64[n], each at most once.
            instants: int64[n], nanoseconds since the epoch.
        """
        target = rounded(instants, self.half_life)
        exponent = np.floor(elapsed(self.references[rows], target) / self.half_life + 0.5)
        with np.errstate(over="ignore", under="ignore"):
            factor = np.ldexp(1.0, np.clip(exponent, -(1 << 20), 1 << 20).astype(np.int32))
        self.totals[rows] *= factor
        self.references[rows] = target
        filled = self.lowest[rows] <= self.highest[rows]
        if filled.any():
            self._scale_range(rows[filled], factor[filled])

    def _scale_range(self, rows: Integers, factor: Floats) -> None:
        """Multiply the buckets from lowest to highest, then find the range anew."""
        used = self.used_buckets(rows)
        within = self.within_range(rows, used)
        with np.errstate(over="ignore", under="ignore"):
            self.weights[rows, used] *= np.where(within, factor[:, np.newaxis], 1.0)
        self.find_range(rows)

    def used_buckets(self, rows: Integers) -> slice:
        """Return the buckets from the lowest to the highest of all of some rows; few rows need all 176."""
        return slice(int(self.lowest[rows].min(initial=self.scheme.count)), int(self.highest[rows].max(initial=-1)) + 1)

    def within_range(self, rows: Integers, buckets: slice) -> Flags:
        """Say which of some buckets lie from lowest to highest.

        Args:
            rows: int64[n].
            buckets: Which buckets.

        Returns:
            bool[n, buckets].
        """
        numbers = np.arange(buckets.start, buckets.stop)
        within: Flags = (numbers >= self.lowest[rows, np.newaxis]) & (numbers <= self.highest[rows, np.newaxis])
        return within

    def merge(self, rows: Integers, other: HistogramBank, other_rows: Integers) -> None:
        """Add another bank's histograms to this one's, pair by pair in order.

        Of each pair the one with the older reference time is shifted to the younger one's, **in the other bank too**.

        Args:
            rows: int64[n], each at most once.
            other: A bank of the same buckets and half life.
            other_rows: int64[n]; may repeat.

        Raises:
            ValueError: The banks differ in buckets or half life.
        """
        if other.scheme is not self.scheme or other.half_life != self.half_life:
            raise ValueError("merge of histograms: both banks must have the same buckets and half life")
        for chosen in in_turns(other_rows):
            self._align(rows[chosen], other, other_rows[chosen])
            self._add_rows(rows[chosen], other, other_rows[chosen])

    def _align(self, rows: Integers, other: HistogramBank, other_rows: Integers) -> None:
        """Shift the older of each pair to the younger."""
        ours, theirs = self.references[rows], other.references[other_rows]
        older, younger = ours < theirs, ours > theirs
        if older.any():
            self.shift(rows[older], theirs[older])
        if younger.any():
            other.shift(other_rows[younger], ours[younger])

    def _add_rows(self, rows: Integers, other: HistogramBank, other_rows: Integers) -> None:
        """Add aligned histograms of another bank."""
        for start in range(0, len(rows), _CHUNK):
            mine, theirs = rows[start : start + _CHUNK], other_rows[start : start + _CHUNK]
            used = other.used_buckets(theirs)
            self.weights[mine, used] += np.where(other.within_range(theirs, used), other.weights[theirs, used], 0.0)
        self.totals[rows] += other.totals[other_rows]
        self.lowest[rows] = np.minimum(self.lowest[rows], other.lowest[other_rows])
        self.highest[rows] = np.maximum(self.highest[rows], other.highest[other_rows])

    def percentile(self, rows: Integers, shares: Sequence[float]) -> Floats:
        """Return the end of the bucket below which a share of each row's weight lies.

        Args:
            rows: int64[n].
            shares: Shares of the weight, each 0 to 1; 0.9 is the 90th percentile.

        Returns:
            float64[shares, n], in cores or bytes; 0.0 where a row is empty.

        Raises:
            ValueError: A share is outside [0, 1].
        """
        if not all(0.0 <= share <= 1.0 for share in shares):
            raise ValueError(f"percentile shares {list(shares)}: each must be within 0 and 1")
        result = np.zeros((len(shares), len(rows)))
        if self.kernels is not None:
            order = np.argsort(shares)
            ascending = Shares(readable(np.array(shares, dtype=np.float64)[order]), readable(order))
            self.kernels.walk(self._columns(), readable(rows), ascending, self.scheme.ends, result.reshape(-1))
            return result
        width = np.where(self.is_empty(rows), 0, self.highest[rows] - self.lowest[rows] + 1)
        # Rows of about equal width stand together, so that few of the 176 columns are ever looked at.
        order = np.argsort(width, kind="stable")
        order = order[np.searchsorted(width[order], 1) :]
        for start in range(0, len(order), _CHUNK):
            places = order[start : start + _CHUNK]
            result[:, places] = self._walk(rows[places], width[places], shares)
        return result

    def _walk(self, rows: Integers, width: Integers, shares: Sequence[float]) -> Floats:
        """Return percentiles of filled rows; their width, highest - lowest + 1, ascends."""
        lowest = self.lowest[rows]
        flat = self.weights.reshape(-1)
        cells = (rows * self.scheme.count + lowest)[:, np.newaxis] + np.arange(width[-1])
        # Cells past a row's highest bucket may be anything: the walk stops at the highest in any case.
        reached = np.cumsum(flat.take(cells, mode="clip"), axis=1)
        result = np.empty((len(shares), len(rows)))
        for place, share in enumerate(shares):
            short = _below(reached, share * self.totals[rows])
            result[place] = self.scheme.ends[lowest + np.minimum(short, width - 1)]
        return result


def _below(ascending: Floats, limits: Floats) -> Integers:
    """Return how many elements of each row are less than its limit, by halving what is looked at in all rows at once.

    Args:
        ascending: float64[n, columns], each row ascending.
        limits: float64[n].
    """
    rows, columns = ascending.shape
    flat, begin = ascending.reshape(-1), np.arange(0, rows * columns, columns)
    found = np.zeros(rows, dtype=np.int64)
    step = 1 << columns.bit_length() >> 1
    while step:
        place = found + step
        is_below = (place <= columns) & (flat.take(begin + place - 1, mode="clip") < limits)
        found[is_below] = place[is_below]
        step >>= 1
    return found


def _fold_in_order(values: Floats, cells: Integers, weights: Floats, taken: Flags, epsilon: float) -> None:
    """Add to or take from cells one change after the other; what falls below epsilon by taking becomes 0."""
    for chosen in in_turns(cells):
        here, weight, away = cells[chosen], weights[chosen], taken[chosen]
        changed = values[here] + np.where(away, -weight, weight)
        changed[away & (changed < epsilon)] = 0.0
        values[here] = changed

"""The mean of the coming hour as it was yesterday, and by how much use went beyond such means (spec: quality Q-16)."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from recommender.rows import grown
from recommender.strategies.interface import JsonObject
from recommender.strategies.packing import nested, packed, unpacked
from recommender.strategies.recent_samples import RecentSamples, Window
from recommender.strategies.slots import SlotForm, SlotRing
from recommender.strategies.steps import Samples, Step, starts

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_HOUR: Final = 3600
_DAY: Final = 24 * _HOUR

ERRORS: Final = Window(seconds=7 * _DAY, cell_seconds=300, room=2048)
"""Of which time what forecasts were off by counts."""


class SlotMeans:
    """Means of an hour's samples, which are kept as sums by slots.

    A slot counts whole if the last sample in it is in the hour, so that the mean is exact as long as no slot has
    samples of more than one moment.

    Args:
        slot_seconds: Length of a slot.
        reach_seconds: How far back an hour may begin.
        rows: How many rows there are at first.
    """

    def __init__(self, slot_seconds: int, reach_seconds: int, rows: int) -> None:
        room, self._count = reach_seconds // slot_seconds + 1, _HOUR // slot_seconds + 1
        self._form = SlotForm(slot_seconds, room, np.add, 0.0, np.float64)
        self._sums = SlotRing(self._form, rows)
        self._counts = SlotRing(SlotForm(slot_seconds, room, np.add, 0.0, np.uint32), rows)
        self._lasts = SlotRing(SlotForm(slot_seconds, room, np.maximum, 0.0, np.uint32), rows)

    def grow(self, rows: int) -> None:
        """Have this many rows."""
        for ring in (self._sums, self._counts, self._lasts):
            ring.grow(rows)

    def clear(self, rows: Integers) -> None:
        """Forget all that rows have seen."""
        for ring in (self._sums, self._counts, self._lasts):
            ring.clear(rows)

    def add(self, samples: Samples) -> None:
        """Take in samples of a step."""
        self._sums.add(samples.rows, samples.seconds, samples.amounts)
        self._counts.add(samples.rows, samples.seconds, np.ones(len(samples.rows), dtype=np.uint32))
        self._lasts.add(samples.rows, samples.seconds, samples.seconds.astype(np.uint32))

    def mean(self, rows: Integers, begin_seconds: Floats) -> Floats:
        """Return the mean of the samples of an hour, float64[n], NaN where there is none.

        Args:
            rows: int64[n].
            begin_seconds: float64[n], when the hour begins; what ends then is outside.
        """
        first = self._form.slots(begin_seconds)
        lasts = self._lasts.window(rows, first, self._count).astype(np.float64)
        begins = begin_seconds[:, np.newaxis]
        is_inside = (lasts > begins) & (lasts <= begins + _HOUR)
        counts = np.where(is_inside, self._counts.window(rows, first, self._count), 0).sum(axis=1).astype(np.float64)
        sums = np.where(is_inside, self._sums.window(rows, first, self._count), 0.0).sum(axis=1).astype(np.float64)
        means: Floats = np.divide(sums, counts, out=np.full(len(rows), np.nan), where=counts > 0)
        return means

    def save(self, row: int) -> JsonObject:
        """Return all slots of a row."""
        return {name: dict(ring.save(row)) for name, ring in self._rings()}

    def restore(self, row: int, saved: JsonObject) -> None:
        """Let a row that has seen nothing go on from what was saved.

        Raises:
            ValueError: It is nothing that ``save`` returns.
        """
        for name, ring in self._rings():
            ring.restore(row, nested(saved, name))

    def _rings(self) -> tuple[tuple[str, SlotRing], ...]:
        return ("sums", self._sums), ("counts", self._counts), ("lasts", self._lasts)


class Seasonal:
    """The forecast of each row, and a percentile of what use has been above those before.

    Args:
        share: 0.95 for the 95th percentile.
        rows: How many rows there are at first.
    """

    def __init__(self, share: float, rows: int) -> None:
        # Slots are shorter than what lies between samples: of the day five minutes, of the hour one.
        self._day = SlotMeans(150, _DAY + 150, rows)
        self._hour = SlotMeans(30, _HOUR + 30, rows)
        self._errors = RecentSamples(ERRORS, share, rows)
        self._forecast: Floats = np.zeros(0)
        self.grow(rows)

    def grow(self, rows: int) -> None:
        """Have this many rows."""
        for part in (self._day, self._hour, self._errors):
            part.grow(rows)
        self._forecast = grown(self._forecast, rows, np.nan)

    def clear(self, rows: Integers) -> None:
        """Forget all that rows have seen."""
        for part in (self._day, self._hour, self._errors):
            part.clear(rows)
        self._forecast[rows] = np.nan

    def take(self, step: Step) -> None:
        """Take in samples: of each first what the forecast of the step before was off by."""
        samples = step.samples
        expected = self._forecast[samples.rows]
        known = samples.those(np.flatnonzero(~np.isnan(expected)))
        if len(known.rows):
            off = known.amounts - self._forecast[known.rows]
            errors = Samples(known.rows, known.seconds, known.durations, off)
            self._errors.take(Step(errors, np.flatnonzero(starts(known.rows))))
        self._day.add(samples)
        self._hour.add(samples)
        self._forecast[step.rows] = self._forecasts(step.rows, step.seconds)

    def _forecasts(self, rows: Integers, seconds: Floats) -> Floats:
        """Return the mean of the coming hour yesterday; where there is none that of the last hour, or NaN."""
        found = self._day.mean(rows, seconds - _DAY)
        unknown = np.isnan(found)
        if unknown.any():
            found[unknown] = self._hour.mean(rows[unknown], seconds[unknown] - _HOUR)
        return found

    def estimate(self, moments_seconds: Floats) -> Floats:
        """Return what each row is to expect from its moment on, float64[rows], NaN where nothing was seen.

        Where there is neither an hour of yesterday nor a last one, the forecast of the last sample stands.
        """
        forecasts = self._forecasts(np.arange(len(self._forecast)), moments_seconds)
        forecasts = np.where(np.isnan(forecasts), self._forecast, forecasts)
        return forecasts + np.fmax(self._errors.estimate(moments_seconds), 0.0)

    def save(self, row: int) -> JsonObject:
        """Return all that is kept of a row."""
        return {
            "day": dict(self._day.save(row)),
            "hour": dict(self._hour.save(row)),
            "errors": dict(self._errors.save(row)),
            **packed({"forecast": self._forecast[row : row + 1]}),
        }

    def restore(self, row: int, saved: JsonObject) -> None:
        """Let a row that has seen nothing go on from what was saved.

        Raises:
            ValueError: It is nothing that ``save`` returns.
        """
        forecast = unpacked(saved, {"forecast": np.float64})["forecast"].astype(np.float64)
        if len(forecast) != 1 or forecast[0] < 0.0 or np.isinf(forecast[0]):
            raise ValueError("saved state of a row: the forecast is none")
        self._day.restore(row, nested(saved, "day"))
        self._hour.restore(row, nested(saved, "hour"))
        self._errors.restore(row, nested(saved, "errors"))
        self._forecast[row] = forecast[0]

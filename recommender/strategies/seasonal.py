"""The mean of the coming hour as it was yesterday, and by how much use went beyond such means (spec: quality Q-16)."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from recommender.rows import grown, run_starts
from recommender.strategies.interface import JsonObject
from recommender.strategies.packing import nested, packed, unpacked_amount
from recommender.strategies.recent_samples import RecentSamples, Window
from recommender.strategies.slots import Plane, SlotForm, SlotRing
from recommender.strategies.steps import Samples, Step

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_HOUR: Final = 3600
_DAY: Final = 24 * _HOUR

ERRORS: Final = Window(seconds=7 * _DAY, cell_seconds=300, room=2048)
"""Of which time what forecasts were off by counts."""


_PLANES: Final = (
    Plane("sums", np.add, np.float64),
    Plane("counts", np.add, np.uint32),
    Plane("lasts", np.maximum, np.uint32),
)
"""Of each slot the sum of its samples, how many there are, and when the last one ends."""


class SlotMeans(SlotRing):
    """Means of an hour's samples, which are kept as sums by slots.

    A slot counts whole if the last sample in it is in the hour, so that the mean is exact as long as no slot has
    samples of more than one moment.

    Args:
        slot_seconds: Length of a slot.
        reach_seconds: How far back an hour may begin.
        rows: How many rows there are at first.
    """

    def __init__(self, slot_seconds: int, reach_seconds: int, rows: int) -> None:
        # Both ends of what is reached may be inside of a slot.
        super().__init__(SlotForm(slot_seconds, reach_seconds // slot_seconds + 2, _PLANES), rows)
        self._count = _HOUR // slot_seconds + 1

    def take(self, samples: Samples) -> None:
        """Take in samples of a step."""
        ones = np.ones(len(samples.rows), dtype=np.uint32)
        self.add(samples.rows, samples.seconds, (samples.amounts, ones, samples.seconds.astype(np.uint32)))

    def mean(self, rows: Integers, begin_seconds: Floats) -> Floats:
        """Return the mean of the samples of an hour, float64[n], NaN where there is none.

        Args:
            rows: int64[n].
            begin_seconds: float64[n], when the hour begins; what ends then is outside.
        """
        sums, counts, lasts = self.window(rows, self._form.slots(begin_seconds), self._count)
        ends = lasts.astype(np.float64) - begin_seconds[:, np.newaxis]
        is_inside = (ends > 0.0) & (ends <= _HOUR)
        number = (counts.astype(np.int64) * is_inside).sum(axis=1)
        means: Floats = np.full(len(rows), np.nan)
        np.divide((sums.astype(np.float64) * is_inside).sum(axis=1), number, out=means, where=number > 0)
        return means


class Seasonal:
    """The forecast of each row, and a percentile of what use has been above those before.

    Args:
        share: 0.95 for the 95th percentile.
        rows: How many rows there are at first.
    """

    def __init__(self, share: float, rows: int) -> None:
        # Slots are shorter than what lies between samples: of the day five minutes, of the hour one.
        self._day = SlotMeans(150, _DAY, rows)
        self._hour = SlotMeans(30, _HOUR, rows)
        self._errors = RecentSamples(ERRORS, share, rows)
        self._forecast: Floats = np.zeros(0)
        # Which moment the forecast is of; NaN where nothing was seen.
        self._forecast_at: Floats = np.zeros(0)
        self.grow(rows)

    def grow(self, rows: int) -> None:
        """Have this many rows."""
        for part in (self._day, self._hour, self._errors):
            part.grow(rows)
        self._forecast = grown(self._forecast, rows, np.nan)
        self._forecast_at = grown(self._forecast_at, rows, np.nan)

    def clear(self, rows: Integers) -> None:
        """Forget all that rows have seen."""
        for part in (self._day, self._hour, self._errors):
            part.clear(rows)
        self._forecast[rows] = self._forecast_at[rows] = np.nan

    def take(self, step: Step) -> None:
        """Take in samples: of each first what the forecast of the step before was off by."""
        samples = step.samples
        expected = self._forecast[samples.rows]
        known = samples.those(np.flatnonzero(~np.isnan(expected)))
        if len(known.rows):
            off = known.amounts - self._forecast[known.rows]
            errors = Samples(known.rows, known.seconds, known.durations, off)
            self._errors.take(Step(errors, np.flatnonzero(run_starts(known.rows))))
        self._day.take(samples)
        self._hour.take(samples)
        self._forecast[step.rows] = self._forecasts(step.rows, step.seconds)
        self._forecast_at[step.rows] = step.seconds

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
        forecasts = self._forecast.copy()
        others = np.flatnonzero((moments_seconds != self._forecast_at) & ~np.isnan(self._forecast_at))
        if len(others):
            found = self._forecasts(others, moments_seconds[others])
            forecasts[others] = np.where(np.isnan(found), forecasts[others], found)
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
        forecast = unpacked_amount(saved, "forecast")
        self._day.restore(row, nested(saved, "day"))
        self._hour.restore(row, nested(saved, "hour"))
        self._errors.restore(row, nested(saved, "errors"))
        self._forecast[row] = forecast
        self._forecast_at[row] = np.nan if np.isnan(forecast) else -np.inf

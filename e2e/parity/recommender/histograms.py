"""Operations on histograms: samples with decay, merging, percentiles, checkpoints (spec: recommender:1)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import msgspec
import numpy as np

from autoscaling.errors import CheckpointError
from autoscaling.wire.objects import timestamp
from e2e.parity.dice import Dice
from e2e.parity.kinds import Case, Kind
from e2e.parity.recommender.machine_code import by_turns
from recommender.buckets import CPU_BUCKETS, MEMORY_BUCKETS
from recommender.checkpoint import (
    BUCKET_COUNT,
    HistogramCheckpoint,
    check_histogram,
    decode_histograms,
    encode_histograms,
)
from recommender.histogram_bank import HistogramBank, WeightChanges

_SECOND: Final = 10**9
_HOUR: Final = 3600 * _SECOND
_BEGIN: Final = 1_767_225_600 * _SECOND


class _Sample(msgspec.Struct):
    row: int
    amount: int
    weight: float
    at: int
    taken: bool = False


class _Stored(msgspec.Struct, rename="camel"):
    reference_timestamp: datetime | None = None
    bucket_weights: dict[int, int] = {}
    total_weight: float = 0.0


class _Step(msgspec.Struct):
    do: str
    samples: list[_Sample] = []
    pairs: list[tuple[int, int]] = []
    shares: list[float] = []
    row: int = 0
    stored: _Stored | None = None


class _Course(msgspec.Struct, rename="camel"):
    resource: str
    half_life: int
    rows: int
    steps: list[_Step]


def draw(dice: Dice) -> Case:
    """Draw a course of operations."""
    hours = dice.pick(24, 24, 24, 1, 7, 12, 100)
    resource = dice.pick("cpu", "memory")
    course = _Drawing(dice, resource, hours * _HOUR, dice.whole(1, 5))
    steps = [course.step() for _ in range(dice.whole(2, 14))]
    return {
        "resource": resource,
        "halfLife": hours * _HOUR,
        "rows": course.rows,
        "steps": [*steps, {"do": "percentiles", "shares": [0.0, 0.5, 0.9, 0.95, 1.0]}, {"do": "save"}],
    }


class _Drawing:
    """Draws steps whose time moves on."""

    def __init__(self, dice: Dice, resource: str, half_life: int, rows: int) -> None:
        self._dice = dice
        self._resource = resource
        self._half_life = half_life
        self.rows = rows
        self._now = _BEGIN + dice.whole(0, 48) * _HOUR // 2
        self._given: list[Case] = []

    def step(self) -> Case:
        """Draw one step."""
        dice = self._dice
        match dice.pick("samples", "samples", "samples", "merge", "percentiles", "save", "load"):
            case "samples":
                return {"do": "samples", "samples": [self._sample() for _ in range(dice.whole(1, 12))]}
            case "merge" if self.rows > 1:
                rows = dice.some(range(self.rows), self.rows, least=2)
                middle = len(rows) // 2
                return {
                    "do": "merge",
                    "pairs": [list(pair) for pair in zip(rows[:middle], rows[middle:], strict=False)],
                }
            case "percentiles":
                return {
                    "do": "percentiles",
                    "shares": [dice.pick(0.0, 0.5, 0.9, 0.95, 1.0, dice.share()) for _ in "abc"],
                }
            case "load":
                return {"do": "load", "row": dice.whole(0, self.rows - 1), "stored": self._stored()}
            case _:
                return {"do": "save"}

    def _sample(self) -> Case:
        dice = self._dice
        if self._given and dice.chance(0.25):
            again = self._given.pop(dice.whole(max(0, len(self._given) - 20), len(self._given) - 1))
            return {**again, "taken": True}
        seconds = dice.pick(0, 60, 60, 600, 3600, 5 * 3600, self._half_life * 3 // _SECOND)
        self._now += seconds * _SECOND
        if dice.chance(0.02):
            self._now += self._half_life * dice.pick(99, 100, 101, 250)
        sample: Case = {
            "row": dice.whole(0, self.rows - 1),
            "amount": self._amount(),
            "weight": dice.pick(0.1, 0.1, 1.0, 1.0, 5.0, 0.00009, 1e-6),
            "at": self._now + dice.whole(-self._half_life, self._half_life),
        }
        self._given.append(sample)
        return sample

    def _amount(self) -> int:
        dice = self._dice
        scheme, most = (CPU_BUCKETS, 2_000_000) if self._resource == "cpu" else (MEMORY_BUCKETS, 2 * 10**12)
        edge = int(scheme.edge_amounts[dice.whole(0, BUCKET_COUNT - 1)])
        return dice.pick(
            dice.whole(0, 20), edge, edge + dice.pick(-1, 1), int(dice.magnitude(1, most)), int(dice.magnitude(1, most))
        )

    def _stored(self) -> Case:
        dice = self._dice
        buckets = dice.some(range(BUCKET_COUNT), 8)
        if dice.chance(0.05):
            buckets.append(dice.pick(-1, BUCKET_COUNT))
        weights = {str(bucket): dice.pick(1, 2, 10000, dice.whole(0, 10000)) for bucket in buckets}
        stored: Case = {
            "bucketWeights": weights,
            "totalWeight": dice.pick(0.0, 1.0, -1.0, dice.magnitude(1e-5, 1e6), dice.magnitude(1e-5, 1e6)),
        }
        if dice.chance(0.9):
            stored["referenceTimestamp"] = (
                f"2026-01-{dice.whole(1, 9):02}T{dice.pick('00:00:00', '12:00:00', '13:17:19')}Z"
            )
        return stored


class _Bank:
    """Our histograms in the course of a case."""

    def __init__(self, course: _Course) -> None:
        self._scheme = CPU_BUCKETS if course.resource == "cpu" else MEMORY_BUCKETS
        self._bank = HistogramBank(self._scheme, timedelta(microseconds=course.half_life // 1000), course.rows)
        self._everyone = np.arange(course.rows)
        self.answered: list[object] = []
        self._turn = 0

    def take(self, step: _Step) -> None:
        """Do one step."""
        self._turn += 1
        self._bank.kernels = by_turns(self._turn)
        match step.do:
            case "samples":
                self._apply(step.samples)
            case "merge":
                pairs = np.array(step.pairs, dtype=np.int64).reshape(-1, 2)
                self._bank.merge(pairs[:, 0], self._bank, pairs[:, 1])
            case "percentiles":
                found = self._bank.percentile(self._everyone, step.shares)
                empty = self._bank.is_empty(self._everyone)
                self.answered += [[e, *row] for e, row in zip(empty.tolist(), found.T.tolist(), strict=True)]
            case "save":
                self.answered += [_saved(stored) for stored in encode_histograms(self._bank, self._everyone)]
            case _:
                self.answered.append(self._load(step))

    def _apply(self, samples: list[_Sample]) -> None:
        amounts = np.array([s.amount for s in samples], dtype=np.int64)
        self._bank.apply(
            WeightChanges(
                np.array([s.row for s in samples], dtype=np.int64),
                self._scheme.bucket_of_amounts(amounts),
                np.array([s.weight for s in samples]),
                np.array([s.at for s in samples], dtype=np.int64),
                np.array([s.taken for s in samples], dtype=np.bool_),
            )
        )

    def _load(self, step: _Step) -> bool:
        rows = np.array([step.row])
        self._bank.clear(rows)
        stored = step.stored or _Stored()
        given = HistogramCheckpoint(stored.reference_timestamp, stored.bucket_weights, stored.total_weight)
        try:
            decode_histograms(self._bank, rows, [check_histogram(given)])
        except CheckpointError:
            return False
        return True


def _saved(stored: HistogramCheckpoint) -> Case:
    """Return a checkpoint as upstream writes it: what is empty is left out."""
    saved: Case = {"referenceTimestamp": timestamp(stored.reference) if stored.reference else None}
    if stored.bucket_weights:
        saved["bucketWeights"] = {str(bucket): weight for bucket, weight in stored.bucket_weights.items()}
    if stored.total_weight:
        saved["totalWeight"] = stored.total_weight
    return saved


def answer(question: Case) -> object:
    """Do a course of operations on our histograms."""
    course = msgspec.convert(question, _Course, str_keys=True)
    bank = _Bank(course)
    for step in course.steps:
        bank.take(step)
    return bank.answered


HISTOGRAM: Final = Kind("histogram", draw, answer)

"""What an adaptive strategy recommends once it has two days of history, by its definition and slowly (quality:Q-18)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.recommender.strategies.definitions import DAY, HOUR, WEEK, Use, faded_percentile, inside

SLOT = 900


@dataclass(frozen=True)
class Rules:
    """Numbers of one resource."""

    is_cpu: bool
    lack: float
    lacking_time: float
    event: float
    change: float
    half_life: float
    sharpness: float
    raised: float
    lowered: float
    patience: float


CPU = Rules(True, 4.0, 12.0, 0.0, 0.1 * HOUR, 5 * DAY, 15.0, 0.15, 0.2, 1.5 * HOUR)
MEMORY = Rules(False, 30.0, 60.0, 450 * HOUR, 0.1 * HOUR, 21 * DAY, 8.0, 0.1, 0.15, 6 * HOUR)


def candidates(used: Sequence[tuple[float, float, float]], is_cpu: bool) -> list[float]:
    """Return all targets after the last of (when, how long, how much)."""
    now = used[-1][0]
    plain = [(at, amount) for at, _, amount in used]
    windows = (0.5, 1, 3, 24) if is_cpu else (3, 12, 24, 72, 168)
    estimates = [max(inside(plain, now - hours * HOUR, now)) for hours in windows]
    if is_cpu:
        first = 0.01 / 1.15
        pairs = ((12 * HOUR, 0.9), (WEEK, 0.9), (3 * DAY, 0.98))
        estimates += [faded_percentile(used, half_life, share, first) for half_life, share in pairs]
        day = coming(plain, now, 1, estimates[3])
        estimates += [max(day, estimates[0]), max(coming(plain, now, 7, day), estimates[0])]
    factors, floor = ((1.0, 1.15), 0.01) if is_cpu else ((1.05, 1.15, 1.3, 1.6, 2.0), 1e7)
    return [max(estimate * factor, floor) for estimate in estimates for factor in factors]


def coming(used: Sequence[Use], now: float, days: int, otherwise: float) -> float:
    """Return the largest use of the four quarters of an hour after this one, some days ago."""
    first = math.ceil(now / SLOT) + 1 - days * 96
    seen = [amount for at, amount in used if first <= math.ceil(at / SLOT) < first + 4]
    return max(seen, default=otherwise)


@dataclass
class Trial:
    """One candidate."""

    request: float
    changed: float
    event: float = 0.0
    cost: float = 0.0


@dataclass
class Container:
    """One resource of one container, sample by sample.

    Attributes:
        held: What is held; None in the first two days.
        needs: What kills have asked for, and when.
    """

    rules: Rules
    used: list[tuple[float, float, float]] = field(default_factory=list)
    trials: list[Trial] = field(default_factory=list)
    use: float = 0.0
    time: float = 0.0
    held: float | None = None
    changed: float = 0.0
    needs: list[Use] = field(default_factory=list)

    def take(self, seconds: float, duration: float, amount: float) -> None:
        """Take in one sample."""
        passed = seconds - self.used[-1][0] if self.used else 0.0
        self.used.append((seconds, duration, amount))
        length = min(passed, 2 * duration) if len(self.used) > 1 else duration
        self._fade(passed, length, amount)
        mean = self.use / self.time
        for trial in self.trials:
            self._charge(trial, (seconds, length, amount), mean)
        targets = candidates(self.used, self.rules.is_cpu)
        if not self.trials:
            self.trials = [Trial(target, seconds) for target in targets]
        for trial, target in zip(self.trials, targets, strict=True):
            if self._is_due(trial.request, target, seconds - trial.changed):
                trial.request, trial.changed = target, seconds
                trial.cost += self.rules.change * mean
        self._hold(seconds, targets)

    def _fade(self, passed: float, length: float, amount: float) -> None:
        kept = 2.0 ** (-passed / self.rules.half_life)
        self.use = self.use * kept + length * amount
        self.time = self.time * kept + length
        for trial in self.trials:
            trial.cost *= kept

    def _charge(self, trial: Trial, sample: tuple[float, float, float], mean: float) -> None:
        seconds, length, amount = sample
        lack = max(amount - trial.request, 0.0)
        trial.cost += length * (max(trial.request - amount, 0.0) + self.rules.lack * lack)
        if lack > 0.0:
            trial.cost += length * self.rules.lacking_time * mean
            if seconds - trial.event >= 299.0:
                trial.cost += self.rules.event * mean
                trial.event = seconds

    def _is_due(self, request: float, target: float, age: float) -> bool:
        is_lower = target < (1.0 - self.rules.lowered) * request and age >= self.rules.patience
        return target > (1.0 + self.rules.raised) * request or is_lower

    def _hold(self, seconds: float, targets: list[float]) -> None:
        least = min(trial.cost for trial in self.trials)
        sharpness = self.rules.sharpness * self.time / (self.time + DAY)
        weights = [
            math.exp(-min(sharpness * (trial.cost - least) / max(least, 1e-300), 700.0)) for trial in self.trials
        ]
        mixed = sum(weight * target for weight, target in zip(weights, targets, strict=True)) / sum(weights)
        mixed = max(mixed, *inside(self.needs, seconds - DAY, seconds), 0.0)
        is_old = seconds - self.used[0][0] >= 2 * DAY
        if (is_old and self.held is None) or (
            self.held is not None and self._is_due(self.held, mixed, seconds - self.changed)
        ):
            self.held, self.changed = mixed, seconds

    def kill(self, seconds: float, request: float) -> None:
        """Take in a kill; the sample of its time has been taken."""
        need = 1.2 * max(request, self.used[-1][2])
        self.needs.append((seconds, need))
        if self.held is not None and need > self.held:
            self.held, self.changed = need, seconds

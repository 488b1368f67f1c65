"""Changes of a pod's containers held back until the pod's sums are within what it may have.

All amounts are of one resource and in thousandths of its unit, which is what the API server keeps of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from autoscaling.pod_totals import Side

Bounds = tuple[tuple[Side, int], ...]
"""Amounts that sums may not pass, on either side or both."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Request and limit of one container; the limit is None where it has none."""

    request: int
    limit: int | None = None

    def on(self, side: Side) -> int:
        """Return what counts on one side."""
        return self.request if side is Side.REQUESTS else self.limit or 0

    def towards(self, other: Pair, share: Fraction, grain: int) -> Pair:
        """Return the pair after a share of the way to another, rounded down to a grain of the way."""
        request = self.request + (share * (other.request - self.request) // grain) * grain
        if self.limit is None or other.limit is None:
            return Pair(request, self.limit)
        limit = self.limit + (share * (other.limit - self.limit) // grain) * grain
        return Pair(min(request, limit), limit)


@dataclass(frozen=True, slots=True)
class Move:
    """What one container has and what it is to get."""

    old: Pair
    new: Pair

    @property
    def begin(self) -> Pair:
        """What it has, with the limit that it gets where it had none."""
        return Pair(self.old.request, self.new.limit if self.old.limit is None else self.old.limit)

    @property
    def floor(self) -> Pair:
        """What it has with all falls made, on either side by itself."""
        begin, new = self.begin, self.new
        limit = new.limit if begin.limit is None or new.limit is None else min(begin.limit, new.limit)
        return Pair(min(begin.request, new.request), limit)

    @property
    def is_rise(self) -> bool:
        """Whether anything of it grows."""
        return any(self.new.on(side) > self.begin.on(side) for side in Side)


@dataclass(frozen=True, slots=True)
class Stage:
    """Containers that run at the same time.

    Args:
        members: Indices of those whose amounts may change.
        fixed: What the others come to.
    """

    members: frozenset[int]
    fixed: Pair = field(default_factory=lambda: Pair(0, 0))


@dataclass(frozen=True, slots=True)
class Budget:
    """What the sums of a pod may be: no stage above ``most``, and the largest not below ``least``."""

    stages: tuple[Stage, ...]
    most: Bounds = ()
    least: Bounds = ()

    def settled(self, moves: Sequence[Move], grain: int) -> tuple[Pair, ...]:
        """Return what each container gets.

        Where the sums would be too large, those containers get the same share of their rise that run at that time;
        the others are not held back, and what falls does so in full. Where the sums would be too small, it is the
        falls of which all get the same share. Nobody gets less than both what he has and what he is to get. Settled
        again from there, nothing changes.

        Args:
            grain: The least step: a thousandth of a core, or a byte.

        Spec: beyond:B-12, beyond:B-17.
        """
        values = _Amounts.of([move.floor for move in moves], self.stages)
        self._raise(values, moves, grain)
        self._fall(values, moves, grain)
        return tuple(values.pairs)

    def _raise(self, values: _Amounts, moves: Sequence[Move], grain: int) -> None:
        """Let rises go as far as they may, in place; who cannot go one grain is left where it is."""
        rising = [index for index, move in enumerate(moves) if move.is_rise]
        still = frozenset(index for index in rising if self._steps_up(values, index, moves[index].new, grain))
        while still:
            share, held = self._share(values, moves, still)
            for index in still:
                goal = moves[index].new
                values[index] = values[index].towards(goal, share, grain) if held else goal
            still = still - held if held else frozenset()
        for index in rising:
            goal = moves[index].new
            values[index] = _risen_by(values[index], goal, self._steps_up(values, index, goal, grain) * grain)

    def _share(self, values: _Amounts, moves: Sequence[Move], still: frozenset[int]) -> tuple[Fraction, frozenset[int]]:
        """Return the share of their way that all may go, and whom the bound behind that stops."""
        share, held = Fraction(1), frozenset[int]()
        for side, most in self.most:
            for number, stage in enumerate(self.stages):
                gaps = {i: moves[i].new.on(side) - values[i].on(side) for i in still & stage.members}
                rise = sum(gaps.values())
                room = max(most - values.total(number, side), 0)
                if rise > room and Fraction(room, rise) < share:
                    share, held = Fraction(room, rise), frozenset(i for i, gap in gaps.items() if gap > 0)
        return share, held

    def _fall(self, values: _Amounts, moves: Sequence[Move], grain: int) -> None:
        """Take back what falls too far, in place; who cannot go one grain is left where it began."""
        goals = {index: values[index] for index, move in enumerate(moves) if not move.is_rise}
        for index in goals:
            values[index] = moves[index].begin
        steps = {index: self._steps_down(values, index, goal, grain) for index, goal in goals.items()}
        falling = {index: goal for index, goal in goals.items() if steps[index] > 0}
        for index, goal in falling.items():
            values[index] = goal
        for bound in self.least:
            self._lift(values, moves, falling, bound, grain)
        for index, goal in falling.items():
            values[index] = _fallen_by(values[index], goal, self._steps_down(values, index, goal, grain) * grain)

    def _lift(
        self, values: _Amounts, moves: Sequence[Move], falling: Collection[int], bound: tuple[Side, int], grain: int
    ) -> None:
        """Take the same share of all falls back until the sums are large enough on one side, in place."""
        side, least = bound
        shares = [Fraction(0)]
        for number, stage in enumerate(self.stages):
            fall = sum(moves[i].begin.on(side) - values[i].on(side) for i in stage.members.intersection(falling))
            short = least - values.total(number, side)
            if short <= 0:
                return
            if short <= fall:
                shares.append(1 - Fraction(short, fall))
        for index in falling:
            values[index] = _fallen(moves[index].begin, values[index], max(shares), grain)

    def _steps_up(self, values: _Amounts, index: int, goal: Pair, grain: int) -> int:
        """Return how many grains one container may rise while the others stay."""
        old = values[index]
        gaps = {side: goal.on(side) - old.on(side) for side in Side}
        rooms = [
            (side, most - (values.total(number, side) - old.on(side)))
            for side, most in self.most
            if gaps[side] > 0
            for number in values.stages_of[index]
        ]

        def is_within(steps: int) -> bool:
            """Say whether no sum that grows is too large then."""
            new = _risen_by(old, goal, steps * grain)
            return all(new.on(side) <= room for side, room in rooms)

        return _most_steps(max(gaps.values()), grain, is_within)

    def _steps_down(self, values: _Amounts, index: int, goal: Pair, grain: int) -> int:
        """Return how many grains one container may fall while the others stay."""
        old = values[index]
        gaps = {side: old.on(side) - goal.on(side) for side in Side}
        needs = [
            (side, need)
            for side, least in self.least
            if gaps[side] > 0 and (need := values.need(index, side, least)) is not None
        ]

        def is_within(steps: int) -> bool:
            """Say whether no sum that falls is too small then."""
            new = _fallen_by(old, goal, steps * grain)
            return all(new.on(side) >= need for side, need in needs)

        return _most_steps(max(gaps.values()), grain, is_within)


@dataclass(slots=True)
class _Amounts:
    """Amounts of containers on their way, and what each stage comes to; a pod may have a thousand of them.

    Args:
        pairs: By container.
        stages_of: For each container, the stages that it is a member of, by number.
        totals: Of each stage by its number, on either side.
    """

    pairs: list[Pair]
    stages_of: list[list[int]]
    totals: list[dict[Side, int]]

    @classmethod
    def of(cls, pairs: list[Pair], stages: Sequence[Stage]) -> _Amounts:
        """Add up amounts as they are."""
        stages_of: list[list[int]] = [[] for _ in pairs]
        for number, stage in enumerate(stages):
            for index in stage.members:
                stages_of[index].append(number)
        totals = [
            {side: stage.fixed.on(side) + sum(pairs[index].on(side) for index in stage.members) for side in Side}
            for stage in stages
        ]
        return cls(pairs, stages_of, totals)

    def __getitem__(self, index: int) -> Pair:
        """Return the amounts of one container."""
        return self.pairs[index]

    def __setitem__(self, index: int, pair: Pair) -> None:
        """Change the amounts of one container."""
        old, self.pairs[index] = self.pairs[index], pair
        for number in self.stages_of[index]:
            for side in Side:
                self.totals[number][side] += pair.on(side) - old.on(side)

    def total(self, number: int, side: Side) -> int:
        """Return what a stage comes to on one side."""
        return self.totals[number][side]

    def need(self, index: int, side: Side, least: int) -> int | None:
        """Return what a container must have for the largest stage to come to so much; None where it need have nothing.

        What it must have may be more than there is.
        """
        mine, own = self.stages_of[index], self.pairs[index].on(side)
        others = (total[side] for number, total in enumerate(self.totals) if number not in mine)
        if any(total >= least for total in others):
            return None
        if not mine:
            return least + own
        return least - max(self.totals[number][side] - own for number in mine)


def _most_steps(gap: int, grain: int, is_allowed: Callable[[int], bool]) -> int:
    """Return the largest number of grains within a gap that is allowed, where all smaller ones are, too."""
    # Amounts have no largest number, so that ranges, which have, cannot be searched in; and what is allowed is mostly
    # all or next to nothing, however large the numbers are.
    least, most = 0, -(-gap // grain)
    if most > 0 and is_allowed(most):
        return most
    step = 1
    while step < most and is_allowed(step):
        least, step = step, 2 * step
    most = max(min(step, most) - 1, 0)
    while least < most:
        middle = (least + most + 1) // 2
        if is_allowed(middle):
            least = middle
        else:
            most = middle - 1
    return least


def _risen_by(value: Pair, goal: Pair, amount: int) -> Pair:
    """Return a pair so much nearer to its goal, where it is below."""
    request = min(value.request + amount, max(goal.request, value.request))
    limit = value.limit if value.limit is None or goal.limit is None else min(value.limit + amount, goal.limit)
    return Pair(request if limit is None else min(request, limit), limit)


def _fallen(old: Pair, new: Pair, share: Fraction, grain: int) -> Pair:
    """Return a pair after a share of its fall, of which what is less than a grain is left out."""
    request = old.request - (share * (old.request - new.request) // grain) * grain
    if old.limit is None or new.limit is None:
        return Pair(request, new.limit)
    return Pair(request, max(request, old.limit - (share * (old.limit - new.limit) // grain) * grain))


def _fallen_by(value: Pair, goal: Pair, amount: int) -> Pair:
    """Return a pair so much nearer to its goal, where it is above."""
    request = max(value.request - amount, min(goal.request, value.request))
    limit = value.limit if value.limit is None or goal.limit is None else max(value.limit - amount, goal.limit)
    return Pair(request if limit is None else min(request, limit), limit)

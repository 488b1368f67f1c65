"""Carrying a plan out: one call after the other, or several side by side with the same decisions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from updater.decision import Action, Decision, Outcome
from updater.plan import Plan
from updater.shell.actuator import Actuator
from updater.shell.storm_lease import StormLease

AT_ONCE: Final = 16
"""Calls that are on their way at a time: enough to use up a usual request budget at a tenth of a second each."""
_CALLS: Final = frozenset({Action.RESIZE, Action.EVICT})


@dataclass(slots=True)
class Carrier:
    """Acts on the decisions of one round and folds their outcomes back in.

    Attributes:
        plan: As far as it has come; it holds every outcome that is known, also where the round is cut off.
        actuator: Makes the calls.
        storms: Keeps the levels of the storm budgets; None where that is not done.
        note: Told of every decision when it is made.
    """

    plan: Plan
    actuator: Actuator
    storms: StormLease | None
    note: Callable[[Decision], None]
    _flying: dict[asyncio.Task[Outcome], Decision] = field(default_factory=dict)

    async def one_by_one(self) -> None:
        """Make each call when the one before it has been answered, as upstream does."""
        while (decision := self.plan.next()) is not None:
            if self.plan.quiet:
                await self._pass_quiet()
                continue
            self.note(decision)
            covered = await self._is_covered(decision)
            outcome = await self.actuator.carry_out(decision) if covered else Outcome.NOT_RESERVED
            self.plan = self.plan.after(decision, outcome)

    async def side_by_side(self) -> None:
        """Make up to ``AT_ONCE`` calls at a time, in the order of decisions (performance:U-2, U-3)."""
        try:
            async with asyncio.TaskGroup() as calls:
                while (decision := self.plan.next()) is not None or self._flying:
                    if self.plan.quiet:
                        await self._pass_quiet()
                    elif decision is None or len(self._flying) >= AT_ONCE:
                        await asyncio.wait(self._flying, return_when=asyncio.FIRST_COMPLETED)
                        self._land()
                    else:
                        self.note(decision)
                        await self._start(decision, calls)
        finally:
            # A round that is cut off loses no outcome that is known by then.
            self._land()

    async def _pass_quiet(self) -> None:
        """Take note of the pods of a VPA that are left alone, all at once."""
        for decision in self.plan.quiet:
            self.note(decision)
            await self.actuator.carry_out(decision)
        self.plan = self.plan.after_quiet()

    async def _start(self, decision: Decision, calls: asyncio.TaskGroup) -> None:
        """Send a decision on its way; what calls nothing or may not be sent is folded in at once."""
        if decision.action not in _CALLS:
            self.plan = self.plan.after(decision, await self.actuator.carry_out(decision))
        elif not await self._is_covered(decision):
            self.plan = self.plan.after(decision, Outcome.NOT_RESERVED)
        elif (wait := self.actuator.take_token(decision)) is None:
            self.plan = self.plan.after(decision, Outcome.RATE_LIMITED)
        else:
            self.plan = self.plan.sent(decision)
            self._flying[calls.create_task(self.actuator.send(decision, wait))] = decision
            # The call is to begin now, however many decisions that call nothing come next.
            await asyncio.sleep(0)
            self._land()

    def _land(self) -> None:
        """Fold in the outcomes that are known, in the order in which their calls were sent."""
        for task in [task for task in self._flying if task.done()]:
            decision = self._flying.pop(task)
            if not task.cancelled() and task.exception() is None:
                self.plan = self.plan.landed(decision, task.result())

    async def _is_covered(self, decision: Decision) -> bool:
        """Say whether the tokens that a decision takes are written down, as they must be first (beyond:B-24)."""
        return not decision.claim.changes or self.storms is None or await self.storms.covers_one_more(self.plan)

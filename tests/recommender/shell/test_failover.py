"""The leader is killed at each of its calls in turn, and another one takes over (beyond:B-1, beyond:B-2)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.faults import DropConnection, Fault
from tests.embedded import api_server, deploy, vpa_object
from tests.recommender.shell.stage import recommender, run_at, stored, target, used

pytestmark = [pytest.mark.anyio, pytest.mark.lengthy]
APPS = ("web", "api")
PEAK, USUAL = "900Mi", "300Mi"
ROUNDS = 2
LIVES_ON = 1


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Story:
    """Two lives of a recommender over the same cluster, one sample a minute.

    Attributes:
        minute: Of the round that is run.
        struck: Whether the first life was ended at the call that was chosen.
        counts: Samples in each stored checkpoint.
        losses: Writes after which a checkpoint had fewer samples than before.
    """

    server: ApiServer = field(default_factory=api_server)
    minute: int = 0
    struck: bool = False
    counts: dict[str, int] = field(default_factory=dict)
    losses: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for app in APPS:
            deploy(self.server, app)
            self.server.store.create(vpa_object(app))
        self.server.requests.observe(self._look)

    def _look(self) -> None:
        """Compare the stored checkpoints with what they were a call ago."""
        for each in stored(self.server):
            metadata, body = each["metadata"], each["status"]
            assert isinstance(metadata, dict)
            assert isinstance(body, dict)
            name, count = str(metadata["name"]), int(body.get("totalSamplesCount", 0))
            if count < self.counts.get(name, 0):
                self.losses.append(f"{name}: {self.counts[name]} to {count}")
            self.counts[name] = count

    async def live(self, rounds: int) -> None:
        """Start a recommender and run rounds, the first a minute later."""
        async with recommender(self.server, started_minutes=self.minute) as loop:
            for _ in range(rounds):
                self.minute += 1
                for app in APPS:
                    used(self.server, self.minute, memory=PEAK if self.minute == 1 else USUAL, pod=f"{app}-0")
                await run_at(loop, self.minute)

    async def live_until(self, call: int, *, carried_out: bool) -> None:
        """Live, but be killed at one of the calls that are no watches."""
        life, calls = asyncio.ensure_future(self.live(ROUNDS)), iter(range(call + 1))
        running = asyncio.get_running_loop()

        def is_the_one(path: str, query: dict[str, str]) -> bool:
            if query.get("watch") or next(calls, None) != call:
                return False
            self.struck = True
            running.call_soon_threadsafe(life.cancel)
            return True

        fault = self.server.faults.add(Fault(DropConnection(after_carrying_out=carried_out), when=is_the_one))
        await asyncio.wait((life,))
        self.server.faults.remove(fault)
        if not life.cancelled():
            life.result()


@pytest.mark.parametrize(("row", "carried_out"), [("beyond:B-1", False), ("beyond:B-2", True)])
async def test_a_leader_killed_at_any_call_loses_no_more_than_the_sample_of_one_interval(
    row: str, carried_out: bool
) -> None:
    calls = 0
    while True:
        story = Story()
        await story.live_until(calls, carried_out=carried_out)
        killed_in = story.minute
        await story.live(LIVES_ON)
        where = f"{row}: killed at call {calls}, in minute {killed_in}"
        assert story.losses == [], where
        assert story.counts.keys() == {f"{app}-main" for app in APPS}, where
        assert min(story.counts.values()) >= story.minute - 1, where
        expected = "1102117711" if killed_in > 1 else None
        for app in APPS:
            amounts = target(story.server, app)
            assert isinstance(amounts, dict), where
            assert expected in {None, amounts["memory"]}, f"{where}: the peak of the first minute"
        if not story.struck:
            break
        calls += 1
    # Lists before the first round, and in each round the usage, three statuses and three checkpoints.
    assert calls > ROUNDS * (1 + 2 * len(APPS))

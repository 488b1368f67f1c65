"""When the clock moves, whom it wakes in which order, and what keeps it from moving."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime

import aiohttp
import pytest

from autoscaling.runtime.lockstep_channel import CALL_HEADER, Report
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.clock import EPOCH, SpeedClock
from evenkeel.simulator.faults import Delay, Fault
from evenkeel.simulator.lockstep.coordinator import Lockstep, LockstepError, LockstepSettings
from tests.evenkeel.simulator.lockstep.fakes import MINUTE, SECOND, Scene, at, scene

pytestmark = pytest.mark.anyio

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "default"}, "spec": {"containers": []}}
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_the_clock_stands_still_until_all_expected_have_joined_and_rest() -> None:
    async with scene() as cluster:
        cluster.lockstep.expect("a", "b")
        running = asyncio.create_task(cluster.run(60))
        await cluster.hindrances("process 'a' has not joined")
        first = await cluster.join("a")
        await first.rest()
        await cluster.hindrances("process 'b' has not joined")
        second = await cluster.join("b")
        await cluster.hindrances("process 'b' does not come to rest")
        assert (cluster.clock.now(), running.done()) == (EPOCH, False)
        await second.rest()
        await running
        assert cluster.clock.now() == at(60)


async def test_simulator_first_then_processes_by_time_and_name() -> None:
    async with scene() as cluster:
        order: list[tuple[str, datetime]] = []

        async def play(name: str, *seconds: float) -> None:
            process = await cluster.join(name)
            await process.rest(0)
            for second in (*seconds, None):
                order.append((name, await process.turn()))
                await process.rest(second)

        for second in (10, 10, 20):
            cluster.clock.call_at(at(second), lambda: order.append(("simulator", cluster.clock.now())))
        cluster.lockstep.expect("c", "a", "b")
        plays = [asyncio.create_task(play(*each)) for each in (("c", 10, 20), ("b", 5, 10), ("a", 10, 10, 30))]
        await cluster.run(29.999999)
        assert order == [
            ("a", at(0)),
            ("b", at(0)),
            ("c", at(0)),
            ("b", at(5)),
            ("simulator", at(10)),
            ("simulator", at(10)),
            ("a", at(10)),
            ("a", at(10)),
            ("b", at(10)),
            ("c", at(10)),
            ("simulator", at(20)),
            ("c", at(20)),
        ]
        assert cluster.clock.now() == at(29.999999)
        await cluster.run(30)
        assert order[12:] == [("a", at(30))]
        await asyncio.gather(*plays)


async def test_a_run_ends_exactly_where_it_should_and_goes_on_from_there() -> None:
    async with scene() as cluster:
        process = await cluster.join("a")
        await process.rest(60)
        assert await cluster.lockstep.advance(59 * SECOND) == at(59)
        assert process.resting is not None
        assert not process.resting.done()
        running = asyncio.create_task(cluster.lockstep.advance(SECOND))
        assert await process.turn() == at(60)
        assert not running.done()
        await process.rest()
        assert await running == at(60)
        # A moment of the past is not gone back to.
        await cluster.run(30)
        assert cluster.clock.now() == at(60)


async def test_what_a_process_does_in_its_turn_takes_no_time() -> None:
    async with scene() as cluster:
        process = await cluster.join("a")
        await process.rest(10)
        running = asyncio.create_task(cluster.run(20))
        assert await process.turn() == at(10)
        for _ in range(20):
            await asyncio.sleep(0)
        assert (cluster.clock.now(), running.done()) == (at(10), False)
        assert await process.rest_until(10) == at(10)
        await process.rest(None)
        await running


async def test_a_process_that_goes_on_before_its_turn_learns_the_time_and_keeps_the_clock() -> None:
    async with scene() as cluster:
        process = await cluster.join("a")
        await process.rest(100)
        await cluster.run(40)
        assert await process.work() == at(40)
        assert process.turns == 0
        running = asyncio.create_task(cluster.run(60))
        await cluster.hindrances("'a' does not come to rest")
        assert cluster.clock.now() == at(40)
        await process.rest(100)
        await running
        assert cluster.clock.now() == at(60)


async def test_an_objection_that_overtakes_its_report_holds() -> None:
    async with scene() as cluster:
        process = await cluster.join("a")
        process.reports = 1
        async with process.session.post(f"{process.url}/work", data=b'{"number":1}') as answer:
            assert answer.status == 200
        process.reports = 0
        await process.rest(100)
        assert await process.turn() == at(0)
        assert process.turns == 0
        await cluster.hindrances("'a' does not come to rest")


async def test_work_in_the_simulator_keeps_the_clock() -> None:
    async with scene() as cluster:
        process = await cluster.join("a")
        await process.rest()
        with cluster.server.activity.busy():
            running = asyncio.create_task(cluster.run(60))
            await cluster.hindrances("the API server is busy with 1 requests and calls")
            assert cluster.clock.now() == EPOCH
        await running
        assert cluster.clock.now() == at(60)


async def test_a_clock_timer_that_starts_work_is_waited_for() -> None:
    """As a controller does that creates a pod, about which a webhook is asked."""
    async with scene() as cluster:
        tasks: list[asyncio.Task[None]] = []
        ends: list[datetime] = []

        async def work() -> None:
            with cluster.server.activity.busy():
                for _ in range(50):
                    await asyncio.sleep(0)
                ends.append(cluster.clock.now())

        cluster.clock.call_at(at(10), lambda: tasks.append(asyncio.create_task(work())))
        await cluster.run(60)
        assert ends == [at(10)]


async def test_answers_that_a_process_waits_for_keep_the_clock_unless_the_clock_keeps_them() -> None:
    async with scene() as cluster:
        cluster.server.faults.add(Fault(Delay(30 * SECOND), verb="get", path="/pods/a$"))
        process = await cluster.join("a")
        await process.rest(100, Report(0, 0, None, calls=1))
        running = asyncio.create_task(cluster.run(60))
        await cluster.hindrances("process 'a' waits for 1 answers, of which 0 wait for the clock")
        assert cluster.clock.now() == EPOCH
        headers = {CALL_HEADER: "a/1"}
        async with (
            aiohttp.ClientSession(cluster.endpoint.url, headers=headers) as session,
            session.get(f"{PODS}/a") as answer,
        ):
            assert answer.status == 404
            assert cluster.clock.now() == at(30)
            assert await process.work() == at(30)
        await process.rest(100)
        await running


async def test_a_request_that_nobody_waits_for_any_more_is_forgotten() -> None:
    async with scene() as cluster:
        cluster.server.faults.add(Fault(Delay(30 * SECOND), verb="get", path="/pods/a$"))
        process = await cluster.join("a")
        await process.rest(10, Report(0, 0, None, calls=1))
        running = asyncio.create_task(cluster.run(60))
        async with aiohttp.ClientSession(cluster.endpoint.url, headers={CALL_HEADER: "a/1"}) as session:
            asking = asyncio.create_task(session.get(f"{PODS}/a"))
            assert await process.turn() == at(10)
            asking.cancel()
            await asyncio.wait((asking,))
            await process.rest()
            await running
        assert cluster.clock.now() == at(60)


async def test_requests_of_strangers_that_wait_for_the_clock_keep_nobody() -> None:
    async with scene() as cluster:
        cluster.server.faults.add(Fault(Delay(30 * SECOND), verb="get", path="/pods/a$"))
        process = await cluster.join("a")
        await process.rest()
        async with aiohttp.ClientSession(cluster.endpoint.url) as session:
            asking = asyncio.create_task(session.get(f"{PODS}/a"))
            await cluster.until(lambda: cluster.server.activity.parked("") == 1)
            await cluster.run(60)
            assert (await asking).status == 404


async def test_the_clock_waits_until_a_process_has_seen_every_line_of_its_watches() -> None:
    async with scene() as cluster:
        process = await cluster.join("a")
        async with cluster.watch("a", 7, PODS) as stream:
            await process.rest(None, Report(0, 0, None, lines={"a/7": 0}))
            await cluster.run(10)
            cluster.server.store.create(dict(POD))
            running = asyncio.create_task(cluster.run(20))
            await cluster.hindrances("process 'a' has seen 0 of 1 lines of its watch of pods")
            assert cluster.clock.now() == at(10)
            assert b"ADDED" in await stream.readline()
            await process.work()
            await process.rest(None, Report(0, 0, None, lines={"a/7": 1}))
            await running
            assert cluster.clock.now() == at(20)


async def test_what_the_simulator_does_at_a_moment_is_seen_before_a_turn_of_that_moment() -> None:
    async with scene() as cluster:
        process = await cluster.join("a")
        async with cluster.watch("a", 7, PODS) as stream:
            await process.rest(10, Report(0, 0, None, lines={"a/7": 0}))

            def create() -> None:
                cluster.server.store.create(dict(POD))

            cluster.clock.call_at(at(10), create)
            running = asyncio.create_task(cluster.run(20))
            assert b"ADDED" in await stream.readline()
            assert await process.work() == at(10)
            assert process.turns == 0
            assert await process.rest_until(10, Report(0, 0, None, lines={"a/7": 1})) == at(10)
            assert process.turns == 1
            await process.rest()
            await running


async def test_news_that_are_yet_to_be_sent_keep_the_clock() -> None:
    """Whoever writes and moves the clock in one go still leaves nobody behind."""
    async with scene() as cluster:
        process = await cluster.join("a")
        async with cluster.watch("a", 7, PODS):
            await process.rest(None, Report(0, 0, None, lines={"a/7": 0}))
            await cluster.settle()
            cluster.server.store.create(dict(POD))
            assert "process 'a' has yet to be sent news of pods" in list(cluster.lockstep.hindrances())


async def test_the_end_of_a_watch_is_waited_for_too() -> None:
    async with scene() as cluster:
        process = await cluster.join("a")
        async with cluster.watch("a", 7, PODS) as stream:
            await process.rest(None, Report(0, 0, None, lines={"a/7": 0}))
            await cluster.run(10)
            cluster.server.watches.close("/pods$")
            running = asyncio.create_task(cluster.run(20))
            await cluster.hindrances("process 'a' has not noticed the end of a watch")
            assert await stream.read() == b""
        await process.work()
        await process.rest(None, Report(0, 0, None, ended=("a/7",)))
        await running


async def test_watches_of_others_and_news_that_do_not_concern_keep_nobody() -> None:
    async with scene() as cluster:
        process = await cluster.join("a")
        async with cluster.watch("a", 7, "/api/v1/configmaps"), cluster.watch("stranger", 1, PODS):
            await process.rest(None, Report(0, 0, None, lines={"a/7": 0}))
            cluster.server.store.create(dict(POD))
            await cluster.run(59)


async def test_bookmarks_come_to_all_watches_at_once() -> None:
    async with scene() as cluster:
        cluster.server.watches.bookmark_period = 2 * MINUTE
        process = await cluster.join("a")
        await process.rest()
        await cluster.run(30)
        await process.work()
        async with cluster.watch("a", 1, PODS) as pods, cluster.watch("a", 2, "/api/v1/nodes") as nodes:
            await process.rest(None, Report(0, 0, None, lines={"a/1": 0, "a/2": 0}))
            running = asyncio.create_task(cluster.run(200))
            assert b"BOOKMARK" in await pods.readline()
            assert b"BOOKMARK" in await nodes.readline()
            assert cluster.clock.now() == at(120)
            await process.work()
            await process.rest(None, Report(0, 0, None, lines={"a/1": 1, "a/2": 1}))
            await running


async def test_a_process_that_dies_ends_the_run() -> None:
    async with scene() as cluster:
        process = await cluster.join("updater")
        await process.rest(100)
        running = asyncio.create_task(cluster.run(60 * 60))
        assert await process.turn() == at(100)
        await process.die()
        with pytest.raises(LockstepError, match=r"process 'updater' died at 2026-01-01 00:01:40.*; its log says why"):
            await running
        with pytest.raises(LockstepError, match="process 'updater' died"):
            await cluster.run(60 * 60)


async def test_a_process_that_dies_at_rest_ends_the_run_too() -> None:
    async with scene() as cluster:
        process = await cluster.join("updater")
        await process.rest()
        await cluster.run(10)
        await process.die()
        await cluster.until(lambda: not cluster.lockstep.is_whole)
        with pytest.raises(LockstepError, match="process 'updater' died"):
            await cluster.run(20)


async def test_a_process_that_hangs_ends_the_run_and_is_named() -> None:
    async with scene(LockstepSettings(wall_limit_seconds=0.1)) as cluster:
        await cluster.join("updater")
        rested = await cluster.join("recommender")
        await rested.rest()
        with pytest.raises(LockstepError) as caught:
            await cluster.run(60)
        assert str(caught.value) == (
            "nothing has happened for 0.1 s of real time at 2026-01-01 00:00:00+00:00: "
            "process 'updater' does not come to rest; see the logs of the processes"
        )


async def test_signs_of_life_are_not_hanging() -> None:
    async with scene(LockstepSettings(wall_limit_seconds=0.5)) as cluster:
        process = await cluster.join("updater")
        running = asyncio.create_task(cluster.lockstep.run_until(at(60)))
        end = time.monotonic() + 0.8
        while time.monotonic() < end:
            with cluster.server.activity.busy():
                await asyncio.sleep(0)
        assert not running.done()
        await process.rest()
        async with asyncio.timeout(10):
            await running


async def test_who_leaves_is_waited_for_no_longer() -> None:
    async with scene() as cluster:
        cluster.lockstep.expect("a", "b")
        first, second = await cluster.join("a"), await cluster.join("b")
        await first.rest()
        running = asyncio.create_task(cluster.run(60))
        await cluster.hindrances("'b' does not come to rest")
        await second.leave()
        await running
        await second.die()
        await cluster.run(120)
        assert cluster.lockstep.participants == ("a",)


async def test_who_is_dismissed_may_die_and_join_again() -> None:
    async with scene() as cluster:
        process = await cluster.join("a")
        await process.rest(30)
        cluster.lockstep.dismiss("a")
        await cluster.run(60)
        assert cluster.lockstep.participants == ()
        again = await cluster.join("a")
        await process.die()
        await again.rest(60)
        running = asyncio.create_task(cluster.run(61))
        assert await again.turn() == at(60)
        await again.rest()
        await running


async def test_a_speed_is_a_limit() -> None:
    async with scene(LockstepSettings(speed=600.0)) as cluster:
        process = await cluster.join("a")
        await process.rest(30)
        began = time.monotonic()
        running = asyncio.create_task(cluster.run(60))
        assert await process.turn() == at(30)
        assert time.monotonic() - began >= 30 / 600
        await process.rest()
        await running
        assert time.monotonic() - began >= 60 / 600


async def test_processes_have_dice_of_their_own_that_follow_the_seed() -> None:
    seeds: list[list[int]] = []
    for seed in (1, 1, 2):
        async with scene(LockstepSettings(seed=seed)) as cluster:
            seeds.append([(await cluster.join(name)).welcome.seed for name in ("a", "b")])
    assert seeds[0] == seeds[1]
    assert len({*seeds[0], *seeds[2]}) == 4


async def test_who_joins_late_begins_in_the_present_and_counts_from_the_beginning() -> None:
    async with scene() as cluster:
        await cluster.run(100)
        late = await cluster.join("late")
        assert (late.welcome.now, late.welcome.origin) == (at(100), EPOCH)


async def test_webhooks_are_asked_in_the_clocks_time() -> None:
    async with scene() as cluster:
        assert cluster.server.parts.webhooks.clock is cluster.clock


async def test_only_a_clock_that_can_be_moved_will_do() -> None:
    server = ApiServer(SpeedClock(EPOCH, 2.0))
    with pytest.raises(LockstepError, match="SpeedClock moves by itself; give the API server a ManualClock"):
        Lockstep(server, LockstepSettings(), "http://127.0.0.1:1")


class Storm:
    """A process that writes in each of its turns, and follows what it and others write.

    Args:
        cluster: Where.
        name: Of the process.
        step: Seconds between two turns.
    """

    def __init__(self, cluster: Scene, name: str, step: int) -> None:
        self.turns: list[tuple[datetime, str, int]] = []
        self._cluster = cluster
        self._name = name
        self._step = step
        self._seen = 0

    async def rage(self) -> None:
        process = await self._cluster.join(self._name)
        async with self._cluster.watch(self._name, 1, "/api/v1/namespaces/default/configmaps") as stream:
            reading = asyncio.create_task(stream.readline())
            try:
                await process.rest(self._step, self._report())
                while True:
                    assert process.resting is not None
                    await asyncio.wait({process.resting, reading}, return_when=asyncio.FIRST_COMPLETED)
                    had = len(self.turns)
                    now = await (process.work() if reading.done() else process.turn())
                    if reading.done():
                        self._seen += 1
                        reading = asyncio.create_task(stream.readline())
                    if process.turns > had:
                        self._write(now)
                    await process.rest(self._step * (len(self.turns) + 1), self._report())
            finally:
                reading.cancel()

    def _report(self) -> Report:
        return Report(0, 0, None, lines={f"{self._name}/1": self._seen})

    def _write(self, now: datetime) -> None:
        self.turns.append((now, self._name, self._seen))
        metadata = {"name": f"{self._name}-{len(self.turns)}", "namespace": "default"}
        self._cluster.server.store.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})


async def test_nobody_gets_a_turn_before_everybody_has_seen_what_was_written() -> None:
    """The rule that makes runs repeatable: at its turn a process knows every write so far."""
    histories = []
    for _ in range(2):
        async with scene() as cluster:
            cluster.lockstep.expect("a", "b", "c")
            storms = [Storm(cluster, name, step) for name, step in (("c", 1), ("b", 2), ("a", 3))]
            raging = [asyncio.create_task(storm.rage()) for storm in storms]
            await cluster.run(40)
            histories.append(sorted(turn for storm in storms for turn in storm.turns))
            for task in raging:
                task.cancel()
            await asyncio.wait(raging)
    assert histories[0] == histories[1]
    assert [seen for _, _, seen in histories[0]] == list(range(40 + 20 + 13))

"""What holds the clock of an embedded cluster."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta

import pytest

from evenkeel.simulator.activity import Activity
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import serve
from evenkeel.simulator.clock import EPOCH, ManualClock
from evenkeel.simulator.faults import Delay, Fault
from tests.evenkeel.simulator.api.wire import cluster

pytestmark = pytest.mark.anyio

SECOND = timedelta(seconds=1)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_work_is_counted_while_it_lasts_and_every_change_told() -> None:
    activity, told = Activity(), list[int]()
    stop = activity.observe(lambda: told.append(activity.running))

    def fail() -> None:
        with activity.busy():
            assert activity.running == 2
            raise ValueError("x")

    with activity.busy(), pytest.raises(ValueError, match="x"):
        fail()
    assert (activity.running, told) == (0, [1, 2, 1, 0])
    stop()
    with activity.busy():
        assert told == [1, 2, 1, 0]


async def test_work_that_waits_for_the_clock_is_counted_apart_until_the_very_moment() -> None:
    activity, clock = Activity(), ManualClock()

    async def work() -> None:
        with activity.busy():
            await activity.wait_until(clock, EPOCH + 10 * SECOND, "updater")
            assert (activity.running, activity.parked("updater")) == (1, 0)

    working = asyncio.create_task(work())
    await settle()
    clock.advance(9 * SECOND)
    assert (activity.running, activity.parked("updater"), activity.parked("")) == (0, 1, 0)
    clock.advance(SECOND)
    # The task itself has not run yet.
    assert (activity.running, activity.parked("updater"), working.done()) == (1, 0, False)
    await working
    assert activity.running == 0


async def test_work_that_is_given_up_waits_no_longer() -> None:
    activity, clock = Activity(), ManualClock()

    async def work() -> None:
        with activity.busy():
            await activity.wait_until(clock, EPOCH + 10 * SECOND, "updater")

    working = asyncio.create_task(work())
    await settle()
    working.cancel()
    await asyncio.wait((working,))
    assert (activity.running, activity.parked("updater"), clock.next_timer()) == (0, 0, None)


async def test_a_moment_that_is_past_is_not_waited_for() -> None:
    activity = Activity()
    with activity.busy():
        await activity.wait_until(ManualClock(), EPOCH)
        assert activity.running == 1


async def test_the_clock_may_be_moved_from_another_thread() -> None:
    activity, clock = Activity(), ManualClock()
    with activity.busy():
        waiting = asyncio.create_task(activity.wait_until(clock, EPOCH + SECOND))
        await settle()
        mover = threading.Thread(target=clock.advance, args=(SECOND,))
        mover.start()
        async with asyncio.timeout(10):
            await waiting
        mover.join()


async def test_requests_hold_the_clock_while_they_are_carried_out() -> None:
    server, held = ApiServer(), list[int]()
    server.activity.observe(lambda: held.append(server.activity.running))
    async with cluster(server) as wire:
        assert (await wire.get("/api/v1/namespaces")).code == 200
        assert (await wire.get("/api/v1/nothing")).code == 404
    assert held == [1, 0, 1, 0]


async def test_a_client_that_goes_away_takes_its_delayed_request_with_it() -> None:
    clock = ManualClock()
    server = ApiServer(clock)
    server.faults.add(Fault(Delay(10 * SECOND), path="/namespaces$"))
    async with serve(server, tls=False) as endpoint, asyncio.timeout(10):
        _, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
        writer.write(b"GET /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nX-Evenkeel-Call: updater/5\r\n\r\n")
        parked, left = asyncio.Event(), asyncio.Event()
        server.activity.observe(lambda: parked.set() if server.activity.parked("updater") else None)
        await parked.wait()
        server.activity.observe(lambda: None if server.activity.running else left.set())
        writer.close()
        await left.wait()
        assert server.activity.parked("updater") == 0
        assert clock.next_timer() is None

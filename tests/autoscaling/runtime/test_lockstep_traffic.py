"""One request at a time, and what is told of requests and watches."""

from __future__ import annotations

import asyncio

import pytest

from autoscaling.runtime.lockstep_channel import CALL_HEADER
from autoscaling.runtime.lockstep_traffic import LockstepTraffic, Turnstile

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Requests:
    """Requests that end when the test says so."""

    def __init__(self, traffic: LockstepTraffic) -> None:
        self.traffic = traffic
        self.begun: list[str] = []
        self.marks: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def begin(self, name: str) -> None:
        self._ends[name] = asyncio.Event()
        self._tasks[name] = asyncio.create_task(self._request(name))
        await settle()

    async def end(self, name: str) -> None:
        self._ends[name].set()
        await self._tasks[name]
        await settle()

    async def cancel(self, name: str) -> None:
        self._tasks[name].cancel()
        await asyncio.wait((self._tasks[name],))
        await settle()

    async def _request(self, name: str) -> None:
        async with self.traffic.exchange() as headers:
            self.begun.append(name)
            self.marks.append(headers[CALL_HEADER])
            await self._ends[name].wait()


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_requests_go_one_after_the_other_in_the_order_of_their_coming() -> None:
    traffic = LockstepTraffic("updater")
    requests = Requests(traffic)
    for name in "abc":
        await requests.begin(name)
    assert (requests.begun, traffic.calls, traffic.is_blocked) == (["a"], 1, True)
    await requests.end("a")
    await requests.begin("d")
    assert (requests.begun, traffic.calls) == (["a", "b"], 1)
    await requests.end("b")
    await requests.end("c")
    await requests.end("d")
    assert requests.begun == ["a", "b", "c", "d"]
    assert requests.marks == ["updater/1", "updater/2", "updater/3", "updater/4"]
    assert (traffic.calls, traffic.is_blocked) == (0, False)


async def test_who_gives_up_waiting_holds_up_nobody() -> None:
    traffic = LockstepTraffic("updater")
    requests = Requests(traffic)
    for name in "abcd":
        await requests.begin(name)
    await requests.cancel("b")
    assert traffic.is_blocked
    await requests.cancel("a")
    assert (requests.begun, traffic.calls) == (["a", "c"], 1)
    await requests.end("c")
    await requests.end("d")
    assert requests.begun == ["a", "c", "d"]


async def test_a_turn_that_comes_while_its_owner_gives_up_goes_to_the_next() -> None:
    turnstile = Turnstile()
    first = await turnstile.enter()
    entering = [asyncio.create_task(turnstile.enter()) for _ in range(2)]
    await settle()
    turnstile.leave(first)
    entering[0].cancel()
    async with asyncio.timeout(10):
        second = await entering[1]
    assert entering[0].cancelled()
    turnstile.leave(second)
    assert turnstile.is_blocked is False


async def test_requests_that_wait_for_the_clock_are_passed_by() -> None:
    traffic = LockstepTraffic("updater")
    requests = Requests(traffic)
    for name in "abc":
        await requests.begin(name)
    traffic.pass_parked()
    await settle()
    assert (requests.begun, traffic.calls, traffic.is_blocked) == (["a", "b"], 2, True)
    await requests.end("a")
    assert requests.begun == ["a", "b"]
    await requests.end("b")
    await requests.end("c")
    assert (requests.begun, traffic.calls) == (["a", "b", "c"], 0)


async def test_lines_are_counted_by_watch_and_told_when_they_have_changed() -> None:
    traffic = LockstepTraffic("updater")
    with traffic.following({CALL_HEADER: "updater/1"}) as line:
        assert traffic.take_news() == ({"updater/1": 0}, ())
        assert traffic.take_news() == ({}, ())
        with traffic.following({CALL_HEADER: "updater/2"}) as other:
            line()
            line()
            other()
            assert traffic.take_news() == ({"updater/2": 1, "updater/1": 2}, ())
            line()
            other()
        assert traffic.take_news() == ({"updater/1": 3}, ("updater/2",))
    assert traffic.take_news() == ({}, ("updater/1",))
    assert traffic.take_news() == ({}, ())

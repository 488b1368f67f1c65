"""Steps run one after the other, at once while nothing can be waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import timedelta

import pytest

from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.clock import EPOCH, ManualClock
from evenkeel.simulator.controllers.turns import Step, Turns, advance

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def with_webhooks() -> ApiServer:
    server = ApiServer()
    kind = "MutatingWebhookConfiguration"
    server.store.create({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "w"}})
    return server


def step(seen: list[str], name: str, *waits: asyncio.Event) -> Step:
    async def run() -> None:
        seen.append(f"{name} begins")
        for event in waits:
            await event.wait()
        seen.append(f"{name} ends")

    return run


def failing(error: Exception) -> Step:
    async def run() -> None:
        raise error

    return run


def test_without_webhooks_a_step_is_over_at_once() -> None:
    turns, seen = Turns(ApiServer().store.versions), list[str]()
    turns.take(step(seen, "a"))
    assert (seen, turns.idle) == (["a begins", "a ends"], True)


def test_a_step_that_waits_for_something_else_is_a_fault() -> None:
    turns = Turns(ApiServer().store.versions)

    def waits() -> Coroutine[None, None, None]:
        return asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="only calls to webhooks may wait"):
        turns.take(waits)


def test_webhooks_need_an_event_loop() -> None:
    turns = Turns(with_webhooks().store.versions)
    with pytest.raises(RuntimeError, match="move the clock inside one"):
        turns.take(step([], "a"))


async def test_with_webhooks_steps_run_in_order_whatever_they_wait_for() -> None:
    turns, seen = Turns(with_webhooks().store.versions), list[str]()
    slow = asyncio.Event()
    turns.take(step(seen, "slow", slow))
    turns.take(step(seen, "quick"))
    assert (seen, turns.idle) == ([], False)
    await asyncio.sleep(0)
    assert seen == ["slow begins"]
    slow.set()
    await turns.settled()
    assert (seen, turns.idle) == (["slow begins", "slow ends", "quick begins", "quick ends"], True)


async def test_what_a_step_raises_is_raised_where_somebody_waits() -> None:
    turns = Turns(with_webhooks().store.versions)
    turns.take(failing(KeyError("x")))
    with pytest.raises(KeyError):
        await turns.settled()
    await turns.settled()
    turns.take(failing(KeyError("y")))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    with pytest.raises(KeyError):
        turns.take(step([], "a"))


async def test_closing_drops_what_waits() -> None:
    turns, seen = Turns(with_webhooks().store.versions), list[str]()
    turns.take(step(seen, "a", asyncio.Event()))
    turns.take(step(seen, "b"))
    await asyncio.sleep(0)
    await turns.close()
    assert (seen, turns.idle) == (["a begins"], True)
    await turns.close()


async def test_time_stands_still_while_a_step_is_under_way() -> None:
    clock = ManualClock()
    turns, seen = Turns(with_webhooks().store.versions), list[str]()

    async def note() -> None:
        await asyncio.sleep(0)
        seen.append(f"ends at {clock.now() - EPOCH}")

    for seconds in (1, 2):
        clock.call_at(EPOCH + timedelta(seconds=seconds), lambda: turns.take(note))
    await advance(clock, turns, EPOCH + timedelta(seconds=5))
    assert seen == ["ends at 0:00:01", "ends at 0:00:02"]
    assert clock.now() == EPOCH + timedelta(seconds=5)

"""A task that whoever starts it can also end."""

from __future__ import annotations

import asyncio

import pytest

from autoscaling.kube.owned_task import OwnedTask

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_there_is_one_task_until_it_is_stopped() -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    owned = OwnedTask(wait, "waits")
    await owned.stop()
    first = owned.start()
    assert owned.start() is first
    assert first.get_name() == "waits"
    await owned.stop()
    assert first.cancelled()
    assert owned.start() is not first
    await owned.stop()


async def test_what_it_has_died_of_is_raised_when_it_is_stopped() -> None:
    async def die() -> None:
        raise ValueError("dead")

    owned = OwnedTask(die, "dies")
    await asyncio.wait((owned.start(),))
    with pytest.raises(ValueError, match="dead"):
        await owned.stop()

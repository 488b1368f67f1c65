"""The clock's HTTP surface, where it says no."""

from __future__ import annotations

import pytest

from autoscaling.runtime.lockstep_channel import Report
from tests.evenkeel.simulator.lockstep.fakes import FakeProcess, at, scene

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def refusal(process: FakeProcess, path: str, body: bytes = b"") -> tuple[int, str]:
    async with process.session.post(path, data=body) as answer:
        return answer.status, await answer.text()


@pytest.mark.parametrize(
    ("verb", "body", "code", "text"),
    [
        ("/rest", b"rubbish", 400, "JSON is malformed: invalid character (byte 0)"),
        ("/rest", b'{"number":1}', 400, "Object missing required field `turns`"),
        ("/rest", b'{"number":1,"turns":3,"until":null}', 409, "process 'a' has seen 3 of 0 turns"),
        ("/work", b"", 400, "Input data was truncated"),
        ("", b"", 409, "process 'a' is there already; give each its own name in --clock"),
        ("/lunch", b"", 404, "Not Found"),
    ],
)
async def test_what_breaks_the_rules_is_refused(verb: str, body: bytes, code: int, text: str) -> None:
    async with scene() as cluster:
        process = await cluster.join("a")
        assert await refusal(process, process.url + verb, body) == (code, text)


@pytest.mark.parametrize("verb", ["/rest", "/work"])
async def test_who_has_not_joined_is_refused(verb: str) -> None:
    async with scene() as cluster:
        process = await cluster.join("a")
        body = b'{"number":1,"turns":0,"until":null}'
        expected = (409, "process 'b' has not joined, or was dismissed")
        assert await refusal(process, cluster.lockstep.url("b") + verb, body) == expected


async def test_resting_twice_is_refused() -> None:
    async with scene() as cluster:
        process = await cluster.join("a")
        await process.rest(5)
        await cluster.run(1)
        body = b'{"number":2,"turns":0,"until":null}'
        expected = (409, "process 'a' rests already; it must wait for its turn")
        assert await refusal(process, process.url + "/rest", body) == expected


async def test_who_is_dismissed_at_rest_is_told() -> None:
    async with scene() as cluster:
        process = await cluster.join("a")
        await process.rest(5)
        await cluster.run(1)
        cluster.lockstep.dismiss("a")
        assert process.resting is not None
        with pytest.raises(AssertionError, match="process 'a' was dismissed"):
            await process.resting
        # The line ends with it.
        assert await process.presence.content.read() == b""


async def test_the_name_is_the_last_part_of_the_address() -> None:
    async with scene() as cluster:
        process = await cluster.join("updater-2")
        await process.rest(3, Report(0, 0, None, calls=0))
        assert cluster.lockstep.url("updater-2").endswith("/clock/updater-2")
        assert cluster.lockstep.participants == ("updater-2",)
        await cluster.run(2)
        assert cluster.clock.now() == at(2)

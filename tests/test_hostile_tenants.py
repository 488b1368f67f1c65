"""A tenant who means harm, and the real processes on one clock: nobody else notices anything.

The cluster is played twice, once without and once with the tenant; what becomes of everybody else is the same to the
byte. The API server of a real cluster would refuse much of this; here it lets everything through.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest

from evenkeel.simulator.api.fields import JsonObject, child
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.status import UndecodableError
from evenkeel.simulator.clock import rfc3339
from tests import hostile
from tests.embedded import GROUP, node_object
from tests.evenkeel.simulator.lockstep.test_real_processes import (
    LIMIT_SECONDS,
    MODULES,
    Wave,
    Webhook,
    World,
    create_pod,
    world,
)

pytestmark = [pytest.mark.anyio, pytest.mark.lengthy]

_MINUTES = 4
_MOST_LINES = 400
"""Lines about the tenant in one process's log: each of its objects is named, and not in every round."""
_MOST_SECONDS = 20.0
"""Of processor time that the tenant costs a process."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Lies(Wave):
    """Usage as it is of everybody else, and what is said of the tenant's pods."""

    def pods(self) -> list[JsonObject]:
        return [*hostile.usage(rfc3339(self.server.clock.now())), *super().pods()]


def _move_in(server: ApiServer) -> None:
    """Let the tenant in, past all that an API server checks but for what it cannot even read."""
    server.create_namespaces(hostile.NAMESPACE)
    server.store.create(node_object(hostile.NODE))
    for item in (*hostile.controllers(), *hostile.pods(), *hostile.vpas(), *hostile.limits()):
        with suppress(UndecodableError):
            server.store.create(item)
    server.metrics = Lies(server)


@dataclass
class Course:
    """What came of one run.

    Args:
        calls: Every write to the other namespace: when, what and how it ended.
        vpa: The other VPA's status at the end.
        created: Annotations and containers of the other pod that was created meanwhile.
        lines: By process, log lines that name the tenant.
        seconds: By process, processor time.
        failed: Log lines about rounds that failed.
    """

    calls: list[tuple[datetime, str, str, bytes, int]]
    vpa: object
    created: object
    lines: dict[str, list[str]]
    seconds: dict[str, float]
    failed: list[str]


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _play(folder: Path, webhook: Webhook, *flags: str, is_hostile: bool) -> Course:
    own = {"admission-controller": webhook.flags()}
    async with asyncio.timeout(2 * LIMIT_SECONDS), world(folder) as small:
        if is_hostile:
            _move_in(small.server)
        small.lockstep.expect(*MODULES)
        for name in MODULES:
            small.start(name, *own.get(name, []), *flags)
        await small.advance(_MINUTES - 2)
        created = await create_pod(small.endpoint, "web-late")
        await small.advance(2)
        return _course(small, created)


def _course(small: World, created: JsonObject) -> Course:
    writes = [
        # What is written beside resources and recommendations names versions of objects, which the tenant's count in.
        (call.at, call.verb, call.path, call.body if call.path.endswith(("/resize", "/status")) else b"", call.status)
        for call in small.server.requests.calls(path="/namespaces/default/")
        if call.verb in {"create", "update", "patch", "delete"}
    ]
    vpa = small.server.store.read(f"{GROUP}/v1", "VerticalPodAutoscaler", "web", "default")
    logs = {name: [str(line) for line in process.log.new_lines()] for name, process in small.processes.items()}
    seconds = {name: _processor_seconds(process.pid) for name, process in small.processes.items()}
    named = {name: [line for line in lines if f"{hostile.NAMESPACE}/" in line] for name, lines in logs.items()}
    failed = [line for lines in logs.values() for line in lines if "failed" in line and "round" in line]
    admitted = child(created, "metadata").get("annotations"), child(created, "spec")["containers"]
    return Course(writes, child(vpa, "status"), admitted, named, seconds, failed)


@pytest.mark.parametrize("profile", ["evenkeel", "upstream"])
async def test_nobody_else_notices_a_tenant_who_means_harm(profile: str, tmp_path: Path) -> None:
    """Spec: beyond:B-32."""
    webhook = Webhook.prepared(tmp_path)
    flags = (f"--profile={profile}", "--feature-gates=CPUStartupBoost=true,PerVPAConfig=true", "--v=4")
    calm, troubled = [await _play(tmp_path, webhook, *flags, is_hostile=each) for each in (False, True)]
    assert troubled.failed == []
    assert troubled.vpa == calm.vpa
    assert troubled.created == calm.created
    assert troubled.calls == calm.calls
    assert any(path.endswith("/resize") for _, _, path, *_ in calm.calls), "there was something to notice"
    for name, lines in troubled.lines.items():
        assert len(lines) <= _MOST_LINES, name
        assert troubled.seconds[name] - calm.seconds[name] < _MOST_SECONDS, name
    assert any("sized-0" in line for lines in troubled.lines.values() for line in lines)

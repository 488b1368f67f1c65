"""Fixtures of the tests that talk to a server."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from autoscaling.kube.client import KubeClient
from tests.autoscaling.kube.clocks import HeldPacing, InstantPacing
from tests.autoscaling.kube.scripted import ScriptedServer, client_of


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def pacing() -> InstantPacing:
    return InstantPacing()


@pytest.fixture
def held() -> HeldPacing:
    return HeldPacing()


@pytest.fixture
async def server(anyio_backend: str) -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer().running() as running:
        yield running


@pytest.fixture
async def client(server: ScriptedServer, pacing: InstantPacing) -> AsyncIterator[KubeClient]:
    async with client_of(server.url, pacing) as (made, _):
        yield made

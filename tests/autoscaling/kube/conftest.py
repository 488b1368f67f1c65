"""Fixtures of the tests that talk to a server."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from autoscaling.kube.client import KubeClient
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import serve
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


@pytest.fixture
def cluster() -> ApiServer:
    return ApiServer()


@pytest.fixture
async def cluster_client(cluster: ApiServer, pacing: InstantPacing, anyio_backend: str) -> AsyncIterator[KubeClient]:
    async with serve(cluster, tls=False) as endpoint, client_of(endpoint.url, pacing) as (made, _):
        yield made


@pytest.fixture
async def held_client(cluster: ApiServer, held: HeldPacing, anyio_backend: str) -> AsyncIterator[KubeClient]:
    async with serve(cluster, tls=False) as endpoint, client_of(endpoint.url, held) as (made, _):
        yield made

"""Fixtures of the tests that talk to an API server or over TLS."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from prometheus_client import CollectorRegistry

from admission.shell.measures import AdmissionMeasures
from admission.shell.metrics import AdmissionMetrics
from autoscaling.kube.client import KubeClient
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import serve
from tests.autoscaling.kube.clocks import InstantPacing
from tests.autoscaling.kube.scripted import client_of


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def metrics(registry: CollectorRegistry) -> AdmissionMetrics:
    return AdmissionMetrics.register(registry)


@pytest.fixture
def measures(registry: CollectorRegistry) -> AdmissionMeasures:
    return AdmissionMeasures.register(registry)


@pytest.fixture
def pacing() -> InstantPacing:
    return InstantPacing()


@pytest.fixture
def cluster() -> ApiServer:
    return ApiServer()


@pytest.fixture
async def client(cluster: ApiServer, pacing: InstantPacing, anyio_backend: str) -> AsyncIterator[KubeClient]:
    async with serve(cluster, tls=False) as endpoint, client_of(endpoint.url, pacing) as (made, _):
        yield made

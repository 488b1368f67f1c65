"""A served API server, for tests of commands on a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import serve_in_thread
from tests.embedded import api_server
from tests.evenkeel.cli.running import kubeconfig_of


@pytest.fixture
def server() -> ApiServer:
    return api_server()


@pytest.fixture
def cluster(server: ApiServer, tmp_path: Path) -> Iterator[str]:
    """The option that names the cluster."""
    with serve_in_thread(server, tls=False) as endpoint:
        yield kubeconfig_of(endpoint, tmp_path)

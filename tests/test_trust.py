"""Whom the processes believe: every connection that they open checks whose certificate it is shown.

The webhook's own side is in tests/admission/shell/test_tls.py, a Prometheus of an unknown authority in
tests/recommender/shell/test_prometheus_client.py.
"""

from __future__ import annotations

import base64
import ssl
from pathlib import Path

import pytest
import yaml

from autoscaling.errors import ConfigurationError
from autoscaling.kube.calls import ClientSettings
from autoscaling.kube.client import KubeClient
from autoscaling.kube.connection import connect
from autoscaling.kube.retry import ONE_TRY
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import serve
from tests.autoscaling.kube.certificates import Authority

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def _changed(kubeconfig: str, path: Path, **cluster: object) -> str:
    """Write a kubeconfig with another idea of the server."""
    document = yaml.safe_load(kubeconfig)
    entry = document["clusters"][0]["cluster"]
    entry |= cluster
    for name in [name for name, value in entry.items() if value is None]:
        del entry[name]
    path.write_text(yaml.safe_dump(document))
    return str(path)


SETTINGS = ClientSettings("tests", patience=ONE_TRY)
STRANGER = base64.b64encode(Authority().certificate_text.encode()).decode()


@pytest.mark.parametrize(
    "cluster",
    [{"certificate-authority-data": STRANGER}, {"certificate-authority-data": None}, {"tls-server-name": "elsewhere"}],
    ids=["another authority", "the machine's own authorities", "another name"],
)
async def test_an_api_server_that_is_not_the_one_meant_is_told_nothing(
    cluster: dict[str, object], tmp_path: Path
) -> None:
    server = ApiServer()
    async with serve(server) as endpoint:
        connection = await connect(_changed(endpoint.kubeconfig("secret"), tmp_path / "kubeconfig", **cluster))
        client = KubeClient(connection, SETTINGS)
        with pytest.raises(ConfigurationError, match="CERTIFICATE_VERIFY_FAILED"):
            await client.probe()
        await client.close()
        assert server.requests.calls() == [], "not even the request is sent, which has the token in it"


async def test_the_one_that_is_meant_is_believed(tmp_path: Path) -> None:
    server = ApiServer()
    async with serve(server) as endpoint:
        client = KubeClient(await connect(_changed(endpoint.kubeconfig(), tmp_path / "kubeconfig")), SETTINGS)
        assert (await client.probe()).git_version
        await client.close()


async def test_no_connection_to_an_api_server_is_older_than_tls_1_2(tmp_path: Path) -> None:
    server = ApiServer()
    async with serve(server) as endpoint:
        connection = await connect(_changed(endpoint.kubeconfig(), tmp_path / "kubeconfig"))
        connector = connection.session.connector
        context = getattr(connector, "_ssl", None)
        assert isinstance(context, ssl.SSLContext)
        assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
        assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
        await connection.close()

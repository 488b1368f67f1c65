"""What is said when no answer comes: real failures of real connections, and the ones that cannot be staged here."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey

from autoscaling.errors import ApiUnreachableError, ConfigurationError
from autoscaling.kube.calls import ClientSettings
from autoscaling.kube.client import KubeClient
from autoscaling.kube.connection import connect
from autoscaling.kube.retry import ONE_TRY
from autoscaling.kube.silences import failure_of_silence
from tests.autoscaling.kube.certificates import Authority
from tests.autoscaling.kube.clocks import InstantPacing
from tests.autoscaling.kube.test_connection import kubeconfig

pytestmark = pytest.mark.anyio

SOMEWHERE = ConnectionKey("h", 1, is_ssl=False, ssl=True, proxy=None, proxy_auth=None, proxy_headers_hash=None)


@pytest.mark.parametrize(
    ("error", "may_have_run", "text"),
    [
        (aiohttp.ClientConnectorDNSError(SOMEWHERE, OSError("x")), False, "its name cannot be resolved"),
        (aiohttp.ClientConnectorError(SOMEWHERE, OSError("x")), False, "no connection came about"),
        (aiohttp.ClientProxyConnectionError(SOMEWHERE, OSError("x")), False, "the proxy does not answer"),
        (aiohttp.ConnectionTimeoutError("t"), False, "no connection came about in time"),
        (aiohttp.InvalidURL("http://x"), False, "the address is malformed"),
        (ConfigurationError("no token"), False, "there are no credentials to show (no token)"),
        (aiohttp.ClientPayloadError("short"), True, "the answer was cut off (short)"),
        (aiohttp.SocketTimeoutError("t"), True, "no answer in time"),
        (TimeoutError(), True, "no answer in time (TimeoutError)"),
        (aiohttp.ServerDisconnectedError(), True, "the connection was dropped"),
        (aiohttp.ClientOSError(104, "reset"), True, "the connection was dropped"),
        (ConnectionResetError("reset"), True, "the connection was dropped"),
    ],
)
def test_silences(error: Exception, may_have_run: bool, text: str) -> None:
    failure = failure_of_silence("GET /x", "https://h", error)
    assert isinstance(failure.error, ApiUnreachableError)
    assert str(failure.error).startswith("GET /x: API server https://h: ")
    assert text in str(failure.error)
    assert "; " in str(failure.error)
    assert failure.may_have_run is may_have_run


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
    await writer.drain()
    writer.close()


async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    await writer.drain()
    writer.close()


async def read(folder: Path, **cluster: object) -> bytes:
    client = KubeClient(
        await connect(kubeconfig(folder, {"token": "a"}, **cluster)), ClientSettings("t"), InstantPacing()
    )
    try:
        return await client.get("/version", patience=ONE_TRY)
    finally:
        await client.close()


async def test_tls_with_a_known_authority(tmp_path: Path) -> None:
    authority = Authority()
    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=authority.server_context(tmp_path)) as server:
        address = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        body = await read(tmp_path, **{"server": address, "certificate-authority": str(authority.write(tmp_path))})
    assert body == b"{}"


async def test_tls_with_an_unknown_authority(tmp_path: Path) -> None:
    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=Authority().server_context(tmp_path)) as server:
        address = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        foreign = str(Authority().write(tmp_path))
        with pytest.raises(
            ApiUnreachableError, match=r"its certificate is not trusted .*; check certificate-authority"
        ):
            await read(tmp_path, **{"server": address, "certificate-authority": foreign})


async def test_tls_under_another_name(tmp_path: Path) -> None:
    authority = Authority()
    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=authority.server_context(tmp_path)) as server:
        address = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        files = {"certificate-authority": str(authority.write(tmp_path)), "tls-server-name": "elsewhere"}
        with pytest.raises(ApiUnreachableError, match=r"its certificate is not trusted .*tls-server-name"):
            await read(tmp_path, server=address, **files)


async def test_no_tls_at_all(tmp_path: Path) -> None:
    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        address = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        with pytest.raises(ApiUnreachableError, match="no TLS session came about"):
            await read(tmp_path, server=address)

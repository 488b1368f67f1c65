"""The HTTP endpoint, spoken to over a real connection."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from prometheus_client import CollectorRegistry, Gauge

from autoscaling.errors import ConfigurationError
from autoscaling.runtime.bind_address import BindAddress
from autoscaling.runtime.health import Vitals
from autoscaling.runtime.telemetry import bind, bound_port, serve_http, telemetry_application

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@contextlib.asynccontextmanager
async def _served(registry: CollectorRegistry, vitals: Vitals) -> AsyncIterator[int]:
    listener = bind(BindAddress.parse("127.0.0.1:0"))
    serving = asyncio.ensure_future(serve_http(telemetry_application(registry, vitals), listener))
    yield bound_port(listener)
    serving.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await serving


async def _request(port: int, path: str, method: str = "GET") -> tuple[int, dict[str, str], str]:
    """Send one request and return status, headers and body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
    writer.close()
    await writer.wait_closed()
    status, *headers = head.split("\r\n")
    return int(status.split()[1]), dict(line.lower().split(": ", 1) for line in headers), body


async def test_metrics_health_and_readiness_are_served() -> None:
    registry, now = CollectorRegistry(), [0.0]
    Gauge("answer", "Gauge", registry=registry).set(42)
    vitals = Vitals(timedelta(minutes=1), lambda: now[0])
    vitals.wait_for("caches")
    async with _served(registry, vitals) as port:
        status, headers, body = await _request(port, "/metrics")
        assert (status, headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
        assert body == "# HELP answer Gauge\n# TYPE answer gauge\nanswer 42\n"
        assert await _answer(port, "/health-check") == (200, "OK")
        assert await _answer(port, "/readyz") == (503, "waiting for caches")
        vitals.there("caches")
        vitals.start_monitoring()
        now[0] = 301.0
        assert await _answer(port, "/readyz") == (200, "OK")
        assert (await _answer(port, "/health-check"))[0] == 500
        assert (await _answer(port, "/nosuch"))[0] == 404


async def _answer(port: int, path: str) -> tuple[int, str]:
    status, _, body = await _request(port, path)
    return status, body


async def test_the_port_is_free_again_after_the_end() -> None:
    async with _served(CollectorRegistry(), Vitals(timedelta(minutes=1), lambda: 0.0)) as port:
        await _request(port, "/readyz")
    bind(BindAddress("127.0.0.1", port)).close()


async def test_a_taken_port_is_said_to_be_taken() -> None:
    with bind(BindAddress.parse("127.0.0.1:0")) as listener:
        address = BindAddress("127.0.0.1", bound_port(listener))
        with pytest.raises(ConfigurationError, match=rf"cannot listen on {address}: .*in use"):
            bind(address)


async def test_without_a_host_every_interface_listens() -> None:
    with bind(BindAddress.parse(":0")) as listener:
        families = [(socket.AF_INET, "127.0.0.1")]
        if socket.has_dualstack_ipv6():
            families.append((socket.AF_INET6, "::1"))
        for family, host in families:
            with socket.socket(family) as client:
                client.connect((host, bound_port(listener)))


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
async def test_an_ipv6_host_is_listened_on() -> None:
    with bind(BindAddress.parse("[::1]:0")) as listener, socket.socket(socket.AF_INET6) as client:
        client.connect(("::1", bound_port(listener)))

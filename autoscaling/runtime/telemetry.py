"""The HTTP endpoint of a process for its metrics and probes, on the process's own event loop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterable, Iterator

import uvicorn
from prometheus_client import CollectorRegistry
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from autoscaling.errors import ConfigurationError
from autoscaling.runtime.bind_address import BindAddress
from autoscaling.runtime.exposition import CONTENT_TYPE, exposition
from autoscaling.runtime.health import Answer, Vitals

_BACKLOG = 128
_GRACE_SECONDS = 2


class EmbeddedServer(uvicorn.Server):
    """A uvicorn server that leaves signals to the process it is part of, and rests while there is nothing to do."""

    def __init__(self, config: uvicorn.Config) -> None:
        self._ending = asyncio.Event()
        super().__init__(config)

    @property
    def should_exit(self) -> bool:
        """Whether it is to end."""
        return self._ending.is_set()

    @should_exit.setter
    def should_exit(self, value: bool) -> None:
        if value:
            self._ending.set()
        else:
            self._ending.clear()

    async def main_loop(self) -> None:
        """Serve until told to end, without looking ten times a second whether that is so."""
        await self.on_tick(0)
        await self._ending.wait()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install no signal handlers."""
        yield


def bind(address: BindAddress) -> socket.socket:
    """Open a listening socket; an empty host listens on every interface, over IPv6 and IPv4 where both exist.

    Raises:
        ConfigurationError: The address cannot be listened on.
    """
    everywhere = not address.host and socket.has_dualstack_ipv6()
    v6 = everywhere or ":" in address.host
    try:
        listener = socket.create_server(
            (address.host, address.port),
            family=socket.AF_INET6 if v6 else socket.AF_INET,
            backlog=_BACKLOG,
            dualstack_ipv6=everywhere,
        )
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigurationError(f"cannot listen on {address}: {reason}; choose another address") from error
    # Else the second half of an answer would wait for the caller to acknowledge the first; connections inherit this.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def bound_port(listener: socket.socket) -> int:
    """Return the port that a listening socket has got."""
    port: int = listener.getsockname()[1]
    return port


def telemetry_application(registry: CollectorRegistry, vitals: Vitals, further: Iterable[Route] = ()) -> Starlette:
    """Return the application that serves ``/metrics``, ``/health-check``, ``/readyz`` and further routes."""

    async def metrics(_request: Request) -> Response:
        return Response(exposition(registry), headers={"content-type": CONTENT_TYPE})

    async def health_check(_request: Request) -> Response:
        return _response(vitals.health())

    async def readyz(_request: Request) -> Response:
        return _response(vitals.readiness())

    routes = [Route("/metrics", metrics), Route("/health-check", health_check), Route("/readyz", readyz), *further]
    return Starlette(routes=routes)


def _response(answer: Answer) -> Response:
    return PlainTextResponse(answer.text, answer.status)


async def serve_http(application: Starlette, listener: socket.socket) -> None:
    """Serve an application on a listening socket until cancelled, then let open requests end."""
    settings = uvicorn.Config(
        application,
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    server = EmbeddedServer(settings)
    serving = asyncio.ensure_future(server.serve([listener]))
    try:
        await asyncio.shield(serving)
    finally:
        server.should_exit = True
        await serving

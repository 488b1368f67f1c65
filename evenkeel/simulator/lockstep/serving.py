"""Opening the clock to processes of this machine, on a port of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn

from autoscaling.runtime.bind_address import BindAddress
from autoscaling.runtime.telemetry import EmbeddedServer, bind, bound_port
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import LOOPBACK
from evenkeel.simulator.lockstep.application import PREFIX, application
from evenkeel.simulator.lockstep.coordinator import Lockstep, LockstepSettings

_KEEP_ALIVE_SECONDS = 3600
_CLOSING_SECONDS = 2


@asynccontextmanager
async def serve_lockstep(
    server: ApiServer, settings: LockstepSettings | None = None, *, port: int = 0
) -> AsyncIterator[Lockstep]:
    """Let processes live by a server's clock while the context lasts.

    To be used on the event loop that serves the API server.

    Args:
        server: Its clock must be a manual one.
        settings: The run's.
        port: On the loopback address; 0 for a free one.

    Raises:
        LockstepError: The server's clock cannot be moved.
    """
    listener = bind(BindAddress(LOOPBACK, port))
    try:
        url = f"http://{LOOPBACK}:{bound_port(listener)}{PREFIX}"
        lockstep = Lockstep(server, settings or LockstepSettings(), url)
    except BaseException:
        listener.close()
        raise
    config = uvicorn.Config(
        application(lockstep),
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_CLOSING_SECONDS,
    )
    host = EmbeddedServer(config)
    serving = asyncio.ensure_future(host.serve([listener]))
    try:
        yield lockstep
    finally:
        for name in lockstep.participants:
            lockstep.dismiss(name)
        host.should_exit = True
        await serving

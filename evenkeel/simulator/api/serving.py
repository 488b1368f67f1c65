"""Putting an API server on a port of this machine: on the running event loop, or in a thread of its own."""

from __future__ import annotations

import asyncio
import base64
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn
import yaml
from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from evenkeel.simulator.api.certificates import SERVER_NAMES, Authority
from evenkeel.simulator.api.dispatch import Dispatcher
from evenkeel.simulator.api.server import ApiServer

LOOPBACK = "127.0.0.1"
_ANYBODY = "anybody"
"""Sent where no token is needed, as kubectl asks its user for a password when a kubeconfig has none."""

_KEEP_ALIVE_SECONDS = 3600
_CLOSING_ROUNDS = 1000
_ACCEPTING_ROUNDS = 8
"""Of these, twice as many as the event loop needs from accepting a connection to making it known."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a server listens.

    Args:
        server: The server.
        host: Address.
        port: Port.
        ca_pem: Certificate of the authority that signed its certificate; empty for plain HTTP.
    """

    server: ApiServer
    host: str
    port: int
    ca_pem: bytes = b""

    @property
    def url(self) -> str:
        """The server's address as a URL."""
        return f"{'https' if self.ca_pem else 'http'}://{self.host}:{self.port}"

    def kubeconfig(self, token: str = "") -> str:
        """Return a kubeconfig for this server; without a token it works where nobody is asked for one."""
        cluster: dict[str, str] = {"server": self.url}
        if self.ca_pem:
            cluster["certificate-authority-data"] = base64.b64encode(self.ca_pem).decode()
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "simulator", "cluster": cluster}],
            "users": [{"name": "user", "user": {"token": token or _ANYBODY}}],
            "contexts": [{"name": "simulator", "context": {"cluster": "simulator", "user": "user"}}],
            "current-context": "simulator",
        }
        return yaml.safe_dump(config, sort_keys=False)

    def write_kubeconfig(self, path: Path, token: str = "") -> Path:
        """Write a kubeconfig to a file that only its owner reads, and return the path."""
        path.touch(mode=0o600)
        path.write_text(self.kubeconfig(token))
        return path


@asynccontextmanager
async def serve(server: ApiServer, *, tls: bool = True, port: int = 0) -> AsyncIterator[Endpoint]:
    """Serve on the running event loop while the context lasts; port 0 takes a free one."""
    state = ServerState()

    def cut(scope: Scope) -> None:
        for connection in list(state.connections):
            if isinstance(connection, HttpToolsProtocol) and connection.client == scope["client"]:
                connection.transport.abort()

    dispatcher = Dispatcher(server, cut)
    config = uvicorn.Config(
        dispatcher.application(), http=HttpToolsProtocol, ws="none", lifespan="off", log_config=None, access_log=False,
        proxy_headers=False, timeout_keep_alive=_KEEP_ALIVE_SECONDS,
    )  # fmt: skip
    config.load()
    authority = Authority() if tls else None
    context = authority.issue(LOOPBACK, *SERVER_NAMES).server_context() if authority else None
    listener = await asyncio.get_running_loop().create_server(
        lambda: HttpToolsProtocol(config=config, server_state=state, app_state={}),
        LOOPBACK,
        port,
        ssl=context,
    )
    try:
        actual = listener.sockets[0].getsockname()[1]
        yield Endpoint(server, LOOPBACK, actual, authority.certificate_pem if authority else b"")
    finally:
        # Not closed yet: what is being accepted would be lost on the way, and never be closed.
        for each in listener.sockets:
            asyncio.get_running_loop().remove_reader(each.fileno())
        dispatcher.stopping.set()
        await _shut_down(server, state)
        listener.close()
        await listener.wait_closed()
        await server.parts.webhooks.close()


async def _shut_down(server: ApiServer, state: ServerState) -> None:
    """End the watches, let short requests finish, and cut what is left."""
    server.watches.close()
    for connection in list(state.connections):
        connection.shutdown()
    for _ in range(_CLOSING_ROUNDS):
        if not state.tasks:
            break
        await asyncio.sleep(0)
    _cut_all(state)
    for task in list(state.tasks):
        task.cancel()
    await asyncio.gather(*state.tasks, return_exceptions=True)
    for turn in range(_CLOSING_ROUNDS):
        _cut_all(state)
        if turn >= _ACCEPTING_ROUNDS and not state.connections:
            break
        await asyncio.sleep(0)


def _cut_all(state: ServerState) -> None:
    for connection in list(state.connections):
        connection.transport.abort()


@contextmanager
def serve_in_thread(server: ApiServer, *, tls: bool = True, port: int = 0) -> Iterator[Endpoint]:
    """Serve from a thread of its own while the context lasts, for programs without an event loop.

    The server's store, clock, faults and log may be used from the calling thread meanwhile.
    """
    host = _ThreadHost(server, tls=tls, port=port)
    host.thread.start()
    try:
        yield host.endpoint()
    finally:
        host.stop()


class _ThreadHost:
    """The thread that a server runs in."""

    def __init__(self, server: ApiServer, *, tls: bool, port: int) -> None:
        self._server, self._tls, self._port = server, tls, port
        self._ready = threading.Event()
        self._endpoint: Endpoint | None = None
        self._failure: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._done: asyncio.Event | None = None
        self.thread = threading.Thread(target=self._run, name="evenkeel-api-server", daemon=True)

    def endpoint(self) -> Endpoint:
        """Return where the server listens, once it does."""
        self._ready.wait()
        if self._endpoint is None:
            raise RuntimeError("the API server's thread could not start serving") from self._failure
        return self._endpoint

    def stop(self) -> None:
        """End the thread."""
        if self._loop is not None and self._done is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._done.set)
        self.thread.join()

    def _run(self) -> None:
        """Run an event loop until told to stop."""
        try:
            asyncio.run(self._serve())
        except OSError as error:
            self._failure = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        """Serve until told to stop."""
        self._loop, self._done = asyncio.get_running_loop(), asyncio.Event()
        async with serve(self._server, tls=self._tls, port=self._port) as endpoint:
            self._endpoint = endpoint
            self._ready.set()
            await self._done.wait()

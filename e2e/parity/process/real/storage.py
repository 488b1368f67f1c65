"""etcd, and copies of everything that one API server has stored there for others to serve."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from e2e.cluster.errors import ClusterError
from e2e.parity.process.real.programs import started, until_it_answers
from evenkeel.simulator.api.fields import JsonObject, as_object, encode, rows, text
from evenkeel.simulator.api.serving import LOOPBACK
from evenkeel.simulator.processes.ports import free_port

_PROGRAM = Path("/usr/bin/etcd")
_BATCH = 100
"""Fewer than the operations that etcd takes in one transaction."""


@dataclass(frozen=True, slots=True)
class Storage:
    """A running etcd.

    Args:
        url: Where clients reach it.
    """

    url: str

    async def copy(self, source: str, target: str) -> int:
        """Copy all keys below one path to another one, and return how many there are.

        Everything is equal but the revisions, which an API server takes from etcd: names, uids, times.
        """
        async with aiohttp.ClientSession(self.url) as session:
            wanted: JsonObject = {"key": _encoded(f"{source}/"), "range_end": _encoded(f"{source}0")}
            found = rows(await _asked(session, "/v3/kv/range", wanted), "kvs")
            puts = [{"requestPut": {"key": _moved(row, source, target), "value": row["value"]}} for row in found]
            for first in range(0, len(puts), _BATCH):
                await _asked(session, "/v3/kv/txn", {"success": puts[first : first + _BATCH]})
        return len(puts)


@asynccontextmanager
async def storage(folder: Path) -> AsyncIterator[Storage]:
    """Run etcd while the context lasts.

    Raises:
        ClusterError: It is not installed.
        EngineEndedError: It ends by itself.
        TimeoutError: It does not answer.
    """
    if not await asyncio.to_thread(_PROGRAM.exists):
        raise ClusterError(str(_PROGRAM), "not found", remedy="install the Debian package etcd-server")
    clients, peers = (f"http://{LOOPBACK}:{free_port()}" for _ in range(2))
    options = {
        "data-dir": folder / "etcd",
        "listen-client-urls": clients,
        "advertise-client-urls": clients,
        "listen-peer-urls": peers,
        "initial-advertise-peer-urls": peers,
        "initial-cluster": f"default={peers}",
        # What is stored need not outlive the machine.
        "unsafe-no-fsync": "true",
    }
    async with started(
        "etcd", (str(_PROGRAM), *(f"--{name}={value}" for name, value in options.items())), folder
    ) as running:
        async with aiohttp.ClientSession(clients) as session:
            await until_it_answers(running, session, "/health")
        yield Storage(clients)


async def _asked(session: aiohttp.ClientSession, path: str, question: JsonObject) -> JsonObject:
    async with session.post(path, data=encode(question)) as response:
        response.raise_for_status()
        return as_object(await response.json())


def _encoded(key: str) -> str:
    return base64.b64encode(key.encode()).decode()


def _moved(row: JsonObject, source: str, target: str) -> str:
    """Return the key that a row has in the copy."""
    return _encoded(target + base64.b64decode(text(row, "key")).decode().removeprefix(source))

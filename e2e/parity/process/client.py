"""Requests of the comparison itself to the API server of a copy, whichever that is."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
import msgspec

from e2e.parity.process.copies import Access
from evenkeel.simulator.api.fields import JsonObject, as_object, decode, encode, text

JSON, MERGE_PATCH = "application/json", "application/merge-patch+json"
_PAUSE_SECONDS = 0.1
_TIMEOUT = aiohttp.ClientTimeout(total=60)


@dataclass(frozen=True, slots=True)
class Reply:
    """What the API server said.

    Args:
        code: HTTP status code.
        body: The object, or the Status of a refusal.
    """

    code: int
    body: JsonObject

    @property
    def is_success(self) -> bool:
        """Whether it did what was asked."""
        return self.code < 300

    def __str__(self) -> str:
        return f"{self.code} {text(self.body, 'message')}"


@dataclass(frozen=True, slots=True)
class Client:
    """A way to one API server.

    Args:
        session: For the connections.
    """

    session: aiohttp.ClientSession

    async def call(self, method: str, path: str, body: object = None, content_type: str = JSON) -> Reply:
        """Send one request."""
        headers = {"content-type": content_type}
        data = None if body is None else encode(body)
        async with self.session.request(method, path, data=data, headers=headers) as response:
            raw = await response.read()
        return Reply(response.status, _read(raw))

    async def until(self, path: str, is_so: Callable[[Reply], bool], seconds: float) -> None:
        """Read a path until its answer is as wanted.

        Raises:
            TimeoutError: It is not in time.
        """
        async with asyncio.timeout(seconds):
            while True:
                if is_so(await self.call("GET", path)):
                    return
                await asyncio.sleep(_PAUSE_SECONDS)


def _read(raw: bytes) -> JsonObject:
    """Return an answer; one that is no JSON, as where there is no such path, as a message."""
    try:
        return as_object(decode(raw))
    except msgspec.DecodeError:
        return {"message": raw.decode(errors="replace")}


def collection_path(api_version: str, kind: str, namespace: str) -> str:
    """Return the path of all objects of a kind: in a namespace, or in all of them."""
    root = "/apis" if "/" in api_version else "/api"
    within = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}/{api_version}{within}/{kind.lower()}s"


def path_of(obj: JsonObject) -> str:
    """Return the path of an object."""
    return f"{collection_of(obj)}/{text(obj, 'metadata', 'name')}"


def collection_of(obj: JsonObject) -> str:
    """Return the path below which an object is created."""
    return collection_path(text(obj, "apiVersion"), text(obj, "kind"), text(obj, "metadata", "namespace"))


@asynccontextmanager
async def connected(access: Access) -> AsyncIterator[Client]:
    """Open a way to an API server while the context lasts."""
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cadata=access.ca_pem.decode()))
    headers = {"authorization": f"Bearer {access.token}"}
    async with aiohttp.ClientSession(access.url, headers=headers, connector=connector, timeout=_TIMEOUT) as session:
        yield Client(session)

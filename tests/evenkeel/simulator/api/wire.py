"""A server on a port and a client for it, and the objects that the tests of the API server speak about."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp

from evenkeel.simulator.api.fields import JsonObject, as_object, rows, text
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import Endpoint, serve
from evenkeel.simulator.clock import ManualClock

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
PODS = "/api/v1/namespaces/default/pods"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    code: int
    body: JsonObject
    headers: dict[str, str]

    @property
    def causes(self) -> list[tuple[str, str]]:
        """Type and field of every cause of a refusal."""
        return [(text(cause, "reason"), text(cause, "field")) for cause in rows(self.body, "details", "causes")]

    @property
    def items(self) -> list[str]:
        """Names of the objects of a list."""
        return [text(item, "metadata", "name") for item in rows(self.body, "items")]


class EventStream:
    """The events of one watch."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.code = response.status
        self._response = response

    async def next(self) -> JsonObject:
        """Return the next event; empty when the stream has ended."""
        line = await self._response.content.readline()
        return as_object(json.loads(line)) if line else {}

    async def summary(self) -> tuple[str, str]:
        """Return type and object name of the next event."""
        event = await self.next()
        return text(event, "type"), text(event, "object", "metadata", "name")


@dataclass(slots=True)
class Wire:
    """A server and a client of it."""

    server: ApiServer
    endpoint: Endpoint
    session: aiohttp.ClientSession

    @property
    def clock(self) -> ManualClock:
        """The server's clock."""
        assert isinstance(self.server.clock, ManualClock)
        return self.server.clock

    async def call(
        self,
        method: str,
        path: str,
        body: object = None,
        content_type: str = JSON,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """Send one request."""
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        sent = ({"Content-Type": content_type} if data is not None else {}) | (headers or {})
        async with self.session.request(method, self.endpoint.url + path, data=data, headers=sent) as response:
            raw = await response.read()
            is_json = response.content_type == JSON
            parsed: JsonObject = as_object(json.loads(raw)) if is_json else {"text": raw.decode()}
            return Answer(response.status, parsed, {key.lower(): value for key, value in response.headers.items()})

    async def get(self, path: str) -> Answer:
        """Read."""
        return await self.call("GET", path)

    async def post(self, path: str, body: object) -> Answer:
        """Create."""
        return await self.call("POST", path, body)

    async def patch(self, path: str, body: object, content_type: str = MERGE_PATCH) -> Answer:
        """Patch."""
        return await self.call("PATCH", path, body, content_type)

    @asynccontextmanager
    async def watch(self, path: str) -> AsyncIterator[EventStream]:
        """Watch."""
        joined = path + ("&" if "?" in path else "?") + "watch=true"
        async with self.session.get(self.endpoint.url + joined) as response:
            yield EventStream(response)


@asynccontextmanager
async def cluster(server: ApiServer | None = None, *, tls: bool = False, token: str = "") -> AsyncIterator[Wire]:
    """Serve a server, a fresh one unless given, and connect to it."""
    served = server or ApiServer()
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with serve(served, tls=tls) as endpoint:
        trust = ssl.create_default_context(cadata=endpoint.ca_pem.decode()) if tls else True
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust), headers=headers) as session:
            yield Wire(served, endpoint, session)


def container(name: str = "app", *, requests: JsonObject | None = None, limits: JsonObject | None = None) -> JsonObject:
    """Return a container with resources."""
    resources: JsonObject = {}
    if requests is not None:
        resources["requests"] = requests
    if limits is not None:
        resources["limits"] = limits
    return {"name": name, "image": "example.dev/app:1", "resources": resources}


def burstable() -> JsonObject:
    """Return the container of the resize scenarios' Burstable pod."""
    return container(requests={"cpu": "100m", "memory": "128Mi"}, limits={"cpu": "200m", "memory": "256Mi"})


def pod(name: str = "a", *containers: JsonObject, namespace: str = "default", node: str = "") -> JsonObject:
    """Return a pod, Burstable unless its containers say otherwise."""
    spec: JsonObject = {"containers": list(containers) or [burstable()]}
    if node:
        spec["nodeName"] = node
    metadata = {"name": name, "namespace": namespace, "labels": {"app": name}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def config_map(name: str, namespace: str = "default", **data: str) -> JsonObject:
    """Return a config map."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data}


def definition(schema: JsonObject, *, status: bool = True) -> JsonObject:
    """Return a definition of the kind ``Widget`` in group ``example.dev``, with a schema for spec and status."""
    version: JsonObject = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    if status:
        version["subresources"] = {"status": {}}
    names = {
        "plural": "widgets",
        "singular": "widget",
        "kind": "Widget",
        "listKind": "WidgetList",
        "shortNames": ["wg"],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.dev"},
        "spec": {"group": "example.dev", "scope": "Namespaced", "names": names, "versions": [version]},
    }


def widget(name: str = "w", **parts: object) -> JsonObject:
    """Return an object of that kind."""
    return {
        "apiVersion": "example.dev/v1",
        "kind": "Widget",
        "metadata": {"name": name, "namespace": "default"},
        **parts,
    }

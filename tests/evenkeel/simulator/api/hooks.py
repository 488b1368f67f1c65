"""A webhook server for tests, and its registration."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from evenkeel.simulator.api.certificates import Authority
from evenkeel.simulator.api.fields import JsonObject, as_object, child, labels_of, text, value_at
from tests.evenkeel.simulator.api.wire import Wire

GROUP = "/apis/admissionregistration.k8s.io/v1"
RULE: JsonObject = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["pods", "configmaps"],
    "operations": ["CREATE", "UPDATE"],
}

Reply = Callable[[JsonObject], JsonObject]


def allow(_: JsonObject) -> JsonObject:
    return {"allowed": True}


def deny(_: JsonObject) -> JsonObject:
    return {"allowed": False, "status": {"code": 418, "message": "not today", "reason": "Teapot"}}


def labelling(key: str, value: str) -> Reply:
    """Answer with a patch that adds a label."""

    def reply(request: JsonObject) -> JsonObject:
        labels = {**labels_of(child(request, "object")), key: value}
        patch = [{"op": "add", "path": "/metadata/labels", "value": labels}]
        return {
            "allowed": True,
            "patchType": "JSONPatch",
            "patch": base64.b64encode(json.dumps(patch).encode()).decode(),
        }

    return reply


@dataclass(slots=True)
class Hook:
    """A webhook server that remembers what it was asked."""

    url: str
    port: int
    ca_bundle: str
    asked: list[JsonObject] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    @property
    def operations(self) -> list[str]:
        return [text(request, "operation") for request in self.asked]


Raw = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def hook(reply: Reply = allow, *, raw: Raw | None = None) -> AsyncIterator[Hook]:
    """Serve a webhook that replies to every question."""
    authority = Authority()
    made = Hook("", 0, base64.b64encode(authority.certificate_pem).decode())

    async def answer(request: web.Request) -> web.StreamResponse:
        review = as_object(await request.json())
        made.asked.append(child(review, "request"))
        made.paths.append(request.path_qs)
        if raw is not None:
            return await raw(request)
        response = {"uid": value_at(review, "request", "uid"), **reply(child(review, "request"))}
        return web.json_response({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})

    application = web.Application()
    application.router.add_post("/{path:.*}", answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    context = authority.issue("127.0.0.1", "hook.default.svc").server_context()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    made.port = runner.addresses[0][1]
    made.url = f"https://127.0.0.1:{made.port}"
    try:
        yield made
    finally:
        await runner.cleanup()


def webhook(server: Hook, **changes: object) -> JsonObject:
    """The entry of a webhook configuration for a server."""
    entry: JsonObject = {
        "name": "hook.example.dev",
        "clientConfig": {"url": f"{server.url}/ask", "caBundle": server.ca_bundle},
        "rules": [RULE],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return entry | changes


async def register(wire: Wire, *webhooks: JsonObject, kind: str = "Mutating", name: str = "hooks") -> None:
    body = {"metadata": {"name": name}, "webhooks": list(webhooks)}
    answer = await wire.post(f"{GROUP}/{kind.lower()}webhookconfigurations", body)
    assert answer.code == 201, answer.body

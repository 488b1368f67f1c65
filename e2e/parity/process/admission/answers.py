"""What a webhook answers, in a form in which two webhooks can be compared."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import aiohttp
import msgspec

from e2e.parity.process.admission.cluster import AdmissionCluster, Review
from e2e.parity.process.calls import ordered
from e2e.parity.process.copies import check_alive, open_copy
from e2e.parity.process.engines import Engine, Program
from e2e.parity.process.rounds import UNLIMITED, Course
from evenkeel.simulator.api.certificates import Authority
from evenkeel.simulator.api.fields import JsonObject, as_object, child, decode, rows, text, texts
from evenkeel.simulator.api.serving import LOOPBACK
from evenkeel.simulator.processes.ports import free_port
from evenkeel.simulator.processes.program import RunningProgram

_KNOWS_WITHIN_SECONDS = 90.0
_PAUSE_SECONDS = 0.3
_LOOK_UP_SECONDS = 3.0
_NOTES = "/metadata/annotations/vpaUpdates"
_TIMEOUT = aiohttp.ClientTimeout(total=40)


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer.

    Args:
        code: HTTP status; 0 where the connection was dropped.
        response: The response in it, without what is each side's own wording; None where there is none.
    """

    code: int
    response: JsonObject | None


async def answers(cluster: AdmissionCluster, engine: Engine, course: Course) -> tuple[Answer, ...]:
    """Ask a webhook on a fresh copy of a cluster for all reviews, one after the other.

    Everything is asked twice, and the second answers count: of controllers of custom kinds ours learns in the
    background, while the first pod is let through, and upstream keeps the first pod waiting.

    Raises:
        EngineEndedError: The webhook's process has ended by itself.
        TimeoutError: It does not come to know the cluster.
    """
    async with open_copy((*course.definitions, *cluster.objects), course.folder) as copy:
        trust, flags = await asyncio.to_thread(certificates, course.folder)
        port = free_port()
        flags = (*cluster.flags, *flags, f"--port={port}", "--register-webhook=false", *UNLIMITED)
        async with (
            copy.running(engine, Program.ADMISSION, flags) as running,
            aiohttp.ClientSession(timeout=_TIMEOUT, connector=aiohttp.TCPConnector(ssl=trust)) as session,
        ):
            webhook = Webhook(session, f"https://{LOOPBACK}:{port}/")
            await webhook.until_it_knows(cluster.probe, running)
            await webhook.ask_all(cluster.reviews)
            await asyncio.sleep(_LOOK_UP_SECONDS)
            return await webhook.ask_all(cluster.reviews)


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook that can be asked.

    Args:
        session: For the connections.
        url: Where it listens.
    """

    session: aiohttp.ClientSession
    url: str

    async def until_it_knows(self, probe: Review, running: RunningProgram) -> None:
        """Ask for one review until the answer has a patch."""
        async with asyncio.timeout(_KNOWS_WITHIN_SECONDS):
            while True:
                answer = await self.ask(probe)
                if answer.response is not None and answer.response.get("patch"):
                    return
                check_alive(running)
                await asyncio.sleep(_PAUSE_SECONDS)

    async def ask_all(self, reviews: Iterable[Review]) -> tuple[Answer, ...]:
        """Ask for reviews one after the other."""
        return tuple([await self.ask(review) for review in reviews])

    async def ask(self, review: Review) -> Answer:
        """Ask for one review."""
        headers = {"content-type": review.content_type}
        try:
            async with self.session.post(self.url, data=review.body, headers=headers) as response:
                return Answer(response.status, read_response(await response.read()))
        except aiohttp.ClientError:
            return Answer(0, None)


def read_response(body: bytes) -> JsonObject | None:
    """Return the response in an answer, comparable: patches in order, messages reduced to what they are about."""
    try:
        review = as_object(decode(body))
    except msgspec.DecodeError:
        return None
    response = dict(child(review, "response"))
    if "patch" in response:
        patch = decode(base64.b64decode(text(response, "patch")))
        response["patch"] = [_noted(one) for one in ordered(patch)] if isinstance(patch, list) else patch
    if "warnings" in response:
        response["warnings"] = [one.split(":")[0] for one in texts(response, "warnings")]
    if "status" in response:
        response["status"] = _status(child(response, "status"))
    return {"apiVersion": review.get("apiVersion"), "kind": review.get("kind"), **response}


def _noted(operation: JsonObject) -> JsonObject:
    """Return an operation with the notes of each container in order, which upstream takes from maps (admission 7.2)."""
    if text(operation, "path") != _NOTES:
        return operation
    return {**operation, "value": ordered_notes(text(operation, "value"))}


def ordered_notes(told: str) -> str:
    """Return what the annotation ``vpaUpdates`` says with the notes of each container in order (admission 7.2)."""
    head, colon, notes = told.partition(": ")
    parts = [part.partition(": ") for part in notes.split("; ")]
    sorted_parts = "; ".join(f"{name}: {', '.join(sorted(listed.split(', ')))}" for name, _, listed in parts)
    return f"{head}{colon}{sorted_parts}"


def _status(status: JsonObject) -> JsonObject:
    """Return a refusal with its causes, those on amounts sorted: upstream takes amounts from a map."""
    details = child(status, "details")
    causes: list[str] = []
    for _, run in groupby(rows(details, "causes"), key=listed_in):
        causes += sorted(f"{text(row, 'reason')} at {text(row, 'field')}" for row in run)
    shown = {key: details.get(key) for key in ("name", "group", "kind")}
    return {
        **{key: status.get(key) for key in ("status", "reason", "code")},
        "has a message": bool(text(status, "message")),
        "details": {**shown, "causes": causes},
    }


def listed_in(cause: JsonObject) -> str:
    """Return the list of amounts that an error is about an entry of, or just its field."""
    field = text(cause, "field")
    return field.rpartition("[")[0] if field.endswith("]") else field


def certificates(folder: Path) -> tuple[ssl.SSLContext, tuple[str, ...]]:
    """Write certificates for a webhook, and return what trusts them and the flags that name them."""
    authority = Authority()
    issued = authority.issue(LOOPBACK)
    files = {
        "client-ca-file": authority.certificate_pem,
        "tls-cert-file": issued.certificate_pem,
        "tls-private-key": issued.key_pem,
    }
    for name, content in files.items():
        path = folder / f"{name}.pem"
        path.touch(mode=0o600)
        path.write_bytes(content)
    trust = ssl.create_default_context(cadata=authority.certificate_pem.decode())
    return trust, tuple(f"--{name}={folder / name}.pem" for name in files)

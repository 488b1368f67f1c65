"""What becomes of submissions while a webhook listens that has registered itself."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from dataclasses import dataclass

from e2e.parity.process.admission.answers import certificates, listed_in, ordered_notes
from e2e.parity.process.client import Client, Reply, connected
from e2e.parity.process.copies import ClusterCopy, check_alive
from e2e.parity.process.engines import Engine, Program
from e2e.parity.process.rounds import UNLIMITED, Course
from e2e.parity.process.whole.cluster import WholeCluster
from e2e.parity.process.whole.submissions import Submission
from evenkeel.simulator.api.fields import JsonObject, as_object, child, copy_of, rows, text
from evenkeel.simulator.api.serving import LOOPBACK
from evenkeel.simulator.processes.ports import free_port
from evenkeel.simulator.processes.program import RunningProgram

NOTES = "vpaUpdates"
_KNOWS_WITHIN_SECONDS = 90.0
_PAUSE_SECONDS = 0.3
_LOOK_UP_SECONDS = 3.0
_AT_ONCE = 4
_UNREACHED = ("failed calling webhook", "could not be asked")
"""What a real API server, and the embedded one, say where a webhook does not answer."""

_QUOTED = re.compile(r'"[^"]*"')
_OUR_LABELS = "evenkeel.dev/"
_ADMISSION = "admissionregistration.k8s.io/v1"
_REGISTRATION = "MutatingWebhookConfiguration"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one submission.

    Args:
        code: HTTP status of the API server.
        object: What would be stored, or the refusal, without what is made up each time or is each side's own wording.
        is_unreached: Whether the webhook did not answer.
        message: What the API server said, word for word, for whoever looks for the cause.
    """

    code: int
    object: JsonObject
    is_unreached: bool = False
    message: str = ""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What became of all of them.

    Args:
        registration: How the webhook has registered itself, without where it listens and whom to trust.
        given: One for each submission.
    """

    registration: JsonObject
    given: tuple[Verdict, ...]


async def verdicts(copy: ClusterCopy, cluster: WholeCluster, engine: Engine, course: Course) -> Verdicts:
    """Submit everything twice while a webhook listens; the second time counts.

    Of controllers of custom kinds ours learns in the background, while the first pod is let through.

    Raises:
        EngineEndedError: The webhook's process has ended by itself.
        TimeoutError: It does not come to know the cluster.
    """
    folder = course.folder / "webhook"
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    _, files = await asyncio.to_thread(certificates, folder)
    port = free_port()
    listening = (f"--port={port}", "--register-by-url=true", f"--webhook-address=https://{LOOPBACK}")
    # Whatever it does not answer is to be seen.
    registered = (f"--webhook-port={port}", "--webhook-failure-policy-fail=true")
    flags = (*cluster.gates, *files, *listening, *registered, *UNLIMITED)
    async with copy.running(engine, Program.ADMISSION, flags) as running, connected(copy.access) as client:
        await _until_it_knows(client, cluster.probe, running)
        registrations = await copy.objects(_ADMISSION, _REGISTRATION)
        await _submit_all(client, cluster.submissions)
        await asyncio.sleep(_LOOK_UP_SECONDS)
        given = await _submit_all(client, cluster.submissions)
    return Verdicts(_comparable(registrations), tuple(given))


async def _until_it_knows(client: Client, probe: Submission, running: RunningProgram) -> None:
    """Submit a pod until it is changed."""
    async with asyncio.timeout(_KNOWS_WITHIN_SECONDS):
        while NOTES not in child((await _submit(client, probe)).body, "metadata", "annotations"):
            check_alive(running)
            await asyncio.sleep(_PAUSE_SECONDS)


async def _submit_all(client: Client, submissions: Iterable[Submission]) -> list[Verdict]:
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(submission: Submission) -> Verdict:
        async with gate:
            return verdict_of(await _submit(client, submission))

    return await asyncio.gather(*(one(submission) for submission in submissions))


async def _submit(client: Client, submission: Submission) -> Reply:
    return await client.call(submission.method, submission.path, submission.body, submission.content_type)


def verdict_of(reply: Reply) -> Verdict:
    """Return what an answer of the API server says, comparable."""
    message = text(reply.body, "message")
    if any(words in message for words in _UNREACHED):
        return Verdict(reply.code, {}, is_unreached=True, message=message)
    return Verdict(reply.code, _stored(reply.body) if reply.is_success else _refused(reply.body), message=message)


def _stored(obj: JsonObject) -> JsonObject:
    """Return what would be stored, without what the API server makes up each time."""
    annotations = child(obj, "metadata", "annotations")
    told = {name: ordered_notes(str(value)) if name == NOTES else value for name, value in annotations.items()}
    spec = {name: value for name, value in child(obj, "spec").items() if name != "volumes"}
    for kind in ("containers", "initContainers"):
        for container in rows(spec, kind):
            container.pop("volumeMounts", None)
    return {"annotations": told, "labels": child(obj, "metadata", "labels"), "spec": spec}


def _refused(status: JsonObject) -> JsonObject:
    """Return a refusal without a message of the webhook's, which is each side's own, and without made-up names."""
    causes = [(listed_in(row), text(row, "reason"), text(row, "field")) for row in rows(status, "details", "causes")]
    message = text(status, "message")
    head, _, told = _QUOTED.sub("", message).partition(": ")
    said = [head, *sorted(told.removeprefix("[").removesuffix("]").split(", "))]
    if message.startswith("admission webhook"):
        said = []
    shown = {key: child(status, "details").get(key) for key in ("group", "kind")}
    # The API server goes through maps, too: the causes of amounts are in no order.
    return {"reason": status.get("reason"), "said": said, "details": shown, "causes": [list(c) for c in sorted(causes)]}


def _comparable(registrations: list[JsonObject]) -> JsonObject:
    """Return how webhooks are registered, by name, without addresses, certificates and labels of our own.

    By the latter our processes know again what they have registered, in either profile.
    """
    found: JsonObject = {}
    for obj in registrations:
        webhooks = [as_object(one) for one in rows(copy_of(obj), "webhooks")]
        for webhook in webhooks:
            webhook["clientConfig"] = sorted(child(webhook, "clientConfig"))
        labels = child(obj, "metadata", "labels")
        shown = {name: value for name, value in labels.items() if not name.startswith(_OUR_LABELS)}
        found[text(obj, "metadata", "name")] = {"labels": shown, "webhooks": webhooks}
    return found

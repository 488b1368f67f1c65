"""Admission webhooks: which are asked about a write, how they are called, what their answers do."""

from __future__ import annotations

import asyncio
import base64
import binascii
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

import aiohttp
import jsonpatch
import jsonpointer
import msgspec

from autoscaling.runtime.dated_trust import trust_as_of
from evenkeel.simulator.activity import Activity
from evenkeel.simulator.api.builtin import ENDPOINTS, MUTATING_WEBHOOKS, NAMESPACES, VALIDATING_WEBHOOKS
from evenkeel.simulator.api.calls import Call
from evenkeel.simulator.api.fields import (
    JsonObject,
    as_object,
    child,
    decode,
    encode,
    labels_of,
    number,
    rows,
    text,
    texts,
)
from evenkeel.simulator.api.kinds import GroupResource
from evenkeel.simulator.api.objects import ObjectStore
from evenkeel.simulator.api.selectors import selector_of
from evenkeel.simulator.api.status import StatusError, internal_error
from evenkeel.simulator.clock import Clock, WallClock, wait_until

_API_VERSION = "admission.k8s.io/v1"
_DEFAULT_TIMEOUT_SECONDS = 10


class Operation(StrEnum):
    """What happens to an object, in the words of webhook rules."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class Review:
    """One write that webhooks are asked about."""

    call: Call
    operation: Operation
    object: JsonObject | None
    old: JsonObject | None

    def with_object(self, changed: JsonObject) -> Review:
        """Return the same write with the object as a webhook changed it."""
        return Review(self.call, self.operation, changed, self.old)


class WebhookFailedError(Exception):
    """A webhook gave no usable answer; its failurePolicy decides what that means."""


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """Where a webhook listens, and the host name that its certificate must bear."""

    url: str
    server_name: str | None


@dataclass(slots=True)
class Webhooks:
    """The webhooks registered in one server.

    Args:
        objects: Where the configurations, namespaces and endpoints are stored.
        clock: By which their time-outs run and their certificates are valid: real time, as they do real work.
        activity: Holds the server's clock while one is asked.
    """

    objects: ObjectStore
    clock: Clock = field(default_factory=WallClock)
    activity: Activity = field(default_factory=Activity)
    _session: aiohttp.ClientSession | None = None

    async def mutate(self, review: Review) -> JsonObject | None:
        """Return the object as the mutating webhooks change it, None when none does.

        Raises:
            StatusError: One refuses the write, or fails and must not.
        """
        changed: JsonObject | None = None
        for webhook in self._matching(MUTATING_WEBHOOKS, review):
            response = await self._ask(webhook, review)
            if response is None or not response.get("patch"):
                continue
            changed = _patched(text(webhook, "name"), as_object(review.object), text(response, "patch"))
            review = review.with_object(changed)
        return changed

    async def validate(self, review: Review) -> None:
        """Ask the validating webhooks.

        Raises:
            StatusError: One refuses the write, or fails and must not.
        """
        for webhook in self._matching(VALIDATING_WEBHOOKS, review):
            await self._ask(webhook, review)

    async def close(self) -> None:
        """Close the connections to webhooks."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _matching(self, resource: GroupResource, review: Review) -> Iterator[JsonObject]:
        """Yield the webhooks that a write concerns, by name of their configuration."""
        if review.call.target.kind.group == MUTATING_WEBHOOKS.group:
            return
        for configuration in self.objects.versions.snapshot(resource):
            for webhook in rows(configuration.body, "webhooks"):
                if any(_rule_matches(rule, review) for rule in rows(webhook, "rules")) and self._selected(
                    webhook, review
                ):
                    yield webhook

    def _selected(self, webhook: JsonObject, review: Review) -> bool:
        """Say whether a webhook's selectors let a write through to it."""
        wanted = selector_of(child(webhook, "objectSelector"))
        if not any(wanted.matches(labels_of(side)) for side in (review.object, review.old) if side is not None):
            return False
        target = review.call.target
        if target.kind.resource == NAMESPACES:
            labels = labels_of(review.object or review.old or {})
        elif target.kind.namespaced:
            namespace = self.objects.versions.read(NAMESPACES, ("", target.namespace))
            labels = labels_of(namespace.body) if namespace else {}
        else:
            return True
        return selector_of(child(webhook, "namespaceSelector")).matches(labels)

    async def _ask(self, webhook: JsonObject, review: Review) -> JsonObject | None:
        """Return a webhook's response, None when it failed and may."""
        name, uid = text(webhook, "name"), self.objects.new_uid()
        try:
            with self.activity.busy():
                response = _answer_to(uid, await self._call(webhook, _request(review, uid)))
        except WebhookFailedError as error:
            if text(webhook, "failurePolicy") == "Ignore":
                review.call.warnings.append(f'webhook "{name}" failed and was passed over: {error}')
                return None
            raise internal_error(f'webhook "{name}" could not be asked: {error}') from None
        review.call.warnings.extend(texts(response, "warnings"))
        if response.get("allowed") is not True:
            raise _denied(name, child(response, "status"))
        return response

    async def _call(self, webhook: JsonObject, request: JsonObject) -> JsonObject:
        """Send one question within the webhook's time-out and return the response part of the answer."""
        seconds = number(webhook, "timeoutSeconds", default=_DEFAULT_TIMEOUT_SECONDS)
        endpoint = self._endpoint(child(webhook, "clientConfig"))
        sending = asyncio.ensure_future(self._post(endpoint, child(webhook, "clientConfig"), request, seconds))
        waiting = asyncio.ensure_future(wait_until(self.clock, self.clock.now() + timedelta(seconds=seconds)))
        try:
            await asyncio.wait({sending, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                raise WebhookFailedError(f"no answer within {seconds} s")
            return sending.result()
        finally:
            for task in (sending, waiting):
                task.cancel()
            await asyncio.gather(sending, waiting, return_exceptions=True)

    async def _post(self, endpoint: _Endpoint, config: JsonObject, request: JsonObject, seconds: int) -> JsonObject:
        """Post a review and read the answer."""
        body = encode({"kind": "AdmissionReview", "apiVersion": _API_VERSION, "request": request})
        try:
            async with self._sessions().post(
                endpoint.url,
                data=body,
                params={"timeout": f"{seconds}s"},
                headers={"Content-Type": "application/json", "Accept": "application/json"},
                ssl=_trust(text(config, "caBundle"), self.clock),
                server_hostname=endpoint.server_name,
            ) as answer:
                raw = await answer.read()
                if answer.status != 200:
                    raise WebhookFailedError(f"it answered with HTTP status {answer.status}")
                return child(as_object(decode(raw)), "response")
        except (aiohttp.ClientError, ssl.SSLError, OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise WebhookFailedError(str(error) or type(error).__name__) from error

    def _endpoint(self, config: JsonObject) -> _Endpoint:
        """Return where a webhook listens: its URL, or the first endpoint of its service."""
        if text(config, "url"):
            return _Endpoint(text(config, "url"), None)
        service = child(config, "service")
        namespace, name = text(service, "namespace"), text(service, "name")
        found = self.objects.versions.read(ENDPOINTS, (namespace, name))
        for subset in rows(found.body, "subsets") if found else []:
            for address in rows(subset, "addresses"):
                port = next(
                    (number(entry, "port") for entry in rows(subset, "ports")), number(service, "port", default=443)
                )
                path = text(service, "path").lstrip("/")
                return _Endpoint(f"https://{text(address, 'ip')}:{port}/{path}", f"{name}.{namespace}.svc")
        raise WebhookFailedError(f"service {namespace}/{name} has no endpoints")

    def _sessions(self) -> aiohttp.ClientSession:
        """Return the connection pool, made on first use in the running event loop."""
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None))
        return self._session


def _trust(ca_bundle: str, clock: Clock) -> ssl.SSLContext:
    """Return a TLS context that trusts a webhook's CA bundle, or the machine's authorities when there is none."""
    if not ca_bundle:
        return ssl.create_default_context()
    try:
        return trust_as_of(clock.now, base64.b64decode(ca_bundle).decode())
    except (ValueError, ssl.SSLError) as error:
        raise WebhookFailedError(f"its caBundle holds no certificate: {error}") from None


def _names(values: list[str], wanted: str) -> bool:
    """Say whether a rule's list names a value, or everything."""
    return wanted in values or "*" in values


def _rule_matches(rule: JsonObject, review: Review) -> bool:
    """Say whether a rule of a webhook covers a write."""
    target = review.call.target
    kind = target.kind
    if not _names(texts(rule, "operations"), review.operation.value):
        return False
    if not _names(texts(rule, "apiGroups"), kind.group) or not _names(texts(rule, "apiVersions"), kind.version):
        return False
    if text(rule, "scope") not in {"", "*", "Namespaced" if kind.namespaced else "Cluster"}:
        return False
    return any(_resource_matches(pattern, kind.plural, target.subresource) for pattern in texts(rule, "resources"))


def _resource_matches(pattern: str, plural: str, subresource: str) -> bool:
    """Say whether a resource pattern such as ``pods/resize`` or ``*/*`` covers a resource."""
    main, _, part = pattern.partition("/")
    return main in {"*", plural} and (part in {"*", subresource} if part else not subresource)


def _request(review: Review, uid: str) -> JsonObject:
    """Return the question that a webhook is asked."""
    call, kind = review.call, review.call.target.kind
    gvk = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    gvr = {"group": kind.group, "version": kind.version, "resource": kind.plural}
    request: JsonObject = {"uid": uid, "kind": gvk, "resource": gvr, "requestKind": gvk, "requestResource": gvr}
    if call.target.subresource:
        request["subResource"] = request["requestSubResource"] = call.target.subresource
    name = call.target.name or text(review.object or {}, "metadata", "name")
    if name:
        request["name"] = name
    if call.target.namespace:
        request["namespace"] = call.target.namespace
    request["operation"] = review.operation.value
    request["userInfo"] = {"username": call.user.name, "groups": list(call.user.groups)}
    request["object"], request["oldObject"] = review.object, review.old
    request["dryRun"] = call.dry_run
    request["options"] = {"kind": f"{review.operation.value.title()}Options", "apiVersion": "meta.k8s.io/v1"}
    return request


def _answer_to(uid: str, response: JsonObject) -> JsonObject:
    """Return a response once it is known to belong to a question."""
    if response.get("uid") != uid:
        raise WebhookFailedError("its answer bears another uid than the question")
    return response


def _patched(webhook: str, obj: JsonObject, patch: str) -> JsonObject:
    """Apply the base64 JSON patch of a webhook's answer."""
    try:
        return as_object(jsonpatch.JsonPatch.from_string(base64.b64decode(patch)).apply(obj))
    except (
        binascii.Error,
        ValueError,
        TypeError,
        jsonpatch.JsonPatchException,
        jsonpointer.JsonPointerException,
    ) as error:
        raise internal_error(f'the patch from webhook "{webhook}" cannot be applied: {error}') from None


def _denied(webhook: str, status: JsonObject) -> StatusError:
    """Return the refusal that a webhook asked for."""
    code = number(status, "code") or 403
    why = text(status, "message") or text(status, "reason")
    message = f'admission webhook "{webhook}" denied the request' + (f": {why}" if why else " without explanation")
    return StatusError(code, text(status, "reason") or ("Forbidden" if code == 403 else ""), message)

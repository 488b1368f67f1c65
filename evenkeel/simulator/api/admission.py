"""Admission webhooks: which are asked about a write, how they are called, what their answers do."""

from __future__ import annotations

import asyncio
import base64
import binascii
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta

import aiohttp
import jsonpatch
import jsonpointer
import msgspec

from autoscaling.runtime.dated_trust import trust_as_of
from evenkeel.simulator.activity import Activity
from evenkeel.simulator.api.admission_matching import (
    conditions_hold,
    is_exempt,
    is_selected,
    rule_matches,
    values_of,
)
from evenkeel.simulator.api.admission_policies import AdmissionPolicies
from evenkeel.simulator.api.admission_request import Review, request_of
from evenkeel.simulator.api.builtin import ENDPOINTS, MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS
from evenkeel.simulator.api.expressions import ExpressionError
from evenkeel.simulator.api.fields import (
    JsonObject,
    as_object,
    child,
    decode,
    encode,
    number,
    rows,
    text,
    texts,
)
from evenkeel.simulator.api.kinds import GroupResource
from evenkeel.simulator.api.objects import ObjectStore
from evenkeel.simulator.api.status import StatusError, forbidden, internal_error
from evenkeel.simulator.clock import Clock, WallClock, wait_until

_API_VERSION = "admission.k8s.io/v1"
_DEFAULT_TIMEOUT_SECONDS = 10


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
    policies: AdmissionPolicies = field(init=False)
    activity: Activity = field(default_factory=Activity)
    _session: aiohttp.ClientSession | None = None

    def __post_init__(self) -> None:
        self.policies = AdmissionPolicies(self.objects)

    async def mutate(self, review: Review) -> JsonObject | None:
        """Return the object as the mutating webhooks change it, None when none does.

        A webhook whose reinvocationPolicy is IfNeeded is asked once more when the object was changed after its turn.

        Raises:
            StatusError: One refuses the write, or fails and must not.
        """
        original, asked = review.object, list[tuple[JsonObject, JsonObject | None]]()
        for webhook in self._configured(MUTATING_WEBHOOKS, review):
            if self._concerns(webhook, review):
                review = await self._changed(webhook, review)
                asked.append((webhook, review.object))
        for webhook, left in asked:
            if text(webhook, "reinvocationPolicy") == "IfNeeded" and review.object != left:
                review = await self._changed(webhook, review)
        return None if review.object is original else review.object

    async def validate(self, review: Review) -> None:
        """Ask the policies, then the validating webhooks.

        Raises:
            StatusError: One refuses the write, or fails and must not.
        """
        self.policies.check(review)
        for webhook in self._configured(VALIDATING_WEBHOOKS, review):
            if self._concerns(webhook, review):
                await self._ask(webhook, review)

    async def close(self) -> None:
        """Close the connections to webhooks."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _configured(self, resource: GroupResource, review: Review) -> Iterator[JsonObject]:
        """Yield the webhooks that there are, by name of their configuration."""
        if not is_exempt(review):
            for configuration in self.objects.versions.snapshot(resource):
                yield from rows(configuration.body, "webhooks")

    def _concerns(self, webhook: JsonObject, review: Review) -> bool:
        """Say whether a webhook is about a write.

        Raises:
            StatusError: Its conditions cannot be decided, and must be (403).
        """
        if not any(rule_matches(rule, review) for rule in rows(webhook, "rules")):
            return False
        if not is_selected(self.objects, webhook, review):
            return False
        if not webhook.get("matchConditions"):
            return True
        try:
            return conditions_hold(webhook, values_of(review, self.objects.new_uid()))
        except ExpressionError as error:
            if text(webhook, "failurePolicy") == "Ignore":
                return False
            name = review.call.target.name or text(review.object or {}, "metadata", "name")
            raise forbidden(review.call.target.kind.subject(name), str(error)) from None

    async def _changed(self, webhook: JsonObject, review: Review) -> Review:
        """Return a write as one webhook leaves it."""
        response = await self._ask(webhook, review)
        if response is None or not response.get("patch"):
            return review
        return review.with_object(_patched(text(webhook, "name"), as_object(review.object), text(response, "patch")))

    async def _ask(self, webhook: JsonObject, review: Review) -> JsonObject | None:
        """Return a webhook's response, None when it failed and may."""
        name, uid = text(webhook, "name"), self.objects.new_uid()
        try:
            with self.activity.busy():
                response = _answer_to(
                    uid,
                    await self._call(
                        webhook, {**request_of(review, uid), "object": review.object, "oldObject": review.old}
                    ),
                )
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

"""Calls to the API server: raw bytes in and out, one error for every "no" and one for every silence."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from importlib.metadata import version
from typing import TypeVar
from urllib.parse import quote, urlencode

import aiohttp
import msgspec
from yarl import URL

from autoscaling.errors import ApiError, ApiRefusedError, ApiUnreachableError, ConfigurationError
from autoscaling.kube.calls import (
    NO_PRECONDITIONS,
    NO_QUERY,
    PAGE_SIZE,
    Call,
    CallRecord,
    ClientSettings,
    Listing,
    ListPage,
    PatchType,
    Preconditions,
    Query,
    ServerVersion,
)
from autoscaling.kube.connection import Connection
from autoscaling.kube.pacing import SYSTEM_PACING, Pacing
from autoscaling.kube.paths import PODS, Selection
from autoscaling.kube.refusals import FORBIDDEN, UNAUTHORIZED, is_expired, refusal_of
from autoscaling.kube.retry import Failure, Patience, Progress, failure_of_refusal, pause_before_retry
from autoscaling.kube.silences import CALL_ERRORS, failure_of_silence
from autoscaling.kube.streams import WatchStart, lines_of
from autoscaling.kube.throttle import CallBudget
from autoscaling.kube.traffic import UNOBSERVED, Headers, Traffic
from autoscaling.wire.unreadable import UNREADABLE_JSON

T = TypeVar("T")
CONNECT_SECONDS = 10.0
_LISTING = msgspec.json.Decoder(Listing)
_VERSION = msgspec.json.Decoder(ServerVersion)
_REPEATABLE_VERBS = frozenset({"GET", "PUT", "PATCH", "DELETE"})


def user_agent(process: str) -> str:
    """Name of a process for the server's audit log, such as ``evenkeel-updater/0.1.0``."""
    return f"evenkeel-{process}/{version('evenkeel')}"


class KubeClient:
    """All calls of one process.

    Args:
        connection: Server, identity and pool; closed together with the client.
        settings: Limits and name.
        pacing: Clock, pauses and dice.
        on_call: Told of every try, for metrics.
        traffic: Told of what is under way.
    """

    def __init__(
        self,
        connection: Connection,
        settings: ClientSettings,
        pacing: Pacing = SYSTEM_PACING,
        on_call: Callable[[CallRecord], None] | None = None,
        traffic: Traffic = UNOBSERVED,
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._pacing = pacing
        self._on_call = on_call
        self._traffic = traffic
        self._budget = CallBudget(settings.qps, settings.burst)

    @property
    def pacing(self) -> Pacing:
        """The clock this client goes by."""
        return self._pacing

    @property
    def traffic(self) -> Traffic:
        """Who is told of what is under way."""
        return self._traffic

    @property
    def server(self) -> str:
        """Address of the API server."""
        return self._connection.server

    def lull(self) -> float:
        """Say how long it takes until calls that can wait are in nobody's way; see ``CallBudget.lull``."""
        return self._budget.lull(self._pacing.monotonic())

    async def close(self) -> None:
        """Close every connection."""
        await self._connection.close()

    async def get(self, path: str, query: Query = NO_QUERY, patience: Patience | None = None) -> bytes:
        """Read one object, or a list in one piece.

        Raises:
            ApiError: As every call here: refused, or unreachable.
        """
        return await self._perform(Call("GET", path, query), patience)

    async def pages(self, selection: Selection, page_size: int = PAGE_SIZE) -> AsyncIterator[ListPage]:
        """List page by page.

        When the server forgets the list half way (410), it is started again, and if that happens twice, asked for in
        one piece.

        Args:
            selection: What to list.
            page_size: Objects per page; 0 for all in one.

        Yields:
            Pages; see ``ListPage.number`` for what a restart looks like.
        """
        number, token, restarts = 0, "", 0
        while True:
            query = (
                selection.query
                | ({"limit": str(page_size)} if page_size else {})
                | ({"continue": token} if token else {})
            )
            try:
                body = await self.get(selection.path, query)
            except ApiRefusedError as refusal:
                if not (token and is_expired(refusal)):
                    raise
                restarts += 1
                number, token, page_size = 0, "", page_size if restarts < 2 else 0
                continue
            listing = self._listing(selection, body)
            meta = listing.metadata
            yield ListPage(number, listing.items or [], meta.resource_version, meta.remaining_item_count)
            number, token = number + 1, meta.continue_
            if not token:
                return

    async def items(self, selection: Selection, decode: Callable[[bytes], T]) -> list[T]:
        """List everything and decode each object.

        Args:
            selection: What to list.
            decode: Bytes of one object to its value; what it raises ends the call.
        """
        found: list[T] = []
        async for page in self.pages(selection):
            if page.number == 0:
                found.clear()
            found.extend(decode(bytes(item)) for item in page.items)
        return found

    async def create(self, path: str, body: bytes, query: Query = NO_QUERY, patience: Patience | None = None) -> bytes:
        """Create an object in a collection, or call a subresource that takes a POST.

        It is tried again only where the server certainly did not carry it out.
        """
        return await self._perform(Call("POST", path, query, body), patience)

    async def replace(self, path: str, body: bytes, query: Query = NO_QUERY, patience: Patience | None = None) -> bytes:
        """Replace an object; with a resourceVersion in the body, only if nobody wrote it since."""
        return await self._perform(Call("PUT", path, query, body), patience)

    async def patch(
        self, path: str, body: bytes, patch_type: PatchType, query: Query = NO_QUERY, patience: Patience | None = None
    ) -> bytes:
        """Change an object.

        The patch must be one that may be applied twice, since a lost answer makes it be sent again.
        """
        return await self._perform(Call("PATCH", path, query, body, patch_type.value), patience)

    async def delete(
        self,
        path: str,
        preconditions: Preconditions = NO_PRECONDITIONS,
        propagation: str = "",
        patience: Patience | None = None,
    ) -> bytes:
        """Delete an object.

        Args:
            path: Of the object.
            preconditions: What must hold.
            propagation: ``Foreground``, ``Background`` or ``Orphan``; empty for the kind's own default.
            patience: For this call.
        """
        options: dict[str, object] = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if preconditions.fields:
            options["preconditions"] = preconditions.fields
        if propagation:
            options["propagationPolicy"] = propagation
        return await self._perform(Call("DELETE", path, body=msgspec.json.encode(options)), patience)

    async def evict(
        self,
        namespace: str,
        name: str,
        preconditions: Preconditions = NO_PRECONDITIONS,
        patience: Patience | None = None,
    ) -> None:
        """Evict a pod through the eviction API.

        A refusal by a PodDisruptionBudget is raised at once (``refusals.is_budget_refusal`` tells it).

        Args:
            namespace: Of the pod.
            name: Of the pod.
            preconditions: What must hold; without any it is whichever pod bears the name.
            patience: For this call.

        Spec: resize section 4.
        """
        eviction: dict[str, object] = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"namespace": namespace, "name": name},
        }
        if preconditions.fields:
            eviction["deleteOptions"] = {"preconditions": preconditions.fields}
        await self.create(PODS.path(namespace, name, "eviction"), msgspec.json.encode(eviction), patience=patience)

    async def watch(self, selection: Selection, since: WatchStart) -> AsyncGenerator[bytes, None]:
        """Follow a collection: one line of JSON per event, until the server ends the stream.

        Close it with ``contextlib.aclosing``. It is never tried again here: only the caller knows where to resume.

        Args:
            selection: What to follow.
            since: Where to start and how long to stay.

        Yields:
            Lines without their end.
        """
        call = Call("GET", selection.path, selection.query | since.query)
        await self._await_turn()
        started = self._pacing.monotonic()
        try:
            deadlines = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=since.silence_seconds)
            async with AsyncExitStack() as stack:
                async with self._traffic.exchange() as sent:
                    authorization = await self._connection.authorization()
                    response = await stack.enter_async_context(self._send(call, authorization, sent, deadlines))
                    self._record(call, response.status, started)
                    if response.status != 200:
                        raise refusal_of(call.title, response.status, response.headers, await response.read())
                told = stack.enter_context(self._traffic.following(sent))
                async for line in lines_of(response.content.iter_any()):
                    told()
                    yield line
        except CALL_ERRORS as error:
            raise failure_of_silence(call.title, self.server, error).error from error

    async def probe(self) -> ServerVersion:
        """Check at start-up that the server can be reached and knows us.

        Raises:
            ConfigurationError: It cannot, or does not.
        """
        try:
            return _VERSION.decode(await self.get("/version"))
        except ApiRefusedError as refusal:
            if refusal.code == FORBIDDEN:
                return ServerVersion()
            remedy = (
                "renew the credentials" if refusal.code == UNAUTHORIZED else "check that the address is an API server's"
            )
            raise ConfigurationError(f"API server {self.server}: {refusal}; {remedy}") from refusal
        except (ApiError, *UNREADABLE_JSON) as error:
            raise ConfigurationError(f"API server {self.server} cannot be used: {error}") from error

    def _listing(self, selection: Selection, body: bytes) -> Listing:
        try:
            return _LISTING.decode(body)
        except UNREADABLE_JSON as error:
            raise ApiUnreachableError(
                f"GET {selection.path}: {self.server} answered with something that is no list: {error}; "
                "check that no proxy in between rewrites answers"
            ) from error

    async def _perform(self, call: Call, patience: Patience | None) -> bytes:
        limits = patience or self._settings.patience
        started = self._pacing.monotonic()
        failures = 0
        while True:
            outcome = await self._try_once(call, limits)
            if isinstance(outcome, bytes):
                return outcome
            failures += 1
            progress = Progress(failures, self._pacing.monotonic() - started, self._pacing.random())
            pause = pause_before_retry(limits, outcome, repeatable=call.verb in _REPEATABLE_VERBS, progress=progress)
            if pause is None:
                raise outcome.error
            await self._pacing.sleep(pause)

    async def _try_once(self, call: Call, limits: Patience) -> bytes | Failure:
        """Send a call once, and once more with fresh credentials if the old ones were turned down."""
        try:
            outcome = await self._exchange(call, limits)
            if isinstance(outcome, ApiRefusedError) and outcome.code == UNAUTHORIZED and await self._connection.renew():
                outcome = await self._exchange(call, limits)
        except CALL_ERRORS as error:
            return failure_of_silence(call.title, self.server, error)
        return outcome if isinstance(outcome, bytes) else failure_of_refusal(outcome)

    async def _exchange(self, call: Call, limits: Patience) -> bytes | ApiRefusedError:
        if not limits.is_unlimited:
            await self._await_turn()
        deadlines = aiohttp.ClientTimeout(total=limits.attempt_seconds, sock_connect=CONNECT_SECONDS)
        started = self._pacing.monotonic()
        code = 0
        try:
            async with (
                self._traffic.exchange() as sent,
                self._send(call, await self._connection.authorization(), sent, deadlines) as response,
            ):
                body = await response.read()
                code = response.status
                if 200 <= code < 300:
                    return body
                return refusal_of(call.title, code, response.headers, body)
        finally:
            self._record(call, code, started)

    def _send(
        self, call: Call, authorization: str, sent: Headers, deadlines: aiohttp.ClientTimeout
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": self._settings.user_agent}
        headers.update(sent)
        if call.body is not None:
            headers["Content-Type"] = call.media_type
        if authorization:
            headers["Authorization"] = authorization
        query = f"?{urlencode(call.query, quote_via=quote)}" if call.query else ""
        return self._connection.session.request(
            call.verb,
            URL(f"{self.server}{call.path}{query}", encoded=True),
            data=call.body,
            headers=headers,
            timeout=deadlines,
            allow_redirects=False,
            proxy=self._connection.proxy,
            server_hostname=self._connection.tls_server_name,
        )

    async def _await_turn(self) -> None:
        wait = self._budget.take(self._pacing.monotonic())
        if wait > 0:
            await self._pacing.sleep(wait)

    def _record(self, call: Call, code: int, started: float) -> None:
        if self._on_call is not None:
            self._on_call(CallRecord(call.verb, call.path, code, self._pacing.monotonic() - started))

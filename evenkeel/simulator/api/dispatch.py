"""From an HTTP request to its answer: who asks, what goes wrong on purpose, which part carries it out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Literal

from starlette.requests import Request as HttpRequest
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from autoscaling.runtime.lockstep_channel import CALL_HEADER
from evenkeel.simulator.api.builtin import METRICS
from evenkeel.simulator.api.calls import PROXY, Call, Request, Target, User, target_of, verb_of
from evenkeel.simulator.api.codec import answer_form, is_apply
from evenkeel.simulator.api.deletes import DeleteOptions
from evenkeel.simulator.api.discovery import discovery_document
from evenkeel.simulator.api.external_metrics import GROUP as EXTERNAL_METRICS
from evenkeel.simulator.api.external_metrics import answer_external
from evenkeel.simulator.api.metrics import answer_metrics
from evenkeel.simulator.api.options import check_options
from evenkeel.simulator.api.reads import asked_revision, list_objects
from evenkeel.simulator.api.rendering import ITEMS_OF_A_PIECE, ListMeta, list_pieces, object_raw
from evenkeel.simulator.api.requestlog import RecordedCall
from evenkeel.simulator.api.responses import (
    ConnectionCutError,
    Cut,
    CutResponse,
    WatchResponse,
    json_response,
    long_json_response,
    refusal,
)
from evenkeel.simulator.api.reviews import AUTHENTICATION, AUTHORIZATION, answer_review
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.status import Cause, StatusError, method_not_allowed, no_such_path, success
from evenkeel.simulator.api.store import Stored
from evenkeel.simulator.api.subresources import bind, issue_token, scale_of, write_scale
from evenkeel.simulator.api.watches import expired_event
from evenkeel.simulator.faults import CloseWatches, Delay, DropConnection, EndWatch, ExpireHistory, Fault, Refuse

_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
_REASONS = {
    400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 409: "Conflict", 410: "Expired",
    422: "Invalid", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout",
}  # fmt: skip
_WHOLE_OBJECT = ("", "status", "resize")

Handler = Callable[[Call], Awaitable[Response]]


@dataclass(slots=True)
class _Exchange:
    """One request on its way, with what is known of it so far for the log."""

    request: Request
    verb: str
    client_left: Callable[[], Awaitable[None]]
    target: Target | None = None
    user: User = field(default_factory=lambda: User(""))
    struck: list[Fault] = field(default_factory=list)

    @property
    def caller(self) -> str:
        """The process in lock-step that sent it; empty for anybody else."""
        return self.request.headers.get(CALL_HEADER.lower(), "").partition("/")[0]


class Dispatcher:
    """Answers every request to one server.

    Args:
        server: The server.
        cut: Cuts the connection of a request.
    """

    def __init__(self, server: ApiServer, cut: Cut) -> None:
        self._server = server
        self._cut = cut
        self.stopping = asyncio.Event()
        self._handlers: dict[str, Handler] = {
            "get": self._read,
            "list": self._list,
            "create": self._create,
            "update": self._update,
            "patch": self._update,
            "delete": self._delete,
            "deletecollection": self._delete_collection,
        }

    def application(self) -> ASGIApp:
        """Return the ASGI application: one route without the middleware of a whole one, which would do nothing here."""
        return Router([Route("/{path:path}", self.answer, methods=_METHODS)])

    async def answer(self, http: HttpRequest) -> Response:
        """Answer one request and record it."""
        body = await http.body()
        headers = {key.lower(): ",".join(http.headers.getlist(key)) for key in http.headers}
        request = Request(http.method, http.scope["path"], dict(http.query_params), headers, body)
        exchange = _Exchange(request, http.method.lower(), partial(_disconnected, http))
        try:
            with self._server.activity.busy():
                response = await self._answer(exchange)
            status = response.status_code
        except StatusError as error:
            response, status = refusal(error), error.code
        except ConnectionCutError:
            response, status = CutResponse(self._cut), 0
        self._record(exchange, status)
        return response

    async def _answer(self, exchange: _Exchange) -> Response:
        """Find out what is asked, by whom, and let the faults and then the handler act."""
        server, request = self._server, exchange.request
        exchange.target = target_of(server.registry, request.path)
        if exchange.target is not None:
            exchange.verb = verb_of(request, exchange.target)
        sender = server.access.user_of(request.headers, server.clock.now())
        exchange.user = server.access.acting_as(server.store, sender, request.headers)
        exchange.struck = server.faults.striking(exchange.verb, request.path, dict(request.query), exchange.caller)
        for fault in exchange.struck:
            await self._strike(fault, exchange)
        answer_form(request.headers.get("accept", ""))
        response = await self._carry_out(exchange)
        if any(isinstance(fault.action, DropConnection) for fault in exchange.struck):
            raise ConnectionCutError
        return response

    async def _strike(self, fault: Fault, exchange: _Exchange) -> None:
        """Let one fault act before the request is carried out."""
        match fault.action:
            case Refuse() as refuse:
                reason = refuse.reason or _REASONS.get(refuse.code, HTTPStatus(refuse.code).phrase.replace(" ", ""))
                causes = (Cause(refuse.cause, "", ""),) if refuse.cause else ()
                error = StatusError(refuse.code, reason, refuse.message, causes=causes)
                if refuse.retry_after_seconds is not None:
                    error.retry_after(refuse.retry_after_seconds)
                raise error
            case Delay() as delay:
                await self._pause(delay, exchange)
            case DropConnection(after_carrying_out=False):
                raise ConnectionCutError
            case CloseWatches(path):
                self._server.watches.close(path)
            case ExpireHistory() if exchange.target is not None:
                self._server.expire_history([exchange.target.kind.resource])
            case _:
                return

    async def _pause(self, delay: Delay, exchange: _Exchange) -> None:
        """Wait, but not beyond the end of the server, nor as a rule for a client that has gone away."""
        clock = self._server.clock
        waiting = asyncio.ensure_future(
            self._server.activity.wait_until(clock, clock.now() + delay.by, exchange.caller)
        )
        ends: set[asyncio.Future[Literal[True]] | asyncio.Future[None]] = {asyncio.ensure_future(self.stopping.wait())}
        if not delay.outlives_client:
            ends.add(asyncio.ensure_future(exchange.client_left()))
        try:
            await asyncio.wait({waiting, *ends}, return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done():
                raise ConnectionCutError
        finally:
            for task in (waiting, *ends):
                task.cancel()
            await asyncio.gather(waiting, *ends, return_exceptions=True)

    async def _carry_out(self, exchange: _Exchange) -> Response:
        """Let the part act that is responsible."""
        server, target = self._server, exchange.target
        if target is None:
            server.access.check_path(server.store, exchange.request, exchange.user)
            return self._discover(exchange.request.path)
        call = Call(exchange.request, target, exchange.verb, exchange.user)
        server.access.check(server.store, call)
        if not target.subresource and call.verb not in target.kind.verbs:
            raise method_not_allowed()
        check_options(call)
        if target.kind.group in {AUTHORIZATION, AUTHENTICATION}:
            return json_response(answer_review(server.store, server.access, call), HTTPStatus.CREATED)
        if target.kind.group == METRICS:
            return json_response(answer_metrics(server.metrics, call))
        if target.kind.group == EXTERNAL_METRICS:
            return json_response(answer_external(server.external_metrics, call))
        if call.verb == "watch":
            return self._watch(call, exchange.struck)
        return await self._handlers[call.verb](call)

    def _discover(self, path: str) -> Response:
        """Answer on a path that is no resource."""
        document = discovery_document(self._server.registry, path)
        if document is None:
            raise no_such_path()
        return PlainTextResponse(document) if isinstance(document, str) else json_response(document)

    async def _read(self, call: Call) -> Response:
        """Answer a get."""
        asked_revision(self._server.store, call)
        stored = self._server.store.existing(call.target.kind, call.target.key)
        if call.target.subresource == "scale":
            return json_response(scale_of(call, stored))
        if call.target.subresource == PROXY:
            return self._passed_on(call.target.name)
        if call.target.subresource not in _WHOLE_OBJECT:
            raise method_not_allowed()
        return self._shown(call, stored)

    def _passed_on(self, node: str) -> Response:
        """Answer with the metrics of a node's kubelet."""
        page = self._server.kubelet_metrics(node)
        if not page:
            raise StatusError(HTTPStatus.SERVICE_UNAVAILABLE, "ServiceUnavailable", f"no kubelet answers on {node}")
        return PlainTextResponse(page)

    async def _list(self, call: Call) -> Response:
        """Answer a list."""
        found, meta = list_objects(self._server.store, call)
        return self._listed(call, found, meta)

    def _listed(self, call: Call, found: list[Stored], meta: ListMeta) -> Response:
        """Answer with a list, a long one in pieces."""
        pieces = list_pieces(call, found, meta, self._server.clock.now())
        return json_response(next(pieces)) if len(found) <= ITEMS_OF_A_PIECE else long_json_response(pieces)

    def _watch(self, call: Call, struck: list[Fault]) -> Response:
        """Answer a watch."""
        try:
            watch = self._server.watches.prepare(call)
        except StatusError as error:
            if error.code != HTTPStatus.GONE or not self._server.settings.expired_watch_as_event:
                raise
            return WatchResponse(_only(expired_event()))
        cut: Cut | None = None
        for fault in struck:
            if isinstance(fault.action, EndWatch):
                watch.events_left = fault.action.after_events
                cut = self._cut if fault.action.abruptly else None
        return WatchResponse(self._server.watches.stream(watch), cut)

    async def _create(self, call: Call) -> Response:
        """Answer a create, of an object or through a subresource."""
        server = self._server
        match call.target.subresource:
            case "" if not call.target.name and (call.target.namespace or not call.target.kind.namespaced):
                return self._shown(call, await server.parts.writer.create(call), HTTPStatus.CREATED)
            case "eviction":
                return json_response(server.parts.evictions.evict(call), HTTPStatus.CREATED)
            case "binding":
                return json_response(bind(server.store, call), HTTPStatus.CREATED)
            case "token":
                return json_response(issue_token(server.store, server.access, call), HTTPStatus.CREATED)
            case _:
                raise method_not_allowed()

    async def _update(self, call: Call) -> Response:
        """Answer an update or a patch, of an object or through a subresource."""
        writer, part = self._server.parts.writer, call.target.subresource
        if not call.target.name or part not in {*_WHOLE_OBJECT, "scale"}:
            raise method_not_allowed()
        if part == "scale":
            return json_response(scale_of(call, await write_scale(writer, call)))
        if call.verb == "patch" and is_apply(call.request.content_type):
            stored, is_new = await self._server.parts.applier.apply(call)
            return self._shown(call, stored, HTTPStatus.CREATED if is_new else HTTPStatus.OK)
        stored = await (writer.patch(call) if call.verb == "patch" else writer.update(call))
        return self._shown(call, stored)

    async def _delete(self, call: Call) -> Response:
        """Answer a delete: with the object while it is still going, and for pods always; else with a success."""
        if call.target.subresource:
            raise method_not_allowed()
        deletion = await self._server.parts.deleter.delete(call, DeleteOptions.of_call(call))
        if not deletion.gone or call.target.kind.plural == "pods":
            return self._shown(call, deletion.stored)
        return json_response(success(call.target.kind.subject(call.target.name), uid=deletion.stored.uid))

    async def _delete_collection(self, call: Call) -> Response:
        """Answer the deletion of a collection."""
        deleted = await self._server.parts.deleter.delete_collection(call)
        meta = ListMeta(self._server.store.versions.revision)
        return self._listed(call, deleted, meta)

    def _shown(self, call: Call, stored: Stored, code: int = HTTPStatus.OK) -> Response:
        """Answer with one object, and the warnings that came up on the way."""
        return json_response(object_raw(call, stored, self._server.clock.now()), code, call.warnings)

    def _record(self, exchange: _Exchange, status: int) -> None:
        """Put a request into the log."""
        request = exchange.request
        self._server.requests.record(
            RecordedCall(
                verb=exchange.verb,
                path=request.path,
                query=dict(request.query),
                user=exchange.user.name,
                content_type=request.content_type,
                body=request.body,
                status=status,
                at=self._server.clock.now(),
                caller=exchange.caller,
                resource=exchange.target.resource_name if exchange.target else "",
            ),
        )


async def _disconnected(http: HttpRequest) -> None:
    """Wait until the client of a request goes away."""
    while (await http.receive())["type"] != "http.disconnect":
        pass


async def _only(event: bytes) -> AsyncGenerator[bytes, None]:
    """Yield a single event."""
    yield event

"""Get and list: selectors, pages that stay consistent, and the revision rules of lists."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import msgspec

from evenkeel.simulator.api.calls import Call
from evenkeel.simulator.api.fields import as_object, decode, encode, number, text
from evenkeel.simulator.api.objects import ObjectStore
from evenkeel.simulator.api.rendering import ListMeta
from evenkeel.simulator.api.selectors import predicate
from evenkeel.simulator.api.status import bad_request, expired, revision_too_large
from evenkeel.simulator.api.store import HistoryGoneError, Key, Part, Stored

_LATEST = -1


@dataclass(frozen=True, slots=True)
class _Page:
    """Which objects of which state a list shows."""

    revision: int | None
    after: Key | None
    limit: int


def list_objects(objects: ObjectStore, call: Call) -> tuple[list[Stored], ListMeta]:
    """Return the objects of the list that a call asks for, and what the list says about itself.

    Raises:
        StatusError: A parameter cannot be read (400), the state asked for is gone (410) or not reached yet (504).
    """
    kind = call.target.kind
    passes = predicate(call.query.get("labelSelector", ""), call.query.get("fieldSelector", ""), kind.plural)
    page = _page_of(objects, call)
    with objects.versions.lock:
        newest = objects.versions.revision
        found, count = _state(objects, call, page)
        if passes is not None:
            found = (stored for stored in found if passes.finds(stored))
        shown = list(islice(found, page.limit) if page.limit else found)
        # How many more pass is not told, so it is enough to know whether any does.
        remaining = count - len(shown) if passes is None else int(next(found, None) is not None)
    revision = newest if page.revision is None else page.revision
    if not remaining:
        return shown, ListMeta(revision)
    token = _token(revision, shown[-1].key)
    return shown, ListMeta(revision, token, remaining if passes is None else None)


def asked_revision(objects: ObjectStore, call: Call) -> int | None:
    """Return the resourceVersion of a query, None for the newest state.

    Raises:
        StatusError: It is no number (400), or ahead of the store (504).
    """
    wanted = call.integer("resourceVersion")
    if wanted is not None and wanted > objects.versions.revision:
        raise revision_too_large(wanted, objects.versions.revision)
    return wanted


def _page_of(objects: ObjectStore, call: Call) -> _Page:
    """Return which part of which state a call asks for."""
    limit = call.integer("limit") or 0
    token = call.query.get("continue", "")
    if token:
        if call.query.get("resourceVersion", "") not in {"", "0"}:
            raise bad_request("a continued list cannot name a resourceVersion; the token fixes it")
        revision, after = _read_token(token)
        return _Page(None if revision == _LATEST else revision, after, limit)
    wanted = asked_revision(objects, call)
    match = call.query.get("resourceVersionMatch", "")
    exact = bool(wanted) and (match == "Exact" or (not match and limit > 0))
    return _Page(wanted if exact else None, None, limit)


def _state(objects: ObjectStore, call: Call, page: _Page) -> tuple[Iterator[Stored], int]:
    """Return the objects as of the page's state, from the page on, and their number."""
    try:
        return objects.versions.browse(
            call.target.kind.resource, Part(call.target.namespace, page.revision, page.after)
        )
    except HistoryGoneError:
        refusal = expired("the state that this list shows is no longer kept; begin again, or go on inconsistently")
        if page.after is not None:
            refusal.continue_token = _token(_LATEST, page.after)
        raise refusal from None


def _token(revision: int, after: Key) -> str:
    """Return an opaque token for the part of a list after an object."""
    return (
        base64.urlsafe_b64encode(encode({"rv": revision, "namespace": after[0], "name": after[1]})).decode().rstrip("=")
    )


def _read_token(token: str) -> tuple[int, Key]:
    """Read such a token."""
    try:
        content = as_object(decode(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))))
    except (binascii.Error, msgspec.DecodeError, ValueError):
        content = {}
    if not content.get("name"):
        raise bad_request("the continue token was not issued by this server")
    return number(content, "rv"), (text(content, "namespace"), text(content, "name"))

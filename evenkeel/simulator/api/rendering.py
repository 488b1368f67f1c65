"""Objects and lists in the form that a client asks for: whole, as tables, or their metadata alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from evenkeel.simulator.api.calls import Call
from evenkeel.simulator.api.codec import Form
from evenkeel.simulator.api.columns import columns_of
from evenkeel.simulator.api.fields import JsonObject, encode
from evenkeel.simulator.api.kinds import Kind
from evenkeel.simulator.api.objects import shown_raw
from evenkeel.simulator.api.store import Stored
from evenkeel.simulator.api.tables import TableMaker, metadata_list, metadata_only

ITEMS_OF_A_PIECE = 500


@dataclass(frozen=True, slots=True)
class ListMeta:
    """What a list says about itself."""

    revision: int
    continue_token: str = ""
    remaining: int | None = None

    def body(self) -> JsonObject:
        """Return the metadata object."""
        metadata: JsonObject = {"resourceVersion": str(self.revision)}
        if self.continue_token:
            metadata["continue"] = self.continue_token
        if self.remaining is not None:
            metadata["remainingItemCount"] = self.remaining
        return metadata


def object_raw(call: Call, stored: Stored, now: datetime) -> bytes:
    """Return one object as JSON text.

    Raises:
        StatusError: A parameter of tables cannot be followed (400).
    """
    match call.form:
        case Form.TABLE:
            maker = TableMaker.of(call, columns_of(call.target.kind), now)
            return encode(maker.table([stored], {"resourceVersion": str(stored.revision)}))
        case Form.METADATA:
            return encode(metadata_only(stored))
        case _:
            return shown_raw(call.target.kind, stored)


def list_pieces(call: Call, items: list[Stored], meta: ListMeta, now: datetime) -> Iterator[bytes]:
    """Return a list as JSON text: of whole objects piece by piece, each made when it is asked for.

    Raises:
        StatusError: A parameter of tables cannot be followed (400).
    """
    match call.form:
        case Form.TABLE:
            return iter((encode(TableMaker.of(call, columns_of(call.target.kind), now).table(items, meta.body())),))
        case Form.METADATA_LIST:
            return iter((encode(metadata_list(items, meta.body())),))
        case _:
            return _whole_list(call.target.kind, items, meta)


def _whole_list(kind: Kind, items: list[Stored], meta: ListMeta) -> Iterator[bytes]:
    """Yield a list of whole objects; items of custom kinds name their kind, others leave it to the list."""
    head = b'{"kind":"%b","apiVersion":"%b","metadata":%b,"items":[' % (
        kind.list_name.encode(),
        kind.api_version.encode(),
        encode(meta.body()),
    )
    typed = kind.is_custom
    for start in range(0, max(1, len(items)), ITEMS_OF_A_PIECE):
        part = items[start : start + ITEMS_OF_A_PIECE]
        raw = [shown_raw(kind, stored, typed=typed) for stored in part] or [b""]
        # One join over everything: a piece is as long as a megabyte, and every further step would copy it.
        raw[0] = (b"," if start else head) + raw[0]
        if start + ITEMS_OF_A_PIECE >= len(items):
            raw[-1] += b"]}"
        yield b",".join(raw)


def event_renderer(call: Call, now: Callable[[], datetime]) -> Callable[[Stored], bytes]:
    """Return what makes the objects of a watch's events; of tables only the first one defines the columns.

    Raises:
        StatusError: A parameter of tables cannot be followed (400).
    """
    kind = call.target.kind
    if call.form is Form.METADATA:
        return lambda stored: encode(metadata_only(stored))
    if call.form is not Form.TABLE:
        return lambda stored: shown_raw(kind, stored)
    columns = columns_of(kind)
    TableMaker.of(call, columns, now())
    undefined = [True]

    def render(stored: Stored) -> bytes:
        maker = TableMaker.of(call, columns, now())
        defined = bool(undefined)
        undefined.clear()
        return encode(maker.table([stored], {"resourceVersion": str(stored.revision)}, defined=defined))

    return render


def bookmark_kind(call: Call) -> tuple[str, str]:
    """Return kind and apiVersion of a watch's bookmarks."""
    match call.form:
        case Form.TABLE:
            return "Table", "meta.k8s.io/v1"
        case Form.METADATA:
            return "PartialObjectMetadata", "meta.k8s.io/v1"
        case _:
            return call.target.kind.kind, call.target.kind.api_version

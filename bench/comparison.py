"""What both sides have written, object by object, and whether that is the same."""

from __future__ import annotations

import msgspec

from bench.errors import DisagreementError

Json = dict[str, object]


def patches(raw: bytes) -> dict[str, bytes]:
    """Return the patches of a file, by object or by path."""
    return {name: bytes(patch) for name, patch in msgspec.json.decode(raw, type=dict[str, msgspec.Raw]).items()}


def object_name(path: str, last: int) -> str:
    """Return namespace and name of the object at a path, the name being a part counted from the end."""
    parts = path.split("/")
    return f"{parts[parts.index('namespaces') + 1]}/{parts[last]}"


def _value(patch: bytes) -> Json:
    operations: list[Json] = msgspec.json.decode(patch, type=list[dict[str, object]])
    return msgspec.convert(operations[0]["value"], dict[str, object])


def statuses(written: dict[str, bytes]) -> dict[str, Json]:
    """Return the statuses among what ours has written, by namespace and name.

    Args:
        written: Patches by path.
    """
    return {object_name(path, -2): status(raw) for path, raw in written.items() if "/verticalpodautoscalers/" in path}


def status(patch: bytes) -> Json:
    """Return what a status says, without the times at which conditions began, which are each side's own."""
    value = _value(patch)
    conditions = msgspec.convert(value.get("conditions", []), list[dict[str, object]])
    timeless = [{k: v for k, v in c.items() if k != "lastTransitionTime"} for c in conditions]
    return value | {"conditions": timeless}


def checkpoint(patch: bytes) -> Json:
    """Return a checkpoint without its time of writing."""
    return {key: value for key, value in _value(patch).items() if key != "lastUpdateTime"}


def compare(what: str, ours: dict[str, Json], theirs: dict[str, Json], least: int) -> None:
    """Make sure that both sides have written the same of the same objects.

    Args:
        what: What they have written.
        ours: By namespace and name.
        theirs: Likewise.
        least: Objects that must be there.

    Raises:
        DisagreementError: They have not.
    """
    if len(theirs) < least or ours.keys() != theirs.keys():
        raise DisagreementError(f"{len(ours)} of ours and {len(theirs)} of theirs have a {what}; {least} were expected")
    differing = [name for name in theirs if ours[name] != theirs[name]]
    if differing:
        name = differing[0]
        raise DisagreementError(
            f"{len(differing)} of {len(theirs)} differ in their {what}, such as {name}: "
            f"ours {ours[name]}, theirs {theirs[name]}"
        )

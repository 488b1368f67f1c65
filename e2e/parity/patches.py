"""JSON patches in a form that compares: what comes in the order of a map is sorted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

_AMOUNT: Final = re.compile(r"^(.*/(?:requests|limits))/[^/]+$")
_REMOVED: Final = "removed"
_END: Final[Mapping[str, object]] = {"path": ""}


def in_order(patch: Sequence[Mapping[str, object]]) -> list[Mapping[str, object]]:
    """Sort amounts within one list of resources, and removals, which come in the order of a map; all else stays."""
    result: list[Mapping[str, object]] = []
    run: list[Mapping[str, object]] = []
    for operation in (*patch, _END):
        of_list = _list_of(operation)
        if run and of_list != _list_of(run[0]):
            result += sorted(run, key=lambda o: str(o["path"]))
            run = []
        (run if of_list else result).append(operation)
    return result[:-1]


def _list_of(operation: Mapping[str, object]) -> str:
    if operation.get("op") == "remove":
        return _REMOVED
    match = _AMOUNT.match(str(operation["path"]))
    return match[1] if match else ""

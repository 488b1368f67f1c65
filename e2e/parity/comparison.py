"""Two answers field by field: the first difference, and whether upstream itself gives more than one answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MISSING = "(missing)"


@dataclass(frozen=True, slots=True)
class Difference:
    """A field in which two answers differ.

    Args:
        path: Where, for example ``rounds[0].statuses``.
        ours: What we say.
        theirs: What upstream says.
    """

    path: str
    ours: object
    theirs: object

    def __str__(self) -> str:
        return f"at {self.path or '(the whole)'}: ours {self.ours!r}, upstream {self.theirs!r}"


def first_difference(ours: object, theirs: object) -> Difference | None:
    """Return the first field in which two answers differ, None where they say the same.

    Numbers are compared exactly, whatever their notation; a truth value is no number.
    """
    return next(_differences("", ours, theirs), None)


def unexplained(ours: object, theirs: Sequence[object]) -> Difference | None:
    """Return the first field of ours that none of upstream's several answers to the same question accounts for.

    A field is accounted for where one of the answers has it, or where it is a number between two of theirs.

    Args:
        ours: Our answer.
        theirs: Upstream's answers, at least one.
    """
    return next(_unexplained("", ours, theirs), None)


def _differences(path: str, ours: object, theirs: object) -> Iterator[Difference]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(ours.keys() | theirs.keys()):
            yield from _differences(_member(path, key), ours.get(key, MISSING), theirs.get(key, MISSING))
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from _differences(f"{path}[{index}]", one, other)
    elif not _is_same(ours, theirs):
        yield Difference(path, ours, theirs)


def _unexplained(path: str, ours: object, theirs: Sequence[object]) -> Iterator[Difference]:
    if any(first_difference(ours, other) is None for other in theirs):
        return
    alike = [other for other in theirs if _has_shape_of(ours, other)]
    if isinstance(ours, dict) and alike:
        for key, member in ours.items():
            yield from _unexplained(
                _member(path, key), member, [other[key] for other in alike if isinstance(other, dict)]
            )
    elif isinstance(ours, list) and alike:
        for index, member in enumerate(ours):
            members = [other[index] for other in alike if isinstance(other, list)]
            yield from _unexplained(f"{path}[{index}]", member, members)
    elif not _is_between(ours, theirs):
        yield Difference(path, ours, theirs[0])


def _is_between(ours: object, theirs: Sequence[object]) -> bool:
    """Say whether a number lies between upstream's own: there are more orders to add in than it is asked for."""
    numbers = [other for other in theirs if isinstance(other, int | float) and not isinstance(other, bool)]
    if not isinstance(ours, int | float) or isinstance(ours, bool) or len(numbers) < len(theirs):
        return False
    return min(numbers) <= ours <= max(numbers)


def _has_shape_of(ours: object, other: object) -> bool:
    if isinstance(ours, dict) and isinstance(other, dict):
        return ours.keys() == other.keys()
    return isinstance(ours, list) and isinstance(other, list) and len(ours) == len(other)


def _is_same(ours: object, theirs: object) -> bool:
    if isinstance(ours, bool) or isinstance(theirs, bool):
        return ours is theirs
    if isinstance(ours, float) and isinstance(theirs, int):
        # A float without a fraction may be written like a whole number, with zeros for the digits it does not know.
        return ours == float(theirs)
    return ours == theirs


def _member(path: str, key: object) -> str:
    return f"{path}.{key}" if path else str(key)

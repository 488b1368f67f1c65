"""A differing case made small: whatever can go without the difference going is taken out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from e2e.parity.kinds import Case

Path = tuple[str | int, ...]

_MOST_TRIALS = 2000
_KEPT = frozenset({"kind"})


def shrunk(case: Case, is_interesting: Callable[[Case], bool], most_trials: int = _MOST_TRIALS) -> Case:
    """Return a small case that is still interesting.

    Args:
        case: An interesting case.
        is_interesting: Whether a smaller one still shows what the case is about; must not change it.
        most_trials: How often to ask at most.
    """
    places, position, trials, is_smaller = _places_in(case), 0, 0, False
    while position < len(places):
        path, replacements = places[position]
        position += 1
        for replacement in replacements:
            if trials == most_trials:
                return case
            trials += 1
            candidate = _with(case, path, replacement)
            if is_interesting(candidate):
                case, is_smaller = candidate, True
                # The next place has moved here.
                places, position = _places_in(case), position - 1
                break
        if position == len(places) and is_smaller:
            position, is_smaller = 0, False
    return case


class _Gone:
    """Stands for a member that is taken out."""


_GONE = _Gone()


def _places_in(case: Case) -> list[tuple[Path, list[object]]]:
    """Return the places of a case with what may be tried there, the largest first."""
    return sorted(_places((), case), key=lambda place: -_size(_at(case, place[0])))


def _places(path: Path, value: object) -> Iterator[tuple[Path, list[object]]]:
    if isinstance(value, dict):
        for key, member in value.items():
            if path or key not in _KEPT:
                yield (*path, key), [_GONE, *_simpler(member)]
                yield from _places((*path, key), member)
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield (*path, index), [_GONE, *_simpler(member)]
            yield from _places((*path, index), member)


def _simpler(value: object) -> list[object]:
    """Return simpler values: parts of a list, nothing in place of a number; any other number would only mislead."""
    if isinstance(value, list) and len(value) > 1:
        middle = len(value) // 2
        return [[], value[:middle], value[middle:]]
    return [0] if isinstance(value, int | float) and not isinstance(value, bool) and value else []


def _with(case: Case, path: Path, replacement: object) -> Case:
    """Return a copy of a case with one place changed."""
    changed = _changed(case, path, replacement)
    assert isinstance(changed, dict)
    return changed


def _changed(value: object, path: Path, replacement: object) -> object:
    if not path:
        return replacement
    step, is_gone = path[0], len(path) == 1 and replacement is _GONE
    if isinstance(value, dict):
        changed = {} if is_gone else {step: _changed(value[step], path[1:], replacement)}
        return {key: changed.get(key, member) for key, member in value.items() if not (is_gone and key == step)}
    if isinstance(value, list) and isinstance(step, int):
        middle = [] if is_gone else [_changed(value[step], path[1:], replacement)]
        return [*value[:step], *middle, *value[step + 1 :]]
    return value


def _at(value: object, path: Path) -> object:
    for step in path:
        if isinstance(value, dict):
            value = value[step]
        elif isinstance(value, list):
            value = value[int(step)]
    return value


def _size(value: object) -> int:
    """Return how many scalars and names a value has."""
    if isinstance(value, dict):
        return 1 + sum(_size(member) for member in value.values())
    return 1 + sum(_size(member) for member in value) if isinstance(value, list) else 1

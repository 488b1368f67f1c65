"""Which series a PromQL expression asks for, as far as the shipped expressions go."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_TEXT: Final = re.compile(r'"[^"]*"')
_LABEL_LIST: Final = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)")
_DURATION: Final = re.compile(r"\[[^\]]*\]")
_NAME: Final = re.compile(r"(?<![\w:$.])([a-zA-Z_:][\w:]*)(?![\w:])(?!\s*\()")
_SELECTOR: Final = re.compile(r"([a-zA-Z_:][\w:]*)\{([^}]*)\}")
_MATCHER: Final = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"')
_WORDS: Final = {"and", "or", "unless", "offset", "bool", "inf", "nan"}
_SPAN: Final = re.compile(r"\boffset\s+\w+")


@dataclass(frozen=True)
class Selector:
    """Series of one name, and the labels that they are chosen by."""

    name: str
    labels: frozenset[str]


def names(expression: str) -> set[str]:
    """Return the names of the series."""
    bare = _TEXT.sub("", expression)
    for part in (_LABEL_LIST, _DURATION, _SPAN):
        bare = part.sub(" ", bare)
    bare = re.sub(r"\{[^}]*\}", " ", bare)
    return {found for found in _NAME.findall(bare) if found.lower() not in _WORDS}


def selectors(expression: str) -> list[Selector]:
    """Return what stands in braces, by the name before it."""
    return [Selector(name, frozenset(_MATCHER.findall(matchers))) for name, matchers in _SELECTOR.findall(expression)]

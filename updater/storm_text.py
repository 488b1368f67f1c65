"""Levels of storm budgets as the text that an annotation keeps (beyond:B-24)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from autoscaling.errors import MALFORMED
from updater.storm_levels import Bucket, Span, StormLevels

LONGEST_TEXT: Final = 128 * 1024
"""Half of what all annotations of an object may come to, in characters."""

_ALL_OTHERS: Final = "*"
_DIGITS: Final = 1000.0


def levels_text(levels: StormLevels) -> str:
    """Return levels as compact JSON: the time, and by span and name how many tokens are missing.

    Amounts are rounded up to thousandths. Where there are too many buckets for an annotation, those of nodes and
    namespaces are all said to lack what the emptiest of them lacks.
    """
    text = _encoded(levels)
    if len(text) <= LONGEST_TEXT:
        return text
    elsewhere = dict(levels.elsewhere)
    for bucket, lacking in levels.missing.items():
        elsewhere[bucket.span] = max(lacking, elsewhere.get(bucket.span, 0.0))
    return _encoded(StormLevels(levels.at, {}, elsewhere))


def read_levels(text: str) -> StormLevels | None:
    """Return the levels that a text tells, None where it cannot be read."""
    try:
        read = json.loads(text)
        at = datetime.fromisoformat(read["at"])
        missing: dict[Bucket, float] = {}
        elsewhere: dict[Span, float] = {}
        for span in Span:
            for name, lacking in read.get(span.value, {}).items():
                if name == _ALL_OTHERS:
                    elsewhere[span] = _lacking(lacking)
                else:
                    missing[Bucket(span, name)] = _lacking(lacking)
    except MALFORMED:
        return None
    return StormLevels(at, missing, elsewhere) if at.tzinfo is not None else None


def _lacking(value: object) -> float:
    """Read how many tokens are missing.

    Raises:
        ValueError: It is no number that could be missing.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(f"{value!r} is no number of tokens")
    return float(value)


def _encoded(levels: StormLevels) -> str:
    """Return levels as JSON, whatever its length."""
    if levels.at is None:
        raise ValueError("levels from which nothing was ever taken need not be kept")
    content: dict[str, str | Mapping[str, float]] = {"at": levels.at.isoformat()}
    for span in Span:
        lacking = {bucket.name: _rounded(missing) for bucket, missing in levels.missing.items() if bucket.span is span}
        if span in levels.elsewhere:
            lacking[_ALL_OTHERS] = _rounded(levels.elsewhere[span])
        if lacking:
            content[span.value] = lacking
    return json.dumps(content, separators=(",", ":"), sort_keys=True)


def _rounded(lacking: float) -> float:
    """Return an amount rounded up to thousandths."""
    return math.ceil(lacking * _DIGITS) / _DIGITS

"""Numbers that are given as a count or as a share of something, such as ``25%``."""

from __future__ import annotations


def scaled(value: object, total: int, *, round_up: bool) -> int:
    """Return a count, or the share of a total that a percentage stands for.

    Args:
        value: A whole number, or text such as ``25%``; anything else counts as 0.
        total: What a percentage is a share of.
        round_up: Whether a fraction counts as one more.
    """
    if isinstance(value, bool):
        return 0
    if isinstance(value, int):
        return value
    if not isinstance(value, str) or not value.removesuffix("%").isdecimal():
        return 0
    if not value.endswith("%"):
        return int(value)
    share = int(value.removesuffix("%")) * total
    return -(-share // 100) if round_up else share // 100

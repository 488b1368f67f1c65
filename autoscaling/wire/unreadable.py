"""What can be wrong with JSON that somebody else wrote."""

from __future__ import annotations

from typing import Final

import msgspec

from autoscaling.errors import InvalidQuantityError

UNREADABLE_JSON: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What a decoder raises about bytes that are no JSON or of another shape, about text that is not UTF-8, which is found
only where it is read, and about lists in lists in lists."""

UNREADABLE_OBJECT: Final = (*UNREADABLE_JSON, InvalidQuantityError)
"""The same about an object with amounts of resources in it."""

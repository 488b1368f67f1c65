"""What the admission controller's status Lease says of its trials of its own webhook.

The admission controller sends a pod of its own through the API server now and then and looks whether it comes back
with its recommendation. A Lease without these annotations is of an admission controller that makes no trials.

Spec: beyond:B-25.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

PROVEN_ANNOTATION: Final = "evenkeel.dev/webhook-proven"
"""Time of the latest trial that went well, as RFC 3339 has it."""

FAILING_ANNOTATION: Final = "evenkeel.dev/webhook-failing"
"""What is wrong, for as long as trials fail."""


def is_proven(annotations: Mapping[str, str], timeout: timedelta, now: datetime) -> bool | None:
    """Say whether a pod that is created now would be admitted with its recommendation.

    Args:
        annotations: Of the status Lease.
        timeout: Age from which a trial that went well proves nothing any more.
        now: The time.

    Returns:
        None where no trials are made.

    Spec: beyond:B-25.
    """
    if annotations.get(FAILING_ANNOTATION):
        return False
    written = annotations.get(PROVEN_ANNOTATION)
    if written is None:
        return None
    proven = _moment(written)
    return proven is not None and proven + timeout > now


def _moment(text: str) -> datetime | None:
    """Return a time, None where the text is none or names no time zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None

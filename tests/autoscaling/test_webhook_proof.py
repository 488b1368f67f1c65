"""What the status Lease says of the webhook."""

from __future__ import annotations

from datetime import timedelta

import pytest

from autoscaling.webhook_proof import FAILING_ANNOTATION, PROVEN_ANNOTATION, is_proven
from tests.builders import T0

MINUTE = timedelta(minutes=1)
JUST_IN_TIME, STALE = "2025-12-31T23:59:00.000001Z", "2025-12-31T23:59:00Z"


@pytest.mark.parametrize(
    ("row", "proven", "failing", "expected"),
    [
        ("beyond:B-25 no trials", None, None, None),
        ("beyond:B-25 fresh", JUST_IN_TIME, None, True),
        ("beyond:B-25 stale", STALE, None, False),
        ("beyond:B-25 another clock", "2026-01-01T00:00:30Z", None, True),
        ("beyond:B-25 another zone", "2026-01-01T00:59:30+01:00", None, True),
        ("beyond:B-25 another zone", "2025-12-31T23:59:30+01:00", None, False),
        ("beyond:B-25 failing", JUST_IN_TIME, "connection refused", False),
        ("beyond:B-25 never went well", None, "connection refused", False),
        ("beyond:B-25 well again", JUST_IN_TIME, "", True),
        ("beyond:B-25 no time", "yesterday", None, False),
        ("beyond:B-25 no zone", "2026-01-01T00:00:00", None, False),
        ("beyond:B-25 empty", "", None, False),
    ],
)
def test_whether_the_webhook_is_proven(
    row: str, proven: str | None, failing: str | None, expected: bool | None
) -> None:
    given = {"example.com/other": "1", PROVEN_ANNOTATION: proven, FAILING_ANNOTATION: failing}
    annotations = {key: text for key, text in given.items() if text is not None}
    assert is_proven(annotations, MINUTE, T0) is expected, row

"""What an answer that says no is turned into."""

from __future__ import annotations

import json

import msgspec
import pytest

from autoscaling.errors import ApiRefusedError, ApiUnreachableError, StatusCause
from autoscaling.kube.refusals import (
    is_budget_refusal,
    is_conflict,
    is_expired,
    is_missing,
    refusal_in_stream,
    refusal_of,
)

BUDGET = {
    "kind": "Status",
    "code": 429,
    "reason": "TooManyRequests",
    "message": "blocked",
    "details": {
        "causes": [{"reason": "DisruptionBudget", "message": "needs 2", "field": "x"}],
        "retryAfterSeconds": 10,
    },
}


def test_every_part_of_a_status_is_kept() -> None:
    error = refusal_of("POST /x", 429, {}, json.dumps(BUDGET).encode())
    assert (error.request, error.code, error.reason, error.message) == ("POST /x", 429, "TooManyRequests", "blocked")
    assert error.causes == (StatusCause("DisruptionBudget", "x", "needs 2"),)
    assert error.retry_after_seconds == 10
    assert str(error) == "POST /x: 429 TooManyRequests: blocked"


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"Retry-After": "3"}, BUDGET, 3.0),
        ({"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, BUDGET, 10.0),
        ({}, {"kind": "Status"}, None),
        ({"Retry-After": "0"}, {"kind": "Status"}, 0.0),
        ({}, {"kind": "Status", "details": {"retryAfterSeconds": None, "causes": None}}, None),
    ],
)
def test_the_header_goes_before_the_body(headers: dict[str, str], body: object, seconds: float | None) -> None:
    assert refusal_of("GET /x", 429, headers, json.dumps(body).encode()).retry_after_seconds == seconds


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>Bad Gateway</html>", "<html>Bad Gateway</html>"),
        (b"", "no explanation was given"),
        (b'{"error": "x"}', '{"error": "x"}'),
        (b"\xff" + b"a" * 400, "\ufffd" + "a" * 299),
        (b'{"kind": "Status", "code": "x"}', '{"kind": "Status", "code": "x"}'),
    ],
)
def test_a_body_that_is_no_status_is_quoted(body: bytes, message: str) -> None:
    error = refusal_of("GET /x", 502, {}, body)
    assert (error.code, error.reason, error.message) == (502, "", message)


def test_the_error_in_a_stream_has_its_own_code() -> None:
    error = refusal_in_stream("WATCH /x", b'{"kind":"Status","code":410,"reason":"Expired","message":"too old"}')
    assert (error.code, error.reason, is_expired(error)) == (410, "Expired", True)


def test_a_stream_error_that_is_no_status() -> None:
    with pytest.raises(msgspec.MsgspecError):
        refusal_in_stream("WATCH /x", b"[]")


@pytest.mark.parametrize(
    ("spec", "error", "is_budget"),
    [
        ("resize:4", ApiRefusedError("POST /x", 429, causes=(StatusCause("DisruptionBudget", "", ""),)), True),
        ("resize:4", ApiRefusedError("POST /x", 429), False),
        ("resize:4", ApiRefusedError("POST /x", 429, causes=(StatusCause("Other", "", ""),)), False),
        ("resize:4", ApiRefusedError("POST /x", 500, causes=(StatusCause("DisruptionBudget", "", ""),)), False),
        ("resize:4", ApiUnreachableError("x"), False),
    ],
)
def test_a_budget_is_told_from_a_busy_server_by_the_cause(spec: str, error: Exception, is_budget: bool) -> None:
    assert is_budget_refusal(error) is is_budget


@pytest.mark.parametrize(
    ("code", "conflict", "missing", "expired"),
    [(409, True, False, False), (404, False, True, False), (410, False, False, True), (403, False, False, False)],
)
def test_kinds_of_refusal(code: int, conflict: bool, missing: bool, expired: bool) -> None:
    error = ApiRefusedError("GET /x", code)
    assert (is_conflict(error), is_missing(error), is_expired(error)) == (conflict, missing, expired)

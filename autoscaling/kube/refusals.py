"""What the API server's answer says when it says no: a Status body to ``ApiRefusedError``."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from autoscaling.errors import ApiRefusedError, StatusCause
from autoscaling.wire.unreadable import UNREADABLE_JSON

EXPIRED = 410
NOT_FOUND = 404
CONFLICT = 409
FORBIDDEN = 403
UNAUTHORIZED = 401
TOO_MANY_REQUESTS = 429
BUDGET_CAUSE = "DisruptionBudget"
ALREADY_EXISTS = "AlreadyExists"
_LONGEST_BODY_QUOTED = 300
_QUOTA = re.compile(r"exceeded quota: |failed quota: ")
_LIMIT_RANGE = re.compile(r"(?:maximum|minimum) \S+ usage per |max limit to request ratio per ")
_PERMISSION = re.compile(r"cannot \S+ resource \"")


class _Cause(msgspec.Struct, gc=False):
    reason: str = ""
    field: str = ""
    message: str = ""


class _Details(msgspec.Struct, rename="camel"):
    causes: list[_Cause] | None = None
    retry_after_seconds: float | None = None


class Status(msgspec.Struct):
    """The API's own description of a failure."""

    kind: str = ""
    code: int = 0
    reason: str = ""
    message: str = ""
    details: _Details | None = None


_STATUS = msgspec.json.Decoder(Status)


def refusal_of(request: str, code: int, headers: Mapping[str, str], body: bytes) -> ApiRefusedError:
    """Turn an answer other than success into the error it stands for.

    Args:
        request: Verb and path.
        code: HTTP status code.
        headers: Header names are looked up as given by the HTTP library, without regard to case.
        body: A Status, or whatever a proxy in between wrote.
    """
    try:
        status = _STATUS.decode(body)
    except UNREADABLE_JSON:
        status = Status()
    if status.kind != "Status":
        text = body[:_LONGEST_BODY_QUOTED].decode(errors="replace").strip()
        status = Status(message=text or "no explanation was given")
    return _refusal(request, code, status, _header_seconds(headers.get("Retry-After", "")))


def refusal_in_stream(request: str, body: bytes) -> ApiRefusedError:
    """Turn the object of a watch's ERROR event into the error it stands for.

    Raises:
        msgspec.MsgspecError: The object is no Status.
    """
    status = _STATUS.decode(body)
    return _refusal(request, status.code, status, None)


def _refusal(request: str, code: int, status: Status, header_seconds: float | None) -> ApiRefusedError:
    details = status.details or _Details()
    return ApiRefusedError(
        request,
        code,
        reason=status.reason,
        message=status.message,
        causes=tuple(StatusCause(cause.reason, cause.field, cause.message) for cause in details.causes or ()),
        retry_after_seconds=header_seconds if header_seconds is not None else details.retry_after_seconds,
    )


def _header_seconds(text: str) -> float | None:
    """Read a Retry-After header; the API server writes seconds, and a date counts as none given."""
    return float(text) if text.strip().isdigit() else None


def is_budget_refusal(error: BaseException) -> bool:
    """Say whether a PodDisruptionBudget refused the eviction, as opposed to a busy server.

    Spec: resize section 4 (429 with and without the cause).
    """
    return (
        isinstance(error, ApiRefusedError)
        and error.code == TOO_MANY_REQUESTS
        and any(cause.reason == BUDGET_CAUSE for cause in error.causes)
    )


def is_conflict(error: BaseException) -> bool:
    """Say whether someone else wrote the object first, or created it first."""
    return isinstance(error, ApiRefusedError) and error.code == CONFLICT


def is_missing(error: BaseException) -> bool:
    """Say whether the object, or its whole kind, is not there."""
    return isinstance(error, ApiRefusedError) and error.code == NOT_FOUND


def is_expired(error: BaseException) -> bool:
    """Say whether the resource version or the continue token is too old to go on from."""
    return isinstance(error, ApiRefusedError) and error.code == EXPIRED


def is_quota_refusal(error: BaseException) -> bool:
    """Say whether a ResourceQuota refused the change (resize 1.6)."""
    return _is_forbidden(error, _QUOTA)


def is_limit_range_refusal(error: BaseException) -> bool:
    """Say whether a LimitRange refused the change (resize 1.5)."""
    return _is_forbidden(error, _LIMIT_RANGE)


def is_permission_refusal(error: BaseException) -> bool:
    """Say whether the caller lacks the permission, whatever the object."""
    return _is_forbidden(error, _PERMISSION)


def _is_forbidden(error: BaseException, text: re.Pattern[str]) -> bool:
    """Say whether an answer is 403 with such a text; nothing else tells its origins apart."""
    return isinstance(error, ApiRefusedError) and error.code == FORBIDDEN and text.search(error.message) is not None

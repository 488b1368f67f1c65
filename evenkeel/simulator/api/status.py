"""Refusals as the API server words them: a code, a reason and, where fields are at fault, causes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from autoscaling.errors import EvenkeelError
from evenkeel.simulator.api.fields import JsonObject


class CauseType(StrEnum):
    """The cause types that clients branch on."""

    UNTYPED = ""
    REQUIRED = "FieldValueRequired"
    INVALID = "FieldValueInvalid"
    TYPE_INVALID = "FieldValueTypeInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"
    DUPLICATE = "FieldValueDuplicate"
    FORBIDDEN = "FieldValueForbidden"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"
    DISRUPTION_BUDGET = "DisruptionBudget"
    NODE_CAPACITY = "NodeCapacity"
    NAMESPACE_TERMINATING = "NamespaceTerminating"
    FIELD_MANAGER_CONFLICT = "FieldManagerConflict"
    REVISION_TOO_LARGE = "ResourceVersionTooLarge"


@dataclass(frozen=True, slots=True)
class Cause:
    """One reason for a refusal.

    Args:
        type: What kind of fault it is.
        field: Path of the field, such as ``spec.containers[0].name``; may be empty.
        message: What is wrong.
    """

    type: CauseType
    field: str
    message: str


@dataclass(frozen=True, slots=True)
class Subject:
    """What a refusal is about: the resource or kind, its group and the object's name."""

    kind: str = ""
    group: str = ""
    name: str = ""

    @property
    def qualified(self) -> str:
        """The kind with its group, as messages print it."""
        return f"{self.kind}.{self.group}" if self.group else self.kind


class StatusError(EvenkeelError):
    """A refusal that becomes a ``Status`` object.

    Args:
        code: HTTP status code.
        reason: Machine-readable reason such as ``Conflict``; may be empty.
        message: What is wrong.
        subject: What it is about.
        causes: Its causes.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        subject: Subject | None = None,
        causes: tuple[Cause, ...] = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.subject = subject or Subject()
        self.causes = causes
        self.retry_after_seconds: int | None = None
        self.continue_token = ""

    def retry_after(self, seconds: int) -> StatusError:
        """Tell the client when to come again, in the body and as a header."""
        self.retry_after_seconds = seconds
        return self

    def body(self) -> JsonObject:
        """Return the Status object."""
        status: JsonObject = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        if self.continue_token:
            status["metadata"] = {"continue": self.continue_token}
        status["message"] = self.message
        if self.reason:
            status["reason"] = self.reason
        details = self._details()
        if details:
            status["details"] = details
        status["code"] = self.code
        return status

    def _details(self) -> JsonObject:
        """Return the details, without the empty ones."""
        details: JsonObject = {"name": self.subject.name, "group": self.subject.group, "kind": self.subject.kind}
        details = {key: value for key, value in details.items() if value}
        if self.causes:
            details["causes"] = [
                {
                    key: value
                    for key, value in (("reason", c.type.value), ("message", c.message), ("field", c.field))
                    if value
                }
                for c in self.causes
            ]
        if self.retry_after_seconds is not None:
            details["retryAfterSeconds"] = self.retry_after_seconds
        return details


class UndecodableError(StatusError):
    """A value that no object of its kind can hold: a bad request, or, when it came in a patch, an invalid object.

    Args:
        message: Which value, and why.
    """

    def __init__(self, message: str) -> None:
        super().__init__(400, "BadRequest", message)

    def in_patch(self, subject: Subject) -> StatusError:
        """Return the refusal of the patch that brought the value."""
        return invalid(subject, [Cause(CauseType.INVALID, "patch", f"Invalid value: {self.message}")])


def success(subject: Subject | None = None, *, uid: str = "", code: int = 200) -> JsonObject:
    """Return the Status object of a request that needs no other answer."""
    status: JsonObject = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if subject is not None:
        details = {"name": subject.name, "group": subject.group, "kind": subject.kind, "uid": uid}
        status["details"] = {key: value for key, value in details.items() if value}
    if code != 200:
        status["code"] = code
    return status


def not_found(subject: Subject) -> StatusError:
    """The object does not exist; clients look for the quoted name and these two words."""
    return StatusError(404, "NotFound", f'{subject.qualified} "{subject.name}" not found', subject=subject)


def no_such_path() -> StatusError:
    """No resource is served at this path."""
    return StatusError(404, "NotFound", "no resource is served at this path")


def already_exists(subject: Subject) -> StatusError:
    """An object of that name exists."""
    return StatusError(409, "AlreadyExists", f'{subject.qualified} "{subject.name}" already exists', subject=subject)


def conflict(subject: Subject, why: str) -> StatusError:
    """The object is not in the state that the request presumes."""
    message = f'write to {subject.qualified} "{subject.name}" refused: {why}'
    return StatusError(409, "Conflict", message, subject=subject)


def invalid(subject: Subject, causes: list[Cause]) -> StatusError:
    """Fields of the object are wrong."""
    listed = [f"{cause.field}: {cause.message}" for cause in causes]
    joined = listed[0] if len(listed) == 1 else "[" + ", ".join(listed) + "]"
    message = f'{subject.qualified} "{subject.name}" is invalid: {joined}'
    return StatusError(422, "Invalid", message, subject=subject, causes=tuple(causes))


def unprocessable(message: str) -> StatusError:
    """The request is well formed and still cannot be carried out; no field is at fault."""
    return StatusError(422, "Invalid", message)


def bad_request(message: str) -> StatusError:
    """The request itself is malformed."""
    return StatusError(400, "BadRequest", message)


def forbidden(subject: Subject, why: str, causes: tuple[Cause, ...] = ()) -> StatusError:
    """The user, or a policy, may not do this."""
    name = f' "{subject.name}"' if subject.name else ""
    return StatusError(
        403, "Forbidden", f"{subject.qualified}{name} is forbidden: {why}", subject=subject, causes=causes
    )


def unauthorized() -> StatusError:
    """Nobody is known by these credentials."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def method_not_allowed() -> StatusError:
    """The resource exists and does not offer this verb."""
    return StatusError(405, "MethodNotAllowed", "the server offers no such verb on this resource")


def unsupported_media_type(content_type: str, accepted: tuple[str, ...]) -> StatusError:
    """The body is in a form this server does not read here."""
    message = f"content type {content_type!r} is not read here; send one of: {', '.join(accepted)}"
    return StatusError(415, "UnsupportedMediaType", message)


def expired(message: str) -> StatusError:
    """The history that the request needs has been thrown away."""
    return StatusError(410, "Expired", message)


def revision_too_large(wanted: int, current: int) -> StatusError:
    """The request asks for a state that this server has not reached."""
    cause = Cause(CauseType.REVISION_TOO_LARGE, "", "Too large resource version")
    message = f"Timeout: resource version {wanted} is ahead of the newest one, {current}"
    return StatusError(504, "Timeout", message, causes=(cause,)).retry_after(1)


def too_many_requests(subject: Subject, message: str, causes: tuple[Cause, ...]) -> StatusError:
    """The request would be fine at another time."""
    return StatusError(429, "TooManyRequests", message, subject=subject, causes=causes)


def internal_error(message: str) -> StatusError:
    """The server, or something it depends on, failed."""
    return StatusError(500, "InternalError", f"Internal error occurred: {message}")

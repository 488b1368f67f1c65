"""What is wrong with one field of a submitted object, in the API's terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class Fault(Enum):
    """Kind of an error; the value is the reason of a cause in a Status."""

    REQUIRED = "FieldValueRequired"
    NOT_SUPPORTED = "FieldValueNotSupported"
    FORBIDDEN = "FieldValueForbidden"
    INVALID = "FieldValueInvalid"
    TOO_MANY = "FieldValueTooMany"
    INTERNAL = "InternalError"


@dataclass(frozen=True, slots=True)
class FieldError:
    """One error.

    Args:
        path: The field, as in ``spec.resourcePolicy.containerPolicies[0].minAllowed[cpu]``.
        fault: Its kind.
        explanation: What is wrong with the field and what would be right, without the path.
    """

    path: str
    fault: Fault
    explanation: str

    def __str__(self) -> str:
        """Print path and explanation."""
        return f"{self.path}: {self.explanation}"


def required(path: str, remedy: str) -> FieldError:
    """Report a missing field."""
    return FieldError(path, Fault.REQUIRED, f"is missing; {remedy}")


def not_supported(path: str, value: str, supported: Sequence[str]) -> FieldError:
    """Report a value that is none of those there are."""
    return FieldError(path, Fault.NOT_SUPPORTED, f'"{value}" is not supported; use one of {", ".join(supported)}')


def forbidden(path: str, reason: str) -> FieldError:
    """Report a field that may not be used here."""
    return FieldError(path, Fault.FORBIDDEN, reason)


def invalid(path: str, value: object, rule: str) -> FieldError:
    """Report a value that breaks a rule."""
    return FieldError(path, Fault.INVALID, f"{value} is not valid: {rule}")


def too_many(path: str, count: int, most: int) -> FieldError:
    """Report a list that is too long."""
    return FieldError(path, Fault.TOO_MANY, f"has {count} entries; keep at most {most}")


def unreadable(problem: str) -> FieldError:
    """Report an object that cannot be decoded; the path stands for the whole of it."""
    return FieldError(".", Fault.INTERNAL, f"the object cannot be read: {problem}")

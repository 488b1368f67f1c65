"""The exception tree.

EvenkeelError                    everything this product raises on purpose
├── ConfigurationError           flags, environment, files: the process does not start
├── InvalidObjectError           one object of the cluster cannot be used; others go on
├── InvalidQuantityError         text that is no Kubernetes quantity (also a ValueError)
├── CheckpointError              a stored histogram that cannot be loaded
├── InvalidSelectorError         text or an object that is no label selector (autoscaling.matching)
├── OwnerLookupError             a chain of controllers that cannot be followed (autoscaling.ownership)
├── LeadershipLostError          this process no longer leads (autoscaling.kube.lease)
├── FatalError                   something after which a process must not go on (autoscaling.runtime.process)
└── ApiError                     the API server
    ├── ApiUnreachableError      no answer: network, TLS, time-out
    └── ApiRefusedError          an answer that says no, with its Status
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from autoscaling.objectref import ObjectRef

MALFORMED: Final = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What comes of reading JSON that anybody may have written: it is none, has another shape, numbers beyond any range, or
lists in lists in lists."""


class EvenkeelError(Exception):
    """Base of every error this product raises on purpose."""


class ConfigurationError(EvenkeelError):
    """A flag, environment variable or file that keeps a process from starting."""


class InvalidObjectError(EvenkeelError):
    """An object of the cluster that cannot be used as it is.

    Args:
        ref: The object.
        problem: What is wrong with it, naming field and value.
        remedy: What its owner can do about it.

    Attributes:
        uid: Of the object, by which its events are found; empty where whoever noticed did not know it.
    """

    uid: str = ""

    def __init__(self, ref: ObjectRef, problem: str, *, remedy: str) -> None:
        super().__init__(f"{ref}: {problem}; {remedy}")
        self.ref = ref
        self.problem = problem
        self.remedy = remedy


class InvalidQuantityError(EvenkeelError, ValueError):
    """Text that is no Kubernetes quantity."""


class CheckpointError(EvenkeelError):
    """A stored histogram that cannot be loaded."""


class ApiError(EvenkeelError):
    """The API server did not do what was asked."""


class ApiUnreachableError(ApiError):
    """No usable answer came: network, TLS or time-out."""


@dataclass(frozen=True, slots=True)
class StatusCause:
    """One cause of a refused request, from ``Status.details.causes``."""

    reason: str
    field: str
    message: str


@dataclass(eq=False)
class ApiRefusedError(ApiError):
    """The API server answered, and said no.

    Args:
        request: Verb and path, for the message.
        code: HTTP status code.
        reason: ``Status.reason`` such as ``Conflict``; empty when the body was no Status.
        message: ``Status.message``.
        causes: ``Status.details.causes``.
        retry_after_seconds: From the header or the Status, else None.
    """

    request: str
    code: int
    reason: str = field(default="", kw_only=True)
    message: str = field(default="", kw_only=True)
    causes: tuple[StatusCause, ...] = field(default=(), kw_only=True)
    retry_after_seconds: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Put the message together."""
        super().__init__(f"{self.request}: {self.code} {self.reason}: {self.message}")

    def __str__(self) -> str:
        return f"{self.request}: {self.code} {self.reason}: {self.message}"

"""What became of one admission review, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from admission.field_errors import FieldError
from admission.patch_operation import PatchOperation
from autoscaling.objectref import ObjectRef
from autoscaling.ownership import ControllerKey


class Subject(Enum):
    """What kind of object a review was about; the value is the metric's label (spec: admission:11)."""

    UNKNOWN = "unknown"
    POD = "Pod"
    VPA = "VPA"


class Outcome(Enum):
    """How a review counts; the value is the metric's label (spec: admission:11)."""

    APPLIED = "applied"
    SKIPPED = "skipped"
    ERROR = "error"


class Reason(Enum):
    """Why a review ended as it did.

    Only ``INVALID_VPA`` refuses an object. Everything else lets it in, and only the first three change it.
    """

    PATCHED = "Patched"
    HELD_BACK = "HeldBack"
    DEFAULTED = "Defaulted"
    VALID_VPA = "ValidVpa"
    INVALID_VPA = "InvalidVpa"
    UNREADABLE_REVIEW = "UnreadableReview"
    NO_REQUEST = "NoRequest"
    UNSUPPORTED_RESOURCE = "UnsupportedResource"
    UNSUPPORTED_POD_VERSION = "UnsupportedPodVersion"
    UNREADABLE_POD = "UnreadablePod"
    NO_CONTROLLER = "NoController"
    STATIC_POD = "StaticPod"
    OWNER_NOT_KNOWN = "OwnerNotKnown"
    OWNER_NOT_CACHED = "OwnerNotCached"
    OWNER_NOT_SCALABLE = "OwnerNotScalable"
    NO_MATCHING_VPA = "NoMatchingVpa"
    CANNOT_BE_CAPPED = "CannotBeCapped"
    ANNOTATIONS_FULL = "AnnotationsFull"
    CACHES_NOT_SYNCED = "CachesNotSynced"
    WRONG_CONTENT_TYPE = "WrongContentType"
    TOO_LARGE = "TooLarge"
    BODY_NOT_READ = "BodyNotRead"
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    INTERNAL_ERROR = "InternalError"


@dataclass(frozen=True, slots=True)
class Denial:
    """A refusal, with every error of the object.

    Args:
        group: API group of the object.
        kind: Its kind.
        name: Its name.
    """

    group: str
    kind: str
    name: str
    errors: tuple[FieldError, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision on one review.

    Args:
        detail: What a person needs to know beyond the reason; empty where the reason says it all.
        object: What was reviewed, None where that could not be told.
        vpa: Name of the VPA that controls a pod.
        patch: Operations to apply; empty for none.
        warnings: For whoever submitted the object.
        denial: None lets the object in.
        to_look_up: A controller that has to be known before pods like this one can be matched.
        is_dry_run: Whether nothing comes of it, whatever was decided.
    """

    subject: Subject
    outcome: Outcome
    reason: Reason
    detail: str = ""
    object: ObjectRef | None = None
    vpa: str = ""
    patch: tuple[PatchOperation, ...] = ()
    warnings: tuple[str, ...] = ()
    denial: Denial | None = None
    to_look_up: ControllerKey | None = None
    is_dry_run: bool = False

    @property
    def is_allowed(self) -> bool:
        """Whether the object is let in."""
        return self.denial is None

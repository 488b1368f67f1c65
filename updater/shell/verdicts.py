"""What an error of the API server says about a resize or an eviction (beyond:B-21)."""

from __future__ import annotations

import re

from autoscaling.errors import ApiError, ApiRefusedError
from autoscaling.kube.refusals import (
    CONFLICT,
    FORBIDDEN,
    NOT_FOUND,
    TOO_MANY_REQUESTS,
    UNAUTHORIZED,
    is_budget_refusal,
    is_limit_range_refusal,
    is_permission_refusal,
    is_quota_refusal,
)
from updater.decision import Outcome

_NODE_CAPACITY = "NodeCapacity"
_METHOD_NOT_ALLOWED = 405
_INVALID = 422
_POLICY = re.compile(r"ValidatingAdmissionPolicy |admission webhook \".*\" denied the request")


def outcome_of(error: ApiError) -> Outcome:
    """Return what became of a call that failed, the same for all resizes and evictions.

    Spec: beyond:B-21, updater K-3; resize 1.4 to 1.6, section 4.
    """
    if not isinstance(error, ApiRefusedError):
        return Outcome.UNTIMELY
    if _POLICY.search(error.message):
        return Outcome.FORBIDDEN
    if error.code == FORBIDDEN:
        return _outcome_of_forbidden(error)
    if error.code == NOT_FOUND:
        # A missing pod is named; a server without the subresource knows no object of that kind.
        return Outcome.GONE if '"' in error.message else Outcome.NOT_PERMITTED
    if error.code in {UNAUTHORIZED, _METHOD_NOT_ALLOWED}:
        return Outcome.NOT_PERMITTED
    if is_budget_refusal(error) or is_ambiguous_budget(error):
        return Outcome.FAILED
    if error.code in {CONFLICT, TOO_MANY_REQUESTS} or error.code >= 500:
        return Outcome.UNTIMELY
    # A JSON patch that does not apply, as a test in it fails, is refused as invalid without a cause.
    return Outcome.GONE if error.code == _INVALID and not error.causes else Outcome.FAILED


def is_beyond_the_node(error: ApiError) -> bool:
    """Say whether the API server refused a resize as larger than the pod's node (upstream-1.8.1 2.4)."""
    return (
        isinstance(error, ApiRefusedError)
        and error.code == FORBIDDEN
        and any(cause.reason == _NODE_CAPACITY for cause in error.causes)
    )


def is_ambiguous_budget(error: ApiError) -> bool:
    """Say whether several disruption budgets protect the pod, which no eviction can pass (resize section 4)."""
    return isinstance(error, ApiRefusedError) and "more than one PodDisruptionBudget" in error.message


def _outcome_of_forbidden(error: ApiRefusedError) -> Outcome:
    """Tell the many kinds of 403 apart."""
    if is_beyond_the_node(error):
        return Outcome.NO_NODE_CAPACITY
    if is_quota_refusal(error):
        return Outcome.OVER_QUOTA
    if is_limit_range_refusal(error):
        return Outcome.OUTSIDE_LIMIT_RANGE
    return Outcome.NOT_PERMITTED if is_permission_refusal(error) else Outcome.FORBIDDEN

"""What errors of the API server say about a resize or an eviction."""

from __future__ import annotations

import pytest

from autoscaling.errors import ApiError, ApiRefusedError, ApiUnreachableError, StatusCause
from updater.decision import Outcome
from updater.shell.verdicts import is_ambiguous_budget, is_beyond_the_node, outcome_of

CALL = "PATCH /api/v1/namespaces/default/pods/p/resize"
INVALID = StatusCause("FieldValueInvalid", "spec", "Pod QOS Class may not change as a result of resizing")
BUDGET = StatusCause("DisruptionBudget", "", "The disruption budget b needs 2 healthy pods and has 2 currently")
CAPACITY = StatusCause("NodeCapacity", "", "the node has less")


def refused(code: int, message: str = "", *causes: StatusCause) -> ApiRefusedError:
    """Return an answer that says no."""
    return ApiRefusedError(CALL, code, message=message, causes=causes)


@pytest.mark.parametrize(
    ("row", "error", "expected"),
    [
        ("beyond:B-21", ApiUnreachableError("no answer in 30 s"), Outcome.UNTIMELY),
        ("beyond:B-21", refused(409, "the object has been modified"), Outcome.UNTIMELY),
        ("beyond:B-21", refused(429, "too many requests"), Outcome.UNTIMELY),
        ("beyond:B-21", refused(500, "etcd has no leader"), Outcome.UNTIMELY),
        ("beyond:B-21", refused(504, "timed out"), Outcome.UNTIMELY),
        ("case:4", refused(403, 'pods "p" is forbidden: exceeded quota: q, requested: cpu=1'), Outcome.OVER_QUOTA),
        ("case:4", refused(403, 'pods "p" is forbidden: failed quota: q: must specify cpu'), Outcome.OVER_QUOTA),
        (
            "resize:1.5",
            refused(403, 'pods "p" is forbidden: maximum cpu usage per Container is 1, but limit is 2'),
            Outcome.OUTSIDE_LIMIT_RANGE,
        ),
        (
            "resize:1.5",
            refused(403, "minimum memory usage per Pod is 1Gi, but request is 500Mi"),
            Outcome.OUTSIDE_LIMIT_RANGE,
        ),
        (
            "resize:1.5",
            refused(403, "cpu max limit to request ratio per Container is 2, but provided ratio is 3.333333"),
            Outcome.OUTSIDE_LIMIT_RANGE,
        ),
        (
            "beyond:B-21",
            refused(403, 'User "u" cannot patch resource "pods/resize" in API group "" in the namespace "default"'),
            Outcome.NOT_PERMITTED,
        ),
        ("beyond:B-21", refused(401, "Unauthorized"), Outcome.NOT_PERMITTED),
        # Servers before 1.33 do not know the subresource.
        ("beyond:B-21", refused(404, "the server could not find the requested resource"), Outcome.NOT_PERMITTED),
        ("beyond:B-21", refused(405, "method not allowed"), Outcome.NOT_PERMITTED),
        ("beyond:B-21", refused(404, 'pods "p" not found'), Outcome.GONE),
        ("beyond:B-31", refused(422, "the server rejected our request due to an error in our request"), Outcome.GONE),
        ("beyond:B-21", refused(422, 'Pod "p" is invalid: spec: ...', INVALID), Outcome.FAILED),
        ("beyond:B-21", refused(403, 'admission webhook "x.y" denied the request: no'), Outcome.FORBIDDEN),
        ("beyond:B-21", refused(400, 'admission webhook "x.y" denied the request: no'), Outcome.FORBIDDEN),
        (
            "beyond:B-21",
            refused(422, "pods \"p\" is forbidden: ValidatingAdmissionPolicy 'x' with binding 'y' denied request: no"),
            Outcome.FORBIDDEN,
        ),
        ("beyond:B-21", refused(403, "pods is forbidden: something else"), Outcome.FORBIDDEN),
        ("upstream-1.8.1:2.4", refused(403, "the pod does not fit", CAPACITY), Outcome.NO_NODE_CAPACITY),
        ("updater:D-14", refused(429, "Cannot evict pod as it would violate", BUDGET), Outcome.FAILED),
        ("resize:4", refused(500, "This pod has more than one PodDisruptionBudget, which ..."), Outcome.FAILED),
    ],
)
def test_errors_are_classified(row: str, error: ApiError, expected: Outcome) -> None:
    assert outcome_of(error) is expected


def test_what_is_not_an_answer_is_neither() -> None:
    error = ApiUnreachableError("no answer")
    assert not is_beyond_the_node(error)
    assert not is_ambiguous_budget(error)

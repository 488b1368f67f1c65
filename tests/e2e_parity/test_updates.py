"""What may differ between an updater's rounds and upstream's, and what may not."""

from __future__ import annotations

import pytest

from e2e.parity.kinds import Case
from e2e.parity.updater.updates import ONE_MOMENT, wanted_at_one_moment

MARK: Case = {"op": "add", "path": "/metadata/annotations/vpaInPlaceUpdated", "value": "true"}
UNBOOST: Case = {"op": "remove", "path": "/metadata/annotations/vpaCpuStartupBoost~1c", "value": None}
RATED: Case = {"rateLimit": 0.02, "rateBurst": 1}


def waiting(flags: Case, *annotations: str) -> Case:
    """Return a case whose pod gets annotations before its second round."""
    pod = {"metadata": {"namespace": "n", "name": "p", "annotations": dict.fromkeys(annotations, "{}")}}
    return {"flags": flags, "pods": [{"metadata": {"namespace": "n", "name": "p"}}], "rounds": [{}, {"pods": [pod]}]}


def annotated(*patch: Case, pod: str = "n/p", event: str = "Resized") -> tuple[list[Case], list[Case]]:
    """Return an answer as we give it, and the same as upstream does."""
    call = {"do": "annotate", "pod": pod, "patch": list(patch)}
    return [{"calls": {"n/v": [call]}, "events": [event]}], [{"calls": [call], "events": [event]}]


OURS, _ = annotated(MARK)
BOOSTED = waiting(RATED, "vpaCpuStartupBoost/c")


@pytest.mark.parametrize(
    ("case", "theirs", "reason"),
    [
        (BOOSTED, annotated(MARK, UNBOOST)[1], ONE_MOMENT),
        (waiting({}, "vpaCpuStartupBoost/c"), annotated(MARK, UNBOOST)[1], ""),
        (waiting(RATED, "other"), annotated(MARK, UNBOOST)[1], ""),
        (waiting(RATED), annotated(MARK, UNBOOST)[1], ""),
        (BOOSTED, annotated(MARK, UNBOOST, pod="n/q")[1], ""),
        (BOOSTED, annotated(MARK, UNBOOST, event="Evicted")[1], ""),
        (BOOSTED, [], ""),
    ],
)
def test_only_a_boost_that_ends_in_a_wait_may_differ(case: Case, theirs: object, reason: str) -> None:
    assert wanted_at_one_moment(case, OURS, theirs) == reason

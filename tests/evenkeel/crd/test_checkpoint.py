"""What the schema of a VerticalPodAutoscalerCheckpoint takes and refuses."""

from __future__ import annotations

import pytest

from autoscaling.runtime.api_group import ApiGroup
from evenkeel.crd.checkpoint import checkpoint_schema
from evenkeel.crd.schema import Json
from tests.evenkeel.crd.offline import refused_fields
from tests.manifests.custom_objects import CHECKPOINTS, TAKEN, Case, checkpoint
from tests.manifests.structural import nodes


@pytest.mark.parametrize("case", CHECKPOINTS, ids=lambda case: case.label)
def test_checkpoint(case: Case) -> None:
    fields = refused_fields(checkpoint_schema(is_own=True), checkpoint(ApiGroup.UPSTREAM, case.body))
    assert fields == (set() if case.upstream == TAKEN or case.server_only else {case.upstream}), case.label


def test_nothing_is_required() -> None:
    """Spec: api:2."""
    assert [path for path, node in nodes(checkpoint_schema(is_own=True)) if "required" in node] == []


def test_only_bucket_weights_and_what_strategies_keep_have_unknown_fields() -> None:
    """Rows api:2, beyond:B-10."""
    kept = [
        path for path, node in nodes(checkpoint_schema(is_own=True)) if "x-kubernetes-preserve-unknown-fields" in node
    ]
    assert kept == [
        ".status.cpuHistogram.bucketWeights",
        ".status.memoryHistogram.bucketWeights",
        ".status.strategy.state",
    ]


@pytest.mark.parametrize(("row", "is_own", "refused"), [("beyond:B-2", True, False), ("beyond:B-2", False, True)])
def test_only_the_own_group_has_a_field_for_running_windows(row: str, is_own: bool, refused: bool) -> None:
    window: Json = {"pod": "web-0", "peakBytes": 1, "usagePeakBytes": 1, "windowEnd": "2026-01-02T00:00:00Z"}
    schema = checkpoint_schema(is_own=is_own)
    paths = {path for path, _ in nodes(schema)}
    assert (".status.runningWindows[].windowEnd" in paths) is not refused, row
    body = checkpoint(ApiGroup.EVENKEEL, {"status": {"runningWindows": [window]}})
    assert not refused_fields(checkpoint_schema(is_own=True), body)


@pytest.mark.parametrize(("row", "is_own"), [("beyond:B-10", True), ("beyond:B-10", False)])
def test_only_the_own_group_has_a_field_for_what_a_strategy_has_seen(row: str, is_own: bool) -> None:
    paths = {path for path, _ in nodes(checkpoint_schema(is_own=is_own))}
    assert (".status.strategy.state" in paths) is is_own, row
    body = checkpoint(ApiGroup.EVENKEEL, {"status": {"strategy": {"name": "last-peak", "state": {"peak": [1.5]}}}})
    assert not refused_fields(checkpoint_schema(is_own=True), body)

"""What the schema of a VerticalPodAutoscalerCheckpoint takes and refuses."""

from __future__ import annotations

import pytest

from autoscaling.runtime.api_group import ApiGroup
from evenkeel.crd.checkpoint import checkpoint_schema
from tests.evenkeel.crd.offline import refused_fields
from tests.manifests.custom_objects import CHECKPOINTS, TAKEN, Case, checkpoint
from tests.manifests.structural import nodes


@pytest.mark.parametrize("case", CHECKPOINTS, ids=lambda case: case.label)
def test_checkpoint(case: Case) -> None:
    fields = refused_fields(checkpoint_schema(), checkpoint(ApiGroup.UPSTREAM, case.body))
    assert fields == (set() if case.upstream == TAKEN or case.server_only else {case.upstream}), case.label


def test_nothing_is_required() -> None:
    assert [path for path, node in nodes(checkpoint_schema()) if "required" in node] == []


def test_only_bucket_weights_keep_unknown_fields() -> None:
    """Row api:2."""
    kept = [path for path, node in nodes(checkpoint_schema()) if "x-kubernetes-preserve-unknown-fields" in node]
    assert kept == [".status.cpuHistogram.bucketWeights", ".status.memoryHistogram.bucketWeights"]

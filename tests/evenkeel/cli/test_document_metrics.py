"""The generated page of metrics."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from autoscaling.runtime.exposition import BareCounter, exposition
from evenkeel.cli.document_metrics import declared, families, render_metrics
from recommender.__main__ import register_metrics

ROOT = Path(__file__).parents[3]
KUBELET_OF_135 = {
    "kubelet_container_requested_resizes_total",
    "kubelet_pod_resize_duration_milliseconds",
    "kubelet_pod_pending_resizes",
    "kubelet_pod_in_progress_resizes",
    "kubelet_pod_infeasible_resizes_total",
    "kubelet_pod_deferred_accepted_resizes_total",
}


def test_the_page_is_current() -> None:
    assert (ROOT / "docs" / "metrics.md").read_text() == render_metrics(), "run `make docs`"


@pytest.mark.parametrize(
    ("row", "line"),
    [
        ("recommender:10", "| `vpa_resources_get_resources_count` | counter | `source` |"),
        ("updater:7", "| `vpa_updater_controlled_pods_total` | gauge | `vpa_size_log2`, `update_mode` |"),
        (
            "admission:11.2",
            "| `vpa_admission_controller_admission_latency_seconds` | histogram | `status`, `resource` |",
        ),
        ("product:10", "| `evenkeel_updater_decisions` | gauge | `action`, `reason` |"),
        ("in-place-resize:3.12", "| `kubelet_pod_infeasible_resizes_total` | counter | `reason_detail` |"),
    ],
)
def test_name_type_and_labels_are_told(row: str, line: str) -> None:
    assert line in render_metrics(), row


def test_every_family_has_a_meaning_and_a_name_of_its_own() -> None:
    found = [family for of_one in families().values() for family in of_one]
    assert len({family.name for family in found}) == len(found) > 50
    assert [family.name for family in found if not family.meaning] == []


def test_the_kubelets_families_are_those_of_the_release() -> None:
    assert {family.name for family in families()["kubelet"]} == KUBELET_OF_135


def test_names_are_those_that_are_shown() -> None:
    """A counter of upstream's without the usual ending has none on the page either."""
    registry = CollectorRegistry()
    metrics = register_metrics(registry)
    metrics.metric_server_responses.labels("false", "default").inc()
    metrics.oom_kills.labels("recorded").inc()
    shown = set(re.findall(r"^# TYPE (\S+) ", exposition(registry), flags=re.MULTILINE))
    assert {"vpa_recommender_metric_server_responses", "evenkeel_recommender_oom_kills_total"} <= shown
    assert shown <= {family.name for family in families()["recommender"]}


def test_a_family_with_samples_is_told_like_one_without() -> None:
    def register(registry: CollectorRegistry) -> None:
        BareCounter("asked", "Questions", ("who",), registry=registry).labels("me").inc()

    ((name, kind, labels),) = ((f.name, f.kind, f.labels) for f in declared(register))
    assert (name, kind, labels) == ("asked", "counter", ("who",))


def test_every_table_has_rows_of_four_cells() -> None:
    for part in render_metrics().split("\n## ")[1:]:
        rows = [line for line in part.splitlines() if line.startswith("|")]
        assert len(rows) > 2
        assert {line.count("|") for line in rows} == {5}


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    command = [sys.executable, "-m", "evenkeel.cli.document_metrics", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True)
    assert (tmp_path / "docs" / "metrics.md").read_text() == render_metrics()

"""The generated page of flags."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from admission.config import AdmissionConfig
from autoscaling.runtime.flag_model import flag_specs
from evenkeel.cli.document_flags import render_flags
from recommender.config import RecommenderConfig
from updater.config import UpdaterConfig

ROOT = Path(__file__).parents[3]


def test_the_page_in_the_repository_is_current() -> None:
    assert (ROOT / "docs" / "flags.md").read_text() == render_flags(), "run python -m evenkeel.cli.document_flags"


def test_every_flag_of_every_process_is_there() -> None:
    page = render_flags()
    for model in (RecommenderConfig, UpdaterConfig, AdmissionConfig):
        for spec in flag_specs(model):
            assert f"| `--{spec.name}` | {spec.syntax.name} |" in page, spec.name


def test_a_shared_flag_is_listed_once() -> None:
    assert render_flags().count("| `--kubeconfig` |") == 1
    assert render_flags().count("| `--logtostderr` |") == 1
    assert render_flags().count("| `--address` |") == 3


def test_every_row_has_four_cells() -> None:
    rows = [line for line in render_flags().splitlines() if line.startswith("|")]
    assert {row.replace("\\|", "").count("|") for row in rows} == {5}


def test_defaults_that_go_with_the_group_show_both() -> None:
    assert "`evenkeel-updater`; group autoscaling.k8s.io: `vpa-updater`" in render_flags()


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    command = [sys.executable, "-m", "evenkeel.cli.document_flags", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True)
    assert (tmp_path / "docs" / "flags.md").read_text() == render_flags()

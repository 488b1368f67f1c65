"""Packages that an installation may be without (beyond:B-36)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from autoscaling.errors import ConfigurationError
from evenkeel.replay.shell.extras import required

ROOT = Path(__file__).parents[4]
HIDING = """
import sys
class Hiding:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pandas", "pyarrow", "scipy", "distributed", "dask"}:
            raise ModuleNotFoundError("No module named " + repr(name))
sys.meta_path.insert(0, Hiding())
from evenkeel.cli.main import main
main(sys.argv[1:])
"""


def test_what_is_there_is_returned() -> None:
    """beyond:B-36."""
    assert required("json", "nothing").loads("3") == 3


def test_what_is_missing_is_named() -> None:
    """beyond:B-36."""
    with pytest.raises(ConfigurationError, match=r"Parquet files: need the package nowhere, .* install evenkeel\[rep"):
        required("nowhere.parquet", "Parquet files")


def test_replay_without_the_extra(tmp_path: Path) -> None:
    """beyond:B-36: text is played as ever, and of what cannot be read the way out is told."""
    rows = "".join(f"a,{3600 * hour},0.5,9e8\n" for hour in range(60))
    (tmp_path / "week.csv").write_text(f"trace_id,timestamp,cpu_cores,memory_bytes\n{rows}")
    (tmp_path / "fleet.parquet").write_bytes(b"")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", HIDING, "replay", *words, "-s", "static", "--jobs", "1"]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=dict(os.environ))

    played = run(str(tmp_path / "week.csv"))
    assert (played.returncode, played.stderr) == (0, "")
    refused = run(str(tmp_path / "fleet.parquet"))
    assert refused.returncode == 1
    assert "need the package pyarrow" in refused.stderr
    assert "pip install evenkeel[replay]" in refused.stderr

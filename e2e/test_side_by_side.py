"""Upstream's own programs beside ours on the embedded cluster: the scenario that needs them, as a user plays it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.cluster.binaries import build

_SECONDS = 400.0


@pytest.mark.parametrize("profile", ["evenkeel", "upstream"])
def test_both_sides_come_to_the_same_end(profile: str) -> None:
    environment = {**os.environ, "EVENKEEL_UPSTREAM_VPA": str(build("vpa"))}
    words = [str(Path(sys.executable).parent / "evenkeel"), "demo", "upstream-side-by-side", f"--profile={profile}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=_SECONDS, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "yes  ours and theirs recommend the same" in done.stdout

"""All three programs of both sides on real API servers: equal statuses, checkpoints, calls and verdicts.

One cluster is made up from a seed, put into a real API server once, and copied within etcd. No controller and no
kubelet acts on the copies, so all that happens there is what the compared programs do.

Spec: recommender 2 to 6, updater M-7 to X-10, admission 4 to 7.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from e2e.parity.process.rounds import Course
from e2e.parity.process.upstream import find_upstream
from e2e.parity.process.whole.trial import compare_on_real

_SEED = "1"
_LEAST_CASES = 700


def test_both_sides_do_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    upstream = find_upstream()
    report = asyncio.run(compare_on_real(_SEED, upstream, Course(tmp_path, upstream.definitions())))
    with capsys.disabled():
        print()
        for line in report.lines():
            print(line)
    assert [str(difference) for difference in report.differences] == []
    assert not [note for note in report.notes if note.startswith("not taken")]
    assert report.cases >= _LEAST_CASES

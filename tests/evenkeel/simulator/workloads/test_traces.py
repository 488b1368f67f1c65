"""Recorded traces: as the files lay them out, with gaps, and around their end."""

from __future__ import annotations

import gzip
from datetime import timedelta
from pathlib import Path

import pytest

from evenkeel.simulator.workloads.demand import NOTHING, Demand
from evenkeel.simulator.workloads.traces import Trace, load_trace, load_traces

DATA = Path(__file__).parents[3] / "data" / "traces"
TEXT = """trace_id,timestamp,cpu_cores,memory_bytes
a,100,,1000
a,160,0.5,
a,280,0.25,2000
b,0,1,
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv.gz"
    with gzip.open(path, "wt") as stream:
        stream.write(TEXT)
    return path


ROWS = [
    ("not recorded counts as nothing at first", 0, Demand(0.0, 1000)),
    ("holds until the next", 59, Demand(0.0, 1000)),
    ("not recorded stays as it was", 60, Demand(0.5, 1000)),
    ("over a gap", 179, Demand(0.5, 1000)),
    ("last", 180, Demand(0.25, 2000)),
    ("last holds for the usual step", 299, Demand(0.25, 2000)),
    ("begins anew", 300, Demand(0.0, 1000)),
    ("before its time", -5, Demand(0.0, 1000)),
]


@pytest.mark.parametrize(("case", "seconds", "expected"), ROWS)
def test_a_trace_at_a_moment(file: Path, case: str, seconds: int, expected: Demand) -> None:
    assert load_trace(file, "a").at(timedelta(seconds=seconds), 0) == expected


def test_a_trace_of_one_row_is_constant(file: Path) -> None:
    assert load_trace(file, "b").at(timedelta(hours=9), 0) == Demand(1.0, 0)


def test_only_what_is_wanted_is_kept(file: Path) -> None:
    assert sorted(load_traces(file)) == ["a", "b"]
    assert sorted(load_traces(file, lambda name: name == "b")) == ["b"]
    with pytest.raises(KeyError):
        load_trace(file, "c")


def test_no_rows_are_no_use() -> None:
    assert Trace((), (), 1.0).at(timedelta(0), 0) == NOTHING


def test_a_real_trace() -> None:
    trace = load_trace(DATA / "nezha-pods.csv.gz", "nezha/2022-08-22/cartservice")
    assert trace.at(timedelta(0), 0) == Demand(0.02843, 35033088)
    assert trace.at(timedelta(seconds=60), 0) == Demand(0.03169, 35033088)

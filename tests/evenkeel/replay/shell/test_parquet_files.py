"""Traces from Parquet files and datasets (beyond:B-36)."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaling.errors import ConfigurationError
from evenkeel.replay.columns import Reading
from evenkeel.replay.reading import read
from evenkeel.replay.selection import EVERYTHING, Selection
from evenkeel.replay.shell import parquet_lot
from evenkeel.replay.shell.parquet_files import Plan, plan_lots
from evenkeel.replay.shell.trace_files import read_traces, recordings
from evenkeel.replay.trace import Trace
from tests.evenkeel.replay.series import NAN

TRACES = Path(__file__).parents[3] / "data" / "traces"
HEADER = ["trace_id", "timestamp", "cpu_cores", "memory_bytes"]
Rows = Mapping[str, Sequence[object]]

FINE: Rows = {
    "trace_id": ["a"] * 4,
    "timestamp": [0, 60, 120, 180],
    "cpu_cores": [1.5, None, 2.0, 1.0],
    "memory_bytes": [8192, 8192, None, 8192],
}


def write(file: Path, rows: Rows, group_rows: int = 3) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(dict(rows)), file, row_group_size=group_rows)
    return file


def whole(root: Path, selection: Selection = EVERYTHING, most_steps: int = 1_000) -> Reading:
    """Return all lots of a file or folder as one."""
    readings = [lot.read() for lot in plan_lots(root, selection, most_steps).lots]
    return Reading(
        tuple(trace for each in readings for trace in each.traces),
        tuple(problem for each in readings for problem in each.problems),
    )


def same(ours: Trace, theirs: Trace) -> None:
    assert (ours.name, ours.step_seconds) == (theirs.name, theirs.step_seconds)
    for column in ("times", "cpu_cores", "memory_bytes"):
        np.testing.assert_array_equal(getattr(ours, column), getattr(theirs, column))


def test_a_sound_file(tmp_path: Path) -> None:
    """beyond:B-36: a null is no sample, and rows of a series may lie in several groups."""
    found = whole(write(tmp_path / "week.parquet", FINE))
    assert found.problems == ()
    (only,) = found.traces
    assert (only.name, only.source, only.step_seconds) == ("a", "week", 60.0)
    np.testing.assert_array_equal(only.cpu_cores, [1.5, NAN, 2.0, 1.0])
    np.testing.assert_array_equal(only.memory_bytes, [8192.0, 8192.0, NAN, 8192.0])


def test_recorded_traces_are_the_same_as_from_text(tmp_path: Path) -> None:
    """quality:Q-1: the open set, index included, to the last bit."""
    expected = read_traces([TRACES / "nezha-pods.csv.gz"])
    frame = pd.read_csv(TRACES / "nezha-pods.csv.gz")
    frame.to_parquet(tmp_path / "nezha-pods.parquet", row_group_size=5_000)
    (tmp_path / "index.csv").write_bytes((TRACES / "index.csv").read_bytes())
    found = whole(tmp_path / "nezha-pods.parquet", most_steps=20_000)
    assert len(found.traces) == len(expected.traces) > 60
    for ours, theirs in zip(found.traces, expected.traces, strict=True):
        same(ours, theirs)
        assert ours.source == theirs.source


@pytest.mark.parametrize(
    ("row", "changed", "problem"),
    [
        ("beyond:B-36 negative", {"cpu_cores": [1.5, -1.0, 2.0, 1.0]}, "row 2: a: cpu_cores is negative; it counts as"),
        ("beyond:B-36 infinite", {"cpu_cores": [1.5, np.inf, 2.0, 1.0]}, "row 2: a: cpu_cores is no plain number"),
        ("beyond:B-36 units", {"memory_bytes": ["8192", "", "8Ki", "8192"]}, "row 3: a: memory_bytes is no plain numb"),
        ("beyond:B-36 truth", {"cpu_cores": [True] * 4}, "row 1 and 3 more: a: cpu_cores is no plain number"),
        ("beyond:B-36 twice", {"timestamp": [0, 60, 60, 180]}, "row 3: a: has the time of another row; the first"),
        ("beyond:B-36 order", {"timestamp": [0, 120, 60, 180]}, "row 3: a: is older than the row before; the series"),
        ("beyond:B-36 no time", {"timestamp": [0, 60, None, 180]}, "row 3: a: timestamp is neither seconds nor a date"),
        ("beyond:B-36 text", {"timestamp": ["0", "60", "soon", "180"]}, "row 3: a: timestamp is neither seconds nor"),
        ("beyond:B-36 one row", {"trace_id": ["a", "a", "a", "b"]}, "row 4: b: is the only row of its series"),
        (
            "beyond:B-36 empty",
            {"cpu_cores": [None] * 4, "memory_bytes": [None] * 4},
            "row 1: a: begins a series without",
        ),
    ],
)
def test_what_is_wrong(tmp_path: Path, row: str, changed: Rows, problem: str) -> None:
    file = write(tmp_path / "week.parquet", {**FINE, **changed})
    found = whole(file)
    assert [each.startswith(f"{file} ") for each in found.problems] == [True], row
    assert problem in found.problems[0]


@pytest.mark.parametrize("zone", [None, "UTC", "+02:00"])
def test_times_may_be_dates(tmp_path: Path, zone: str | None) -> None:
    """beyond:B-36: without a time zone they are of UTC; a null among them is none."""
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    moments = pa.array([begin, None, begin + timedelta(minutes=2), begin + timedelta(minutes=3)])
    times = moments.cast(pa.timestamp("us" if zone else "ms", zone))
    found = whole(write(tmp_path / "week.parquet", {**FINE, "timestamp": times}))
    assert found.traces[0].times.tolist() == [begin.timestamp() + 60.0 * minute for minute in (0, 2, 3)]
    assert len(found.problems) == 1


def test_memory_alone(tmp_path: Path) -> None:
    """beyond:B-36: a resource may be absent."""
    (found,) = whole(write(tmp_path / "m.parquet", {k: v for k, v in FINE.items() if k != "cpu_cores"})).traces
    assert np.isnan(found.cpu_cores).all()
    assert np.nansum(found.memory_bytes) == 3 * 8192.0


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Return a dataset whose folders are named after namespaces, with two days of each series in two files."""
    root = tmp_path / "fleet"
    for day in range(2):
        for namespace in ("shop", "a%2Fb"):
            names = ["web", "api"] if namespace == "shop" else ["web"]
            rows: Rows = {
                "workload": [name for name in names for _ in range(4)],
                "container": ["app"] * 4 * len(names),
                "timestamp": [60.0 * (4 * day + k) for _ in names for k in range(4)],
                "cpu_cores": [0.5 + day + k for _ in names for k in range(4)],
            }
            write(root / f"namespace={namespace}" / f"day-{day}.parquet", rows)
    write(root / "notes.parquet", {"author": ["somebody"]})
    (root / "README.md").write_text("nothing")
    return root


def test_a_dataset(fleet: Path) -> None:
    """beyond:B-36: names are put together of columns and folders, series of several files."""
    found = whole(fleet)
    assert [(each.name, each.source, len(each)) for each in found.traces] == [
        ("a/b/web/app", "fleet", 8),
        ("shop/web/app", "fleet", 8),
        ("shop/api/app", "fleet", 8),
    ]
    assert found.traces[1].cpu_cores.tolist() == [0.5, 1.5, 2.5, 3.5, 1.5, 2.5, 3.5, 4.5]
    plan = plan_lots(fleet)
    assert [f"{fleet / 'notes.parquet'}" in each for each in plan.problems] == [True]


@pytest.mark.parametrize(
    ("row", "selection", "names"),
    [
        ("beyond:B-36", Selection(namespaces=("shop",)), ["shop/web/app", "shop/api/app"]),
        ("beyond:B-36", Selection(workloads=("w*",), namespaces=("s*",)), ["shop/web/app"]),
        ("beyond:B-36", Selection(only=("*/api/*",)), ["shop/api/app"]),
        ("beyond:B-36", Selection(containers=("sidecar",)), []),
    ],
)
def test_some_of_a_dataset(fleet: Path, row: str, selection: Selection, names: list[str]) -> None:
    plan: Plan = plan_lots(fleet, selection)
    assert [name for lot in plan.lots for name in lot.names] == names, row
    assert len(plan.others) + len(names) == 3
    assert all("a%2Fb" not in group.file for lot in plan.lots for group in lot.groups)


def test_lots_read_what_they_need(fleet: Path) -> None:
    """performance: a lot knows the groups of rows that its series are in."""
    lots = plan_lots(fleet, most_steps=8).lots
    assert [lot.names for lot in lots] == [("a/b/web/app",), ("shop/web/app",), ("shop/api/app",)]
    assert {Path(group.file).parent.name for group in lots[0].groups} == {"namespace=a%2Fb"}
    assert len({lot.mark for lot in lots}) == 3
    again = plan_lots(fleet, most_steps=8).lots
    assert [lot.mark for lot in again] == [lot.mark for lot in lots]
    write(fleet / "namespace=shop" / "day-1.parquet", {"workload": ["web"], "container": ["app"], **_one_row()})
    assert plan_lots(fleet, most_steps=8).lots[1].mark != lots[1].mark


def _one_row() -> Rows:
    return {"timestamp": [900.0], "cpu_cores": [1.0]}


def test_frames_are_of_bounded_size(tmp_path: Path) -> None:
    """performance: a group of rows of any size is read some rows at a time."""
    count = parquet_lot.BATCH_ROWS + 10
    names = np.repeat(["a", "b"], [count - 20, 20])
    rows: Rows = {"trace_id": list(names), "timestamp": list(range(count)), "cpu_cores": [1.0] * count}
    file = write(tmp_path / "big.parquet", rows, count)
    (lot,) = plan_lots(file, Selection(only=("b",))).lots
    frames = list(parquet_lot.batches(pq, lot.groups[0], lot.groups[0].layout.stored))
    assert [len(frame) for frame in frames] == [parquet_lot.BATCH_ROWS, 10]
    (found,) = lot.read().traces
    assert found.times.tolist() == list(range(count - 20, count))


@pytest.mark.parametrize(
    ("row", "content", "message"),
    [
        ("beyond:B-36 no Parquet", b"text", "week.parquet: cannot be read: .*; name a .parquet file"),
        ("beyond:B-36 nothing", None, "week.parquet: cannot be read: "),
    ],
)
def test_a_file_that_is_none(tmp_path: Path, row: str, content: bytes | None, message: str) -> None:
    file = tmp_path / "week.parquet"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigurationError, match=message):
        recordings([file])


def test_columns_that_are_missing(tmp_path: Path) -> None:
    """beyond:B-36."""
    file = write(tmp_path / "week.parquet", {"trace_id": ["a"], "cpu_cores": [1.0]})
    with pytest.raises(ConfigurationError, match=r"week.parquet: the header has no timestamp; name these columns"):
        recordings([file])


def test_a_file_that_is_gone_by_the_time_it_is_played(tmp_path: Path) -> None:
    """beyond:B-36."""
    file = write(tmp_path / "week.parquet", FINE)
    (lot,) = plan_lots(file).lots
    file.unlink()
    with pytest.raises(
        ConfigurationError, match=r"week.parquet: cannot be read: .* be reachable wherever it is played"
    ):
        lot.read()


def test_rows_without_a_name_are_nobodys(tmp_path: Path) -> None:
    """beyond:B-36."""
    found = whole(write(tmp_path / "week.parquet", {**FINE, "trace_id": ["a", None, "a", "a"]}))
    assert found.traces[0].times.tolist() == [0.0, 120.0, 180.0]


CELLS = st.sampled_from(["", "0", "1.5", "-1", "NaN", "inf", "x", "250m", "8192"])
ROWS = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from(["0", "60", "120", "180", "x"]), CELLS, CELLS), min_size=1
)


@settings(max_examples=60, deadline=None)
@given(rows=ROWS)
def test_text_in_columns_is_read_as_from_text(tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]) -> None:
    """beyond:B-36: whatever stands in the cells, both come to the same series."""
    file = tmp_path_factory.mktemp("any") / "week.parquet"
    write(file, {name: [row[place] for row in rows] for place, name in enumerate(HEADER)}, 2)
    ours, theirs = whole(file), read("week.csv", csv.reader([",".join(HEADER), *map(",".join, rows)]), {})
    assert [each.name for each in ours.traces] == [each.name for each in theirs.traces]
    for mine, other in zip(ours.traces, theirs.traces, strict=True):
        same(mine, other)
    assert len(ours.problems) <= len(theirs.problems)

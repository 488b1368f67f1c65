"""Rows of text to series: what is wrong is named, the rest goes on (quality:Q-1, beyond:B-36)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.replay.columns import IndexEntry, Reading
from evenkeel.replay.reading import NoTracesError, read
from tests.evenkeel.replay.series import NAN

HEADER = "trace_id,timestamp,cpu_cores,memory_bytes"
FINE = ["a,0,1.5,8192", "a,60,,8192", "a,120,2,", "a,180,1,8192"]


def reading(lines: Sequence[str], header: str = HEADER, index: dict[str, IndexEntry] | None = None) -> Reading:
    return read("use/week.csv.gz", (line.split(",") for line in [header, *lines]), index or {})


def test_a_sound_file() -> None:
    """quality:Q-1: an empty cell is no sample; source and step are found where no index tells them."""
    found = reading([*FINE, *(line.replace("a,", "b,", 1) for line in FINE)])
    assert found.problems == ()
    first, second = found.traces
    assert (first.name, second.name, first.source, first.step_seconds) == ("a", "b", "week", 60.0)
    assert first.times.tolist() == [0.0, 60.0, 120.0, 180.0]
    np.testing.assert_array_equal(first.cpu_cores, [1.5, NAN, 2.0, 1.0])
    np.testing.assert_array_equal(second.memory_bytes, [8192.0, 8192.0, NAN, 8192.0])


def test_an_index() -> None:
    """quality:Q-1: totals of pools are brought to the size of containers, by the power of ten of their CPU."""
    lines = ["a,0,150,1e9", "a,600,2500,2e9", "a,1200,10,1e9"]
    (found,) = reading(lines, index={"a": IndexEntry("cloudcluster", 300.0)}).traces
    assert (found.step_seconds, found.cpu_cores.tolist()) == (300.0, [0.15, 2.5, 0.01])
    assert found.memory_bytes.tolist() == [1e6, 2e6, 1e6]
    (other,) = reading(lines, index={"a": IndexEntry("nab", 300.0)}).traces
    assert other.cpu_cores.tolist() == [150.0, 2500.0, 10.0]


@pytest.mark.parametrize(
    ("row", "line", "problem"),
    [
        ("beyond:B-36 negative", "a,240,-1,8192", "use/week.csv.gz row 6: a: cpu_cores is negative; it counts as no"),
        ("beyond:B-36 no number", "a,240,NaN,8192", "row 6: a: cpu_cores is no plain number"),
        ("beyond:B-36 a unit", "a,240,1,128Mi", "row 6: a: memory_bytes is no plain number"),
        ("beyond:B-36 infinite", "a,240,inf,8192", "row 6: a: cpu_cores is no plain number"),
        ("beyond:B-36 less than infinite", "a,240,-inf,8192", "row 6: a: cpu_cores is no plain number"),
        ("beyond:B-36 time", "a,soon,1,8192", "row 6: a: timestamp 'soon' is neither seconds nor a date"),
        ("beyond:B-36 no time", "a,nan,1,8192", "row 6: a: timestamp 'nan' is neither seconds nor a date"),
        ("beyond:B-36 cells", "a,240", "row 6: (no series): has too few cells; the row is left out"),
        ("beyond:B-36 twice", "a,180,9,9000", "row 6: a: has the time of another row; the first one counts"),
        ("beyond:B-36 order", "a,90,1,8192", "row 6: a: is older than the row before; the series is put in order"),
        ("beyond:B-36 one row", "b,0,1,8192", "row 6: b: is the only row of its series"),
    ],
)
def test_what_is_wrong(row: str, line: str, problem: str) -> None:
    found = reading([*FINE, line])
    assert len(found.problems) == 1, row
    assert problem in found.problems[0]
    whole = found.traces[0]
    assert whole.times.tolist()[:1] == [0.0]
    assert whole.times.tolist()[-1] in {180.0, 240.0}
    assert np.nansum(whole.cpu_cores) in {4.5, 5.5}
    assert np.nanmax(whole.memory_bytes) == 8192.0


def test_the_first_of_many_rows_is_named() -> None:
    """beyond:B-36: what occurs often is told once for each series."""
    found = reading([*FINE, "a,240,-1,1", "a,300,-2,1", "b,0,-1,1", "b,60,-1,1"])
    assert found.problems == (
        "use/week.csv.gz row 6 and 1 more: a: cpu_cores is negative; it counts as no sample",
        "use/week.csv.gz row 8 and 1 more: b: cpu_cores is negative; it counts as no sample",
    )


@pytest.mark.parametrize(
    ("row", "lines"),
    [
        ("beyond:B-36 nothing at all", ["b,0,,", "b,60,,", "b,120,,"]),
        ("beyond:B-36 nothing but what cannot be", ["b,0,-1,x", "b,60,-1,x"]),
    ],
)
def test_a_series_without_use(row: str, lines: list[str]) -> None:
    found = reading([*FINE, *lines])
    assert [trace.name for trace in found.traces] == ["a"], row
    assert any("b: begins a series without use" in problem for problem in found.problems)


def test_no_rows() -> None:
    """beyond:B-36."""
    found = reading([])
    assert (found.traces, len(found.problems)) == ((), 1)


def test_memory_alone_and_dates() -> None:
    """beyond:B-36: a resource may be absent, and a time may be a date."""
    lines = [f"a,2026-01-01T00:0{minute}:00Z,8192" for minute in range(4)]
    (found,) = reading(lines, "trace_id,timestamp,memory_bytes").traces
    assert np.diff(found.times).tolist() == [60.0, 60.0, 60.0]
    assert np.isnan(found.cpu_cores).all()


def test_dates_without_a_time_zone_are_of_utc() -> None:
    """beyond:B-36: what is read does not depend on where it is read."""
    lines = ["a,2026-01-01T00:00:00,1,", "a,2026-01-01T02:00:00+01:00,1,", "a,2026-01-01T02:00:00Z,1,"]
    (found,) = reading(lines).traces
    assert np.diff(found.times).tolist() == [3600.0, 3600.0]


@pytest.mark.parametrize(
    ("row", "header", "missing"),
    [
        ("beyond:B-36", "timestamp,cpu_cores", r"no trace_id \(or namespace, workload, container\)"),
        ("beyond:B-36", "namespace,container,timestamp,cpu_cores", "no trace_id"),
        ("beyond:B-36", "trace_id,cpu_cores", "no timestamp"),
        ("beyond:B-36", "trace_id,timestamp", "no cpu_cores or memory_bytes"),
        ("beyond:B-36", "", r"no trace_id \(.*\), no timestamp, no cpu_cores or memory_bytes"),
    ],
)
def test_a_header_of_something_else(row: str, header: str, missing: str) -> None:
    with pytest.raises(NoTracesError, match=missing):
        reading(FINE, header)


CELLS = st.sampled_from(["", "0", "1.5", "-1", "NaN", "inf", "x", "250m", "8192"])
ROWS = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["0", "60", "120", "180", "x"]), CELLS, CELLS))


@given(rows=ROWS)
def test_whatever_stands_in_the_rows(rows: list[tuple[str, str, str, str]]) -> None:
    """beyond:B-36: what is read can be played, and the sound series beside it is what it would be without them."""
    found = reading([",".join(row) for row in rows] + [line.replace("a,", "sound,", 1) for line in FINE])
    sound = found.traces[-1]
    assert (sound.name, sound.times.tolist()) == ("sound", [0.0, 60.0, 120.0, 180.0])
    for each in found.traces:
        assert (np.diff(each.times) > 0.0).all()
        assert each.are_scored.any()
        for column in (each.cpu_cores, each.memory_bytes):
            assert not (column < 0.0).any()
            assert not np.isinf(column).any()
    assert all(problem.startswith("use/week.csv.gz row ") for problem in found.problems)


@given(order=st.permutations(FINE))
def test_order_does_not_matter(order: list[str]) -> None:
    """beyond:B-36."""
    (found,), (sorted_out,) = reading(order).traces, reading(FINE).traces
    np.testing.assert_array_equal(found.cpu_cores, sorted_out.cpu_cores)
    np.testing.assert_array_equal(found.times, sorted_out.times)

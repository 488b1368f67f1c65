"""Figures as JSON."""

from __future__ import annotations

import json
from pathlib import Path

from bench.figures import Bound, Figure, Spread, Target, Unit
from bench.record import figure_record, machine, versions, write_record


def test_a_figure_keeps_all_that_was_measured() -> None:
    one, two = Spread.of([1.0, 2.0, 3.0]), Spread.of([9.0])
    figure = Figure("R-4", one, two, target=Target(Bound.RATIO_AT_LEAST, 5), note="why", ours_cpu=one, peer_cpu=two)
    assert figure_record(figure) == {
        "name": "R-4",
        "unit": "s",
        "ours": {"median": 2.0, "low": 1.0, "high": 3.0, "count": 3},
        "peer": {"median": 9.0, "low": 9.0, "high": 9.0, "count": 1},
        "ours_cpu": {"median": 2.0, "low": 1.0, "high": 3.0, "count": 3},
        "peer_cpu": {"median": 9.0, "low": 9.0, "high": 9.0, "count": 1},
        "ratio": 4.5,
        "cpu_ratio": 4.5,
        "target": {"bound": "ratio >=", "value": 5},
        "met": False,
        "note": "why",
    }


def test_what_a_figure_has_not_is_left_out() -> None:
    record = figure_record(Figure("S-1/memory", Spread.of([1.5]), unit=Unit.GIBIBYTES))
    assert record.keys() == {"name", "unit", "ours"}


def test_a_record_tells_machine_and_versions_beside_the_figures(tmp_path: Path) -> None:
    figures = [Figure("S-2", Spread.of([6.0]))]
    whole = write_record(tmp_path / "new", "S-2", figures, is_quick=False)
    quick = write_record(tmp_path / "new", "S-2", figures, is_quick=True)
    assert (whole.name, quick.name) == ("S-2.json", "S-2-quick.json")
    record = json.loads(whole.read_text())
    assert (record["row"], record["quick"]) == ("S-2", False)
    assert [figure["name"] for figure in record["figures"]] == ["S-2"]
    assert record["machine"]["cores"] == machine()["cores"]
    assert record["versions"]["upstream"] == "v1.8.1"
    assert versions()["numpy"]

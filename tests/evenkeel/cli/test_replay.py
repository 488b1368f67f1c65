"""``evenkeel replay`` on files (quality:Q-19, beyond:B-36)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest

from tests.evenkeel.cli.running import evenkeel

HOURS = 96


@pytest.fixture
def week(tmp_path: Path) -> Path:
    """Return a folder with two series of four days."""
    rows = [
        f"{name},{3600 * hour},{0.2 + 0.1 * (hour % 24 > 12)},{300 * 2**20 + hour % 24 * 2**20}"
        for name in ("shop/web", "shop/api")
        for hour in range(HOURS)
    ]
    (tmp_path / "week.csv").write_text("trace_id,timestamp,cpu_cores,memory_bytes\n" + "\n".join(rows) + "\n")
    return tmp_path


def test_a_table(week: Path) -> None:
    """quality:Q-19: its figures, the limits of what they say, and the time that they took."""
    answer = evenkeel("replay", str(week), "--strategy", "vpa-default", "--strategy", "oracle", "--jobs", "1")
    assert (answer.status, answer.errors) == (0, "")
    lines = answer.output.splitlines()
    assert lines[0] == "All series"
    assert [line.split()[0] for line in lines[2:4]] == ["vpa-default", "oracle"]
    assert "2 series, 192 rows, 6 container-days behind the warm-up. Means over minutes hide peaks" in answer.output
    assert lines[-1].startswith("Processor seconds: vpa-default ")


def test_processes_come_to_the_same(week: Path) -> None:
    """performance: strategies that are played at the same time."""
    words = ("replay", str(week), "-s", "static", "-s", "oracle-24h", "-o", "json")
    one, two = (evenkeel(*words, "--jobs", jobs) for jobs in ("1", "2"))
    assert (one.status, two.status) == (0, 0)
    first, second = (cast("dict[str, object]", each.document) for each in (one, two))
    assert first["figures"] == second["figures"]
    assert (first["series"], first["rows"]) == (2, 2 * HOURS)


def test_beside_another_run(week: Path, tmp_path: Path) -> None:
    """quality:Q-19: the last line tells how many figures are off, and so does the status."""
    words = ("replay", str(week), "-s", "static", "--jobs", "1")
    before = tmp_path / "before.json"
    before.write_text(evenkeel(*words, "-o", "json").output)
    same = evenkeel(*words, "--compare", str(before))
    number = same.output.splitlines()[-1].split()[1]
    assert (same.status, same.output.splitlines()[-1]) == (0, f"replay: {number} figures, 0 beyond 1%")
    told = json.loads(before.read_text())
    told["figures"]["static"]["all"]["cpu_slack_mean"] *= 1.02
    before.write_text(json.dumps(told))
    other = evenkeel(*words, "--compare", str(before))
    assert (other.status, other.output.splitlines()[-1]) == (1, f"replay: {number} figures, 1 beyond 1%")
    assert evenkeel(*words, "--compare", str(before), "-o", "json").status == 1


def test_against_another_strategy(week: Path) -> None:
    """quality:Q-10: it is played too, and not held against itself."""
    words = ("replay", str(week), "-s", "oracle", "--against", "static", "--jobs", "1")
    lines = evenkeel(*words).output.splitlines()
    heading = lines.index("Beside static, series by series, with 95% intervals")
    assert {line.split()[0] for line in lines[heading + 2 :]} == {"oracle"}
    assert any(line.startswith("oracle    cpu_slack ") for line in lines[heading + 2 :])
    told = cast("dict[str, dict[str, dict[str, list[dict[str, object]]]]]", evenkeel(*words, "-o", "json").document)
    (slack, *_) = told["against"]["static"]["oracle"]
    assert slack["figure"] == "cpu_slack"
    assert slack["series"] == 2
    assert cast("dict[str, float]", slack["mean"])["high"] < 0.0


def test_some_of_the_series(week: Path) -> None:
    """beyond:B-36."""
    answer = evenkeel("replay", str(week), "-s", "static", "--only", "*/web", "-o", "json", "--jobs", "1")
    assert cast("dict[str, object]", answer.document)["series"] == 1


def test_problems_are_named_and_the_rest_goes_on(week: Path) -> None:
    """beyond:B-36."""
    with (week / "week.csv").open("a") as file:
        file.write("shop/web,999999,-1,128Mi\n")
    answer = evenkeel("replay", str(week), "-s", "static", "--jobs", "1")
    assert answer.status == 0
    assert f"week.csv row {2 * HOURS + 2}: shop/web: cpu_cores is negative; it counts as no sample" in answer.errors
    assert "shop/web: memory_bytes is no plain number" in answer.errors


@pytest.mark.parametrize(
    ("row", "words", "message"),
    [
        ("beyond:B-36 strategy", ["-s", "crystal-ball"], "--strategy crystal-ball: not installed; choose from"),
        (
            "beyond:B-36 series",
            ["--only", "none/*"],
            "--only none/*: names none of 2 series; the first one is shop/web",
        ),
        ("beyond:B-36 reference", ["--compare", "nowhere.json"], "--compare nowhere.json: no figures in it"),
    ],
)
def test_what_cannot_be_played(week: Path, row: str, words: list[str], message: str) -> None:
    answer = evenkeel("replay", str(week), "--jobs", "1", *words)
    assert (answer.status, message in answer.errors) == (1, True), row


def test_a_reference_of_another_form(week: Path, tmp_path: Path) -> None:
    """beyond:B-36."""
    for content in ("[]", "{}", '{"figures": {"a": {"all": 3}}}', '{"figures": {"a": {"all": {"f": "x"}}}}', "{"):
        file = tmp_path / "reference.json"
        file.write_text(content)
        answer = evenkeel("replay", str(week), "-s", "static", "--compare", str(file))
        assert (answer.status, "no figures in it" in answer.errors) == (1, True), content

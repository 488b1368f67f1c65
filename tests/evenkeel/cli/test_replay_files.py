"""What ``evenkeel replay`` writes beside what it prints (beyond:B-36)."""

from __future__ import annotations

import csv
import json
import shlex
from pathlib import Path

import pytest
import yaml

from tests.evenkeel.cli.running import Answer, evenkeel
from tests.evenkeel.outline import read

SETTINGS = """
variants:
  calm: {percentiles: {cpu: {target: 0.95}}, maxAllowed: {cpu: 250m}}
"""


@pytest.fixture
def week(tmp_path: Path) -> Path:
    """Return a file with two series of four days, of which one is called as a container is."""
    rows = [
        f"{name},{3600 * hour},{0.2 + 0.1 * (hour % 24 > 12)},{300 * 2**20 + hour % 24 * 2**20}"
        for name in ("shop/web/main", "shop/api")
        for hour in range(96)
    ]
    file = tmp_path / "week.csv"
    file.write_text("trace_id,timestamp,cpu_cores,memory_bytes\n" + "\n".join(rows) + "\n")
    (tmp_path / "settings.yaml").write_text(SETTINGS)
    return file


def replay(week: Path, *words: str) -> Answer:
    return evenkeel("replay", str(week), "-s", "static", "--jobs", "1", *words)


def test_figures_of_each_series(week: Path, tmp_path: Path) -> None:
    """beyond:B-36: tidy, and to the last digit."""
    answer = replay(week, "--csv", str(tmp_path / "figures.csv"), "-o", "json")
    assert (answer.status, answer.errors) == (0, "")
    with (tmp_path / "figures.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["source", "series", "strategy", "figure", "value"]
    slack = [float(row["value"]) for row in rows if row["figure"] == "cpu_slack"]
    assert len(slack) == 2
    assert sum(slack) / 2 == answer.document["figures"]["static"]["all"]["cpu_slack_mean"]  # type: ignore[index]


def test_a_report_tells_how_to_repeat_it(week: Path, tmp_path: Path) -> None:
    """beyond:B-36: the command in it writes the same report."""
    file = tmp_path / "report.html"
    assert replay(week, "--html", str(file), "--settings", str(tmp_path / "settings.yaml"), "-o", "json").status == 0
    first = file.read_text()
    (command,) = read(first).said("code")
    file.unlink()
    words = shlex.split(command)
    assert evenkeel(*words[words.index("replay") :]).status == 0
    assert file.read_text() == first


@pytest.mark.parametrize(("row", "number"), [("beyond:B-36 none", 0), ("beyond:B-36 one", 1), ("beyond:B-36 all", 24)])
def test_as_many_pictures_as_are_asked_for(week: Path, tmp_path: Path, row: str, number: int) -> None:
    file = tmp_path / "report.html"
    replay(week, "--html", str(file), "--pictures", str(number))
    drawn = [each for each in read(file.read_text()).named("svg") if each.get("role") == "img"]
    assert len(drawn) == 2 + 2 * min(number, 2), row


def test_money_by_a_price_list(week: Path, tmp_path: Path) -> None:
    """beyond:B-36: in its currency, in table and JSON."""
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"currency": "EUR", "coreHour": 0.03, "gibHour": 0.004}))
    words = ("--prices", str(prices))
    assert "Cost of a month in EUR (a core-hour is 0.03, a GiB-hour 0.004)" in replay(week, *words).output
    dear = replay(week, *words, "-o", "json").document["money"]["month"]["static"]["all"]  # type: ignore[index]
    assert dear["waste"] == pytest.approx(dear["requests"] - dear["use"])
    plain = replay(week).output
    assert "Cost of a month in core-hours (a core-hour is 1, a GiB-hour 0.1429)" in plain


def test_a_variant_is_played_beside_the_others(week: Path, tmp_path: Path) -> None:
    """beyond:B-36: by several processes as well, and it can be held against another one."""
    words = ("--settings", str(tmp_path / "settings.yaml"), "--against", "vpa-default", "-o", "json")
    answer = evenkeel("replay", str(week), "-s", "static", "--jobs", "2", *words)
    assert answer.status == 0
    document: dict[str, dict[str, object]] = answer.document  # type: ignore[assignment]
    assert list(document["figures"]) == ["static", "calm", "vpa-default"]
    assert list(document["against"]["vpa-default"]) == ["static", "calm"]  # type: ignore[call-overload]


def test_objects_in_a_folder(week: Path, tmp_path: Path) -> None:
    """beyond:B-36: one for each workload; series that are none are named, and end the command with status 1."""
    folder = tmp_path / "objects"
    words = ("--settings", str(tmp_path / "settings.yaml"), "--emit", "calm", "--emit-to", str(folder))
    answer = replay(week, *words, "--emit-kind", "StatefulSet")
    assert answer.status == 1
    assert "series shop/api: is not called namespace/workload/container" in answer.errors
    assert "--target-cpu-percentile=0.95" in answer.errors
    assert "All series" in answer.output
    (file,) = folder.iterdir()
    written = yaml.safe_load(file.read_text())
    assert written["spec"]["targetRef"] == {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"}
    assert written["spec"]["resourcePolicy"]["containerPolicies"] == [
        {"containerName": "main", "maxAllowed": {"cpu": "250m"}}
    ]


def test_objects_on_standard_output(week: Path) -> None:
    """beyond:B-36: and nothing else there; a strategy that is installed needs no settings."""
    answer = replay(week, "--only", "shop/web/*", "--emit", "weekly-peak", "--emit-to", "-")
    assert answer.status == 0
    (written,) = yaml.safe_load_all(answer.output)
    assert written["spec"]["recommender"] == {"strategy": "weekly-peak"}
    assert "1 object printed for workloads of kind Deployment" in answer.errors


def test_no_series_has_the_name_of_a_container(week: Path) -> None:
    """beyond:B-36: then nothing is printed, and each is named."""
    answer = replay(week, "--only", "shop/api", "--emit", "vpa-min0", "--emit-to", "-")
    assert (answer.status, answer.output) == (1, "")
    assert answer.errors.count("\n") == 1


@pytest.mark.parametrize(
    ("row", "words", "status", "message"),
    [
        ("beyond:B-36 place", ["--emit", "vpa-min0"], 2, "--emit vpa-min0: where to? Name a folder with --emit-to"),
        ("beyond:B-36 setting", ["--emit-to", "x"], 2, "--emit-to x: of which setting? Name it with --emit"),
        ("beyond:B-36 oracle", ["--emit", "oracle", "--emit-to", "-"], 2, "--emit oracle: neither a variant of"),
        (
            "beyond:B-36 pictures",
            ["--pictures", "25"],
            2,
            "Invalid value for '--pictures': Input should be less than or equal to 24",
        ),
        ("beyond:B-36 report", ["--html", "no/where.html"], 1, "--html no/where.html: cannot be written: No such file"),
        ("beyond:B-36 figures", ["--csv", "no/where.csv"], 1, "--csv no/where.csv: cannot be written: No such file"),
        ("beyond:B-36 prices", ["--prices", "nowhere"], 1, "--prices nowhere: No such file or directory; name a YAML"),
        ("beyond:B-36 settings", ["--settings", "nowhere"], 1, "--settings nowhere: No such file or directory; name"),
        (
            "beyond:B-36 objects",
            ["--only", "shop/web/*", "--emit", "vpa-min0", "--emit-to", "/dev/null/x"],
            1,
            "--emit-to /dev/null/x: cannot be written",
        ),
    ],
)
def test_what_cannot_be_written(week: Path, row: str, words: list[str], status: int, message: str) -> None:
    answer = replay(week, *words)
    assert (answer.status, message in answer.errors) == (status, True), (row, answer.errors)

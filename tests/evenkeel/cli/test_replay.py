"""``evenkeel replay`` on files (quality:Q-19, beyond:B-36)."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import cast

import pandas as pd
import pytest
import structlog
import yaml

from autoscaling.runtime.api_group import ApiGroup
from evenkeel.crd.definitions import definitions
from evenkeel.simulator.api.server import ApiServer
from recommender.wire.checkpoints import checkpoint_json
from tests.builders import T0
from tests.evenkeel.cli.running import evenkeel
from tests.evenkeel.replay.test_beginnings import STORED
from tests.recommender.shell.prometheus_server import hours, prometheus_server

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


def test_a_dataset_beside_text(week: Path, tmp_path: Path) -> None:
    """beyond:B-36: Parquet, by namespace and container, comes to what text comes to, and is a source of its own."""
    file, folder = week / "week.csv", tmp_path / "fleet"
    frame = pd.read_csv(file)
    frame["trace_id"] += "/app"
    frame.to_csv(file, index=False)
    frame[["namespace", "workload", "container"]] = frame["trace_id"].str.split("/", expand=True)
    frame.drop(columns="trace_id").to_parquet(folder, partition_cols=["namespace"])
    words = ("--workload", "web", "-n", "shop", "-s", "static", "-o", "json", "--jobs", "1")
    ours, theirs = (evenkeel("replay", str(path), *words) for path in (folder, file))
    assert (ours.status, ours.errors) == (0, "")
    told = [cast("dict[str, object]", each.document) for each in (ours, theirs)]
    assert [each["series"] for each in told] == [1, 1]
    first, second = (cast("dict[str, dict[str, object]]", each["figures"])["static"] for each in told)
    assert first["all"] == second["all"]
    assert (list(first), list(second)) == (["all", "fleet"], ["all", "week"])
    nothing = evenkeel("replay", str(folder), "-n", "bank", "-s", "static", "--jobs", "1")
    assert "--namespace bank: names none of 2 series; the first one is shop/" in nothing.errors


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


def test_use_from_prometheus(week: Path, tmp_path: Path) -> None:
    """beyond:B-36: beside files or alone, and once more from what was kept of it."""
    before = structlog.get_config()
    with prometheus_server() as server:
        labels = {"namespace": "shop", "pod": "web-1", "container": "app"}
        server.use(labels, hours(HOURS, lambda n: 1.0 + n % 5), hours(HOURS, 2.0**30))
        end = T0 + timedelta(hours=HOURS - 1)
        asked = ("--prometheus", server.url, "--to", end.isoformat(), "--from", f"{HOURS - 1}h", "--step", "1h")
        words = ("-s", "static", "-o", "json", "--jobs", "1", "--record", str(tmp_path / "kept"))
        alone = evenkeel("replay", *asked, *words)
        beside = evenkeel("replay", str(week / "week.csv"), *asked, *words)
    kept = evenkeel("replay", str(tmp_path / "kept"), "-s", "static", "-o", "json", "--jobs", "1")
    assert [each.status for each in (alone, beside, kept)] == [0, 0, 0], alone.errors
    told = [cast("dict[str, object]", each.document) for each in (alone, beside, kept)]
    assert [(each["series"], each["rows"]) for each in told] == [(1, HOURS), (3, 3 * HOURS), (1, HOURS)]
    assert told[0]["figures"] == told[2]["figures"]
    assert structlog.get_config() == before, "what else this process logs goes where it went"


@pytest.mark.parametrize(
    ("row", "words", "message"),
    [
        ("beyond:B-36 nothing", [], "name files or folders of recorded use, or a Prometheus server with --prometheus"),
        (
            "beyond:B-36 dask",
            ["x.csv", "--dask", "tcp://x", "--jobs", "2"],
            "--dask and --jobs exclude each other; leave",
        ),
        ("beyond:B-36 step", ["--prometheus", "http://x", "--step", "soon"], "--step soon: is no duration; write for"),
        ("beyond:B-36 no step", ["--prometheus", "http://x", "--step", "0s"], "--step 0s: is no duration"),
        (
            "beyond:B-36 end",
            ["--prometheus", "http://x", "--to", "soon"],
            "--to soon: is no time; write a date such as",
        ),
        ("beyond:B-36 begin", ["--prometheus", "http://x", "--from", "soon"], "--from soon: is no time; write a date"),
        (
            "beyond:B-36 order",
            ["--prometheus", "http://x", "--to", "2026-01-01", "--from", "2026-01-01T01:00:00+01:00"],
            "--from 2026-01-01T01:00:00+01:00: is not before --to, 2026-01-01T00:00:00+00:00",
        ),
    ],
)
def test_sources_that_make_no_sense(row: str, words: list[str], message: str) -> None:
    answer = evenkeel("replay", "-s", "static", *words)
    assert (answer.status, message in answer.errors) == (2, True), row


@pytest.fixture
def containers(tmp_path: Path) -> Path:
    """Return a file of four days of a container, named by workload."""
    rows = [f"shop/web/app,{3600 * hour},0.5,{2**28}" for hour in range(HOURS)]
    (tmp_path / "use.csv").write_text("trace_id,timestamp,cpu_cores,memory_bytes\n" + "\n".join(rows) + "\n")
    return tmp_path / "use.csv"


def test_stored_histograms_as_the_start(containers: Path, server: ApiServer, cluster: str, tmp_path: Path) -> None:
    """beyond:B-36: from a file or from the cluster, of the API group that is asked for."""
    words = ("replay", str(containers), "-s", "vpa-default", "-s", "static", "-o", "json", "--jobs", "1")
    for definition in definitions(ApiGroup.UPSTREAM).values():
        server.store.create(dict(definition))
    version = "autoscaling.k8s.io/v1"
    server.store.create({**checkpoint_json(STORED, version)})
    file = tmp_path / "stored.yaml"
    file.write_text(yaml.safe_dump(checkpoint_json(STORED, version)))
    group = ("--api-group", "autoscaling.k8s.io")
    answers = [
        evenkeel(*words),
        evenkeel(*words, "--checkpoints", str(file)),
        evenkeel(*words, "--checkpoints", "cluster", cluster, *group),
        evenkeel(*words, "--checkpoints", "cluster", cluster),
    ]
    assert [each.status for each in answers] == [0, 0, 0, 0], answers[2].errors
    plain, from_file, from_cluster, other_group = (
        cast("dict[str, dict[str, object]]", cast("dict[str, object]", each.document)["figures"]) for each in answers
    )
    assert from_file == from_cluster != plain == other_group
    assert from_file["static"] == plain["static"]

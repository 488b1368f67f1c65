"""Recorded use from a real HTTP server that answers like Prometheus (beyond:B-7, beyond:B-36)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from autoscaling.errors import ConfigurationError
from evenkeel.replay.columns import Reading
from evenkeel.replay.selection import Selection
from evenkeel.replay.shell.prometheus import Wanted, record
from evenkeel.replay.shell.trace_files import recordings
from recommender.history.pieces import Budget
from tests.builders import T0
from tests.evenkeel.replay.series import HOUR, NAN
from tests.recommender.history.builders import HOUR as HOUR_NS
from tests.recommender.history.builders import T0_NS
from tests.recommender.shell.prometheus_server import Asked, PrometheusServer, hours, prometheus_server

HOURS = 48
UNAVAILABLE = json.dumps({"status": "error", "errorType": "bad_data", "error": "no such thing"}).encode()


@pytest.fixture
def server() -> Iterator[PrometheusServer]:
    with prometheus_server() as serving:
        yield serving


def use(server: PrometheusServer, namespace: str, pod: str, first: int = 0, **more: str) -> None:
    labels = {"namespace": namespace, "pod": pod, "container": "app", **more}
    server.use(labels, hours(HOURS - first, lambda n: 1.0 + n, first=first), hours(HOURS, 2.0**30))


def wanted(server: PrometheusServer, **changed: object) -> Wanted:
    end = T0 + timedelta(hours=HOURS - 1)
    return replace(Wanted(server.url, T0, end, timedelta(hours=1)), **changed)  # type: ignore[arg-type]


def whole(folder: Path) -> Reading:
    readings = [lot.read() for lot in recordings([folder]).lots]
    return Reading(
        tuple(trace for each in readings for trace in each.traces),
        tuple(problem for each in readings for problem in each.problems),
    )


def test_use_becomes_series(server: PrometheusServer, tmp_path: Path) -> None:
    """beyond:B-36: one for each container of each pod, with gaps where nothing was measured."""
    use(server, "shop", "web-1", first=5)
    use(server, "bank", "api-1")
    found = record(wanted(server), tmp_path / "prometheus")
    assert found.problems == ()
    traces = {each.name: each for each in whole(tmp_path / "prometheus").traces}
    assert set(traces) == {"shop/web-1/app", "bank/api-1/app"}
    web = traces["shop/web-1/app"]
    assert (web.source, web.step_seconds, len(web)) == ("prometheus", HOUR, HOURS)
    assert web.times[0] == T0.timestamp()
    np.testing.assert_array_equal(web.cpu_cores, [NAN] * 5 + [1.0 + n for n in range(5, HOURS)])
    np.testing.assert_array_equal(web.memory_bytes, [2.0**30] * HOURS)


def test_pieces_come_to_the_same(server: PrometheusServer, tmp_path: Path) -> None:
    """beyond:B-7: cut by time and namespace, and halved where that is too much, it is the same."""
    for namespace in ("shop", "bank", "till"):
        use(server, namespace, "web-1")
    too_much = json.dumps({"status": "error", "errorType": "execution", "error": "too many samples"}).encode()

    def refuse(asked: Asked) -> tuple[int, bytes] | None:
        if not asked.path.endswith("query_range") or "count by" in asked.query:
            return None
        points = (float(asked.form["end"]) - float(asked.form["start"])) / float(asked.form["step"])
        return (422, too_much) if points > 8 else None

    record(wanted(server), tmp_path / "whole")
    server.faults.append(refuse)
    record(wanted(server, budget=Budget(points=16, series=1)), tmp_path / "parts")
    assert len(list((tmp_path / "parts").glob("use-*.parquet"))) == 3
    ours, theirs = (sorted(whole(tmp_path / name).traces, key=lambda each: each.name) for name in ("parts", "whole"))
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(mine.times, other.times)
        np.testing.assert_array_equal(mine.cpu_cores, other.cpu_cores)


def test_what_does_not_count(server: PrometheusServer, tmp_path: Path) -> None:
    """beyond:B-7: parents, doubles and values that cannot be are left out, never summed, and told of by reason."""
    use(server, "shop", "web-1", id="/kubepods/pod1/c1")
    use(server, "shop", "web-1", id="/kubepods/pod1/c1", instance="other")
    server.use(
        {"namespace": "shop", "pod": "web-2", "container": "app"},
        {**hours(HOURS, 1.0), T0_NS + 3 * HOUR_NS: -1.0},
        hours(HOURS, 2.0**30),
    )
    found = record(wanted(server), tmp_path / "prometheus")
    assert [each.rsplit(": ", 1)[1] for each in found.problems] == ["not_a_number", "duplicate"]
    one, two = sorted(whole(tmp_path / "prometheus").traces, key=lambda each: each.name)
    assert one.cpu_cores.tolist() == [1.0 + n for n in range(HOURS)]
    assert np.flatnonzero(np.isnan(two.cpu_cores)).tolist() == [3]


def test_only_what_is_wanted_is_asked_for(server: PrometheusServer, tmp_path: Path) -> None:
    """beyond:B-36."""
    for namespace in ("shop", "bank"):
        use(server, namespace, "web-1")
        use(server, namespace, "api-1")
    record(wanted(server, selection=Selection(namespaces=("sh*",), workloads=("web-*",))), tmp_path)
    asked = [query for query in server.queries("query_range") if "count by" not in query]
    assert all('namespace="shop"' in query for query in asked)
    assert [each.name for each in whole(tmp_path).traces] == ["shop/web-1/app"]


def test_flags_of_the_recommender(server: PrometheusServer, tmp_path: Path) -> None:
    """beyond:B-36: labels, job and how to sign in are those of its history."""
    labels = {"namespace": "shop", "pod_name": "web-1", "name": "app"}
    server.use(labels, hours(HOURS, 1.0), hours(HOURS, 1e9))
    flags = (
        "--container-pod-name-label=pod_name --container-name-label=name "
        "--prometheus-cadvisor-job-name=kubernetes-cadvisor --prometheus-bearer-token=sesame"
    )
    record(wanted(server, flags=flags), tmp_path)
    assert [each.name for each in whole(tmp_path).traces] == ["shop/web-1/app"]
    assert {asked.headers["Authorization"] for asked in server.asked} == {"Bearer sesame"}
    assert all('job="kubernetes-cadvisor"' in query for query in server.queries("query"))
    assert "sesame" not in "".join(file.read_text() for file in tmp_path.glob("*.json"))


def test_several_clusters(server: PrometheusServer, tmp_path: Path) -> None:
    """beyond:B-7: the same names in two clusters are never mixed."""
    use(server, "shop", "web-1", cluster="east")
    use(server, "shop", "web-1", first=40, cluster="west")
    with pytest.raises(ConfigurationError, match="series of the clusters east, west; name one with --cluster"):
        record(wanted(server), tmp_path / "both")
    record(wanted(server, cluster="west"), tmp_path / "west")
    (west,) = whole(tmp_path / "west").traces
    assert int(np.isnan(west.cpu_cores).sum()) == 40


def test_a_recording_goes_on_where_it_ended(server: PrometheusServer, tmp_path: Path) -> None:
    """beyond:B-36: namespaces that are finished are not asked for again, and the time stays what it was."""
    for namespace in ("bank", "shop"):
        use(server, namespace, "web-1")
    failing = [True]

    def refuse(asked: Asked) -> tuple[int, bytes] | None:
        return (400, UNAVAILABLE) if failing[0] and 'namespace="shop"' in asked.query else None

    server.faults.append(refuse)
    small = wanted(server, budget=Budget(series=1))
    with pytest.raises(
        ConfigurationError, match=r"--prometheus http://.*: status 400: no such thing; check --prometheus"
    ):
        record(small, tmp_path)
    failing[0] = False
    server.asked.clear()
    later = replace(small, begin=small.begin + timedelta(hours=9), end=small.end + timedelta(hours=9))
    record(later, tmp_path)
    assert server.queries()
    assert all('namespace="shop"' in query for query in server.queries())
    assert [len(each) for each in whole(tmp_path).traces] == [HOURS, HOURS]
    server.asked.clear()
    record(later, tmp_path)
    assert server.asked == []
    with pytest.raises(ConfigurationError, match="holds a recording of something else"):
        record(replace(later, step=timedelta(minutes=30)), tmp_path)


@pytest.mark.parametrize(
    ("row", "flags", "message"),
    [
        ("beyond:B-36 unknown", "--no-such-flag=1", "--prometheus-flags: .*no-such-flag"),
        (
            "beyond:B-36 quotes",
            "--username='a",
            "--prometheus-flags: No closing quotation; quote them as a shell would",
        ),
        ("beyond:B-36 help", "--help", "--prometheus-flags: --help is no flag of a running recommender"),
    ],
)
def test_flags_that_make_no_sense(server: PrometheusServer, tmp_path: Path, row: str, flags: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        record(wanted(server, flags=flags), tmp_path)
    assert server.asked == [], row


def test_nothing_there(server: PrometheusServer, tmp_path: Path) -> None:
    """beyond:B-36."""
    with pytest.raises(ConfigurationError, match=r"no series of containers from .*; check the time, --namespace"):
        record(wanted(server), tmp_path)
    use(server, "shop", "web-1")
    record(wanted(server), tmp_path)


def test_a_plan_that_cannot_be_read(server: PrometheusServer, tmp_path: Path) -> None:
    """beyond:B-36."""
    (tmp_path / "plan.json").write_text("{")
    with pytest.raises(ConfigurationError, match=r"plan.json: .*; remove the folder, or name another one"):
        record(wanted(server), tmp_path)


def test_a_folder_that_cannot_be_made(server: PrometheusServer, tmp_path: Path) -> None:
    """beyond:B-36."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="name a folder that can be made"):
        record(wanted(server), tmp_path / "file" / "x")

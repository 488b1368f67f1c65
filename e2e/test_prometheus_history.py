"""History from a real Prometheus: ours and upstream's own recommender read the same eight days."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from e2e.parity.process.copies import Copy, check_alive, open_copy
from e2e.parity.process.engines import Engine, Program, Side
from e2e.parity.process.upstream import Upstream, find_upstream
from e2e.prometheus.exporter import exporting
from e2e.prometheus.past import CONTAINERS, DAY, MadeUpUse, make_pods
from e2e.prometheus.programs import find_programs
from e2e.prometheus.readers import (
    API_VERSION,
    FROM_PROMETHEUS,
    LABELS,
    POLL_SECONDS,
    RANGED,
    SECONDS,
    Past,
    apart,
    cluster,
    serving,
    some_hours_ago,
    statuses,
    vectors,
)
from e2e.prometheus.server import running
from evenkeel.simulator.api.fields import JsonObject, child, quantity, rows, text
from evenkeel.simulator.processes.program import RunningProgram

_APPS = 50
_SEED = 7
_LEAST_MILLIS = 25
"""What a container gets of which nothing was seen."""

_OWN_WAY = "--behaviour=history_in_pieces=true,history_labels_found=true,history_screened=true"


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Past]:
    """Eight days of two hundred containers in a real Prometheus."""
    folder = tmp_path_factory.mktemp("prometheus")
    now = some_hours_ago()
    pods = make_pods(_APPS, now, _SEED)
    with serving(pods, MadeUpUse(_SEED), now, folder) as past:
        yield past


@pytest.fixture(scope="module")
def upstream() -> Upstream:
    return find_upstream()


@pytest.mark.parametrize(
    "percentiles",
    [
        (),
        (
            "--target-cpu-percentile=0.35",
            "--target-memory-percentile=0.6",
            "--recommendation-lower-bound-cpu-percentile=0.05",
            "--recommendation-lower-bound-memory-percentile=0.2",
            "--recommendation-upper-bound-cpu-percentile=0.995",
            "--recommendation-upper-bound-memory-percentile=1",
            "--cpu-histogram-decay-half-life=31h",
            "--memory-aggregation-interval=5h",
            "--history-resolution=20m",
        ),
    ],
    ids=["defaults", "others"],
)
def test_both_ask_the_same_and_recommend_the_same(
    past: Past, upstream: Upstream, tmp_path: Path, percentiles: tuple[str, ...]
) -> None:
    flags = (*FROM_PROMETHEUS, RANGED, *percentiles)
    found, asked = {}, {}
    for side in Side:
        engine = Engine(side, upstream)
        past.proxy.take()
        found[side] = asyncio.run(statuses(past, upstream, engine, flags, tmp_path / side.value))
        asked[side] = past.proxy.take()
    assert asked[Side.OURS] == asked[Side.UPSTREAM], "recommender:7"
    assert [question.path for question in asked[Side.OURS]] == ["/api/v1/query_range"] * 2 + ["/api/v1/query"]
    assert asked[Side.OURS][0].seconds == 8 * DAY
    assert len(found[Side.OURS]) == _APPS
    assert all(vectors(status).keys() == set(CONTAINERS) for status in found[Side.OURS].values())
    assert apart(found[Side.UPSTREAM], found[Side.OURS]) == []


@pytest.mark.parametrize("way", [(_OWN_WAY,), ("--profile=evenkeel",)], ids=["history", "profile"])
def test_in_pieces_with_the_default_query_for_labels_the_recommendations_are_the_same(
    past: Past, upstream: Upstream, tmp_path: Path, way: tuple[str, ...]
) -> None:
    ours, theirs = (Engine(side, upstream) for side in (Side.OURS, Side.UPSTREAM))
    past.proxy.take()
    own = asyncio.run(statuses(past, upstream, ours, (*FROM_PROMETHEUS, *way), tmp_path / "ours"))
    asked = past.proxy.take()
    expected = asyncio.run(statuses(past, upstream, theirs, (*FROM_PROMETHEUS, RANGED), tmp_path / "upstream"))
    assert {name: vectors(each) for name, each in own.items()} == {
        name: vectors(each) for name, each in expected.items()
    }
    ranges = [question for question in asked if question.query.startswith("rate(")]
    assert ranges
    assert all('namespace=~"shop' in question.query for question in ranges), "beyond:B-7"
    assert 'last_over_time(up{job="kubernetes-pods"}[8d])' in [question.query for question in asked]


def test_more_points_than_prometheus_gives_at_once_are_asked_for_in_parts(
    past: Past, upstream: Upstream, tmp_path: Path
) -> None:
    engine, length = Engine(Side.OURS, upstream), ("--history-length=80d", "--history-resolution=10m")
    past.proxy.take()
    found = asyncio.run(statuses(past, upstream, engine, (*FROM_PROMETHEUS, *length, _OWN_WAY), tmp_path))
    asked = past.proxy.take()
    memory = [question for question in asked if question.query.startswith("container_memory") and question.seconds]
    points = [question.seconds // 600 + 1 for question in memory]
    assert sum(points) == 80 * DAY // 600 + 1 > 11_000, "performance:R-7"
    assert max(points) <= 11_000
    assert len(found) == _APPS


@pytest.mark.parametrize("profile", ["evenkeel", "upstream"])
def test_usage_comes_from_prometheus_while_it_runs(upstream: Upstream, tmp_path: Path, profile: str) -> None:
    asyncio.run(_follow_usage(upstream, tmp_path, profile))


async def _follow_usage(upstream: Upstream, tmp_path: Path, profile: str) -> None:
    """Let a recommender follow a container that only Prometheus tells of, then end Prometheus."""
    pod = make_pods(1, int(time.time()), _SEED)[0]
    pods = [replace(pod, is_alive=True)]
    labels = f'namespace="{pod.namespace}",pod="{pod.name}",container="main"'
    live = ("--usage-source=prometheus", "--recommender-interval=2s", f"--profile={profile}", *LABELS)
    objects = [*upstream.definitions(), *cluster(pods)]
    async with open_copy(objects, tmp_path / "copy") as copy:
        with exporting(labels, 0.5, 300 << 20) as told, ExitStack() as prometheus:
            server = running(find_programs(), tmp_path / "data", tmp_path, scrape=told)
            flags = (*live, f"--prometheus-address={prometheus.enter_context(server)}")
            async with copy.running(Engine(Side.OURS, upstream), Program.RECOMMENDER, flags) as one:
                found = await wait_for(copy, one, lambda each: cpu_of(each) > _LEAST_MILLIS)
                # Half a core and the margin of 15 %; buckets are 5 % wide.
                assert 575 <= cpu_of(found) <= 640, "beyond:B-44"
                assert "UsageFallback" not in reasons_of(found)
                prometheus.close()
                found = await wait_for(copy, one, lambda each: "UsageFallback" in reasons_of(each))
                assert reasons_of(found)["UsageFallback"] == "PrometheusFailed"


async def wait_for(copy: Copy, one: RunningProgram, is_there: Callable[[JsonObject], bool]) -> JsonObject:
    """Wait until the status of the only VPA is as expected, and return it."""
    deadline = time.monotonic() + SECONDS
    while True:
        check_alive(one)
        (scaler,) = copy.server.store.list(API_VERSION, "VerticalPodAutoscaler")
        status = child(scaler, "status")
        if is_there(status):
            return status
        assert time.monotonic() < deadline, f"{json.dumps(status)}\n{one.log.last_lines(15)}"
        await asyncio.sleep(POLL_SECONDS)


def cpu_of(status: JsonObject) -> int:
    """Return the target of the main container in millicores, 0 where there is none."""
    found = rows(status, "recommendation", "containerRecommendations")
    targets = [child(each, "target").get("cpu") for each in found if text(each, "containerName") == "main"]
    return quantity(targets[0]).milli_value() if targets and targets[0] else 0


def reasons_of(status: JsonObject) -> dict[str, str]:
    """Return the reason of each condition."""
    return {text(each, "type"): text(each, "reason") for each in rows(status, "conditions")}

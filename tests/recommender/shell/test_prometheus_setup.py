"""From flags to a recommender that asks Prometheus: whole rounds on the embedded API server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta

import numpy as np
import pytest

from autoscaling.runtime.process import Process
from evenkeel.simulator.api.server import ApiServer
from recommender.__main__ import model_settings
from recommender.cluster_model import ClusterModel
from recommender.config import RecommenderConfig
from recommender.history.queries import HistoryRequest
from recommender.shell.loop import Loop
from recommender.shell.prometheus_client import Credentials
from recommender.shell.prometheus_setup import PrometheusAccess, credentials, history_request
from recommender.strategies.known import known_strategies
from recommender.strategies.running import StrategyRuns
from tests.autoscaling.kube.clocks import InstantPacing
from tests.embedded import GROUP, Json, api_server, deploy, vpa_object
from tests.recommender.history.builders import HOUR, MINUTE, T0_NS, of
from tests.recommender.shell import stage
from tests.recommender.shell.prometheus_server import PrometheusServer, prometheus_server
from tests.recommender.strategies.plugins import Peak, plugin

MEMORY_300_MI = float(300 << 20)
pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> ApiServer:
    made = api_server()
    deploy(made)
    made.store.create(vpa_object())
    return made


@pytest.fixture
def prometheus() -> Iterator[PrometheusServer]:
    with prometheus_server() as serving:
        yield serving


def config(*words: str, **environment: str) -> RecommenderConfig:
    return RecommenderConfig.from_command_line(words, environment)


def past(days: int) -> dict[int, float]:
    """Return a point for every hour of some days before T0."""
    return {T0_NS - hour * HOUR: 0.1 for hour in range(24 * days + 1)}


@dataclass
class Scene:
    """A recommender made from flags, and what it has to do with Prometheus."""

    loop: Loop
    access: PrometheusAccess


@asynccontextmanager
async def made_from(server: ApiServer, prometheus: PrometheusServer, *words: str) -> AsyncIterator[Scene]:
    flags = config(f"--prometheus-address={prometheus.url}", "--prometheus-query-timeout=20s", *words)
    async with stage.recommender(server, profile=flags.profile) as plain:
        process = Process(plain.parts.driver, pacing=InstantPacing())
        access = PrometheusAccess.of(flags, process, plain.parts.metrics)
        usage, standing = access.usage(plain.parts.caches, plain.parts.usage)
        parts = replace(plain.parts, usage=usage, standing=standing, history=access.history())
        try:
            yield Scene(Loop(plain.settings, parts, ClusterModel(model_settings(flags))), access)
        finally:
            access.close()
            access.client.close()


def conditions(server: ApiServer) -> dict[str, str]:
    entries = stage.status(server).get("conditions", [])
    assert isinstance(entries, list)
    return {entry["type"]: entry.get("reason", "") for entry in entries}


def checkpoints(server: ApiServer) -> list[Json]:
    return server.store.list(f"{GROUP}/v1", "VerticalPodAutoscalerCheckpoint", "default")


async def test_history_is_there_in_the_first_round(server: ApiServer, prometheus: PrometheusServer) -> None:
    prometheus.use(of(), past(8), dict.fromkeys(past(8), MEMORY_300_MI))
    async with made_from(server, prometheus, "--storage=prometheus") as scene:
        await scene.loop.load_history()
        assert conditions(server) == {"FetchingHistory": "LoadingHistory"}, "beyond:B-8"
        await stage.seen(server, scene.loop)
        await stage.run_at(scene.loop, 1)
        assert conditions(server).keys() == {"LowConfidence", "RecommendationProvided"}, "one sample an hour"
        assert stage.target(server) == {"cpu": "126m", "memory": "380258472"}, "beyond:B-7"
        assert checkpoints(server) == [], "recommender:7"
        counted = scene.loop.parts.metrics.prometheus_requests
        (family,) = counted.labels("200", "post").collect()
        assert family.samples[0].value >= 4, "recommender:10"


async def test_history_is_told_to_strategies_with_the_time_that_a_point_stands_for(
    server: ApiServer, prometheus: PrometheusServer
) -> None:
    server.store.merge(vpa_object(recommender={"strategy": "peak"}))
    prometheus.use(of(), past(1), dict.fromkeys(past(1), MEMORY_300_MI))
    peak = Peak()
    async with made_from(server, prometheus, "--storage=prometheus", "--history-length=1d") as scene:
        scene.loop.model.strategies = StrategyRuns(known_strategies([plugin(peak)])[0])
        await scene.loop.load_history()
        stage.used(server, 1, cpu="50m")
        await stage.run_at(scene.loop, 1)
    (state,) = peak.states
    cpu = [usage for usage in state.heard if not np.isnan(usage.cpu_cores).all()]
    ends = [end for usage in cpu for end in usage.ends_seconds.tolist()]
    assert ends == sorted(ends), "beyond:B-10"
    assert len(ends) == 26, "one for each hour, both ends included, and one of now"
    assert [d for usage in cpu for d in usage.durations_seconds.tolist()] == [3600.0] * 25 + [60.0], "beyond:B-10"
    assert stage.target(server) == {"cpu": "100m", "memory": "300Mi"}


async def test_without_the_flags_prometheus_is_not_asked(server: ApiServer, prometheus: PrometheusServer) -> None:
    stage.used(server, 1)
    async with made_from(server, prometheus) as scene:
        await scene.loop.load_history()
        await stage.run_at(scene.loop, 1)
        assert len(checkpoints(server)) == 1
        assert scene.loop.parts.standing is None
    assert prometheus.asked == []


async def test_usage_comes_from_prometheus_and_says_when_it_does_not(
    server: ApiServer, prometheus: PrometheusServer
) -> None:
    points = {T0_NS + number * MINUTE: 6.0 * number for number in range(3)}
    prometheus.use(of(), points, dict.fromkeys(points, MEMORY_300_MI))
    async with made_from(server, prometheus, "--usage-source=prometheus", "--recommender-interval=1m") as scene:
        await scene.loop.load_history()
        await stage.run_at(scene.loop, 1)
        assert stage.target(server) == {"cpu": "126m", "memory": "380258472"}, "beyond:B-44"
        assert "UsageFallback" not in conditions(server)
        stage.used(server, 6, cpu="100m")
        await stage.seen(server, scene.loop)
        await stage.run_at(scene.loop, 6)
        assert conditions(server)["UsageFallback"] == "PrometheusLags"
        later = {T0_NS + number * MINUTE: 6.0 * number for number in range(5, 8)}
        prometheus.use(of(), later, dict.fromkeys(later, MEMORY_300_MI))
        await stage.seen(server, scene.loop)
        await stage.run_at(scene.loop, 7)
        assert "UsageFallback" not in conditions(server)


async def test_upstreams_profile_shows_the_fallback_as_well(server: ApiServer, prometheus: PrometheusServer) -> None:
    stage.used(server, 1)
    async with made_from(server, prometheus, "--usage-source=prometheus", "--profile=upstream") as scene:
        await scene.loop.load_history()
        await stage.run_at(scene.loop, 1)
    assert conditions(server) == {"RecommendationProvided": "", "UsageFallback": "PrometheusLags"}, "beyond:B-44"


@pytest.mark.parametrize(
    ("row", "words", "environment", "expected"),
    [
        ("recommender:7", (), {}, Credentials()),
        ("recommender:7", ("--username=u", "--password=p"), {}, Credentials(username="u", password="p")),
        (
            "recommender:7",
            ("--username=u",),
            {"PROMETHEUS_USERNAME": "a", "PROMETHEUS_PASSWORD": "b"},
            Credentials(username="a", password="b"),
        ),
        (
            "recommender:7",
            ("--username=u", "--password=p", "--prometheus-bearer-token=t", "--prometheus-bearer-token-file="),
            {"PROMETHEUS_USERNAME": "a", "PROMETHEUS_PASSWORD": "b"},
            Credentials("", "t", "u", "p"),
        ),
        (
            "recommender:7",
            ("--prometheus-bearer-token-file=/token", "--prometheus-bearer-token=t"),
            {},
            Credentials("/token", "t"),
        ),
        (
            "product:1",
            ("--username=u", "--password=p", "--prometheus-password-file=/password"),
            {"PROMETHEUS_USERNAME": "a", "PROMETHEUS_PASSWORD": "b"},
            Credentials(username="u", password_file="/password"),
        ),
        (
            "product:1",
            ("--prometheus-password-file=/password",),
            {"PROMETHEUS_USERNAME": "a", "PROMETHEUS_PASSWORD": "b"},
            Credentials(username="a", password_file="/password"),
        ),
    ],
)
def test_signing_in_by_flags_and_environment(
    row: str, words: tuple[str, ...], environment: dict[str, str], expected: Credentials
) -> None:
    assert credentials(config(*words, **environment)) == expected, row


def test_what_the_flags_ask_for() -> None:
    assert history_request(config()) == HistoryRequest(), "recommender:9.1"
    words = (
        "--history-cpu-metric=c",
        "--history-memory-metric=m",
        "--prometheus-cadvisor-job-name=j",
        "--vpa-object-namespace=n",
        "--container-namespace-label=a",
        "--container-pod-name-label=b",
        "--container-name-label=d",
        "--metric-for-pod-labels=up[1d]",
        "--pod-namespace-label=e",
        "--pod-name-label=f",
        "--pod-label-prefix=g",
        "--history-length=2w",
        "--history-resolution=90m",
    )
    lengths = (timedelta(days=14), timedelta(minutes=90), "2w", "1h30m")
    expected = HistoryRequest("c", "m", "j", "n", "a", "b", "d", "up[1d]", "e", "f", "g", *lengths)
    assert history_request(config(*words)) == expected, "recommender:9.1"

"""Strategies of other distributions: found, put to work by whole rounds, and by a whole process (beyond:B-10)."""

from __future__ import annotations

import json
import os
import re
import signal
import site
import subprocess
import sys
import time
import tomllib
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from autoscaling.behaviour import Profile
from evenkeel.simulator.api.metrics import StaticMetrics, Window
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import serve_in_thread
from recommender.__main__ import loop_settings, strategies
from recommender.config import RecommenderConfig
from recommender.shell.metrics import RecommenderMetrics
from recommender.shell.strategies import FaultReporter, load_strategies
from recommender.strategies.faults import Fault, FaultReason
from recommender.strategies.known import ENTRY_POINTS, OWN_NAMES, KnownStrategies, known_strategies
from tests.embedded import GROUP, api_server, deploy, vpa_object
from tests.recommender.shell.stage import conditions, recommender, run_at, seen, status, stored, target, used
from tests.recommender.strategies.plugins import DISTRIBUTION, Failing, Peak, install, plugin

pytestmark = pytest.mark.anyio

PAGE = Path(__file__).parents[3] / "docs" / "strategies.md"
_SECONDS = 40.0


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def page_blocks() -> dict[str, str]:
    """Return the example of the page on strategies: its module and its project file."""
    return dict(re.findall(r"^```(python|toml)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL))


def install_example(folder: Path) -> None:
    """Install the example of the page on strategies, as it stands there."""
    blocks = page_blocks()
    project = tomllib.loads(blocks["toml"])["project"]
    install(folder, project["name"], {"largest_use": blocks["python"]}, project["entry-points"][ENTRY_POINTS])


BROKEN = '''"""Cannot be imported."""
raise RuntimeError("no licence")
'''
ENDING = '''"""Ends whoever imports it."""
raise SystemExit("no licence")
'''
ODD = '''"""Objects that are no strategies."""
class Odd:
    name = "odd"
odd = Odd()
'''
STUMBLING = '''"""Fails at the first sample."""
from largest_use import LargestUseState
class State(LargestUseState):
    def observe(self, usage):
        raise LookupError("row 7")
class Stumbling:
    name = "stumbling"
    def start(self, rows):
        return State(rows)
stumbling = Stumbling()
'''


def test_what_is_installed_is_found_and_what_is_broken_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_example(tmp_path)
    modules = {"b10_broken": BROKEN, "b10_ending": ENDING, "b10_odd": ODD}
    points = {
        "broken": "b10_broken:x",
        "ending": "b10_ending:x",
        "missing": "b10_odd:nothing",
        "nowhere": "b10_nowhere:x",
        "odd": "b10_odd:odd",
        "Odd": "b10_odd:odd",
    }
    install(tmp_path, "bad-ones", modules, points)
    install(tmp_path, "second_use", {}, {"largest-use": "b10_odd:odd", "vpa-min0": "largest_use:STRATEGY"})
    (tmp_path / "half-1.0.dist-info").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    with capture_logs() as logged:
        known, faults = load_strategies()
    assert known.names == OWN_NAMES | {"largest-use"}
    assert known.plugins["largest-use"].distribution == "largest-use 1.0"
    found = [(entry["strategy"], entry["distribution"]) for entry in logged if entry["event"] == "strategy found"]
    assert found == [("largest-use", "largest-use 1.0")]
    assert {(fault.strategy, fault.distribution, fault.reason) for fault in faults} == {
        ("broken", "bad-ones 1.0", FaultReason.IMPORT),
        ("ending", "bad-ones 1.0", FaultReason.IMPORT),
        ("missing", "bad-ones 1.0", FaultReason.IMPORT),
        ("nowhere", "bad-ones 1.0", FaultReason.IMPORT),
        ("odd", "bad-ones 1.0", FaultReason.SHAPE),
        ("Odd", "bad-ones 1.0", FaultReason.SHAPE),
        ("largest-use", "second-use 1.0", FaultReason.SHAPE),
        ("vpa-min0", "second-use 1.0", FaultReason.SHAPE),
    }
    assert known.broken["broken"].problem == "importing b10_broken:x raised RuntimeError: no licence"
    assert set(known.broken) == {"broken", "ending", "missing", "nowhere", "odd", "Odd"}


def lay_out(layout: str, folder: Path, module: str) -> Path:
    """Install the example in one of the ways that there are, and return what is to be on the path."""
    source, points = page_blocks()["python"], {"largest-use": f"{module}:STRATEGY"}
    if layout == "editable":
        # The metadata is in site-packages, and a line of a file there leads to the source.
        (folder / "source").mkdir()
        (folder / "source" / f"{module}.py").write_text(source)
        install(folder, "largest-use", {}, points)
        (folder / "_largest_use.pth").write_text(f"{folder / 'source'}\n")
        return folder
    install(folder, "largest-use", {module: source}, points)
    metadata = folder / "largest_use-1.0.dist-info"
    if layout == "develop":
        (metadata / "METADATA").rename(metadata / "PKG-INFO")
        metadata.rename(folder / "largest_use.egg-info")
    if layout == "zip":
        archive = folder.parent / f"{folder.name}.zip"
        with zipfile.ZipFile(archive, "w") as file:
            for path in folder.rglob("*"):
                file.write(path, path.relative_to(folder))
        return archive
    return folder


@pytest.mark.parametrize(
    ("row", "layout"),
    [
        ("beyond:B-10 installed", "installed"),
        ("beyond:B-10 editable", "editable"),
        ("beyond:B-10 develop", "develop"),
        ("beyond:B-10 vendored", "application/_vendor"),
        ("beyond:B-10 zip", "zip"),
    ],
)
def test_a_strategy_is_found_however_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: str, layout: str
) -> None:
    folder, module = tmp_path / layout, f"b10_{layout.rpartition('/')[2]}"
    folder.mkdir(parents=True)
    on_path = lay_out(layout, folder, module)
    monkeypatch.syspath_prepend(on_path)
    site.addsitedir(str(on_path))
    known, faults = load_strategies()
    assert (set(known.plugins), faults) == ({"largest-use"}, ()), row
    assert known.plugins["largest-use"].distribution == "largest-use 1.0", row
    found = sys.modules[module].__file__
    assert found is not None
    assert Path(found).is_relative_to(on_path), row


@pytest.mark.parametrize(
    ("row", "first", "second", "expected"),
    [
        ("beyond:B-10 the first on the path", "my-use", "my-use", {"largest-use"}),
        ("beyond:B-10 spelt otherwise", "my.use", "My_Use", {"largest-use"}),
        ("beyond:B-10 ourselves", "Evenkeel", "my-use", set()),
    ],
)
def test_of_two_distributions_of_one_name_the_first_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: str, first: str, second: str, expected: set[str]
) -> None:
    for name, points in ((first, {"largest-use": "b10_twice:STRATEGY"}), (second, {})):
        folder = tmp_path / f"{name} {len(points)}"
        folder.mkdir()
        install(folder, name, {"b10_twice": page_blocks()["python"]}, points)
    for name, count in ((second, 0), (first, 1)):
        monkeypatch.syspath_prepend(tmp_path / f"{name} {count}")
    assert set(load_strategies()[0].plugins) == expected, row
    monkeypatch.syspath_prepend(tmp_path / f"{second} 0")
    assert set(load_strategies()[0].plugins) == (expected if "Evenkeel" in {first, second} else set()), row


@pytest.mark.parametrize("brings_strategies", [True, False])
def test_metadata_that_cannot_be_read_keeps_no_strategy_from_being_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, brings_strategies: bool
) -> None:
    """Spec: beyond:B-10."""
    install_example(tmp_path)
    install(tmp_path, "odd", {}, {"odd": "b10_odd:odd"} if brings_strategies else {})
    (tmp_path / "odd-1.0.dist-info" / "METADATA").write_bytes(b"Name: odd\nVersion: 1.0\nAuthor: \xff\n")
    monkeypatch.syspath_prepend(tmp_path)
    known, faults = load_strategies()
    assert (set(known.plugins), faults) == ({"largest-use"}, ())


def test_files_that_cannot_be_read_keep_no_strategy_from_being_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_example(tmp_path)
    install(tmp_path, "another", {}, {})
    (tmp_path / "another-1.0.dist-info" / "entry_points.txt").write_bytes(b"[evenkeel.strategies]\n\xff\xfe = \xff\n")
    monkeypatch.syspath_prepend(tmp_path)
    with capture_logs() as logged:
        known, faults = load_strategies()
    assert (set(known.plugins), faults) == ({"largest-use"}, ())
    assert [e["distribution"] for e in logged if e["event"] == "entry points not read"] == ["another 1.0"]


@pytest.mark.parametrize(
    ("row", "flags", "is_heeded"),
    [
        ("beyond:B-10", [], True),
        ("beyond:B-10 profile upstream", ["--profile=upstream"], False),
        ("beyond:B-10 profile and switch", ["--profile=upstream", "--behaviour=strategies=true"], True),
        ("beyond:B-10 switch", ["--behaviour=strategies=false"], False),
        ("beyond:B-10 group", ["--api-group=autoscaling.k8s.io"], False),
    ],
)
def test_where_strategies_are_heeded(row: str, flags: list[str], is_heeded: bool) -> None:
    config = RecommenderConfig.from_command_line(flags, {})
    known = strategies(config, RecommenderMetrics.register(CollectorRegistry()))
    assert (known is not None) is is_heeded, row


def test_a_sample_stands_for_the_time_between_two_rounds() -> None:
    config = RecommenderConfig.from_command_line(["--recommender-interval=30s"], {})
    assert loop_settings(config).interval.total_seconds() == 30.0


def test_a_failure_that_goes_on_is_counted_each_time_and_logged_once() -> None:
    metrics = RecommenderMetrics.register(CollectorRegistry())
    reporter = FaultReporter(metrics.strategy_errors)
    fault = Fault("peak", DISTRIBUTION, FaultReason.OUTPUT, "impossible amounts", is_lasting=False)
    with capture_logs() as logged:
        for faults in ([fault, fault], [fault], [], [fault]):
            reporter.report(faults)
    assert [entry["event"] for entry in logged] == ["strategy cannot be used"] * 2
    assert logged[0] == {
        "event": "strategy cannot be used",
        "log_level": "error",
        "strategy": "peak",
        "distribution": DISTRIBUTION,
        "reason": "output",
        "error": "impossible amounts",
        "until": "the next round",
    }
    assert counted(metrics) == {("peak", "output"): 4.0}


def counted(metrics: RecommenderMetrics) -> dict[tuple[str, str], float]:
    samples = [sample for family in metrics.strategy_errors.collect() for sample in family.samples]
    totals = [sample for sample in samples if sample.name == "evenkeel_recommender_strategy_errors_total"]
    return {(sample.labels["strategy"], sample.labels["reason"]): sample.value for sample in totals}


def knowing(*found: Peak | Failing) -> KnownStrategies:
    return known_strategies([plugin(each) for each in found])[0]


@pytest.fixture
def server() -> ApiServer:
    made = api_server()
    deploy(made)
    return made


def asking(server: ApiServer, strategy: str | None) -> None:
    """Have a VPA that asks for a strategy, made or changed."""
    body = vpa_object(recommender=None if strategy is None else {"strategy": strategy})
    known = server.store.list(f"{GROUP}/v1", "VerticalPodAutoscaler", "default")
    put = server.store.merge if known else server.store.create
    put(body)


async def test_a_strategy_is_chosen_changed_and_remembered_over_a_restart(server: ApiServer) -> None:
    asking(server, "peak")
    used(server, 1, cpu="400m")
    async with recommender(server, strategies=knowing(Peak())) as loop:
        await run_at(loop, 1)
        assert target(server) == {"cpu": "400m", "memory": "300Mi"}, "beyond:B-10"
        (checkpoint,) = stored(server)
        body = checkpoint["status"]
        assert isinstance(body, dict)
        assert body["strategy"] == {"name": "peak", "state": {"cpu": 0.4, "memory": 300.0 * 2**20}}
    used(server, 2, cpu="100m")
    async with recommender(server, strategies=knowing(Peak()), started_minutes=2) as loop:
        await run_at(loop, 2)
        assert target(server) == {"cpu": "400m", "memory": "300Mi"}, "beyond:B-10 restored"
        asking(server, "vpa-min0")
        await seen(server, loop)
        await run_at(loop, 3)
        assert target(server) == {"cpu": "476m", "memory": "380258472"}, "beyond:B-10 the next round"
        (checkpoint,) = stored(server)
        body = checkpoint["status"]
        assert isinstance(body, dict)
        assert "strategy" not in body


@pytest.mark.parametrize(
    ("row", "strategy", "first", "second"),
    [
        # After 400m and 300Mi, and then after 100m and 300Mi as well.
        ("quality:Q-12", "krr-simple", {"cpu": "400m", "memory": "345Mi"}, {"cpu": "400m", "memory": "345Mi"}),
        (
            "quality:Q-14",
            "autopilot-like",
            {"cpu": "467m", "memory": "367477930"},
            {"cpu": "467m", "memory": "367477930"},
        ),
        ("quality:Q-15", "weekly-peak", {"cpu": "460m", "memory": "330Mi"}, {"cpu": "460m", "memory": "330Mi"}),
        ("quality:Q-16", "seasonal-naive", {"cpu": "400m", "memory": "300Mi"}, {"cpu": "250m", "memory": "300Mi"}),
        # Without two days of history both are upstream's rule: the largest bucket of what was used, and its margin.
        ("quality:Q-18", "adaptive", {"cpu": "476m", "memory": "380258472"}, {"cpu": "476m", "memory": "380258472"}),
        (
            "quality:Q-18",
            "adaptive-calm",
            {"cpu": "476m", "memory": "380258472"},
            {"cpu": "476m", "memory": "380258472"},
        ),
    ],
)
async def test_the_strategies_of_this_distribution_can_be_chosen_and_outlive_a_restart(
    server: ApiServer, row: str, strategy: str, first: dict[str, str], second: dict[str, str]
) -> None:
    asking(server, strategy)
    used(server, 1, cpu="400m")
    async with recommender(server, strategies=KnownStrategies()) as loop:
        await run_at(loop, 1)
        assert target(server) == first, row
        (checkpoint,) = stored(server)
        body = checkpoint["status"]
        assert isinstance(body, dict)
        assert body["strategy"]["name"] == strategy, row
    used(server, 2, cpu="100m")
    async with recommender(server, strategies=KnownStrategies(), started_minutes=2) as loop:
        await run_at(loop, 2)
        assert counted(loop.parts.metrics) == {}, row
    assert target(server) == second, row
    assert "StrategyUnavailable" not in conditions(server), row


async def test_a_strategy_that_is_missing_shows_and_what_is_stored_of_it_stays(server: ApiServer) -> None:
    asking(server, "peak")
    used(server, 1, cpu="400m")
    async with recommender(server, strategies=knowing(Peak())) as loop:
        await run_at(loop, 1)
    used(server, 2, cpu="100m")
    async with recommender(server, strategies=KnownStrategies(), started_minutes=2) as loop:
        await run_at(loop, 2)
        assert target(server) == {"cpu": "476m", "memory": "380258472"}
        assert conditions(server)["StrategyUnavailable"] == "True"
        (message,) = [c["message"] for c in status_conditions(server) if c["type"] == "StrategyUnavailable"]
        assert message == (
            "spec.recommender.strategy is peak, which this recommender does not know; vpa-default stands in. Choose "
            "one of adaptive, adaptive-calm, autopilot-like, krr-simple, seasonal-naive, vpa-default, vpa-min0, "
            "weekly-peak, or install the distribution that brings it and restart the recommender"
        )
    async with recommender(server, strategies=knowing(Peak()), started_minutes=3) as loop:
        used(server, 3, cpu="50m")
        await run_at(loop, 3)
    assert target(server) == {"cpu": "400m", "memory": "300Mi"}
    assert "StrategyUnavailable" not in conditions(server)


def status_conditions(server: ApiServer) -> list[dict[str, str]]:
    found = status(server)["conditions"]
    assert isinstance(found, list)
    return found


async def test_a_failure_is_counted_and_the_round_goes_on(server: ApiServer) -> None:
    asking(server, "failing")
    used(server, 1)
    async with recommender(server, strategies=knowing(Failing("observe", KeyError("x")))) as loop:
        for minute in (1, 2):
            await run_at(loop, minute)
        assert counted(loop.parts.metrics) == {("failing", "exception"): 1.0}
    assert target(server) == {"cpu": "126m", "memory": "380258472"}
    assert conditions(server)["StrategyUnavailable"] == "True"


async def test_in_profile_upstream_the_field_is_not_heeded(server: ApiServer) -> None:
    asking(server, "vpa-min0")
    used(server, 1, memory="40Mi")
    async with recommender(server, profile=Profile.UPSTREAM) as loop:
        await run_at(loop, 1)
    assert target(server) == {"cpu": "126m", "memory": "250Mi"}
    assert "StrategyUnavailable" not in conditions(server)


@contextmanager
def running(folder: Path, kubeconfig: Path) -> Iterator[Iterator[dict[str, object]]]:
    """A real recommender with a folder of distributions on its path; what it logs, entry by entry."""
    flags = ("--address=127.0.0.1:0", "--recommender-interval=1s", f"--kubeconfig={kubeconfig}")
    words = [sys.executable, "-P", "-m", "recommender", *flags]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        try:
            yield map(json.loads, process.stderr)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=_SECONDS)
            finally:
                process.kill()


def until(entries: Iterator[dict[str, object]], event: str) -> list[dict[str, object]]:
    """Read entries up to one of an event."""
    deadline, found = time.monotonic() + _SECONDS, []
    for entry in entries:
        found.append(entry)
        if entry["event"] == event:
            return found
        assert time.monotonic() < deadline, found
    raise AssertionError(found)


def test_a_real_recommender_loads_strategies_and_isolates_broken_ones(tmp_path: Path) -> None:
    folder = tmp_path / "installed"
    folder.mkdir()
    install_example(folder)
    install(folder, "bad-ones", {"b10_broken": BROKEN, "b10_stumbling": STUMBLING}, {
        "broken": "b10_broken:x", "stumbling": "b10_stumbling:stumbling"
    })  # fmt: skip
    server = api_server()
    asked = {"whole": None, "small": "vpa-min0", "largest": "largest-use", "torn": "broken", "stumbles": "stumbling"}
    for name, strategy in asked.items():
        deploy(server, name)
        named = None if strategy is None else {"strategy": strategy}
        server.store.create(vpa_object(name, recommender=named))

    def use(cpu: str, memory: str) -> None:
        # The process has the clock of this machine.
        now = datetime.fromtimestamp(int(time.time()), UTC)
        assert isinstance(server.metrics, StaticMetrics)
        for name in asked:
            server.metrics.put_pod(("default", f"{name}-0"), {"main": (cpu, memory)}, Window(now))

    use("2m", "20Mi")
    with serve_in_thread(server) as endpoint:
        kubeconfig = endpoint.write_kubeconfig(tmp_path / "kubeconfig")
        with running(folder, kubeconfig) as entries:
            logged = until(entries, "round recommended")
            # What a strategy did wrong in a round is told at its end.
            logged += until(entries, "strategy cannot be used")
            families = metrics_of(logged)
        found = {name: target(server, name) for name in asked}
        use("1m", "10Mi")
        with running(folder, kubeconfig) as entries:
            until(entries, "round recommended")
        after = target(server, "largest")
    ours = {"cpu": "25m", "memory": "250Mi"}
    assert found == {
        "whole": ours,
        "small": {"cpu": "11m", "memory": "36253748"},
        "largest": {"cpu": "3m", "memory": "24Mi"},
        "torn": ours,
        "stumbles": ours,
    }, "beyond:B-10"
    assert after == {"cpu": "3m", "memory": "24Mi"}, "beyond:B-10 what was seen outlives a restart"
    unavailable = {name for name in asked if "StrategyUnavailable" in conditions(server, name)}
    assert unavailable == {"torn", "stumbles"}, "beyond:B-10"
    failures = [entry for entry in logged if entry["event"] == "strategy cannot be used"]
    told = [(entry["strategy"], entry["reason"], entry["distribution"]) for entry in failures]
    assert told == [("broken", "import", "bad-ones 1.0"), ("stumbling", "exception", "bad-ones 1.0")]
    for name, reason in (("broken", "import"), ("stumbling", "exception")):
        labels = f'reason="{reason}",strategy="{name}"'
        assert f"evenkeel_recommender_strategy_errors_total{{{labels}}} 1" in families.splitlines()


def metrics_of(logged: list[dict[str, object]]) -> str:
    """Return what the process exposes, at the port that it has logged."""
    (port,) = {entry["port"] for entry in logged if entry["event"] == "telemetry listens"}
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=_SECONDS) as answer:
        return str(answer.read(), "utf-8")

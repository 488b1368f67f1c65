"""How the three processes are started on a simulated cluster; what they would do is not of interest here."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from evenkeel.simulator.api.serving import serve
from evenkeel.simulator.cluster import ClusterSettings, SimulatedCluster
from evenkeel.simulator.manifests import read_manifests
from evenkeel.simulator.processes.installation import Installation, Launching, ProcessEndedError
from evenkeel.simulator.processes.logs import LogLine
from evenkeel.simulator.processes.program import Invocation

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Pretended:
    """A process of the operating system that does nothing."""

    def __init__(self) -> None:
        self.pid = 0
        self.status: int | None = None

    def poll(self) -> int | None:
        return self.status

    def wait(self, timeout: float | None = None) -> int:
        return self.status or 0

    def terminate(self) -> None:
        self.status = 0

    def kill(self) -> None:
        self.terminate()


class Machine:
    """Starts processes that do nothing, and remembers how."""

    def __init__(self) -> None:
        self.started: dict[str, Invocation] = {}
        self.processes: dict[str, Pretended] = {}
        self.logs: dict[str, Path] = {}

    def start(self, invocation: Invocation, log: Path) -> Pretended:
        self.started[invocation.name], self.logs[invocation.name] = invocation, log
        self.processes[invocation.name] = Pretended()
        return self.processes[invocation.name]

    def log(self, name: str, line: str) -> None:
        with self.logs[name].open("a") as file:
            file.write(line + "\n")


async def test_each_is_started_as_its_deployment_says_with_its_own_token(tmp_path: Path) -> None:
    cluster, machine = SimulatedCluster(ClusterSettings(nodes=())), Machine()
    manifests = read_manifests()
    await cluster.install(manifests)
    async with serve(cluster.server, tls=False) as endpoint:
        flags = {"updater": ("--v=5",)}
        launching = Launching(manifests, tmp_path, flags, lambda name: f"http://clock/{name}", starter=machine.start)
        installation = Installation(cluster, endpoint, launching)
        installation.start(installation.names)
    words = machine.started["updater"].words
    assert words[1:4] == ("-P", "-m", "updater")
    assert words[4:9] == manifests.programs["updater"].arguments
    assert words[9:] == (
        f"--kubeconfig={tmp_path / 'updater.kubeconfig'}",
        "--address=127.0.0.1:0",
        "--clock=http://clock/updater",
        "--v=5",
    )
    assert machine.started["updater"].environment == {"NAMESPACE": "evenkeel-system"}
    assert "--port=0" in machine.started["admission"].words
    assert "--port=0" not in machine.started["recommender"].words
    users = set()
    for name in ("admission", "recommender", "updater"):
        path = tmp_path / f"{name}.kubeconfig"
        assert path.stat().st_mode & 0o077 == 0, "nobody else reads it"
        token = yaml.safe_load(path.read_text())["users"][0]["user"]["token"]
        users.add(cluster.server.access.tokens[token].name)
    assert users == set(installation.users)
    assert "system:serviceaccount:evenkeel-system:evenkeel-updater" in users


async def test_in_real_time_there_is_no_flag_for_a_clock(tmp_path: Path) -> None:
    cluster, machine = SimulatedCluster(ClusterSettings(nodes=())), Machine()
    await cluster.install(read_manifests())
    async with serve(cluster.server, tls=False) as endpoint:
        installation = Installation(cluster, endpoint, Launching(read_manifests(), tmp_path, starter=machine.start))
        installation.start(("updater",))
    assert not [word for word in machine.started["updater"].words if word.startswith("--clock")]


async def test_the_webhooks_service_follows_its_port_and_logs_are_handed_on(tmp_path: Path) -> None:
    cluster, machine, told = SimulatedCluster(ClusterSettings(nodes=())), Machine(), []
    await cluster.install(read_manifests())

    def listen(name: str, line: LogLine) -> None:
        told.append((name, line.event))

    async with serve(cluster.server, tls=False) as endpoint:
        launching = Launching(read_manifests(), tmp_path, on_log=listen, starter=machine.start)
        installation = Installation(cluster, endpoint, launching)
        installation.start(installation.names)
        await installation.look()
        assert cluster.server.store.find("v1", "Endpoints", "evenkeel-webhook", "evenkeel-system") is None
        for port in (1111, 2222):
            machine.log("admission", f'{{"event":"webhook listens","port":{port}}}')
            machine.log("updater", '{"event":"caches filled"}')
            await installation.look()
            found = cluster.server.store.read("v1", "Endpoints", "evenkeel-webhook", "evenkeel-system")
            assert found["subsets"][0]["ports"][0]["port"] == port  # type: ignore[index]
        assert told == [("admission", "webhook listens"), ("updater", "caches filled")] * 2
        await installation.stop()


async def test_one_that_has_ended_is_named_with_its_last_words(tmp_path: Path) -> None:
    cluster, machine = SimulatedCluster(ClusterSettings(nodes=())), Machine()
    await cluster.install(read_manifests())
    async with serve(cluster.server, tls=False) as endpoint:
        installation = Installation(cluster, endpoint, Launching(read_manifests(), tmp_path, starter=machine.start))
        installation.start(installation.names)
        machine.log("updater", "it is all over")
        machine.processes["updater"].status = 1
        with pytest.raises(
            ProcessEndedError, match="updater has ended with status 1; its last lines were\nit is all over"
        ):
            await installation.look()
        assert "--- updater\nit is all over" in installation.last_words()
        await installation.end("recommender")
        assert [program.invocation.name for program in installation.programs] == ["admission", "updater"]
        await installation.stop()
    assert installation.programs == ()
    assert all(process.status is not None for process in machine.processes.values())

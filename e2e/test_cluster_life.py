"""The life cycle of real clusters: what is left after a crash is found and removed, and failures are told clearly.

These clusters have a root folder of their own, so that they stand beside the one the other tests use.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from e2e.cluster import cgroups, processes
from e2e.cluster.cluster import Cluster, start_with_retry
from e2e.cluster.errors import ClusterError, StartFailedError
from e2e.cluster.kube import Kube
from e2e.cluster.layout import FAMILY
from e2e.cluster.nodes import NodeSpec
from e2e.cluster.processes import ProcessRef
from e2e.cluster.takedown import HOST_FOLDERS
from e2e.cluster.waiting import wait_for
from e2e.workloads import BURN_SCRIPT, container, deployment

_REPOSITORY = Path(__file__).parent.parent
_DRIVER = """
import signal, sys
from pathlib import Path
from e2e.cluster.cluster import Cluster
# Where the tests run in the background, a shell has let them ignore interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
Cluster(Path(sys.argv[1])).up()
signal.pause()
"""


@pytest.fixture
def root() -> Iterator[Path]:
    """A root folder that is empty before the test, and whose cluster is down after it."""
    folder = Path(f"/var/tmp/evenkeel-e2e-life-{os.getpid()}")
    try:
        yield folder
    finally:
        Cluster(folder).down()
        shutil.rmtree(folder, ignore_errors=True)


def start_driver(root: Path) -> subprocess.Popen[bytes]:
    """Start a process that starts a cluster and then stays."""
    return subprocess.Popen([sys.executable, "-c", _DRIVER, str(root)], cwd=_REPOSITORY, stdout=subprocess.DEVNULL)


def kill_driver(driver: subprocess.Popen[bytes]) -> None:
    """End a driver as the kernel ends one that is out of memory."""
    driver.send_signal(signal.SIGKILL)
    driver.wait(10)


def run_command_line(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run the harness as a person would."""
    return subprocess.run(
        [sys.executable, "-m", "e2e.cluster", *arguments],
        cwd=_REPOSITORY,
        env={**os.environ, "SHELL": "/bin/sh"},
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )


def find(cluster: Cluster, name: str) -> ProcessRef:
    """The running process of that name."""
    return next(process for process, alive in cluster.process_states() if alive and process.name == name)


def test_a_cluster_whose_driver_and_runtime_were_killed_is_removed_completely(root: Path) -> None:
    before = host_folders()
    driver = start_driver(root)
    try:
        wait_for(lambda: Cluster(root).is_healthy(), 90, "the driver's cluster")
        cluster = Cluster(root)
        kube = Kube(cluster)
        kube.apply(deployment("burn", container(BURN_SCRIPT, {}), replicas=2))
        kube.wait_for_pods("app=burn", 2)
    finally:
        kill_driver(driver)
    processes.kill([find(cluster, "containerd-node1"), find(cluster, "kubelet-node1")])
    found = cluster.leftovers()
    for kind in (
        "process kube-apiserver",
        "process containerd-shim",
        "process sh",
        "mount ",
        "cgroup ",
        "/run/containerd/s/",
    ):
        assert any(entry.startswith(kind) for entry in found), f"no {kind!r} among {found}"

    cluster.down()

    assert cluster.leftovers() == []
    assert not Path("/proc/self/mounts").read_text().count(str(root))
    assert host_folders() <= before or cgroups.groups(FAMILY), "no other cluster is here that would need them"
    cluster.down()
    assert cluster.leftovers() == []


def host_folders() -> set[Path]:
    """The folders outside the root that are there now."""
    return {folder for folder in HOST_FOLDERS if folder.exists()}


@pytest.mark.parametrize("file", ["state.json", "network-namespace", "etcd", "node1/kubelet"])
def test_a_start_killed_half_way_is_cleaned_by_the_next(root: Path, file: str) -> None:
    driver = start_driver(root)
    try:
        wait_for((root / file).exists, 60, f"the driver to get as far as {file}", every_seconds=0.005)
    finally:
        kill_driver(driver)
    cluster = Cluster(root)
    assert cluster.leftovers()
    assert not cluster.is_healthy()

    cluster.up()

    assert cluster.is_healthy()
    cluster.down()
    assert cluster.leftovers() == []


def test_a_healthy_cluster_is_replaced_only_when_its_driver_is_gone(root: Path) -> None:
    driver = start_driver(root)
    try:
        wait_for(lambda: Cluster(root).is_healthy(), 90, "the driver's cluster")
        first = find(Cluster(root), "etcd")
        with pytest.raises(ClusterError, match="a healthy cluster runs there for process"):
            Cluster(root).up()
        assert processes.is_alive(first)
    finally:
        kill_driver(driver)
    second = Cluster(root)
    second.up()
    assert not processes.is_alive(first)
    assert find(second, "etcd") != first


@pytest.mark.parametrize("spoil", [Path.unlink, partial(Path.write_text, data="{")])
def test_a_take_down_finds_everything_without_the_state_file(root: Path, spoil: Callable[[Path], object]) -> None:
    cluster = Cluster(root)
    cluster.up()
    process = cluster.start_process("stubborn", ["/bin/sh", "-c", "trap '' TERM; while :; do sleep 1; done"])
    spoil(cluster.layout.state_file)

    Cluster(root).down()

    assert cluster.leftovers() == []
    assert not processes.is_alive(process)


def test_a_component_that_fails_is_named_with_its_last_words(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = Cluster(root)
    with pytest.raises(StartFailedError) as failure:
        start_with_retry(cluster, [NodeSpec(1, settings={"cpuManagerPolicy": "nonsense"})])
    assert failure.value.subject == "kubelet-node1"
    assert "has ended unexpectedly" in failure.value.problem
    assert "nonsense" in failure.value.problem
    assert "tried once more" in capsys.readouterr().out
    assert cluster.leftovers() == []
    assert (cluster.layout.failed_logs / "kubelet-node1.log").exists()


def test_an_interrupted_start_leaves_nothing(root: Path) -> None:
    driver = start_driver(root)
    try:
        wait_for((root / "etcd").exists, 60, "the driver to start etcd", every_seconds=0.005)
        driver.send_signal(signal.SIGINT)
        assert driver.wait(30) != 0
    finally:
        kill_driver(driver)
    assert Cluster(root).leftovers() == []


def test_a_take_down_from_inside_is_refused(root: Path) -> None:
    cluster = Cluster(root)
    cluster.up()
    command = cluster.namespace_command([sys.executable, "-m", "e2e.cluster", "down", "--root", str(root)])
    done = subprocess.run(command, cwd=_REPOSITORY, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "this process: is itself inside the cluster; leave the cluster's shell" in done.stderr
    assert cluster.is_healthy()


def test_the_command_line_starts_shows_and_ends_a_cluster(root: Path) -> None:
    def command_line(action: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return run_command_line(action, "--root", str(root), stdin=stdin)

    assert command_line("status").returncode == 3
    up = command_line("up")
    assert up.returncode == 0, up.stderr
    assert "cluster: node1 Ready after " in up.stdout
    status = command_line("status")
    assert (status.returncode, status.stdout.count("running")) == (0, 7)
    again = command_line("up")
    assert (again.returncode, "a healthy cluster runs there" in again.stderr) == (1, True)
    shell = command_line("shell", stdin="kubectl get nodes -o name\n")
    assert shell.stdout == "node/node1\n"
    assert command_line("down").returncode == 0
    assert command_line("down").returncode == 0
    assert command_line("status").returncode == 3


def test_without_root_rights_it_says_so() -> None:
    script = "import os; from e2e.cluster.packages import require_root; os.seteuid(65534); require_root()"
    done = subprocess.run([sys.executable, "-c", script], cwd=_REPOSITORY, capture_output=True, text=True, check=False)
    assert "user 65534: may not make namespaces, mounts and cgroups; run this as root" in done.stderr


def test_without_go_it_says_so(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path), "PATH": str(tmp_path)}
    command = [sys.executable, "-m", "e2e.cluster", "build", "--only", "vpa"]
    done = subprocess.run(command, cwd=_REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error: go: not found on PATH; install Go")


@pytest.mark.parametrize("count", [0, 5])
def test_an_impossible_number_of_nodes_is_refused(count: int, root: Path) -> None:
    done = run_command_line("up", "--nodes", str(count), "--root", str(root))
    assert (done.returncode, done.stderr) == (1, f"error: {count} nodes: cannot be made; ask for 1 to 4\n")


def test_a_root_that_is_too_long_is_refused() -> None:
    with pytest.raises(ClusterError, match="longer than 60 characters; choose a shorter --root"):
        Cluster(Path("/var/tmp") / ("x" * 60))

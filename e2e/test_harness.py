"""The parts of the real cluster's harness that need no cluster."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import sys
import tarfile
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509

from e2e.cluster import audit, processes
from e2e.cluster.binaries import MODULES, GoModule
from e2e.cluster.certificates import Authority, Subject
from e2e.cluster.documents import JsonObject, at, condition, is_condition_true, number_at, objects_at, text_at
from e2e.cluster.errors import ClusterError
from e2e.cluster.images import Image, write_archive
from e2e.cluster.layout import Layout, run_root
from e2e.cluster.nodes import default_nodes
from e2e.cluster.processes import ProcessRef
from e2e.cluster.releases import CHOICE_VARIABLE
from e2e.cluster.state import ClusterState, boot_id, load
from e2e.cluster.takedown import leftovers
from e2e.cluster.waiting import wait_for
from e2e.sharing import OPERATED, PATIENT, cluster_of

_REPOSITORY = Path(__file__).parent.parent
_DEAF = "trap '' TERM; echo deaf; while :; do sleep 0.1; done"


def start(tmp_path: Path, script: str, **variables: str) -> ProcessRef:
    """Start a shell script."""
    return processes.start(
        "script", ["/bin/sh", "-c", script], tmp_path / "log", {"PATH": "/bin:/usr/bin", **variables}
    )


def test_a_process_that_ignores_sigterm_is_killed_after_the_patience(tmp_path: Path) -> None:
    process = start(tmp_path, _DEAF)
    wait_for(lambda: "deaf" in (tmp_path / "log").read_text(), 10, "the script")
    began = time.monotonic()
    processes.stop([process], patience_seconds=0.3)
    assert 0.3 <= time.monotonic() - began < 5
    assert not processes.is_alive(process)


def test_a_process_that_obeys_is_not_waited_for_longer(tmp_path: Path) -> None:
    process = start(tmp_path, "exec sleep 60")
    began = time.monotonic()
    processes.stop([process], patience_seconds=30)
    assert time.monotonic() - began < 5
    processes.stop([process], patience_seconds=30)


def test_another_process_with_the_same_id_is_left_alone(tmp_path: Path) -> None:
    process = start(tmp_path, "exec sleep 60")
    earlier = ProcessRef(process.name, process.pid, process.started - 1)
    assert not processes.is_alive(earlier)
    processes.kill([earlier])
    assert processes.is_alive(process)
    processes.kill([process])


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"ghost: cannot be started: .*; check the program /no/such/program"):
        processes.start("ghost", ["/no/such/program"], tmp_path / "log", {})


def test_marked_processes_are_found_with_their_children(tmp_path: Path) -> None:
    process = start(tmp_path, "sleep 60 & wait", EVENKEEL_TEST_MARK=str(tmp_path))
    found = wait_for(lambda: _marked(tmp_path, 2), 10, "both processes")
    assert process.pid in {entry.pid for entry in found}
    assert not list(processes.marked("EVENKEEL_TEST_MARK", str(tmp_path.parent)))
    processes.kill(found)
    assert not _marked(tmp_path, 1)


def _marked(tmp_path: Path, count: int) -> list[ProcessRef]:
    found = list(processes.marked("EVENKEEL_TEST_MARK", str(tmp_path)))
    return found if len(found) >= count else []


def test_a_state_file_is_read_back_as_written(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    owner = processes.identify(os.getpid())
    state = ClusterState(file, boot_id(), "1.37", ("node1",), "/n", ("g-node1",), ("/f",), owner)
    state.save()
    assert load(file) == state
    assert not state.is_healthy(), "nothing has come up yet"
    etcd = start(tmp_path, "exec sleep 60")
    state.add(etcd)
    state.complete()
    state.add(ProcessRef("webhook", 1, 1))
    read = load(file)
    assert read == state
    assert read.is_healthy(), "an ended process of a test does not count"
    processes.kill([etcd])
    assert not read.is_healthy()
    state.forget(etcd)
    assert [process.name for process in state.processes] == ["webhook"]


def test_a_record_of_an_earlier_boot_says_nothing_about_processes(tmp_path: Path) -> None:
    process = processes.identify(os.getpid())
    assert process is not None
    state = ClusterState(
        tmp_path / "state.json", "another-boot", "1.35", ("node1",), "/n", (), (), None, [process], ("x",)
    )
    assert not state.is_current()
    assert not state.is_healthy()


@pytest.mark.parametrize("content", ["{", "{}", '{"boot": 1}', "[]"])
def test_a_spoiled_state_file_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "state.json").write_text(content)
    with pytest.raises(ClusterError, match=r"state.json: no usable state file .*; `down` works without it"):
        load(tmp_path / "state.json")


def test_the_audit_log_is_read_up_to_its_last_whole_line(tmp_path: Path) -> None:
    entry: JsonObject = {
        "stage": "ResponseComplete",
        "requestReceivedTimestamp": "2026-01-02T03:04:05.000006Z",
        "verb": "patch",
        "requestURI": "/api/v1/namespaces/a/pods/b/resize",
        "user": {"username": "system:serviceaccount:a:c"},
        "userAgent": "updater",
        "objectRef": {"resource": "pods", "subresource": "resize", "namespace": "a", "name": "b", "apiVersion": "v1"},
        "responseStatus": {"code": 403},
        "annotations": {"authorization.k8s.io/reason": "no"},
    }
    line = json.dumps(entry).encode() + b"\n"
    file = tmp_path / "audit.jsonl"
    file.write_bytes(line + line + line[:30])
    first, second = audit.read(file)
    assert first == second
    assert (first.at, first.code) == (datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC), 403)
    assert (first.user, first.verb, first.resource) == ("system:serviceaccount:a:c", "patch", "pods")
    assert (first.subresource, first.namespace, first.name, first.reason) == ("resize", "a", "b", "no")
    assert len(list(audit.read(file, offset=len(line)))) == 1
    assert list(audit.read(tmp_path / "none")) == []


def test_an_image_archive_is_the_same_for_the_same_image(tmp_path: Path) -> None:
    image = Image("local.test/x:1", {"bin/run": b"program", "etc/file": b"text"}, {"bin/link": "run"}, ("/bin/run",))
    write_archive(image, tmp_path / "one.tar")
    write_archive(image, tmp_path / "two.tar")
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()
    with tarfile.open(tmp_path / "one.tar") as archive:
        [manifest] = json.loads(_member(archive, "manifest.json"))
        configuration = json.loads(_member(archive, manifest["Config"]))
        layer = _member(archive, manifest["Layers"][0])
    assert manifest["RepoTags"] == ["local.test/x:1"]
    assert configuration["config"]["Entrypoint"] == ["/bin/run"]
    with tarfile.open(fileobj=io.BytesIO(layer)) as content:
        modes = {member.name: oct(member.mode) for member in content if member.isfile()}
        assert modes == {"bin/run": "0o755", "etc/file": "0o644"}
        assert content.getmember("bin/link").linkname == "run"


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    content = archive.extractfile(name)
    assert content is not None
    return content.read()


def test_certificates_name_their_hosts_and_groups() -> None:
    pair = Authority.create("ca").issue(Subject("name", ("system:masters",), ("10.0.0.1", "a.b.svc")))
    certificate = x509.load_pem_x509_certificate(pair.certificate)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["10.0.0.1"]
    assert names.get_values_for_type(x509.DNSName) == ["a.b.svc"]
    assert certificate.subject.rfc4514_string() == "CN=name,O=system:masters"


def test_an_authority_read_from_its_files_issues_the_same_way(tmp_path: Path) -> None:
    authority = Authority.create("ca")
    authority.pair.write(tmp_path, "ca")
    assert (tmp_path / "ca.key").stat().st_mode & 0o777 == 0o600
    issued = x509.load_pem_x509_certificate(Authority.load(tmp_path, "ca").issue(Subject("x")).certificate)
    issued.verify_directly_issued_by(authority.certificate)


def test_reading_a_document_ends_quietly_where_the_way_ends() -> None:
    document: JsonObject = {"status": {"conditions": [{"type": "Ready", "status": "True"}], "replicas": 3}}
    assert text_at(document, "status", "conditions", 0, "type") == "Ready"
    assert text_at(document, "status", "conditions", 1, "type") == ""
    assert number_at(document, "status", "replicas") == 3
    assert at(document, "status", "replicas", "x") is None
    assert objects_at(document, "status", "none") == []
    assert is_condition_true(document, "Ready")
    assert condition(document, "Other") is None


def test_waiting_tells_what_was_seen_last() -> None:
    values = iter([0, 0, 7])
    assert wait_for(lambda: next(values), 5, "a number", every_seconds=0.001) == 7

    def never() -> bool:
        raise AssertionError("two pods")

    with pytest.raises(ClusterError, match=r"one pod: waited 0.01 s in vain \(two pods\)"):
        wait_for(never, 0.01, "one pod", every_seconds=0.001)


def test_later_nodes_are_smaller() -> None:
    one, two, three = default_nodes(3)
    assert (one.reserved, two.reserved) == ({}, {"cpu": "500m", "memory": "1Gi"})
    assert three.reserved == {"cpu": "1000m", "memory": "2Gi"}
    assert len({spec.address for spec in (one, two, three)} | {spec.pod_range for spec in (one, two, three)}) == 6


def test_the_modules_pin_the_versions_that_are_promised() -> None:
    pinned = {name: (module.source / "go.mod").read_text() for name, module in MODULES.items()}
    assert "k8s.io/kubernetes v1.35.4" in pinned["kubernetes"]
    assert "sigs.k8s.io/metrics-server v0.8.0" in pinned["metrics-server"]
    assert "k8s.io/autoscaler/vertical-pod-autoscaler v1.8.1" in pinned["vpa"]
    assert "helm.sh/helm/v3 v3.22.0" in pinned["helm"]
    assert "k8s.io/kube-state-metrics/v2 v2.18.0" in pinned["kube-state-metrics"]
    assert "go.opentelemetry.io/collector/otelcol v0.165.0" in pinned["collector"]
    assert "github.com/grafana/grafana-foundation-sdk/go v0.0.22" in pinned["dashboard"]


@pytest.mark.parametrize(
    ("note", "content"),
    [
        ("address", "unix://{socket}"),
        ("bootstrap.json", '{{"version":3,"address":"unix://{socket}","protocol":"ttrpc"}}'),
    ],
)
def test_sockets_of_shims_are_found_as_each_containerd_notes_them(tmp_path: Path, note: str, content: str) -> None:
    layout = Layout(tmp_path / "cluster")
    bundle = layout.node("node1").containerd_state / "io.containerd.runtime.v2.task" / "k8s.io" / "1"
    bundle.mkdir(parents=True)
    file = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(file))
        assert str(file) not in leftovers(layout)
        (bundle / note).write_text(content.format(socket=file))
        assert str(file) in leftovers(layout)


@pytest.mark.parametrize(
    ("release", "arguments", "is_smoke_run", "is_newest_run"),
    [
        ("", (), True, False),
        ("1.37", (), True, True),
        ("1.37", ("-m", "newest"), False, True),
    ],
)
def test_the_release_chooses_the_tests(
    release: str, arguments: tuple[str, ...], *, is_smoke_run: bool, is_newest_run: bool
) -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *arguments]
    files = ("e2e/test_eviction.py", "e2e/test_newest.py")
    environment = {**os.environ, CHOICE_VARIABLE: release}
    done = subprocess.run(
        [*command, *files], cwd=_REPOSITORY, env=environment, capture_output=True, text=True, check=True
    )
    assert ("test_eviction.py::test_infeasible_is_evicted_once" in done.stdout) is is_smoke_run
    assert ("test_newest.py::" in done.stdout) is is_newest_run
    is_default = release != "1.37"
    assert ("test_deferred_past_the_limit_is_evicted_once" in done.stdout) is is_default
    assert " deselected" in done.stdout


def test_a_release_that_is_not_there_is_refused_before_any_test() -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "e2e/test_newest.py"]
    environment = {**os.environ, CHOICE_VARIABLE: "1.36"}
    done = subprocess.run(command, cwd=_REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "Kubernetes 1.36: cannot be built here; choose 1.35 or 1.37" in done.stderr


@pytest.fixture
def tiny_module(tmp_path: Path) -> GoModule:
    """A Go module without dependencies, whose program prints a variable that the linker sets."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "go.mod").write_text("module example.test/tiny\n\ngo 1.24\n")
    (source / "go.sum").write_text("")
    (source / "main.go").write_text('package main\n\nvar word = "unset"\n\nfunc main() { println(word) }\n')
    return GoModule("tiny", source, {"tiny": "example.test/tiny"}, {"main.word": "linked"})


def build_command(module: GoModule) -> list[str]:
    """A process that builds the module."""
    arguments = (module.name, str(module.source), dict(module.programs), dict(module.variables))
    script = (
        "import sys; from pathlib import Path; from e2e.cluster.binaries import GoModule, build_module\n"
        f"n, s, p, v = {arguments!r}\n"
        "print(build_module(GoModule(n, Path(s), p, v)))"
    )
    return [sys.executable, "-c", script]


def test_two_builders_at_once_build_once(tiny_module: GoModule, tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    builders = [
        subprocess.Popen(
            build_command(tiny_module), cwd=_REPOSITORY, env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    outputs = sorted(builder.communicate(timeout=120)[0] for builder in builders)
    assert [builder.returncode for builder in builders] == [0, 0]
    assert sum("build: tiny from" in output for output in outputs) == 1
    folder = Path(outputs[0].splitlines()[-1])
    assert folder.name == f"tiny-{tiny_module.digest()}"
    done = subprocess.run([str(folder / "tiny")], capture_output=True, text=True, check=True)
    assert done.stderr == "linked\n"
    assert [entry.name for entry in folder.parent.iterdir() if entry.is_dir()] == [folder.name]


def test_a_killed_build_leaves_no_half_result(tiny_module: GoModule, tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    cache = tmp_path / "cache" / "evenkeel-e2e"
    with subprocess.Popen(
        build_command(tiny_module), cwd=_REPOSITORY, env=environment, start_new_session=True
    ) as builder:
        wait_for(lambda: list(cache.glob("*.part-*")), 60, "the build", every_seconds=0.002)
        os.killpg(builder.pid, signal.SIGKILL)
    assert not (cache / f"tiny-{tiny_module.digest()}").exists()
    subprocess.run(build_command(tiny_module), cwd=_REPOSITORY, env=environment, check=True, capture_output=True)
    assert [entry.name for entry in cache.iterdir() if entry.is_dir()] == [f"tiny-{tiny_module.digest()}"]


def test_a_failing_build_shows_what_the_compiler_said(tiny_module: GoModule, tmp_path: Path) -> None:
    (tiny_module.source / "main.go").write_text("package main\n\nfunc main() { nonsense }\n")
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = build_command(tiny_module)
    done = subprocess.run(command, cwd=_REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "undefined: nonsense" in done.stderr
    assert "module tiny: " in done.stderr


def test_tests_are_shared_out_among_four_clusters() -> None:
    modules = {path.stem for path in Path(__file__).parent.glob("test_*.py")}
    assert modules >= OPERATED
    shared = {name: cluster_of(f"e2e/{name}.py::test_it") for name in modules}
    assert shared["test_deployment"] == "operation"
    assert shared["test_commands"] == "cluster"
    assert {cluster_of(f"e2e/test_conformance.py::test_scenario[{row}]") for row in PATIENT} == {"patience"}
    assert cluster_of("e2e/test_conformance.py::test_scenario[resize:R08]") == "conformance"


@pytest.mark.parametrize(
    ("root", "worker", "expected"),
    [
        (None, None, "/var/tmp/evenkeel-e2e"),
        (None, "gw2", "/var/tmp/evenkeel-e2e-gw2"),
        ("/var/tmp/other", None, "/var/tmp/other"),
        ("/var/tmp/other", "gw0", "/var/tmp/other-gw0"),
    ],
)
def test_each_process_has_a_cluster_of_its_own(
    monkeypatch: pytest.MonkeyPatch, root: str | None, worker: str | None, expected: str
) -> None:
    for name, value in (("EVENKEEL_E2E_ROOT", root), ("PYTEST_XDIST_WORKER", worker)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert run_root() == Path(expected)

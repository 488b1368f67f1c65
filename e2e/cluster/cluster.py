"""One real cluster: start, use, take down."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from e2e.cluster import (
    audit,
    binaries,
    certificates,
    cgroups,
    control_plane,
    images,
    network,
    nodes,
    packages,
    processes,
    takedown,
)
from e2e.cluster.audit import AuditEntry
from e2e.cluster.certificates import Authority, KeyPair, Subject
from e2e.cluster.commands import run
from e2e.cluster.control_plane import Component
from e2e.cluster.documents import JsonObject, is_condition_true, text_at
from e2e.cluster.errors import ClusterError
from e2e.cluster.layout import DEFAULT_ROOT, HOST_ADDRESS, MARKER_VARIABLE, METRICS_PORT, Layout
from e2e.cluster.nodes import NodeSpec
from e2e.cluster.processes import ProcessRef
from e2e.cluster.state import ClusterState, boot_id, load
from e2e.cluster.waiting import wait_for

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_START_SECONDS = 60.0
_STOP_SECONDS = 10.0


class Cluster:
    """A control plane and some nodes on this machine.

    Args:
        root: Folder for everything the cluster keeps on disk; it also decides all names.
    """

    def __init__(self, root: Path = DEFAULT_ROOT) -> None:
        self.layout = Layout.of(root)
        self._state: ClusterState | None = load(self.layout.state_file)

    # ---- start and end

    def up(self, specs: Sequence[NodeSpec] = (NodeSpec(1),), *, outlives_driver: bool = False) -> None:
        """Start the cluster; what an earlier, dead one left over is removed first.

        Args:
            specs: The nodes.
            outlives_driver: Leave it alone when a later start finds it healthy although this process has ended.

        Raises:
            ClusterError: The machine lacks something, a healthy cluster is already there, or a component fails.
        """
        packages.require_root()
        packages.install_packages()
        cgroups.controllers()
        programs = {name: binaries.build(name) for name in ("kubernetes", "metrics-server")}
        with self._sole_driver():
            self._clear_the_way()
            self._prepare(specs, outlives_driver=outlives_driver)
            started = time.monotonic()
            self._start(specs, programs, started)
            state = self._running_state()
            state.ready = True
            state.save()

    def down(self) -> None:
        """End the cluster and remove what it made; harmless if it is not there.

        Raises:
            ClusterError: Something is left over.
        """
        packages.require_root()
        if not self.layout.root.exists():
            return
        with self._sole_driver():
            self._remove_everything()

    def is_healthy(self) -> bool:
        """Say whether the cluster came up and all of its processes still run."""
        state = self._state = load(self.layout.state_file)
        return (
            state is not None
            and state.ready
            and state.is_current()
            and all(processes.is_alive(process) for process in state.processes)
        )

    def leftovers(self) -> list[str]:
        """Name everything of this cluster that is on the machine; empty after a take-down."""
        return takedown.leftovers(self.layout)

    def process_states(self) -> list[tuple[ProcessRef, bool]]:
        """Return each recorded process and whether it runs."""
        state = self._state
        known = state.processes if state is not None else []
        return [(process, processes.is_alive(process)) for process in known]

    # ---- use

    @property
    def node_names(self) -> tuple[str, ...]:
        """Names of the nodes."""
        return self._running_state().nodes

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig; good inside the network namespace."""
        return self.layout.kubeconfig

    @property
    def server(self) -> str:
        """URL of the API server inside the network namespace."""
        return control_plane.SERVER

    def namespace_command(self, argv: Sequence[str]) -> list[str]:
        """Prefix a command so that it runs in the cluster's network namespace."""
        return network.inside(self.layout, argv)

    def kubectl(self, *arguments: str, stdin: str | None = None, kubeconfig: Path | None = None) -> str:
        """Run kubectl inside the namespace.

        Args:
            arguments: After ``kubectl``.
            stdin: Its standard input.
            kubeconfig: Whose rights to use; the administrator's if None.

        Returns:
            Its standard output.

        Raises:
            ClusterError: It ends with an error; the message holds what it said.
        """
        command = [str(packages.kubectl()), f"--kubeconfig={kubeconfig or self.kubeconfig}", *arguments]
        environment = self._environment() | {"KUBECACHEDIR": str(self.layout.root / "kubectl-cache")}
        return run(
            self.namespace_command(command), remedy="see the message of kubectl", stdin=stdin, environment=environment
        )

    def apply(self, *documents: JsonObject) -> None:
        """Create or change objects as the administrator."""
        bundle = {"apiVersion": "v1", "kind": "List", "items": list(documents)}
        self.kubectl("apply", "-f", "-", stdin=json.dumps(bundle))

    def token_kubeconfig(self, namespace: str, service_account: str) -> Path:
        """Request a token for a service account and write a kubeconfig with it.

        Returns:
            The kubeconfig, readable for root alone, good inside the network namespace for 24 hours.
        """
        token = self.kubectl("create", "token", service_account, "-n", namespace, "--duration=24h").strip()
        file = self.layout.root / "tokens" / f"{namespace}.{service_account}.kubeconfig"
        authority = (self.layout.certificates / "ca.crt").read_bytes()
        certificates.write_kubeconfig(file, self.server, authority, {"token": token})
        return file

    def serving_certificate(self, *hosts: str) -> KeyPair:
        """Issue a server certificate by the cluster's authority, for webhooks that run as host processes."""
        return Authority.load(self.layout.certificates, "ca").issue(Subject(hosts[0], hosts=hosts))

    @property
    def authority_certificate(self) -> bytes:
        """The certificate of the cluster's authority, as PEM."""
        return (self.layout.certificates / "ca.crt").read_bytes()

    def expose_host_port(self, namespace: str, name: str, port: int, *, service_port: int = 443) -> None:
        """Make a Service that leads to a port of a host process in the namespace (10.77.0.1)."""
        labels: JsonObject = {"kubernetes.io/service-name": name}
        self.apply(
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": name, "namespace": namespace},
                "spec": {"ports": [{"name": "https", "port": service_port, "targetPort": port}]},
            },
            {
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {"name": f"{name}-host", "namespace": namespace, "labels": labels},
                "addressType": "IPv4",
                "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
                "endpoints": [{"addresses": [HOST_ADDRESS], "conditions": {"ready": True}}],
            },
        )

    def import_image(self, archive: Path) -> None:
        """Import an image archive on every node."""
        for name in self.node_names:
            images.import_archive(self.layout.node(name), archive)

    def container_cgroup(self, pod_uid: str, container_id: str) -> cgroups.ContainerCgroup:
        """Read what the kernel enforces for a container."""
        return cgroups.container(self.layout.cgroup_prefix, pod_uid, container_id)

    def audit_entries(self, *, offset: int = 0) -> list[AuditEntry]:
        """Return the requests that the API server has answered, from a byte offset of the log on."""
        return list(audit.read(self.layout.audit_log, offset=offset))

    def audit_offset(self) -> int:
        """Return where the audit log ends now."""
        return self.layout.audit_log.stat().st_size

    def logs(self, process: str, *, lines: int = 40) -> str:
        """Return the end of a process's log."""
        file = self.layout.log(process)
        return "\n".join(file.read_text(errors="replace").splitlines()[-lines:]) if file.exists() else ""

    def start_process(self, name: str, argv: Sequence[str], environment: Mapping[str, str] | None = None) -> ProcessRef:
        """Start a process in the namespace; it is recorded, and ends with the cluster at the latest.

        Args:
            name: Name of its log and of its record; unique in the cluster.
            argv: Program and arguments.
            environment: Variables beyond PATH, HOME and the cluster's mark.

        Raises:
            ClusterError: The name is taken, or the program cannot be started.
        """
        state = self._running_state()
        known = state.process(name)
        if known is not None and processes.is_alive(known):
            raise ClusterError(str(known), "is already running", remedy="stop it first, or choose another name")
        variables = self._environment() | dict(environment or {})
        process = processes.start(name, self.namespace_command(argv), self.layout.log(name), variables)
        state.add(process)
        return process

    def stop_process(self, process: ProcessRef, *, patience_seconds: float = _STOP_SECONDS) -> None:
        """End a process that ``start_process`` started: SIGTERM, then SIGKILL after the patience."""
        processes.stop([process], patience_seconds=patience_seconds)
        self._running_state().forget(process)

    def restart_node(self, name: str, pause_seconds: float = 0.0) -> None:
        """Stop a node's kubelet and start it again, with its containers running on."""
        state = self._running_state()
        kubelet = state.process(f"kubelet-{name}")
        if kubelet is None:
            raise ClusterError(name, "has no kubelet here", remedy=f"name one of {', '.join(state.nodes)}")
        command = Path(f"/proc/{kubelet.pid}/cmdline").read_bytes().split(b"\0")[:-1]
        self.stop_process(kubelet)
        time.sleep(pause_seconds)
        self.start_process(kubelet.name, [os.fsdecode(part) for part in command])

    # ---- inside

    def _environment(self) -> dict[str, str]:
        return {"PATH": _PATH, "HOME": str(self.layout.root), MARKER_VARIABLE: str(self.layout.root)}

    def _running_state(self) -> ClusterState:
        if self._state is None:
            raise ClusterError(str(self.layout.root), "no cluster runs there", remedy="start it with `up`")
        return self._state

    @contextmanager
    def _sole_driver(self) -> Iterator[None]:
        """Hold the root's lock; the kernel drops it when its holder dies."""
        self.layout.root.mkdir(parents=True, exist_ok=True)
        with self.layout.lock_file.open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise ClusterError(
                    str(self.layout.root),
                    "another process starts this cluster or takes it down right now",
                    remedy="wait for it, or choose another --root",
                ) from error
            yield

    def _clear_the_way(self) -> None:
        if self.is_healthy():
            owner = self._running_state().owner
            if owner is None or processes.is_alive(owner):
                raise ClusterError(
                    str(self.layout.root),
                    f"a healthy cluster runs there{f' for {owner}' if owner else ''}",
                    remedy="use it, take it down, or choose another --root",
                )
        if self.leftovers():
            print("cluster: removing what an earlier run left over", flush=True)
        self._remove_everything()

    def _remove_everything(self) -> None:
        takedown.remove_all(self.layout, load(self.layout.state_file))
        self._state = None
        if remaining := self.leftovers():
            raise ClusterError(
                str(self.layout.root), f"left over after the take-down: {', '.join(remaining)}", remedy="run it again"
            )

    def _prepare(self, specs: Sequence[NodeSpec], *, outlives_driver: bool) -> None:
        """Write the state file first, then every other file, and make namespace and cgroups."""
        layout, names = self.layout, tuple(spec.name for spec in specs)
        self._empty_logs()
        state = self._state = ClusterState(
            file=layout.state_file,
            boot=boot_id(),
            nodes=names,
            namespace=layout.namespace,
            cgroups=tuple(layout.node(name).cgroup for name in names),
            folders=tuple(str(folder) for folder in takedown.HOST_FOLDERS if not folder.exists()),
            owner=None if outlives_driver else processes.identify(os.getpid()),
        )
        state.save()
        network.create(layout, [spec.address for spec in specs])
        for spec in specs:
            cgroups.create(layout.node(spec.name))
            nodes.configure(layout, spec)
        control_plane.make_keys(layout, names)

    def _empty_logs(self) -> None:
        for file in [*self.layout.logs.rglob("*")] if self.layout.logs.exists() else []:
            if not file.is_dir():
                file.unlink()
        self.layout.logs.mkdir(parents=True, exist_ok=True)

    def _start(self, specs: Sequence[NodeSpec], programs: Mapping[str, Path], started: float) -> None:
        layout, kubernetes = self.layout, programs["kubernetes"]
        self._launch(control_plane.etcd(layout))
        for spec in specs:
            self._launch_command(f"containerd-{spec.name}", nodes.containerd_command(layout.node(spec.name)))
        self._launch(control_plane.api_server(kubernetes, layout))
        for spec in specs:
            socket = layout.node(spec.name).containerd_socket
            self._await(socket.is_socket, f"containerd-{spec.name}", f"the socket {socket}")
        nodes.import_base_images(layout, [spec.name for spec in specs])
        self._await(self._is_api_ready, "kube-apiserver", "the API server's readiness")
        self._launch(control_plane.controller_manager(kubernetes, layout))
        self._launch(control_plane.scheduler(kubernetes, layout))
        for spec in specs:
            self._launch_command(f"kubelet-{spec.name}", nodes.kubelet_command(kubernetes, layout, spec))
        for spec in specs:
            self._await(lambda name=spec.name: self._is_node_ready(name), f"kubelet-{spec.name}", f"node {spec.name}")
            print(f"cluster: {spec.name} Ready after {time.monotonic() - started:.1f} s", flush=True)
        self._start_metrics(programs["metrics-server"])
        self._await(self._has_default_account, "kube-controller-manager", "the default service account")
        print(f"cluster: complete after {time.monotonic() - started:.1f} s", flush=True)

    def _start_metrics(self, programs: Path) -> None:
        self.expose_host_port("kube-system", "metrics-server", METRICS_PORT)
        self.apply(_METRICS_API)
        self._launch(control_plane.metrics_server(programs, self.layout))
        self._await(self._is_metrics_api_available, "metrics-server", "the metrics API")

    def _launch(self, component: Component) -> None:
        self._launch_command(component.name, component.argv)

    def _launch_command(self, name: str, argv: Sequence[str]) -> None:
        self.start_process(name, argv)

    def _await(self, check: object, process: str, what: str) -> None:
        """Wait for a step of the start; the end of any component or the deadline is an error with the log's tail."""
        assert callable(check)

        def is_done() -> bool:
            for known, alive in self.process_states():
                if not alive:
                    raise self._failure(known.name, "has ended unexpectedly")
            return bool(check())

        try:
            wait_for(is_done, _START_SECONDS, what)
        except ClusterError as error:
            if error.subject != what:
                raise
            raise self._failure(process, f"{what} did not come in {_START_SECONDS:.0f} s") from error

    def _failure(self, process: str, problem: str) -> ClusterError:
        tail = self.logs(process, lines=20)
        return ClusterError(process, f"{problem}; the end of its log:\n{tail}\n", remedy=f"see {self.layout.logs}")

    def _answer(self, *arguments: str) -> str:
        """Ask kubectl something that may fail while the cluster starts; empty if it does."""
        try:
            return self.kubectl(*arguments, "--request-timeout=5s")
        except ClusterError:
            return ""

    def _is_api_ready(self) -> bool:
        return self._answer("get", "--raw", "/readyz") == "ok"

    def _object(self, *arguments: str) -> JsonObject:
        answer = self._answer("get", *arguments, "-o", "json")
        document: JsonObject = json.loads(answer) if answer else {}
        return document

    def _is_node_ready(self, name: str) -> bool:
        return is_condition_true(self._object("node", name), "Ready")

    def _has_default_account(self) -> bool:
        return text_at(self._object("serviceaccount", "default"), "metadata", "name") == "default"

    def _is_metrics_api_available(self) -> bool:
        return is_condition_true(self._object("apiservice", "v1beta1.metrics.k8s.io"), "Available")


_METRICS_API: JsonObject = {
    "apiVersion": "apiregistration.k8s.io/v1",
    "kind": "APIService",
    "metadata": {"name": "v1beta1.metrics.k8s.io"},
    "spec": {
        "group": "metrics.k8s.io",
        "version": "v1beta1",
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
        "insecureSkipTLSVerify": True,
        "service": {"name": "metrics-server", "namespace": "kube-system"},
    },
}


def start_with_retry(cluster: Cluster, specs: Sequence[NodeSpec], *, outlives_driver: bool = False) -> None:
    """Start a cluster; if that fails, take it down and try once more.

    Raises:
        ClusterError: The second start failed as well; what it had made is taken down.
    """
    for is_last in (False, True):
        try:
            cluster.up(specs, outlives_driver=outlives_driver)
        except ClusterError as error:
            if not cluster.leftovers() or cluster.is_healthy():
                raise
            cluster.down()
            if is_last:
                raise
            print(f"cluster: the start failed and is tried once more: {error}", flush=True)
        else:
            return

"""One real cluster: start, use, take down."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    releases,
    takedown,
)
from e2e.cluster.audit import AuditEntry
from e2e.cluster.certificates import Authority, KeyPair, Subject
from e2e.cluster.commands import run
from e2e.cluster.documents import JsonObject
from e2e.cluster.errors import ClusterError, StartFailedError
from e2e.cluster.layout import DEFAULT_ROOT, HOST_ADDRESS, MARKER_VARIABLE, SEARCH_PATH, Layout
from e2e.cluster.nodes import NodeSpec
from e2e.cluster.processes import ProcessRef
from e2e.cluster.releases import Release
from e2e.cluster.starting import Programs, Start
from e2e.cluster.state import ClusterState, boot_id, load

_STOP_SECONDS = 10.0


class Cluster:
    """A control plane and some nodes on this machine.

    Args:
        root: Folder for everything the cluster keeps on disk; it also decides all names.
        release: The release of Kubernetes that a start makes it of; one that runs already has its own.
    """

    def __init__(self, root: Path = DEFAULT_ROOT, release: Release = releases.DEFAULT) -> None:
        self.layout = Layout.of(root)
        self._to_start = release
        self._state = self._recorded()

    # ---- start and end

    def up(self, specs: Sequence[NodeSpec] = (NodeSpec(1),), *, outlives_driver: bool = False) -> None:
        """Start the cluster; what an earlier, dead one left over is removed first.

        When it fails or is interrupted, nothing but the logs stays.

        Args:
            specs: The nodes.
            outlives_driver: Leave it alone when a later start finds it healthy although this process has ended.

        Raises:
            StartFailedError: A component failed.
            ClusterError: The machine lacks something, or a healthy cluster is already there.
        """
        packages.require_root()
        packages.install_packages()
        cgroups.controllers()
        programs = self._built_programs()
        with self._sole_driver():
            self._clear_the_way()
            try:
                self._prepare(specs, outlives_driver=outlives_driver)
                Start(self, specs, programs).run()
            except BaseException:
                # Also when somebody interrupts it: a half-started cluster is of no use.
                self._remove_everything()
                raise
            self._running_state().complete()

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
        """Say whether the cluster came up and all of its components still run."""
        self._state = self._recorded()
        return self._state is not None and self._state.is_healthy()

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
    def release(self) -> Release:
        """The release of Kubernetes that it runs."""
        return releases.release_named(self._running_state().release)

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

    @property
    def authority_bundle(self) -> str:
        """The same in base64, as a webhook's or an APIService's caBundle."""
        return certificates.encoded(self.authority_certificate)

    def expose_host_port(self, namespace: str, name: str, port: int, *, service_port: int = 443) -> None:
        """Make a Service that leads to a port of a host process in the namespace (10.77.0.1)."""
        self.apply(
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": name, "namespace": namespace},
                "spec": {"ports": [{"name": "https", "port": service_port, "targetPort": port}]},
            }
        )
        self.lead_to_host_port(namespace, name, port)

    def lead_to_host_port(
        self, namespace: str, service: str, port: int, *, suffix: str = "host", is_ready: bool = True
    ) -> None:
        """Say in an EndpointSlice of a Service whether a host process on a port takes requests.

        Args:
            namespace: Of the Service.
            service: Its name.
            port: Of the process.
            suffix: Of the slice's name, one for each process.
            is_ready: Whether it does.
        """
        labels: JsonObject = {"kubernetes.io/service-name": service}
        self.apply(
            {
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {"name": f"{service}-{suffix}", "namespace": namespace, "labels": labels},
                "addressType": "IPv4",
                "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
                "endpoints": [{"addresses": [HOST_ADDRESS], "conditions": {"ready": is_ready}}],
            }
        )

    def import_image(self, archive: Path, *, repository: str = "") -> None:
        """Import an image archive on every node; see ``images.import_archive``."""
        client = binaries.runtime_programs(self.release.runtime).client
        for name in self.node_names:
            images.import_archive(client, self.layout.node(name), archive, repository=repository)

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
        # Several drivers may use one cluster; the record on disk is the latest.
        self._state = self._recorded()
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
        self._state = self._recorded()
        self._running_state().forget(process)

    def restart_kubelet(
        self, name: str, *, pause_seconds: float = 0.0, meanwhile: Callable[[], None] = lambda: None
    ) -> None:
        """Stop a node's kubelet, do something, and start it again after a pause; its containers run on."""
        state = self._running_state()
        kubelet = state.process(f"kubelet-{name}")
        if kubelet is None:
            raise ClusterError(name, "has no kubelet here", remedy=f"name one of {', '.join(state.nodes)}")
        command = Path(f"/proc/{kubelet.pid}/cmdline").read_bytes().split(b"\0")[:-1]
        self.stop_process(kubelet)
        meanwhile()
        time.sleep(pause_seconds)
        self.start_process(kubelet.name, [os.fsdecode(part) for part in command])

    # ---- inside

    def _recorded(self) -> ClusterState | None:
        """Read the state file; a spoiled one is as good as none, since a take-down finds everything without it."""
        try:
            return load(self.layout.state_file)
        except ClusterError as error:
            print(f"cluster: {error}", flush=True)
            return None

    def _built_programs(self) -> Programs:
        release = self._to_start
        runtime = binaries.runtime_programs(release.runtime)
        return Programs(release, binaries.build(release.module), runtime, binaries.build("metrics-server"))

    def _environment(self) -> dict[str, str]:
        return {"PATH": SEARCH_PATH, "HOME": str(self.layout.root), MARKER_VARIABLE: str(self.layout.root)}

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
        takedown.remove_all(self.layout, self._recorded())
        self._state = None
        if remaining := self.leftovers():
            raise ClusterError(
                str(self.layout.root), f"left over after the take-down: {', '.join(remaining)}", remedy="run it again"
            )

    def _prepare(self, specs: Sequence[NodeSpec], *, outlives_driver: bool) -> None:
        """Write the state file first, then every other file, and make namespace and cgroups."""
        layout, names = self.layout, tuple(spec.name for spec in specs)
        if layout.logs.exists():
            shutil.rmtree(layout.logs)
        layout.logs.mkdir()
        state = self._state = ClusterState(
            file=layout.state_file,
            boot=boot_id(),
            release=self._to_start.name,
            nodes=names,
            namespace=str(layout.namespace_file),
            cgroups=tuple(layout.node(name).cgroup for name in names),
            folders=takedown.folders_to_remove(),
            owner=None if outlives_driver else processes.identify(os.getpid()),
        )
        state.save()
        network.create(layout, [spec.address for spec in specs])
        for spec in specs:
            cgroups.create(layout.node(spec.name))
            nodes.configure(layout, spec, self._to_start)
        control_plane.make_keys(layout, names)


def start_with_retry(cluster: Cluster, specs: Sequence[NodeSpec], *, outlives_driver: bool = False) -> None:
    """Start a cluster; if a component fails, try once more.

    Raises:
        StartFailedError: The second start failed as well.
        ClusterError: As ``Cluster.up``.
    """
    try:
        cluster.up(specs, outlives_driver=outlives_driver)
    except StartFailedError as error:
        print(f"cluster: the start failed and is tried once more: {error}", flush=True)
        shutil.rmtree(cluster.layout.failed_logs, ignore_errors=True)
        cluster.layout.logs.rename(cluster.layout.failed_logs)
        cluster.up(specs, outlives_driver=outlives_driver)

"""The start of a cluster, step by step, each step waited for while every process is watched."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from e2e.cluster import control_plane, nodes
from e2e.cluster.control_plane import Component
from e2e.cluster.documents import JsonObject, is_condition_true, text_at
from e2e.cluster.errors import ClusterError, StartFailedError
from e2e.cluster.layout import METRICS_PORT, SEARCH_PATH, Layout, NodeLayout
from e2e.cluster.nodes import NodeSpec
from e2e.cluster.processes import ProcessRef
from e2e.cluster.releases import Release
from e2e.cluster.runtimes import RuntimePrograms
from e2e.cluster.waiting import wait_for

_STEP_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Programs:
    """What a cluster is made of.

    Args:
        release: The release of Kubernetes.
        kubernetes: Folder of its programs.
        runtime: The containerd of its nodes.
        metrics_server: Folder of metrics-server.
    """

    release: Release
    kubernetes: Path
    runtime: RuntimePrograms
    metrics_server: Path

    def containerd(self, node: NodeLayout) -> Component:
        """The containerd of a node."""
        environment = {"PATH": self.runtime.search_path(SEARCH_PATH)}
        return Component(f"containerd-{node.name}", self.runtime.command(node), environment)


class StartingCluster(Protocol):
    """What the start needs of a cluster."""

    layout: Layout

    def start_process(self, name: str, argv: Sequence[str], environment: Mapping[str, str]) -> ProcessRef:
        """Start a process in the namespace."""

    def process_states(self) -> list[tuple[ProcessRef, bool]]:
        """Return each process and whether it runs."""

    def kubectl(self, *arguments: str) -> str:
        """Run kubectl as the administrator."""

    def apply(self, *documents: JsonObject) -> None:
        """Create or change objects."""

    def expose_host_port(self, namespace: str, name: str, port: int) -> None:
        """Make a Service for a host process."""

    def logs(self, process: str, *, lines: int) -> str:
        """Return the end of a log."""


class Start:
    """One start.

    Args:
        cluster: With its files, namespace and cgroups made.
        specs: The nodes.
        programs: Where the programs are.
    """

    def __init__(self, cluster: StartingCluster, specs: Sequence[NodeSpec], programs: Programs) -> None:
        self._cluster = cluster
        self._specs = specs
        self._programs = programs
        self._began = time.monotonic()

    def run(self) -> None:
        """Start everything and return when nodes, metrics API and the default service account are ready.

        Raises:
            StartFailedError: A component ended, or a step took too long.
        """
        self._start_stores_and_api()
        self._start_controllers_and_kubelets()
        self._start_metrics()
        self._await(self._has_default_account, "kube-controller-manager", "the default service account")
        print(f"cluster: complete after {self._seconds():.1f} s", flush=True)

    def _start_stores_and_api(self) -> None:
        layout = self._cluster.layout
        self._launch(control_plane.etcd(layout))
        for spec in self._specs:
            self._launch(self._programs.containerd(layout.node(spec.name)))
        self._launch(control_plane.api_server(self._programs.kubernetes, layout))
        for spec in self._specs:
            socket = layout.node(spec.name).containerd_socket
            self._await(socket.is_socket, f"containerd-{spec.name}", f"the socket {socket}")
        nodes.import_base_images(self._programs.runtime.client, layout, [spec.name for spec in self._specs])
        self._await(self._is_api_ready, "kube-apiserver", "the API server's readiness")

    def _start_controllers_and_kubelets(self) -> None:
        layout, folder = self._cluster.layout, self._programs.kubernetes
        self._launch(control_plane.controller_manager(folder, layout))
        self._launch(control_plane.scheduler(folder, layout))
        for spec in self._specs:
            command = nodes.kubelet_command(folder, layout, spec, self._programs.release)
            self._launch(Component(f"kubelet-{spec.name}", tuple(command)))
        for spec in self._specs:
            ready = partial(self._is_node_ready, spec.name)
            self._await(ready, f"kubelet-{spec.name}", f"the readiness of {spec.name}")
            print(f"cluster: {spec.name} Ready after {self._seconds():.1f} s", flush=True)

    def _start_metrics(self) -> None:
        self._cluster.expose_host_port("kube-system", "metrics-server", METRICS_PORT)
        self._cluster.apply(control_plane.METRICS_API)
        self._launch(control_plane.metrics_server(self._programs.metrics_server, self._cluster.layout))
        self._await(self._is_metrics_api_available, "metrics-server", "the metrics API")

    def _launch(self, component: Component) -> None:
        self._cluster.start_process(component.name, component.argv, component.environment)

    def _seconds(self) -> float:
        return time.monotonic() - self._began

    def _await(self, check: Callable[[], bool], process: str, what: str) -> None:
        """Wait for a step; the end of any process or the deadline is an error with the end of its log."""
        problem = f"{what} did not come in {_STEP_SECONDS:.0f} s"

        def is_done() -> bool:
            for known, alive in self._cluster.process_states():
                if not alive:
                    raise self._failure(known.name, "has ended unexpectedly")
            return check()

        try:
            wait_for(is_done, _STEP_SECONDS, what)
        except StartFailedError:
            raise
        except ClusterError as error:
            raise self._failure(process, problem) from error

    def _failure(self, process: str, problem: str) -> StartFailedError:
        tail = self._cluster.logs(process, lines=20)
        remedy = f"see {self._cluster.layout.logs} or, after a second start, {self._cluster.layout.failed_logs}"
        return StartFailedError(process, f"{problem}; the end of its log:\n{tail}\n", remedy=remedy)

    def _answer(self, *arguments: str) -> str:
        """Ask kubectl something that may fail while the cluster starts; empty if it does."""
        try:
            return self._cluster.kubectl(*arguments, "--request-timeout=5s")
        except ClusterError:
            return ""

    def _object(self, *arguments: str) -> JsonObject:
        answer = self._answer("get", *arguments, "-o", "json")
        document: JsonObject = json.loads(answer) if answer else {}
        return document

    def _is_api_ready(self) -> bool:
        return self._answer("get", "--raw", "/readyz") == "ok"

    def _is_node_ready(self, name: str) -> bool:
        return is_condition_true(self._object("node", name), "Ready")

    def _has_default_account(self) -> bool:
        return text_at(self._object("serviceaccount", "default"), "metadata", "name") == "default"

    def _is_metrics_api_available(self) -> bool:
        return is_condition_true(self._object("apiservice", "v1beta1.metrics.k8s.io"), "Available")

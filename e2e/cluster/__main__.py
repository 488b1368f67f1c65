"""The cluster's command line: ``python -m e2e.cluster up|down|shell|status|build``."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from e2e.cluster import binaries, nodes, packages, releases
from e2e.cluster.cluster import Cluster, start_with_retry
from e2e.cluster.errors import ClusterError
from e2e.cluster.layout import DEFAULT_ROOT
from e2e.cluster.releases import Release


def main() -> int:
    """Do what the arguments say; an error is one message and exit code 1."""
    options = _parser().parse_args()
    try:
        return _run(options)
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m e2e.cluster", description="A real Kubernetes cluster on this machine."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="build the Go programs and install the Debian packages")
    build.add_argument("--only", choices=sorted(binaries.MODULES), help="build the programs of this module alone")
    _add_release(build)
    described = {
        "up": "start the cluster; it stays until `down`",
        "down": "take the cluster down, or what a crash left of it",
        "shell": "open a shell in the cluster's network namespace, with KUBECONFIG set",
        "status": "say what runs",
    }
    for name, text in described.items():
        command = commands.add_parser(name, help=text)
        command.add_argument("--root", type=Path, default=DEFAULT_ROOT, help=f"its folder (default {DEFAULT_ROOT})")
        if name == "up":
            command.add_argument("--nodes", type=int, default=1, help=f"1 to {nodes.MOST_NODES} (default 1)")
            _add_release(command)
    return parser


def _add_release(command: argparse.ArgumentParser) -> None:
    text = f"the release of Kubernetes (default {releases.DEFAULT.name})"
    command.add_argument("--kubernetes", choices=tuple(releases.RELEASES), default=releases.DEFAULT.name, help=text)


def _run(options: argparse.Namespace) -> int:
    match options.command:
        case "build":
            _build(options.only, releases.release_named(options.kubernetes))
            return 0
        case "up":
            cluster = Cluster(options.root, releases.release_named(options.kubernetes))
            start_with_retry(cluster, nodes.default_nodes(options.nodes), outlives_driver=True)
            print(f"cluster: {cluster.server} inside the network namespace {cluster.layout.namespace_file}")
            print(f"cluster: use `python -m e2e.cluster shell --root {cluster.layout.root}`")
            return 0
        case "down":
            return _take_down(Cluster(options.root))
        case "shell":
            return _open_shell(Cluster(options.root))
        case _:
            return _print_status(Cluster(options.root))


def _build(only: str | None, release: Release) -> None:
    if only is None:
        packages.require_root()
        packages.install_packages()
    for name in [only] if only else binaries.modules_for(release):
        print(f"build: {name} is in {binaries.build(name)}")


def _take_down(cluster: Cluster) -> int:
    started = time.monotonic()
    cluster.down()
    print(f"cluster: down after {time.monotonic() - started:.1f} s; logs stay in {cluster.layout.logs}")
    return 0


def _open_shell(cluster: Cluster) -> int:
    if not cluster.is_healthy():
        raise ClusterError(str(cluster.layout.root), "no healthy cluster runs there", remedy="start it with `up`")
    folder = packages.kubectl().parent
    environment = {
        **os.environ,
        "KUBECONFIG": str(cluster.kubeconfig),
        "PATH": f"{folder}:{os.environ.get('PATH', '')}",
    }
    command = cluster.namespace_command([os.environ.get("SHELL", "/bin/sh")])
    return subprocess.run(command, env=environment, check=False).returncode


def _print_status(cluster: Cluster) -> int:
    healthy = cluster.is_healthy()
    print(f"cluster in {cluster.layout.root}: {f'healthy, {cluster.release.version}' if healthy else 'not running'}")
    for process, alive in cluster.process_states():
        print(f"  {process.name:<28} {process.pid:>8}  {'running' if alive else 'ENDED'}")
    if not healthy:
        for entry in cluster.leftovers():
            print(f"  left over: {entry}")
    return 0 if healthy else 3


if __name__ == "__main__":
    sys.exit(main())

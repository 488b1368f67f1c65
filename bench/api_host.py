"""An embedded API server with a made-up cluster, in a process of its own: ``python -m bench.api_host``.

It prints where it listens as one line of JSON, and then carries out one command a line.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from autoscaling.runtime.api_group import ApiGroup
from bench.cluster import (
    NAMESPACES,
    PodName,
    Shape,
    deployments,
    first_tick,
    namespace_of,
    pod_names,
    pods,
    replica_sets,
    vpas,
)
from bench.hosting import Command, Hosted, resident_bytes
from bench.stopwatch import Stopwatch
from evenkeel.crd.definitions import definitions
from evenkeel.simulator.api.builtin import PODS
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import serve
from evenkeel.simulator.clock import WallClock

_YIELD_EVERY = 50
"""Writes between two looks at the connections, so that a watch is sent while others write."""


def main() -> None:
    """Load, serve, and do what standard input says until it ends."""
    parser = argparse.ArgumentParser(prog="python -m bench.api_host")
    parser.add_argument("--vpas", type=int, required=True)
    parser.add_argument("--pods-per-vpa", type=int, default=0)
    parser.add_argument("--controllers", action="store_true")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--folder", type=Path, required=True)
    asyncio.run(_host(parser.parse_args()))


async def _host(arguments: argparse.Namespace) -> None:
    shape = Shape(arguments.vpas, arguments.pods_per_vpa)
    names = pod_names(shape)
    server = ApiServer(WallClock())
    with Stopwatch() as loading:
        _load(server, shape, with_controllers=arguments.controllers)
        gc.collect()
        gc.freeze()
    async with serve(server, tls=not arguments.plain) as endpoint:
        authority = arguments.folder / "api-ca.pem"
        authority.write_bytes(endpoint.ca_pem)
        kubeconfig = endpoint.write_kubeconfig(arguments.folder / "kubeconfig")
        addresses = endpoint.url, str(kubeconfig), str(authority)
        _say(Hosted(*addresses, loading.wall_seconds, loading.cpu_seconds, resident_bytes("self")))
        while line := await asyncio.to_thread(sys.stdin.readline):
            command = msgspec.json.decode(line, type=Command)
            await _write(server, names, command.writes)
            _say(Hosted(*addresses, loading.wall_seconds, loading.cpu_seconds, resident_bytes("self")))


def _load(server: ApiServer, shape: Shape, *, with_controllers: bool) -> None:
    """Put the cluster into the server's store."""
    created = first_tick(datetime.now(UTC))
    for definition in definitions(ApiGroup.UPSTREAM).values():
        server.store.create(dict(definition))
    server.create_namespaces(*(namespace_of(place) for place in range(NAMESPACES)))
    kinds: list[Iterable[dict[str, object]]] = [vpas(shape, created), pods(shape, created)]
    if with_controllers:
        kinds += [deployments(shape, created), replica_sets(shape, created)]
    for objects in kinds:
        for each in objects:
            server.store.create(each)


async def _write(server: ApiServer, names: list[PodName], count: int) -> None:
    """Change pods one after the other, each by one annotation."""
    kind = next(kind for kind in server.registry.all() if kind.resource == PODS)
    for place in range(count):
        name = names[place % len(names)]
        current = server.store.existing(kind, (name.namespace, name.name))
        metadata = msgspec.convert(current.body["metadata"], dict[str, object])
        body = current.body | {"metadata": metadata | {"annotations": {"count": str(current.revision)}}}
        server.store.replace(kind, body, current)
        if place % _YIELD_EVERY == 0:
            await asyncio.sleep(0)


def _say(hosted: Hosted) -> None:
    sys.stdout.write(msgspec.json.encode(hosted).decode() + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()

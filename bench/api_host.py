"""An embedded API server with a made-up cluster, in a process of its own: ``python -m bench.api_host``.

It prints where it listens as one line of JSON, and then carries out one command a line.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path

import msgspec

from autoscaling.runtime.api_group import ApiGroup
from bench.cluster import (
    NAMESPACES,
    VPA_API,
    PodName,
    Shape,
    checkpoints,
    deployments,
    first_tick,
    namespace_of,
    pod_names,
    pod_object,
    pods,
    replica_sets,
    timestamp,
    vpas,
)
from bench.hosting import Command, Hosted, resident_bytes, say
from bench.stopwatch import Stopwatch
from evenkeel.crd.definitions import definitions
from evenkeel.simulator.api.builtin import PODS
from evenkeel.simulator.api.fields import JsonObject, child, rows, text
from evenkeel.simulator.api.requestlog import RequestLog
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import serve
from evenkeel.simulator.api.store import DEFAULT_HISTORY
from evenkeel.simulator.clock import WallClock
from evenkeel.simulator.faults import Delay, Fault, Refuse

_PATIENCE_SECONDS = 5.0
_STATUSES = ("verticalpodautoscalers", "verticalpodautoscalers/status")
_CHANGES = ("patch", "pods/resize"), ("create", "pods/eviction")
_FAILED = 400
"""Least HTTP status of a call that came to nothing."""
_POD_WATCHES = "/pods$"
"""Matches the paths of watches of pods."""
_YIELD_EVERY = 50
"""Writes between two looks at the connections, so that a watch is sent while others write."""


@dataclass(frozen=True, slots=True)
class StoredUsage:
    """Usage that stays as it is.

    Args:
        rows: Of all pods.
    """

    rows: list[JsonObject]

    @classmethod
    def read(cls, file: Path) -> StoredUsage:
        """Read the metrics API's answer from a file."""
        return cls(rows(msgspec.json.decode(file.read_bytes(), type=dict[str, object]), "items"))

    def pods(self) -> list[JsonObject]:
        """Return the metrics of all pods."""
        return self.rows

    def nodes(self) -> list[JsonObject]:
        """Return the metrics of no node."""
        return []


def main() -> None:
    """Load, serve, and do what standard input says until it ends."""
    parser = argparse.ArgumentParser(prog="python -m bench.api_host")
    parser.add_argument("--vpas", type=int, required=True)
    parser.add_argument("--pods-per-vpa", type=int, default=0)
    parser.add_argument("--controllers", action="store_true")
    parser.add_argument("--checkpoints", action="store_true")
    parser.add_argument("--usage", type=Path, help="the metrics API's answer")
    parser.add_argument("--created", type=datetime.fromisoformat, default=first_tick(datetime.now(UTC)))
    parser.add_argument("--mode", default="InPlaceOrRecreate", help="update mode of all VPAs")
    parser.add_argument("--cpu", help="request of each container, where not what is recommended")
    parser.add_argument("--delay-milliseconds", type=float, default=0.0, help="time that some calls take")
    parser.add_argument("--delayed", default="", help="regular expression searched in the paths of those calls")
    parser.add_argument("--history", type=int, default=DEFAULT_HISTORY, help="changes of a kind that can be followed")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--folder", type=Path, required=True)
    asyncio.run(_host(parser.parse_args()))


async def _host(arguments: argparse.Namespace) -> None:
    shape = Shape(arguments.vpas, arguments.pods_per_vpa)
    names = pod_names(shape)
    server = ApiServer(WallClock(), history_limit=arguments.history)
    if arguments.usage:
        server.metrics = StoredUsage.read(arguments.usage)
    if arguments.delay_milliseconds:
        slowness = Delay(timedelta(milliseconds=arguments.delay_milliseconds))
        server.faults.add(Fault(slowness, path=arguments.delayed, count=None))
    with Stopwatch() as loading:
        _load(server, shape, arguments)
        gc.collect()
        gc.freeze()
    async with serve(server, tls=not arguments.plain) as endpoint:
        authority = arguments.folder / "api-ca.pem"
        authority.write_bytes(endpoint.ca_pem)
        kubeconfig = endpoint.write_kubeconfig(arguments.folder / "kubeconfig")
        addresses = endpoint.url, str(kubeconfig), str(authority)

        def tell(writing_seconds: float = 0.0) -> None:
            loaded = loading.wall_seconds, loading.cpu_seconds
            first = _first_changes(server.requests)
            say(
                Hosted(
                    *addresses,
                    *loaded,
                    resident_bytes("self"),
                    _status_writes(server.requests),
                    len(first),
                    (max(first.values()) - min(first.values())).total_seconds() if first else 0.0,
                    {" ".join(call): count for call, count in server.requests.total.items()},
                    writing_seconds,
                )
            )

        tell()
        while line := await asyncio.to_thread(sys.stdin.readline):
            tell(await _carry_out(msgspec.json.decode(line, type=Command), server, names))


def _load(server: ApiServer, shape: Shape, arguments: argparse.Namespace) -> None:
    """Put the cluster into the server's store."""
    created = arguments.created
    for definition in definitions(ApiGroup.UPSTREAM).values():
        server.store.create(dict(definition))
    server.create_namespaces(*(namespace_of(place) for place in range(NAMESPACES)))
    kinds: list[Iterable[dict[str, object]]] = [vpas(shape, created, arguments.mode), _pods(shape, arguments)]
    if arguments.controllers:
        kinds += [deployments(shape, created), replica_sets(shape, created)]
    if arguments.checkpoints:
        kinds.append(checkpoints(shape, created))
    for objects in kinds:
        for each in objects:
            server.store.create(each)


def _pods(shape: Shape, arguments: argparse.Namespace) -> Iterable[JsonObject]:
    """Return the pods, with what they are to ask for."""
    if not arguments.cpu:
        return pods(shape, arguments.created)
    started = timestamp(arguments.created)
    return (pod_object(name, arguments.created, started, cpu=arguments.cpu) for name in pod_names(shape))


async def _carry_out(command: Command, server: ApiServer, names: list[PodName]) -> float:
    """Do what one line asks for; returns how many seconds the pods took to change."""
    with Stopwatch() as writing:
        await _write(server, names, command)
    if command.statuses:
        with suppress(TimeoutError):
            await server.requests.until(lambda log: _status_writes(log) >= command.statuses, _PATIENCE_SECONDS)
    if command.changes:
        with suppress(TimeoutError):
            await server.requests.until(lambda log: _change_calls(log) >= command.changes, _PATIENCE_SECONDS)
    if command.changed:
        _store_changed(server.requests, Path(command.changed))
    if command.recommendations:
        _store_recommendations(server, Path(command.recommendations))
    return writing.wall_seconds


def _status_writes(log: RequestLog) -> int:
    """Return how often the status of a VPA was written."""
    return sum(log.total["patch", resource] for resource in _STATUSES)


def _change_calls(log: RequestLog) -> int:
    """Return how many calls there were that may have resized or evicted a pod."""
    return sum(log.total[change] for change in _CHANGES)


def _first_changes(log: RequestLog) -> dict[str, datetime]:
    """Return when each pod was resized or evicted first, by its path."""
    first: dict[str, datetime] = {}
    for call in log.calls():
        if (call.verb, call.resource) in _CHANGES and call.status < _FAILED:
            first.setdefault(call.path.rpartition("/")[0], call.at)
    return first


def _store_changed(log: RequestLog, file: Path) -> None:
    """Write down which pods were resized or evicted."""
    file.write_bytes(msgspec.json.encode(sorted(_first_changes(log))))


def _store_recommendations(server: ApiServer, file: Path) -> None:
    """Write down what all VPAs are recommended."""
    found = server.store.list(VPA_API, "VerticalPodAutoscaler")
    file.write_bytes(msgspec.json.encode(dict(map(_recommendation, found))))


def _recommendation(vpa: JsonObject) -> tuple[str, object]:
    """Return namespace and name of a VPA, and what its status recommends."""
    name = f"{text(vpa, 'metadata', 'namespace')}/{text(vpa, 'metadata', 'name')}"
    return name, child(child(vpa, "status"), "recommendation")


async def _write(server: ApiServer, names: list[PodName], command: Command) -> None:
    """Change pods one after the other, each by one annotation."""
    kind = next(kind for kind in server.registry.all() if kind.resource == PODS)
    if command.expires:
        server.faults.add(Fault(Refuse(HTTPStatus.GONE, "Expired"), verb="watch", path=_POD_WATCHES))
        server.watches.close(_POD_WATCHES)
    began = asyncio.get_running_loop().time()
    for place in range(command.writes):
        name = names[place % len(names)]
        current = server.store.existing(kind, (name.namespace, name.name))
        metadata = msgspec.convert(current.body["metadata"], dict[str, object])
        body = current.body | {"metadata": metadata | {"annotations": {"count": str(current.revision)}}}
        server.store.replace(kind, body, current)
        if place % _YIELD_EVERY == 0:
            await asyncio.sleep(_ahead_seconds(began, place, command.writes_per_second))


def _ahead_seconds(began: float, writes: int, per_second: float) -> float:
    """Return how long to wait until so many writes are due."""
    due = began + writes / per_second if per_second else 0.0
    return max(0.0, due - asyncio.get_running_loop().time())


if __name__ == "__main__":
    main()

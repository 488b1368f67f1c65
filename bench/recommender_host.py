"""Our recommender in a process of its own, for its memory: ``python -m bench.recommender_host``.

Its lists are made on the fly, so that nothing is held but what the recommender holds. It carries out one command a
line: exchange pods that come and go, where asked to, and run a round. Then it says how much memory it holds.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path

import msgspec

from bench.cluster import JsonObject, Shape, deployments, pods, replica_sets, vpas
from bench.hosting import LineProcess, resident_bytes, say
from bench.offline import Offline, OfflineClient, Passing
from bench.ours import OurRecommender

_EXCHANGED = {"cronjobs": "CronJob", "jobs": "Job", "pods": "Pod", "verticalpodautoscalers": ""}
"""What may be exchanged, owners first, with the kind of workloads."""


class HostCommand(msgspec.Struct, frozen=True):
    """One line to it.

    Args:
        exchange: File with objects by plural that take the place of those of the last exchange; empty to leave them.
        usage: File with the metrics API's answer.
    """

    usage: str
    exchange: str = ""


class HostAnswer(msgspec.Struct, frozen=True):
    """One line from it.

    Args:
        resident_bytes: Memory that it holds.
        pods: Pods that it knows.
        vpas: VPAs that it knows.
        aggregates: Histories that it keeps.
    """

    resident_bytes: int
    pods: int
    vpas: int
    aggregates: int


class RecommenderHost:
    """The process, seen from outside.

    Args:
        shape: The cluster that it finds.
        created: When its objects were made.
        flags: Its command line.
    """

    def __init__(self, shape: Shape, created: datetime, *flags: str) -> None:
        size = f"--vpas={shape.vpas}", f"--pods-per-vpa={shape.pods_per_vpa}", f"--created={created.isoformat()}"
        words = sys.executable, "-m", "bench.recommender_host", *size, *flags
        self._process = LineProcess("our recommender's process", *words)

    def ask(self, command: HostCommand) -> HostAnswer:
        """Have a round run.

        Raises:
            PeerError: It has ended.
        """
        self._process.tell(command)
        return self._process.hear(HostAnswer)

    def stop(self) -> None:
        """End it."""
        self._process.stop()


class _Exchange:
    """Objects that come by watch and go when others take their place."""

    def __init__(self, side: OurRecommender, client: OfflineClient) -> None:
        self._side = side
        self._client = client
        self._there: dict[str, list[JsonObject]] = {}

    def put(self, objects: Mapping[str, list[JsonObject]]) -> None:
        """Let objects come, and those before them go, but for kinds of which there are no new ones."""
        self._side.run(self._put(objects))

    async def _put(self, objects: Mapping[str, list[JsonObject]]) -> None:
        for plural in (plural for plural in _EXCHANGED if plural in objects):
            for gone in self._there.get(plural, ()):
                self._client.tell(plural, "DELETED", gone)
            for come in objects[plural]:
                self._client.tell(plural, "ADDED", come)
            self._there[plural] = objects[plural]
            await _until(partial(self._are_known, plural, _names(objects[plural])))

    def _are_known(self, plural: str, names: set[tuple[str, str]]) -> bool:
        """Say whether the recommender's caches hold exactly these."""
        return self._known(plural) == names

    def _known(self, plural: str) -> set[tuple[str, str]]:
        """Return namespace and name of the objects that the recommender's caches hold."""
        caches = self._side.loop.parts.caches
        if plural == "pods":
            return set(caches.pods.items())
        if plural == "verticalpodautoscalers":
            return set(caches.vpas.items())
        return set(caches.controllers.stores[_EXCHANGED[plural]].items())


def _names(objects: list[JsonObject]) -> set[tuple[str, str]]:
    metadata = (msgspec.convert(each["metadata"], dict[str, object]) for each in objects)
    return {(str(each["namespace"]), str(each["name"])) for each in metadata}


async def _until(check: Callable[[], bool]) -> None:
    """Let the watches run until something is true."""
    while not check():  # noqa: ASYNC110 there is no event for what the check looks at
        await asyncio.sleep(0)


def main() -> None:
    """Start a recommender, and do what standard input says until it ends."""
    parser = argparse.ArgumentParser(prog="python -m bench.recommender_host")
    parser.add_argument("--vpas", type=int, required=True)
    parser.add_argument("--pods-per-vpa", type=int, required=True)
    parser.add_argument("--created", type=datetime.fromisoformat, required=True)
    arguments, flags = parser.parse_known_args()
    shape, created = Shape(arguments.vpas, arguments.pods_per_vpa), arguments.created
    lists = {
        "verticalpodautoscalers": Passing(shape.vpas, vpas(shape, created)),
        "pods": Passing(shape.pods, pods(shape, created)),
        "deployments": Passing(shape.vpas, deployments(shape, created)),
        "replicasets": Passing(shape.vpas, replica_sets(shape, created)),
    }
    client = OfflineClient(Offline(lists))
    side = OurRecommender(client, *flags)
    side.begin()
    exchange = _Exchange(side, client)
    for line in sys.stdin:
        command = msgspec.json.decode(line, type=HostCommand)
        if command.exchange:
            exchange.put(msgspec.json.decode(Path(command.exchange).read_bytes(), type=dict[str, list[JsonObject]]))
        side.offline.usage = Path(command.usage).read_bytes()
        side.offline.patches.clear()
        side.run(side.loop.run_round())
        side.offline.usage = b""
        model = side.loop.model
        say(HostAnswer(resident_bytes("self"), len(model.pods), len(model.vpas), model.aggregate_count))
    side.stop()


if __name__ == "__main__":
    main()

"""Our recommender and upstream's over the same cluster and the same usage."""

from __future__ import annotations

import shutil
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import numpy as np

from bench.cluster import CONTAINERS, Shape, Tick, Usage, first_tick, pod_names, write_scene
from bench.errors import DisagreementError
from bench.ours import OurRecommender
from bench.peer import Peer
from recommender.samples import UsageColumns

Json = dict[str, object]


class RecommenderDuel:
    """Both recommenders, each after its first round.

    Args:
        shape: The cluster.
        folder: For the files that both sides read.
        flags: Command line of ours beyond what makes it comparable.
    """

    def __init__(self, shape: Shape, folder: Path, *flags: str) -> None:
        now = datetime.now(UTC)
        self.shape = shape
        # A folder of its own: the ticks of another cluster have the same numbers.
        self.folder = Path(tempfile.mkdtemp(dir=folder))
        self.names = pod_names(shape)
        self._usage = Usage(shape, first_tick(now))
        created = first_tick(now)
        write_scene(self.folder / "scene.json", shape, created)
        self.peer = Peer()
        self.peer.ask("recommender", file=str(self.folder / "scene.json"))
        self.ours = OurRecommender.comparable(shape, created, *flags)
        model = self.ours.loop.model
        rows = [model.row_of(pod.namespace, pod.name, container) for pod in self.names for container in CONTAINERS]
        self._rows = np.array(rows, dtype=np.int64)
        self._ticks: dict[int, Tick] = {}

    def begin(self) -> int:
        """Return the number of the first tick that is not used yet."""
        return max(self._ticks, default=-1) + 1

    def tick(self, turn: int) -> Tick:
        """Return the usage of a turn, the same for both sides."""
        while turn not in self._ticks:
            self._ticks = {max(self._ticks, default=-1) + 1: self._usage.tick()}
        return self._ticks[turn]

    def columns(self, turn: int) -> UsageColumns:
        """Return it as our model takes it."""
        tick = self.tick(turn)
        return UsageColumns(self._rows, tick.instants, tick.millicores, tick.memory_bytes)

    def columns_file(self, turn: int) -> str:
        """Return it as a file of columns."""
        path = self.folder / "tick.columns"
        self.tick(turn).write_columns(path)
        return str(path)

    def usage_file(self, turn: int) -> str:
        """Return it as a file with the metrics API's answer."""
        path = self.folder / f"tick-{turn}.json"
        if not path.exists():
            path.write_bytes(self.tick(turn).metrics_list(self.names))
        return str(path)

    def check_statuses(self) -> None:
        """Have both sides recommend for all VPAs and compare what they write.

        Raises:
            DisagreementError: They differ.
        """
        self.ours.offline.patches.clear()
        self.ours.run(self.ours.loop.update_vpas())
        self.peer.ask("recommend")
        self.compare_statuses()

    def compare_statuses(self) -> None:
        """Compare the statuses that both sides have written last.

        Raises:
            DisagreementError: They differ.
        """
        out = self.folder / "statuses.json"
        self.peer.ask("statuses", out=str(out))
        theirs = {name: _status(patch) for name, patch in _patches(out.read_bytes()).items()}
        ours = {
            _object_name(path, -2): _status(patch) for path, patch in self._written("verticalpodautoscalers").items()
        }
        _compare("status", ours, theirs, self.shape.vpas)

    def check_checkpoints(self, seconds: float = 0.0) -> int:
        """Compare the checkpoints that the peer writes in some time with ours of the same VPAs; returns how many.

        Raises:
            DisagreementError: They differ.
        """
        self.peer.ask("checkpoints", seconds=seconds)
        return self.compare_checkpoints()

    def compare_checkpoints(self) -> int:
        """Compare the checkpoints that the peer has written last with ours of the same VPAs; returns how many.

        Raises:
            DisagreementError: They differ.
        """
        out = self.folder / "stored.json"
        self.peer.ask("stored", out=str(out))
        theirs = {name: _checkpoint(patch) for name, patch in _patches(out.read_bytes()).items()}
        self.ours.offline.patches.clear()
        self.ours.run(self.ours.write_all_checkpoints())
        written = self._written("verticalpodautoscalercheckpoints")
        ours = {_object_name(path, -1): _checkpoint(patch) for path, patch in written.items()}
        _compare("checkpoint", {name: ours[name] for name in theirs if name in ours}, theirs, 1)
        return len(theirs)

    def _written(self, plural: str) -> dict[str, bytes]:
        return {path: patch for path, patch in self.ours.offline.patches.items() if f"/{plural}/" in path}

    def stop(self) -> None:
        """End both sides."""
        self.peer.stop()
        self.ours.stop()
        shutil.rmtree(self.folder)


class DuelPool:
    """Keeps one duel alive for the next row that wants the same cluster: to set one up takes a minute.

    Args:
        folder: For the files that both sides read.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._duel: RecommenderDuel | None = None

    def of(self, shape: Shape) -> RecommenderDuel:
        """Return both recommenders over a cluster of some size, with or without history."""
        if self._duel is None or self._duel.shape != shape:
            self.close()
            # Checkpoints are written in each round, too, but only as many as must be.
            self._duel = RecommenderDuel(shape, self._folder, "--checkpoints-timeout=0s")
        return self._duel

    def close(self) -> None:
        """End both sides of the one that is kept."""
        if self._duel is not None:
            self._duel.stop()
        self._duel = None


def _patches(raw: bytes) -> dict[str, bytes]:
    return {name: bytes(patch) for name, patch in msgspec.json.decode(raw, type=dict[str, msgspec.Raw]).items()}


def _object_name(path: str, last: int) -> str:
    """Return namespace and name of the object at a path, the name being a part counted from the end."""
    parts = path.split("/")
    return f"{parts[parts.index('namespaces') + 1]}/{parts[last]}"


def _value(patch: bytes) -> Json:
    operations: list[Json] = msgspec.json.decode(patch, type=list[dict[str, object]])
    return msgspec.convert(operations[0]["value"], dict[str, object])


def _status(patch: bytes) -> Json:
    """Return what a status says, without the times at which conditions began, which are each side's own."""
    value = _value(patch)
    conditions = msgspec.convert(value.get("conditions", []), list[dict[str, object]])
    timeless = [{k: v for k, v in c.items() if k != "lastTransitionTime"} for c in conditions]
    return value | {"conditions": timeless}


def _checkpoint(patch: bytes) -> Json:
    """Return a checkpoint without its time of writing."""
    return {key: value for key, value in _value(patch).items() if key != "lastUpdateTime"}


def _compare(what: str, ours: dict[str, Json], theirs: dict[str, Json], least: int) -> None:
    if len(theirs) < least or ours.keys() != theirs.keys():
        raise DisagreementError(f"{len(ours)} of ours and {len(theirs)} of theirs have a {what}; {least} were expected")
    differing = [name for name in theirs if ours[name] != theirs[name]]
    if differing:
        name = differing[0]
        raise DisagreementError(
            f"{len(differing)} of {len(theirs)} differ in their {what}, such as {name}: "
            f"ours {ours[name]}, theirs {theirs[name]}"
        )

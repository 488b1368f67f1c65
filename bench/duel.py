"""Our recommender and upstream's over the same cluster and the same usage."""

from __future__ import annotations

import shutil
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from bench.cluster import CONTAINERS, Shape, Tick, Usage, first_tick, pod_names, write_scene
from bench.comparison import checkpoint, compare, object_name, patches, status, statuses
from bench.ours import OurRecommender
from bench.peer import Peer
from recommender.samples import UsageColumns


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
        theirs = {name: status(patch) for name, patch in patches(out.read_bytes()).items()}
        ours = statuses(self.ours.offline.patches)
        compare("status", ours, theirs, self.shape.vpas)

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
        theirs = {name: checkpoint(patch) for name, patch in patches(out.read_bytes()).items()}
        self.ours.offline.patches.clear()
        self.ours.run(self.ours.write_all_checkpoints())
        written = self.ours.offline.patches.items()
        ours = {
            object_name(path, -1): checkpoint(raw)
            for path, raw in written
            if "/verticalpodautoscalercheckpoints/" in path
        }
        compare("checkpoint", {name: ours[name] for name in theirs if name in ours}, theirs, 1)
        return len(theirs)

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

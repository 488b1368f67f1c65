"""R-5: memory of the recommender's process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType

import msgspec

from bench.cluster import JsonObject, Shape, Usage, first_tick, pod_names, write_scene
from bench.errors import DisagreementError
from bench.figures import Bound, Figure, Run, Spread, Target, Unit
from bench.hosting import resident_bytes
from bench.peer import Peer
from bench.recommender_host import HostCommand, RecommenderHost
from bench.row import Benchmark
from bench.rows.run_pods import Runs

_MEBIBYTE = 2**20
_RUNS = 10_000
_WARM_SHARE = 0.25
"""Of the runs, after which memory has to stay what it is."""

_ROUNDS = 30


class Memory(Benchmark):
    """Rounds of a cluster that stays as it is, each with fresh usage; then one VPA through which pods of Jobs pass."""

    name = "R-5"
    title = "memory of the recommender's process, 100,000 pods, 10,000 VPAs, and growth over 10,000 pods of Jobs"
    warm_ups = 0
    targets = MappingProxyType(
        {
            "R-5": Target(Bound.RATIO_AT_LEAST, 5),
            "R-5/jobs": Target(Bound.OURS_AT_MOST, 1.05, Unit.EXPONENT),
        }
    )
    is_judged_when_quick = False

    def set_up(self) -> None:
        """Start both sides."""
        self.turns = self.setting.choose(_ROUNDS, _ROUNDS // 3)
        self.shape = Shape(self.setting.choose(10_000, 500), 10)
        created = first_tick(datetime.now(UTC))
        self.names, self.usage = pod_names(self.shape), Usage(self.shape, created)
        scene = self.setting.folder / "memory.json"
        write_scene(scene, self.shape, created)
        self.peer = Peer()
        self.peer.ask("recommender", file=str(scene))
        scene.unlink()
        self.ours = RecommenderHost(self.shape, created, "--checkpoints-timeout=0s")
        self.known = 0, 0

    def run_ours(self, turn: int) -> Run:
        """Run a round in our process."""
        answer = self.ours.ask(HostCommand(str(self._usage_file(turn))))
        self.known = answer.pods, answer.vpas
        return Run(0.0, values={"resident": answer.resident_bytes})

    def run_peer(self, turn: int) -> Run:
        """Run a round in the peer's."""
        self.peer.ask("round", file=str(self._usage_file(turn)))
        return Run(0.0, values={"resident": resident_bytes(self.peer.pid)})

    def _usage_file(self, turn: int) -> Path:
        """Return the usage of a turn, the same for both sides."""
        path = self.setting.folder / f"memory-{turn}.json"
        if not path.exists():
            (self.setting.folder / f"memory-{turn - 1}.json").unlink(missing_ok=True)
            path.write_bytes(self.usage.tick().metrics_list(self.names))
        return path

    def check(self) -> None:
        """Make sure that ours has known everything; the peer does so itself."""
        if self.known != (self.shape.pods, self.shape.vpas):
            raise DisagreementError(f"ours knows {self.known[0]} pods and {self.known[1]} VPAs of {self.shape}")

    def report(self, ours: Sequence[Run], peer: Sequence[Run]) -> list[Figure]:
        """Report what both hold after the last round, and what passing pods leave behind."""
        mine, theirs = (_point(runs[-1].value("resident") / _MEBIBYTE) for runs in (ours, peer))
        note = f"after {len(ours)} rounds, {self.shape.pods} pods, {self.shape.vpas} VPAs"
        whole = Figure(self.name, mine, theirs, Unit.MEBIBYTES, note=note)
        self._stop()
        return [whole, self._growth()]

    def _growth(self) -> Figure:
        """Let pods of Jobs pass through both sides and return how their memory has grown since the warm-up."""
        runs = Runs(self.setting.choose(_RUNS, _RUNS // 10), self.setting.choose(250, 100))
        now = datetime.now(UTC)
        mine, theirs = (_growth(list(side)) for side in (self._ours_over(runs, now), self._peer_over(runs, now)))
        note = f"memory after {runs.total} pods of a CronJob over that after {int(runs.total * _WARM_SHARE)}"
        return Figure(f"{self.name}/jobs", _point(mine), _point(theirs), Unit.EXPONENT, note=note)

    def _ours_over(self, runs: Runs, now: datetime) -> Iterator[int]:
        """Yield the memory of our process after each lot of runs."""
        side = RecommenderHost(Shape(0, 0), now)
        try:
            for usage, objects in self._lots(runs, now):
                answer = side.ask(HostCommand(str(usage), str(objects)))
                if (answer.pods, answer.vpas, answer.aggregates) != (runs.lot, 1, 2):
                    raise DisagreementError(f"our recommender knows {answer} of {runs.lot} pods of one VPA")
                yield answer.resident_bytes
        finally:
            side.stop()

    def _peer_over(self, runs: Runs, now: datetime) -> Iterator[int]:
        """Yield the memory of the peer after each lot of runs."""
        side = Peer()
        try:
            for lot, (usage, objects) in enumerate(self._lots(runs, now)):
                side.ask("exchange" if lot else "recommender", file=str(objects))
                side.ask("round", file=str(usage))
                yield resident_bytes(side.pid)
        finally:
            side.stop()

    def _lots(self, runs: Runs, now: datetime) -> Iterator[tuple[Path, Path]]:
        """Yield files with the usage and the objects of each lot; VPA and CronJob come with the first and stay."""
        usage, objects = self.setting.folder / "lot-usage.json", self.setting.folder / "lot.json"
        begin = first_tick(now)
        for lot in range(runs.lots):
            usage.write_bytes(runs.usage(lot, begin + timedelta(minutes=lot)))
            lists: dict[str, list[JsonObject]] = {"jobs": list(runs.jobs(lot)), "pods": list(runs.pods(lot, begin))}
            if not lot:
                lists |= {"cronjobs": [runs.cron_job(begin)], "verticalpodautoscalers": [runs.vpa(begin)]}
            # The peer calls VPAs by their short name, and numbers the containers of columns, of which there are none.
            named = lists | {"vpas": lists.get("verticalpodautoscalers", []), "containers": []}
            objects.write_bytes(msgspec.json.encode(named))
            yield usage, objects

    def _stop(self) -> None:
        """End both sides of the large cluster."""
        for side in (getattr(self, "ours", None), getattr(self, "peer", None)):
            if side is not None:
                side.stop()
        self.__dict__.pop("ours", None)
        self.__dict__.pop("peer", None)

    def tear_down(self) -> None:
        """End what still runs."""
        self._stop()


def _growth(sizes: Sequence[int]) -> float:
    """Return the most memory after the warm-up as a share of that right after it."""
    warm = max(1, int(len(sizes) * _WARM_SHARE))
    return max(sizes[warm:]) / sizes[warm - 1]


def _point(value: float) -> Spread:
    return Spread(value, value, value, 1)

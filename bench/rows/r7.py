"""R-7: history from Prometheus."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from types import MappingProxyType

from bench.cluster import Shape, first_tick, write_scene
from bench.comparison import compare, patches, status, statuses
from bench.figures import Bound, Figure, Run, Spread, Target, Unit
from bench.history_host import load_history
from bench.peer import Peer
from bench.prometheus_host import PrometheusHost
from bench.row import Benchmark

_LABELS = 'up{job="kubernetes-pods"}[8d]'
_MEBIBYTE = 2**20


class History(Benchmark):
    """Eight days of history into an empty recommender, ours in pieces and screened as by default, the peer's at once.

    The server is ``bench.prometheus_host``: it cuts its answers out of prepared text and does not compress them. Ours
    loads in a new process each time, so that its memory can be told. Ours alone also loads every minute of the same
    time, more than Prometheus gives away at once.
    """

    name = "R-7"
    title = "history from Prometheus: 8 days of 10,000 containers"
    turns = 3
    targets = MappingProxyType(
        {
            "R-7": Target(Bound.RATIO_AT_LEAST, 4),
            "R-7/1m": Target(Bound.OURS_AT_MOST, 60, Unit.SECONDS),
            "R-7/1m-memory": Target(Bound.OURS_AT_MOST, 400, Unit.MEBIBYTES),
        }
    )

    def set_up(self) -> None:
        """Start the server and the peer."""
        self.shape = Shape(self.setting.choose(1_000, 100), 5)
        self.now = first_tick(datetime.now(UTC))
        self.host = PrometheusHost(self.shape, self.now)
        self.scene = self.setting.folder / "history.json"
        write_scene(self.scene, self.shape, self.now)
        self.peer = Peer()
        self.written = self.setting.folder / "history-statuses.json"

    def run_ours(self, turn: int) -> Run:
        """Load every hour."""
        del turn
        return self._load("1h")

    def _load(self, resolution: str) -> Run:
        return load_history(
            self.shape,
            self.now,
            self.written,
            "--profile=upstream",
            "--behaviour=history_in_pieces=true,history_labels_found=true,history_screened=true",
            "--storage=prometheus",
            f"--prometheus-address={self.host.url}",
            f"--metric-for-pod-labels={_LABELS}",
            f"--history-resolution={resolution}",
        )

    def run_peer(self, turn: int) -> Run:
        """Load the same with upstream's provider of history."""
        del turn
        return self.peer.ask("history", file=str(self.scene), url=self.host.url, name=_LABELS).run()

    def check(self) -> None:
        """Compare what both sides recommend from it."""
        out = self.setting.folder / "history-peer.json"
        self.peer.ask("recommend")
        self.peer.ask("statuses", out=str(out))
        theirs = {name: status(patch) for name, patch in patches(out.read_bytes()).items()}
        compare("status", statuses(patches(self.written.read_bytes())), theirs, self.shape.vpas)

    def report(self, ours: Sequence[Run], peer: Sequence[Run]) -> list[Figure]:
        """Report what an hourly history costs both, and what one of every minute costs ours."""
        note = f"{ours[-1].value('samples'):.0f} samples of ours"
        return [*self.work_figures(ours, peer, note), *self._every_minute()]

    def _every_minute(self) -> list[Figure]:
        before = self.host.cpu_seconds
        run = self._load("1m")
        note = f"{run.value('samples'):.0f} samples; the server took {self.host.cpu_seconds - before:.0f}s of CPU time"
        wall, cpu, above = (Spread.of([run.value(name)]) for name in ("wall", "cpu", "above"))
        return [
            Figure(f"{self.name}/1m", wall, note=note, ours_cpu=cpu),
            Figure(
                f"{self.name}/1m-memory",
                above.scaled(1 / _MEBIBYTE),
                unit=Unit.MEBIBYTES,
                note="above what the process held before",
            ),
        ]

    def tear_down(self) -> None:
        """End what was started."""
        for started in (getattr(self, "host", None), getattr(self, "peer", None)):
            if started is not None:
                started.stop()

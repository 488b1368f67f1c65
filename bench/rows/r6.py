"""R-6: from the start of the recommender's process to its first status."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from types import MappingProxyType

import msgspec

from bench.cluster import Shape, Usage, first_tick, pod_names
from bench.comparison import Json, compare
from bench.errors import DisagreementError, PeerError
from bench.figures import Bound, Figure, Run, Spread, Target
from bench.hosting import ApiHost, Command, cpu_seconds
from bench.row import Benchmark
from e2e.cluster.binaries import build
from evenkeel.simulator.processes.ports import free_port

_AT_ONCE = "--profile=upstream", "--behaviour=first_round_at_once=true"
_PATIENCE_SECONDS = 600.0
_UNHURRIED = "--kube-api-qps=1000", "--kube-api-burst=2000"


class Start(Benchmark):
    """Both whole programs, each on a fresh API server with the same objects, checkpoints and usage.

    The CPU time is that of the program alone when the server has taken in the first status. The peer then has waited
    for a whole interval, which is no work. Ours decides as upstream does, but begins as by default: at once.
    """

    name = "R-6"
    title = "start to first status, 100,000 pods, 10,000 VPAs, 10,000 checkpoints"
    warm_ups = 0
    turns = 1
    targets = MappingProxyType({"R-6": Target(Bound.RATIO_AT_LEAST, 20)})
    is_judged_when_quick = False

    def set_up(self) -> None:
        """Write down the usage that both sides get."""
        self.shape = Shape(self.setting.choose(10_000, 500), 10)
        self.created = first_tick(datetime.now(UTC))
        self.usage = self.setting.folder / "start-usage.json"
        self.usage.write_bytes(Usage(self.shape, self.created).tick().metrics_list(pod_names(self.shape)))
        self.recommended: dict[str, dict[str, Json]] = {}
        self.written: dict[str, int] = {}

    def run_ours(self, turn: int) -> Run:
        """Start ours."""
        del turn
        words = sys.executable, "-P", "-m", "recommender", "--api-group=autoscaling.k8s.io"
        return self._start("ours", *words, *_AT_ONCE, f"--recommender-interval={self._interval}s")

    def run_peer(self, turn: int) -> Run:
        """Start upstream's."""
        del turn
        program = str(build("vpa") / "vpa-recommender")
        return self._start("peer", program, f"--recommender-interval={self._interval}s")

    @property
    def _interval(self) -> int:
        """Seconds between two rounds: the default, less where a reduced size is enough."""
        return self.setting.choose(60, 6)

    def _start(self, name: str, *words: str) -> Run:
        """Start a program and wait until every VPA has a status of it."""
        size = f"--vpas={self.shape.vpas}", f"--pods-per-vpa={self.shape.pods_per_vpa}"
        content = "--controllers", "--checkpoints", f"--usage={self.usage}", f"--created={self.created.isoformat()}"
        host = ApiHost(self.setting.folder, *size, *content)
        flags = f"--kubeconfig={host.hosted.kubeconfig}", f"--address=127.0.0.1:{free_port()}", "--v=1", *_UNHURRIED
        with (self.setting.folder / f"start-{name}.log").open("wb") as log:
            began = time.perf_counter()
            environment = {**os.environ, "NAMESPACE": "kube-system"}
            process = subprocess.Popen([*words, *flags], stdout=log, stderr=log, env=environment)
        try:
            self._await(name, host, process, 1)
            first, cpu = time.perf_counter() - began, cpu_seconds(process.pid)
            self._await(name, host, process, self.shape.vpas)
            every, work = time.perf_counter() - began, cpu_seconds(process.pid)
            out = self.setting.folder / f"start-{name}.json"
            self.written[name] = host.ask(Command(recommendations=str(out))).statuses
            self.recommended[name] = msgspec.json.decode(out.read_bytes(), type=dict[str, Json])
        finally:
            process.kill()
            process.wait()
            host.stop()
        return Run(first, cpu, {"every": every, "work for all": work})

    def _await(self, name: str, host: ApiHost, process: subprocess.Popen[bytes], statuses: int) -> None:
        """Wait until so many statuses were written.

        Raises:
            PeerError: They were not in time.
        """
        written, until = 0, time.monotonic() + _PATIENCE_SECONDS
        while written < statuses and process.poll() is None and time.monotonic() < until:
            written = host.ask(Command(statuses=statuses)).statuses
        if written < statuses:
            ended = f"it has ended with {process.returncode}" if process.poll() is not None else "it still runs"
            last = (self.setting.folder / f"start-{name}.log").read_text(errors="replace")[-1000:]
            raise PeerError(f"the recommender {name} wrote {written} of {statuses} statuses; {ended}: {last}")

    def check(self) -> None:
        """Compare what both sides recommend, and how many statuses they wrote for that."""
        compare("recommendation", self.recommended["ours"], self.recommended["peer"], self.shape.vpas)
        if self.written["ours"] != self.written["peer"]:
            raise DisagreementError(f"{self.written['ours']} statuses of ours and {self.written['peer']} of theirs")

    def report(self, ours: Sequence[Run], peer: Sequence[Run]) -> list[Figure]:
        """Report work and time until the first status, and until all."""
        every = [Spread.of([run.value("every") for run in side]) for side in (ours, peer)]
        work = [Spread.of([run.value("work for all") for run in side]) for side in (ours, peer)]
        note = "all statuses, by the clock on the wall"
        return [
            *self.work_figures(ours, peer, f"{self.written['ours']} statuses compared"),
            Figure(f"{self.name}/all", every[0], every[1], note=note, ours_cpu=work[0], peer_cpu=work[1]),
        ]

"""What U-2 and U-3 share: one round of changes over an API server that answers slowly."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec

from bench.cluster import Shape
from bench.errors import DisagreementError, PeerError
from bench.figures import Figure, Run, Spread
from bench.hosting import ApiHost, Command, Hosted, cpu_seconds
from bench.row import Benchmark
from e2e.cluster.binaries import build
from evenkeel.simulator.processes.ports import free_port

_PATIENCE_SECONDS = 600.0
USUAL = "--kube-api-qps=100", "--kube-api-burst=200"
"""Requests that each side allows itself."""
_ALIKE = "--profile=upstream", "--behaviour=calls_side_by_side=true"
_PODS = 2


class SlowCalls(Benchmark):
    """Both whole programs, each on a fresh API server with the same objects, with the same request limits.

    Every pod asks for too little; by default half of the pods of a controller may go in a round, so one of each goes.
    What counts is the time from the first change to the last one. Ours decides as upstream does.

    Attributes:
        mode: Update mode of all VPAs.
        delay: Which calls take how long, for the process with the API server.
        limits: Requests that both sides allow themselves, by the end of the figure's name; each side runs with all.
    """

    warm_ups = 0
    turns = 1
    is_judged_when_quick = False
    mode: str
    delay: tuple[str, ...]
    limits: Mapping[str, tuple[str, str]] = MappingProxyType({"": USUAL})

    def set_up(self) -> None:
        """Choose the size; few enough calls are held back by no limits, so one pair of them is enough."""
        self.shape = Shape(self.setting.choose(1_000, 20), _PODS)
        if self.setting.is_quick:
            self.limits = MappingProxyType({"": USUAL})
        self.changed: dict[str, list[str]] = {}

    def run_ours(self, turn: int) -> Run:
        """Run ours."""
        del turn
        return self._run("ours", sys.executable, "-P", "-m", "updater", "--api-group=autoscaling.k8s.io", *_ALIKE)

    def run_peer(self, turn: int) -> Run:
        """Run upstream's."""
        del turn
        return self._run("peer", str(build("vpa") / "vpa-updater"))

    def _run(self, name: str, *words: str) -> Run:
        """Run a program with all limits; the measures have the names of their figures."""
        values: dict[str, float] = {}
        for end, limits in self.limits.items():
            run = self._start(f"{name}{end}".replace("/", "-"), *words, *limits)
            values |= {f"{measure}{end}": run.value(measure) for measure in ("wall", "cpu", "writes")}
        return Run(values["wall"], values["cpu"], values)

    def _start(self, name: str, *words: str) -> Run:
        """Start a program and wait until one pod of each controller has been changed."""
        size = f"--vpas={self.shape.vpas}", f"--pods-per-vpa={_PODS}", "--controllers"
        host = ApiHost(self.setting.folder, *size, f"--mode={self.mode}", "--cpu=50m", *self.delay)
        flags = (
            f"--kubeconfig={host.hosted.kubeconfig}",
            f"--address=127.0.0.1:{free_port()}",
            "--v=1",
            f"--updater-interval={self.setting.choose(60, 8)}s",
            "--use-admission-controller-status=false",
        )
        with (self.setting.folder / f"{self.name}-{name}.log").open("wb") as log:
            environment = {**os.environ, "NAMESPACE": "kube-system"}
            process = subprocess.Popen([*words, *flags], stdout=log, stderr=log, env=environment)
        try:
            seen = self._await(name, host, process)
            work = cpu_seconds(process.pid)
            out = self.setting.folder / f"{self.name}-{name}.json"
            host.ask(Command(changed=str(out)))
            self.changed[name] = msgspec.json.decode(out.read_bytes(), type=list[str])
        finally:
            process.kill()
            process.wait()
            host.stop()
        writes = sum(n for call, n in seen.calls.items() if call.split(" ")[0] in {"create", "patch", "update"})
        return Run(seen.changing_seconds, work, {"writes": writes})

    def _await(self, name: str, host: ApiHost, process: subprocess.Popen[bytes]) -> Hosted:
        """Wait until one pod of each controller was changed.

        Raises:
            PeerError: They were not in time.
        """
        seen, until, calls = host.hosted, time.monotonic() + _PATIENCE_SECONDS, self.shape.vpas
        while seen.changes < self.shape.vpas and process.poll() is None and time.monotonic() < until:
            seen = host.ask(Command(changes=calls))
            calls = max(calls, _change_calls(seen) + 1)
        if seen.changes < self.shape.vpas:
            ended = f"it has ended with {process.returncode}" if process.poll() is not None else "it still runs"
            last = (self.setting.folder / f"{self.name}-{name}.log").read_text(errors="replace")[-1000:]
            raise PeerError(
                f"the updater {name} changed {seen.changes} of {self.shape.vpas} pods after "
                f"{seen.changing_seconds:.0f} s; {ended}: {last}"
            )
        return seen

    def check(self) -> None:
        """Make sure that both sides have changed one pod of each controller, and no second one."""
        for name, paths in self.changed.items():
            of_each = Counter(path.rpartition("-")[0] for path in paths)
            if len(of_each) != self.shape.vpas or max(of_each.values()) > 1:
                raise DisagreementError(f"{name} changed {len(paths)} pods of {len(of_each)} controllers: not one each")

    def report(self, ours: Sequence[Run], peer: Sequence[Run]) -> list[Figure]:
        """Report the time from the first change to the last one."""
        return [self._figure(end, ours, peer) for end in self.limits]

    def _figure(self, end: str, ours: Sequence[Run], peer: Sequence[Run]) -> Figure:
        """Return what came of one pair of limits."""
        writes = " : ".join(f"{side[0].value(f'writes{end}'):.0f}" for side in (ours, peer))
        limits = " ".join(self.limits[end])
        note = f"{self.shape.vpas} pods changed; {writes} writes, events among them, until the last one was; {limits}"
        wall, work = (
            [Spread.of([run.value(f"{measure}{end}") for run in side]) for side in (ours, peer)]
            for measure in ("wall", "cpu")
        )
        name = f"{self.name}{end}"
        return Figure(name, wall[0], wall[1], note=note, ours_cpu=work[0], peer_cpu=work[1])


def _change_calls(seen: Hosted) -> int:
    """Return how many calls there were that may have resized or evicted a pod."""
    return seen.calls.get("patch pods/resize", 0) + seen.calls.get("create pods/eviction", 0)

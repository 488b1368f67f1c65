"""C-1: from a step of use to the end of the resize that it leads to, on a real kubelet."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from contextlib import ExitStack
from types import MappingProxyType

from bench.errors import DisagreementError
from bench.figures import Bound, Figure, Run, Spread, Target
from bench.real_node import Phase, RealNode, Start, real_node
from bench.row import Benchmark
from e2e.cluster.documents import JsonValue
from e2e.parity.process.engines import Engine, Program, Side
from e2e.parity.process.upstream import find_upstream

_INTERVAL_SECONDS = 2
_SCRAPE_SECONDS = 10
"""Between two looks of metrics-server at the kubelet, the least that it allows."""

_STRIDES = 1, 3, 7
"""By how many places the phases of recommender, updater and step move from turn to turn; each has all of them once."""

_RECOMMENDER = (
    f"--recommender-interval={_INTERVAL_SECONDS}s",
    # So that the first sample that shows the step tells on the bounds, which else move with the length of history.
    "--confidence-interval-cpu=1m",
    "--recommendation-lower-bound-cpu-percentile=0.9",
)
_UPDATER = f"--updater-interval={_INTERVAL_SECONDS}s", "--use-admission-controller-status=false"
_PARTS = "metrics", "recommender", "updater", "kubelet"


class KubeletResize(Benchmark):
    """Recommender and updater of one side at a time, begun anew for each of its pods, on one node.

    How long it takes depends on how the rounds of metrics-server, recommender and updater fall. So both sides begin
    their programs and their step at the same phases of these rounds, and those of all turns are spread over the rounds.
    The time ends with the kubelet's Event ResizeCompleted of the resize to the amount that is expected in the end.
    """

    name = "C-1"
    title = "from a step of use to ResizeCompleted on a real kubelet"
    warm_ups = 0
    turns = 10
    targets = MappingProxyType({"C-1": Target(Bound.RATIO_AT_LEAST, 1)})
    is_judged_when_quick = False

    def set_up(self) -> None:
        """Start the cluster and the first workload.

        Raises:
            ClusterError: This process is not root's, or the cluster does not start.
        """
        self._stack = ExitStack()
        self.turns = self.setting.choose(10, 1)
        self._node: RealNode = self._stack.enter_context(real_node())
        self._upstream = find_upstream()
        self._deployed = 0
        self._deploy()
        self._ends: list[tuple[str, JsonValue]] = []

    def tear_down(self) -> None:
        """Take the cluster down."""
        self._stack.close()

    def _deploy(self) -> None:
        """Deploy the next workload: the kubelet needs some time until it has measures of a new pod."""
        self._deployed += 1
        self._node.deploy(f"burn-{self._deployed}")

    def run_ours(self, turn: int) -> Run:
        """Let ours resize a workload."""
        return self._run(Side.OURS, turn)

    def run_peer(self, turn: int) -> Run:
        """Let upstream's resize one."""
        return self._run(Side.UPSTREAM, turn)

    def _run(self, side: Side, turn: int) -> Run:
        workload = self._node.measured(f"burn-{self._deployed}")
        recommender, updater, step = (stride * turn % self.turns / self.turns for stride in _STRIDES)
        starts = (
            Start(Program.RECOMMENDER, _RECOMMENDER, Phase(_INTERVAL_SECONDS, recommender)),
            Start(Program.UPDATER, _UPDATER, Phase(_INTERVAL_SECONDS, updater)),
        )
        with self._node.controlled(workload, Engine(side, self._upstream), starts):
            self._deploy()
            Phase(_SCRAPE_SECONDS, step).wait()
            resized = self._node.burn(workload)
        self._ends.append((f"{side.value} in turn {turn}", resized.resources))
        course = resized.course
        values = {
            "metrics": course.measured,
            "recommender": course.recommender_seconds,
            "updater": course.updater_seconds,
            "kubelet": course.kubelet_seconds,
            "resizes": course.resizes,
        }
        return Run(course.completed, values=values)

    def check(self) -> None:
        """Make sure that all pods have the same resources at the end."""
        first, *others = self._ends
        for who, resources in others:
            if resources != first[1]:
                raise DisagreementError(f"the pod of {who} has {resources} at the end, that of {first[0]} {first[1]}")

    def report(self, ours: Sequence[Run], peer: Sequence[Run]) -> list[Figure]:
        """Report the whole time, and who took which part of it."""
        note = (
            f"rounds every {_INTERVAL_SECONDS} s: recommender {_rounds('recommender', ours, peer)}, "
            f"updater {_rounds('updater', ours, peer)}; resizes {_counts('resizes', ours, peer)}; "
            f"ends with {json.dumps(self._ends[0][1])}"
        )
        parts = [Figure(f"{self.name}/{part}", *_spreads(part, ours, peer)) for part in _PARTS]
        return [Figure(self.name, *_spreads("wall", ours, peer), note=note), *parts]


def _spreads(measure: str, ours: Sequence[Run], peer: Sequence[Run]) -> tuple[Spread, Spread]:
    """Return a measure of both sides."""
    return Spread.of([run.value(measure) for run in ours]), Spread.of([run.value(measure) for run in peer])


def _rounds(part: str, ours: Sequence[Run], peer: Sequence[Run]) -> str:
    """Say in how many rounds each side did its part, from the fewest to the most."""
    return " : ".join(
        _range([max(1, math.ceil(run.value(part) / _INTERVAL_SECONDS)) for run in side]) for side in (ours, peer)
    )


def _counts(what: str, ours: Sequence[Run], peer: Sequence[Run]) -> str:
    """Say how many there were on each side, from the fewest to the most."""
    return " : ".join(_range([int(run.value(what)) for run in side]) for side in (ours, peer))


def _range(counts: Sequence[int]) -> str:
    return f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"

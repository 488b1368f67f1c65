"""Kernels leave what numpy leaves, compiled or not (performance:R-1, performance:R-3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from autoscaling.matching import parse_selector
from autoscaling.runtime.exposition import exposition
from autoscaling.vpa import ContainerPolicy, ScalingMode, UpdateMode, UpdatePolicy
from recommender.cluster_model import ClusterModel
from recommender.instants import instant
from recommender.kernels.compiling import compiled
from recommender.kernels.suite import Kernels
from recommender.oom import OomRecord
from recommender.pair import Pair, in_turn
from recommender.quality import usage_quality
from recommender.recommending import recommend
from recommender.samples import MISSING, SampleColumns, UsageColumns
from recommender.settings import EstimatorSettings, ModelSettings, RenderingSettings
from recommender.shell.metrics import QualityMetrics
from recommender.shell.two_threads import TwoThreads
from tests.builders import T0
from tests.recommender.scene import DAY, HOUR, MINUTE, SECOND, UPSTREAM, Scene, bits, integers, pod, vpa

MI = 2**20
PODS = ("p0", "p1", "p2", "p3")
MILLISECOND = SECOND / 1000
CPU_AMOUNTS = st.sampled_from([MISSING, -3, 0, 7, 10, 250, 4000, 2_000_000]) | st.integers(0, 10**6)
MEMORY_AMOUNTS = st.sampled_from([MISSING, -1, 0, 90 * MI, 91 * MI, 2**41]) | st.integers(0, 2**36)
TIMES = st.one_of(
    st.integers(0, 90).map(lambda minutes: minutes * MINUTE),
    st.integers(0, 60_000).map(lambda count: count * MILLISECOND),
    st.sampled_from([5 * HOUR, 23 * HOUR, DAY, 3 * DAY, 8 * DAY, 102 * DAY, 205 * DAY]),
)
Sample = tuple[int, timedelta, int, int]
FETCHES = st.lists(st.lists(st.tuples(st.integers(0, 3), TIMES, CPU_AMOUNTS, MEMORY_AMOUNTS), max_size=20), max_size=4)

THREADS = TwoThreads()


@pytest.fixture(scope="module")
def machine_code() -> Kernels:
    return compiled()


@dataclass
class Side:
    """A model, and how far what it recommends is from what is used."""

    model: ClusterModel
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    quality: QualityMetrics = field(init=False)

    def __post_init__(self) -> None:
        self.quality = QualityMetrics.register(self.registry)

    @classmethod
    def of(cls, kernels: Kernels | None, told: ModelSettings, both: Pair = in_turn) -> Side:
        """Return one of four pods, of which two share histograms, one has another VPA, and one is not scaled."""
        scene = Scene(ClusterModel(told))
        scene.follow(vpa("a", update_policy=UpdatePolicy(UpdateMode.OFF)), selector=parse_selector("app=a"))
        scene.follow(vpa("b"), selector=parse_selector("app=b"))
        scene.follow(vpa("c", ContainerPolicy("main", mode=ScalingMode.OFF)), selector=parse_selector("app=c"))
        for name, app in zip(PODS, ("a", "a", "b", "c"), strict=True):
            scene.observe(pod(name, labels={"app": app}))
        scene.model.aggregates.use(kernels, both)
        return cls(scene.model)

    def take(self, samples: list[Sample]) -> list[bytes]:
        """Take in a fetch, compare it with the recommendations, recommend anew, and return what counted."""
        rows = [self.model.row_of("default", PODS[place], "main") or 0 for place, *_ in samples]
        instants = integers(*(instant(T0 + after) for _, after, _, _ in samples))
        cpu, memory = integers(*(sample[2] for sample in samples)), integers(*(sample[3] for sample in samples))
        taken = self.model.take_usage(UsageColumns(integers(*rows), instants, cpu, memory), T0, self.compare)
        return [taken.cpu.tobytes(), taken.memory.tobytes()]

    def compare(self, samples: SampleColumns, resource: str) -> None:
        """Compare samples with the recommendations."""
        model = self.model
        self.quality.show_usage(usage_quality(model.containers, model.aggregates, samples, resource, is_oom=False))

    def kill(self, place: int, after: timedelta, requested: int) -> list[bytes]:
        """Take in a kill."""
        return [
            repr(self.model.take_ooms([OomRecord("default", PODS[place], "main", T0 + after, requested)], T0)).encode()
        ]

    def recommend(self) -> list[bytes]:
        """Recommend, and return what."""
        found = recommend(self.model, self.model.groups(), EstimatorSettings(), RenderingSettings(), UPSTREAM)
        return [repr(list(found.recommendations)).encode()]

    def state(self) -> list[bytes]:
        """Return everything that a fetch can change, bit for bit."""
        containers, aggregates = self.model.containers, self.model.aggregates
        columns = (
            *(containers.last_cpu, containers.last_memory, containers.window_end),
            *(containers.peak, containers.memory_peak),
            *(aggregates.first_sample, aggregates.last_sample, aggregates.sample_count, aggregates.last_peak),
        )
        held = [column.tobytes() for column in columns]
        # Which series of a family comes first is told by which resource did.
        shown = sorted(exposition(self.registry).encode().splitlines())
        return [*held, *bits(aggregates.cpu), *bits(aggregates.memory), *shown]


@settings(deadline=None, max_examples=40)
@given(FETCHES, st.lists(st.tuples(st.integers(0, 3), TIMES, st.integers(0, 2**32)), max_size=2), st.booleans())
def test_every_way_leaves_the_same_bits(
    machine_code: Kernels, fetches: list[list[Sample]], kills: list[tuple[int, timedelta, int]], gives_way: bool
) -> None:
    told = ModelSettings(zero_peaks_give_way=gives_way)
    ways: list[tuple[Kernels | None, Pair]] = [
        (None, in_turn), (Kernels(), in_turn), (machine_code, in_turn), (machine_code, THREADS), (None, THREADS),
    ]  # fmt: skip
    sides = [Side.of(kernels, told, both) for kernels, both in ways]
    for number, fetch in enumerate(fetches):
        found = [
            side.take(fetch) + [text for kill in kills[number : number + 1] for text in side.kill(*kill)]
            for side in sides
        ]
        recommended = [side.recommend() for side in sides]
        states = [side.state() for side in sides]
        for way in range(1, len(sides)):
            assert found[way] == found[0], ways[way]
            assert recommended[way] == recommended[0], ways[way]
            assert states[way] == states[0], ways[way]


@settings(deadline=None, max_examples=3)
@given(st.integers(0, 2**32))
def test_fetches_of_many_containers_leave_the_same_bits(machine_code: Kernels, seed: int) -> None:
    """Enough samples of few instants for one table of growth, over several sums side by side."""
    dice = np.random.default_rng(seed)
    sides = [Side.of(kernels, ModelSettings()) for kernels in (None, machine_code)]
    size = 1500
    for tick in range(4):
        rows = dice.integers(0, len(PODS), size).tolist()
        seconds = np.sort(dice.integers(0, 40, size) + 60 * tick).tolist()
        cpu, memory = dice.integers(0, 900, size).tolist(), dice.integers(0, 2**31, size).tolist()
        fetch = [(r, s * SECOND, c, m) for r, s, c, m in zip(rows, seconds, cpu, memory, strict=True)]
        for side in sides:
            side.take(fetch)
            side.recommend()
        assert sides[0].state() == sides[1].state()

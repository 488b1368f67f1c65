"""Short ways to fill a model with pods, VPAs and samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from autoscaling.behaviour import Behaviour, Profile
from autoscaling.matching import Selector, parse_selector
from autoscaling.pod import Container, Pod, PodPhase
from autoscaling.vpa import ContainerPolicy, Recommendation, TargetRef, UpdatePolicy, Vpa
from recommender.cluster_model import ClusterModel
from recommender.histogram_bank import HistogramBank, WeightChanges
from recommender.instants import instant
from recommender.label_sets import TrackedVpa
from recommender.oom import OomOutcome, OomRecord
from recommender.recommending import recommend
from recommender.samples import SampleColumns
from recommender.settings import EstimatorSettings, ModelSettings, RenderingSettings
from tests.builders import T0, printed

Integers = NDArray[np.int64]

SECOND, MINUTE, HOUR, DAY = (timedelta(seconds=n) for n in (1, 60, 3600, 86400))
UPSTREAM = Behaviour.of(Profile.UPSTREAM)


def integers(*numbers: int) -> Integers:
    """Return numbers as a column."""
    return np.array(numbers, dtype=np.int64)


def add(
    bank: HistogramBank,
    amount: int,
    weight: float = 0.1,
    at: datetime = T0,
    *,
    row: int = 0,
    taken: bool = False,
) -> None:
    """Add one amount to one row, or take it away."""
    bank.apply(
        WeightChanges(
            integers(row),
            bank.scheme.bucket_of_amounts(integers(amount)),
            np.array([weight]),
            integers(instant(at)),
            np.array([taken]),
        )
    )


def bits(bank: HistogramBank) -> list[bytes]:
    """Return everything a bank holds, bit for bit."""
    columns = (bank.weights, bank.totals, bank.lowest, bank.highest, bank.references.column())
    return [column.tobytes() for column in columns]


def filled(bank: HistogramBank, row: int = 0) -> dict[int, float]:
    """Return the weights of one row other than 0 by bucket."""
    return {int(bucket): float(bank.weights[row, bucket]) for bucket in np.flatnonzero(bank.weights[row])}


def columns(rows: Sequence[int], moments: Sequence[datetime], amounts: Sequence[int]) -> SampleColumns:
    """Return samples as columns."""
    return SampleColumns(integers(*rows), integers(*(instant(m) for m in moments)), integers(*amounts))


def pod(name: str = "p", *names: str, labels: dict[str, str] | None = None, phase: PodPhase = PodPhase.RUNNING) -> Pod:
    """Return a pod of these containers, or of one named ``main``."""
    return Pod(
        namespace="default",
        name=name,
        labels={"app": "a"} if labels is None else labels,
        phase=phase,
        containers=tuple(Container(n) for n in names or ("main",)),
    )


def vpa(
    name: str = "v",
    *policies: ContainerPolicy,
    update_policy: UpdatePolicy | None = None,
    annotations: dict[str, str] | None = None,
) -> Vpa:
    """Return a VPA with these container policies."""
    return Vpa(
        namespace="default",
        name=name,
        created=T0,
        generation=0,
        annotations=annotations or {},
        target_ref=TargetRef("Deployment", name),
        update_policy=update_policy,
        container_policies=policies or None,
    )


APP = parse_selector("app=a")


@dataclass
class Scene:
    """A model in the namespace ``default`` that is told one thing at a time."""

    model: ClusterModel = field(default_factory=ClusterModel)

    def observe(self, *pods: Pod) -> Scene:
        """Let the model see pods."""
        for each in pods:
            self.model.observe_pod(each, T0)
        return self

    def follow(self, *vpas: Vpa, selector: Selector = APP) -> Scene:
        """Let the model see VPAs."""
        for each in vpas:
            self.model.observe_vpa(each, selector)
        return self

    def row(self, container: str = "main", pod: str = "p") -> int:
        """Return the row of a known container."""
        row = self.model.row_of("default", pod, container)
        assert row is not None
        return row

    def aggregate(self, container: str = "main", pod: str = "p") -> int:
        """Return the aggregate row of a known container."""
        return int(self.model.containers.aggregate[self.row(container, pod)])

    def tracked(self, name: str = "v") -> TrackedVpa:
        """Return a known VPA."""
        return self.model.vpas["default", name]

    def cpu(self, at: datetime, millicores: int, container: str = "main", pod: str = "p") -> bool:
        """Take in one CPU sample and say whether it counted."""
        return bool(self.model.take_cpu(columns([self.row(container, pod)], [at], [millicores]), T0)[0])

    def memory(self, at: datetime, amount: int, container: str = "main", pod: str = "p") -> bool:
        """Take in one memory sample and say whether it counted."""
        return bool(self.model.take_memory(columns([self.row(container, pod)], [at], [amount]), T0)[0])

    def steady_cpu(self, begin: datetime, samples: int, millicores: int, container: str = "main") -> None:
        """Take in one CPU sample a minute."""
        moments = [begin + i * MINUTE for i in range(samples)]
        self.model.take_cpu(columns([self.row(container)] * samples, moments, [millicores] * samples), T0)

    def oom(self, at: datetime, requested: int, container: str = "main", pod: str = "p") -> OomOutcome:
        """Take in one OOM kill."""
        return self.model.take_ooms([OomRecord("default", pod, container, at, requested)], T0).outcomes[0]

    def recommendation(
        self,
        name: str = "v",
        settings: EstimatorSettings | None = None,
        rendering: RenderingSettings | None = None,
        behaviour: Behaviour = UPSTREAM,
    ) -> Recommendation:
        """Return the recommendation of one VPA."""
        groups = self.model.groups()
        found = recommend(
            self.model, groups, settings or EstimatorSettings(), rendering or RenderingSettings(), behaviour
        )
        return found.recommendations[[t.vpa.name for t in groups.vpas].index(name)]

    def figures(self, container: str = "main", name: str = "v") -> dict[str, dict[str, str]]:
        """Return target, lower and upper bound of one container as text."""
        entry = self.recommendation(name).of(container)
        assert entry is not None
        return {
            "target": printed(entry.target),
            "lower": printed(entry.lower_bound or {}),
            "upper": printed(entry.upper_bound or {}),
        }


def of_one_container(*policies: ContainerPolicy, settings: ModelSettings | None = None) -> Scene:
    """Return a scene with pod ``p`` of container ``main``, selected by VPA ``v``."""
    return Scene(ClusterModel(settings)).follow(vpa("v", *policies)).observe(pod())

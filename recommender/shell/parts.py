"""What the rounds of one recommender are told, and what they work with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from autoscaling.behaviour import Behaviour
from autoscaling.runtime.health import Vitals
from autoscaling.runtime.process import Driver
from autoscaling.vpa import DEFAULT_RECOMMENDER, Vpa
from recommender.settings import EstimatorSettings, RenderingSettings
from recommender.shell.caches import Caches
from recommender.shell.checkpoints import CheckpointKeeper
from recommender.shell.kernel_supply import KernelSupply
from recommender.shell.metrics import RecommenderMetrics
from recommender.shell.prometheus_history import HistoryLoader
from recommender.shell.statuses import StatusWriter
from recommender.shell.usage import UsageSource
from recommender.shell.usage_standing import UsageStanding


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """What a round needs to be told.

    Args:
        name: Name of this recommender.
        namespace: The only one that is served; empty for all.
        ignored: Namespaces whose VPAs are left out.
        estimator: How histograms become amounts.
        rendering: How amounts become quantities.
        behaviour: Where to decide otherwise than upstream.
        status_change_threshold: Share by which an amount must have moved for its status to be written at once; 0 writes
            every change.
        status_budget: Time for writing statuses in one round; None for as long as it takes.
        interval: Time between two rounds.
    """

    name: str
    namespace: str
    ignored: frozenset[str]
    estimator: EstimatorSettings
    rendering: RenderingSettings
    behaviour: Behaviour
    status_change_threshold: float = 0.0
    status_budget: timedelta | None = None
    interval: timedelta = timedelta(minutes=1)

    def serves(self, vpa: Vpa) -> bool:
        """Say whether a VPA is this recommender's (spec: recommender:6.2)."""
        named = self.name in vpa.recommenders or (not vpa.recommenders and self.name == DEFAULT_RECOMMENDER)
        return named and vpa.namespace not in self.ignored and self.namespace in {"", vpa.namespace}


@dataclass(frozen=True, slots=True)
class Parts:
    """What the rounds of one recommender work with."""

    caches: Caches
    usage: UsageSource
    statuses: StatusWriter
    checkpoints: CheckpointKeeper
    metrics: RecommenderMetrics
    vitals: Vitals
    driver: Driver
    history: HistoryLoader | None = None
    standing: UsageStanding | None = None
    kernels: KernelSupply | None = None

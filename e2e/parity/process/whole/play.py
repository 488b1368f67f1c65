"""All three programs at work on one copy of a cluster, one after the other, and what each of them leaves."""

from __future__ import annotations

from dataclasses import dataclass

from e2e.parity.process.copies import ClusterCopy
from e2e.parity.process.engines import Engine
from e2e.parity.process.recommender.rounds import State
from e2e.parity.process.recommender.rounds import rounds_on as recommend
from e2e.parity.process.rounds import Course
from e2e.parity.process.updater.rounds import Record
from e2e.parity.process.updater.rounds import rounds_on as update
from e2e.parity.process.whole.cluster import WholeCluster
from e2e.parity.process.whole.verdicts import Verdicts, verdicts


@dataclass(frozen=True, slots=True)
class Played:
    """What one side did.

    Args:
        states: What was stored after each round of the recommender.
        record: What the updater asked, with those recommendations.
        verdicts: What became of new pods and VPAs after all that.
    """

    states: tuple[State, ...]
    record: Record
    verdicts: Verdicts


async def play(copy: ClusterCopy, cluster: WholeCluster, engine: Engine, course: Course) -> Played:
    """Let all three programs of one side work on a copy.

    Raises:
        EngineEndedError: One has ended by itself.
        TimeoutError: One begins no round, or does not come to know the cluster.
        RoundCutOffError: A round was too short.
    """
    states = await recommend(copy, cluster.recommender, (engine,), course)
    record = await update(copy, cluster.updater, engine, course)
    return Played(states, record, await verdicts(copy, cluster, engine, course))

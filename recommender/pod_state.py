"""What the model knows of a pod.

Spec: recommender 3.1; performance R-5.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from autoscaling.pod import PodPhase
from recommender.label_sets import LabelSet, Shape


@dataclass(slots=True, eq=False)
class PodState:
    """What the model knows of a pod.

    Attributes:
        name: Its name.
        label_set: Its labels, with what shares them.
        phase: As last observed.
        names: Containers ever seen in it.
        rows: Their rows in the container table, in the same order.
        init_names: Names of its init containers, but for sidecars that count as containers.
        shape: What it looks like to nodes; None where nobody asks.
    """

    name: str
    label_set: LabelSet
    phase: PodPhase
    names: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    init_names: tuple[str, ...] = ()
    shape: Shape | None = None

    def add(self, container: str, row: int) -> None:
        """Note a container that was not seen before, and its row."""
        self.names, self.rows = _followed(self.names, container), (*self.rows, row)

    def row_of(self, container: str) -> int | None:
        """Return the row of a container, None where there is none of this name."""
        return self.rows[self.names.index(container)] if container in self.names else None


@lru_cache(maxsize=1024)
def _followed(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    """Return names with one more behind them: one value for all replicas of a workload."""
    return (*names, name)

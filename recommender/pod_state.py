"""What the model knows of a pod.

Spec: recommender 3.1.
"""

from __future__ import annotations

from dataclasses import dataclass

from autoscaling.pod import PodPhase
from recommender.label_sets import LabelSet


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
    """

    name: str
    label_set: LabelSet
    phase: PodPhase
    names: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    init_names: tuple[str, ...] = ()

    def row_of(self, container: str) -> int | None:
        """Return the row of a container, None where there is none of this name."""
        return self.rows[self.names.index(container)] if container in self.names else None

"""Series of an answer, and whose they are.

Spec: recommender 7.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from recommender.history.errors import HistoryError
from recommender.history.queries import HistoryRequest

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

ContainerKey = tuple[str, str, str]
"""Namespace, pod name, container name."""


class Shape(Enum):
    """What kind of answer a query got, as Prometheus calls it."""

    MATRIX = "matrix"
    VECTOR = "vector"
    SCALAR = "scalar"
    STRING = "string"


class Flaw(Enum):
    """Why a series of history does not count, or not all of it."""

    MISSING_LABEL = "missing_label"
    """It does not say which container or pod it is about."""

    FOREIGN_CLUSTER = "foreign_cluster"
    """It is about another cluster that reports to the same Prometheus."""

    PARENT_CGROUP = "parent_cgroup"
    """It is about a group of processes that holds the container's, so it counts more than the container."""

    INIT_CONTAINER = "init_container"
    """It is about an init container of a pod that still lives."""

    DUPLICATE = "duplicate"
    """Another series tells the same container's use of the same time."""

    ZOMBIE = "zombie"
    """It goes on although the container has ended: no CPU and no memory in use."""

    NOT_A_NUMBER = "not_a_number"
    """Some of its values are no numbers, infinite or negative."""

    IMPLAUSIBLE = "implausible"
    """Some of its values are beyond any machine, as when a counter jumps between two sources."""


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One series of an answer.

    Args:
        labels: What tells it from the others.
        instants: int64[n], nanoseconds since the epoch, ascending.
        values: float64[n], in the unit of the query.
    """

    labels: Mapping[str, str]
    instants: Integers
    values: Floats


@dataclass(slots=True)
class FlawRecord:
    """What was wrong with series; one that is wrong in several pieces of history in the same way counts once.

    Attributes:
        counts: Number of series by what is wrong with them.
    """

    counts: Counter[Flaw] = field(default_factory=Counter)
    _known: set[int] = field(default_factory=set)

    def note(self, flaw: Flaw, series: Series) -> None:
        """Count a series."""
        mark = hash((flaw, frozenset(series.labels.items())))
        if mark not in self._known:
            self._known.add(mark)
            self.counts[flaw] += 1


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What a query was answered.

    Args:
        shape: Kind of answer.
        series: The series, in the order of the answer; of a vector each has one point.
    """

    shape: Shape
    series: tuple[Series, ...]

    def of_shape(self, shape: Shape, query: str) -> tuple[Series, ...]:
        """Return the series of an answer that must be of one kind.

        Raises:
            HistoryError: It is of another kind.
        """
        if self.shape is not shape:
            remedy = "give the query a range, such as [8d]" if shape is Shape.MATRIX else "ask for an instant vector"
            raise HistoryError(f"{query}: the answer is a {self.shape.value}, not a {shape.value}", remedy=remedy)
        return self.series


@dataclass(slots=True)
class Owned:
    """The series of one resource by the containers that they are about.

    Attributes:
        keys: The containers.
        series: All series.
        owners: Of each series the number of its container.
    """

    keys: dict[ContainerKey, int] = field(default_factory=dict)
    series: list[Series] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)

    @property
    def has_doubles(self) -> bool:
        """Whether several series are about one container."""
        return len(set(self.owners)) < len(self.owners)


def by_container(
    series: Sequence[Series], request: HistoryRequest, keys: dict[ContainerKey, int], flaws: FlawRecord | None
) -> Owned:
    """Find out which container each series is about.

    Args:
        series: The answer.
        request: Names the labels.
        keys: Numbers of the containers known so far; grows.
        flaws: Counts the series that do not say; None where one such series makes the whole answer useless.

    Raises:
        HistoryError: A series does not say, and that is not counted.
    """
    kept: list[Series] = []
    owners: list[int] = []
    namespace, pod, container = request.namespace_label, request.pod_label, request.container_label
    for each in series:
        labels = each.labels
        try:
            key = labels[namespace], labels[pod], labels[container]
        except KeyError as error:
            if flaws is None:
                raise missing_label(each, error.args[0]) from None
            flaws.note(Flaw.MISSING_LABEL, each)
            continue
        owners.append(keys.setdefault(key, len(keys)))
        kept.append(each)
    return Owned(keys, kept, owners)


def missing_label(series: Series, label: str) -> HistoryError:
    """Return the error about a series that lacks a label."""
    named = ", ".join(f'{name}="{value}"' for name, value in sorted(series.labels.items()))
    return HistoryError(
        f"series {{{named}}} has no label {label}",
        remedy="set the flags --container-*-label and --pod-*-label to the labels that Prometheus has",
    )

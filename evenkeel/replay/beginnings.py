"""Stored histograms that a replay begins with, in place of having seen nothing (spec: quality Q-11, beyond B-36)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from autoscaling.errors import CheckpointError
from autoscaling.vpa import Vpa
from evenkeel.replay.trace import Trace
from recommender.checkpoint import ContainerCheckpoint, HistogramCheckpoint, check_histogram
from recommender.instants import LATEST, NEVER, SECOND, instant
from recommender.strategies.interface import Json, JsonObject

Key = tuple[str, str, str]
"""Namespace, name of a workload, name of a container."""

_POD_SUFFIXES: Final = 2
"""Parts of a pod's name that follow its workload's name at most: of a Deployment's pods two, of others' one."""


@dataclass(frozen=True, slots=True)
class Beginnings:
    """What was stored of containers, by whose they are.

    Args:
        stored: Checkpoints that can be loaded.
    """

    stored: Mapping[Key, ContainerCheckpoint] = field(default_factory=dict)

    def key_of(self, name: str) -> Key | None:
        """Return whose the history of a series is; None where nothing is stored of it.

        Args:
            name: Namespace, workload or pod, and container of the series, joined by slashes.
        """
        namespace, _, rest = name.partition("/")
        workload, _, container = rest.partition("/")
        for count in range(_POD_SUFFIXES + 1):
            parts = workload.rsplit("-", count)
            if len(parts) == count + 1 and (namespace, parts[0], container) in self.stored:
                return namespace, parts[0], container
        return None

    def among(self, names: Iterable[str]) -> Beginnings:
        """Return those of some series."""
        keys = {key for name in names if (key := self.key_of(name)) is not None}
        return Beginnings({key: self.stored[key] for key in sorted(keys)})

    def rows(self, traces: Sequence[Trace]) -> Iterator[tuple[int, JsonObject]]:
        """Yield the rows that something is stored of, with the state that a strategy by histograms takes up.

        Args:
            traces: Series of each row; their time counts from their first step on.
        """
        for row, trace in enumerate(traces):
            key = self.key_of(trace.name)
            if key is not None:
                yield row, _state(self.stored[key], _nanoseconds(float(trace.times[0])))


def beginnings_of(
    checkpoints: Iterable[ContainerCheckpoint], vpas: Iterable[Vpa]
) -> tuple[Beginnings, tuple[str, ...]]:
    """Find out whose checkpoints are.

    Args:
        checkpoints: As stored.
        vpas: Tell the workload of each; a VPA that is not among them is taken for the workload's namesake.

    Returns:
        What can be begun with, and what is wrong with the rest, which is left out.
    """
    targets = {(vpa.namespace, vpa.name): vpa.target_ref.name for vpa in vpas if vpa.target_ref is not None}
    stored: dict[Key, ContainerCheckpoint] = {}
    problems: list[str] = []
    for checkpoint in checkpoints:
        vpa = checkpoint.namespace, checkpoint.vpa_name
        try:
            check_histogram(checkpoint.cpu)
            check_histogram(checkpoint.memory)
        except CheckpointError as error:
            problems.append(f"{checkpoint.ref}: {error}; its containers begin without a history")
            continue
        stored[checkpoint.namespace, targets.get(vpa, checkpoint.vpa_name), checkpoint.container_name] = checkpoint
    return Beginnings(stored), tuple(problems)


def _state(checkpoint: ContainerCheckpoint, begin: int) -> JsonObject:
    """Return what a state saves of a row, with instants that count from the beginning of a series.

    A history that is younger than the recording is moved back so that it ends where the recording begins: nothing of it
    may be known before its time.

    Args:
        checkpoint: The history.
        begin: Of the recording, nanoseconds since the epoch.
    """
    last = instant(checkpoint.last_sample)
    shift = max(begin, last)
    return {
        "cpu": _histogram(checkpoint.cpu, shift),
        "memory": _histogram(checkpoint.memory, shift),
        "first_sample": _moved(instant(checkpoint.first_sample), shift) if checkpoint.first_sample else LATEST,
        "last_sample": _moved(last, shift),
        "samples": float(checkpoint.sample_count),
        "window_end": NEVER,
        "last_memory": NEVER,
        "peak": 0,
        "usage_peak": 0,
        "oom_need": 0,
        "oom_need_until": 0,
    }


def _histogram(stored: HistogramCheckpoint | None, shift: int) -> dict[str, Json]:
    stored = check_histogram(stored)
    total = sum(stored.bucket_weights.values())
    share = stored.total_weight / total if total else 0.0
    return {
        "reference": _moved(instant(stored.reference), shift),
        "total": stored.total_weight if total else 0.0,
        "weights": {str(bucket): weight * share for bucket, weight in stored.bucket_weights.items()},
    }


def _moved(at: int, shift: int) -> int:
    return NEVER if at == NEVER else at - shift


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1000.0) * (SECOND // 1000)

"""The course of one resize: what a client of the API server saw when."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from autoscaling.quantity import Quantity
from e2e.cluster.documents import JsonObject, number_at, text_at

COMPLETED: Final = "ResizeCompleted"
_USED: Final = "containers", 0, "usage", "cpu"
_TARGET: Final = "status", "recommendation", "containerRecommendations", 0, "target", "cpu"
_ASKED: Final = "spec", "containers", 0, "resources", "requests", "cpu"


@dataclass(frozen=True, slots=True)
class Seen:
    """A version of an object.

    Args:
        instant: When it was seen, in seconds of a clock that never goes back.
        document: The object.
    """

    instant: float
    document: JsonObject


@dataclass(frozen=True, slots=True)
class Course:
    """When each stage was reached, in seconds after the use stepped up; infinite for one that was not.

    Args:
        measured: The metrics API tells of the higher use.
        recommended: The VPA recommends the amount that is expected in the end.
        asked: The pod's spec asks for it.
        completed: The kubelet tells by its Event that the resize to it is done.
        resizes: Resizes that were asked for, those to amounts in between among them.
    """

    measured: float
    recommended: float
    asked: float
    completed: float
    resizes: int

    @property
    def is_complete(self) -> bool:
        """Whether the resize is done."""
        return math.isfinite(self.completed)

    @property
    def recommender_seconds(self) -> float:
        """What the recommender took; 0 where it read the metrics before we did."""
        return max(0.0, self.recommended - self.measured)

    @property
    def updater_seconds(self) -> float:
        """What the updater took."""
        return self.asked - self.recommended

    @property
    def kubelet_seconds(self) -> float:
        """What the kubelet took."""
        return self.completed - self.asked


@dataclass(frozen=True, slots=True)
class Observations:
    """What was seen of one workload of one pod with one container, oldest first.

    Args:
        measurements: The pod in the answers of the metrics API.
        vpas: Versions of its VPA.
        pods: Versions of the pod.
        events: Events about the pod.
    """

    measurements: Sequence[Seen]
    vpas: Sequence[Seen]
    pods: Sequence[Seen]
    events: Sequence[Seen]

    def course(self, step: float, before: str, after: str) -> Course:
        """Tell the course of the resize.

        Args:
            step: When the use stepped up.
            before: The request of CPU until then, which the use was below.
            after: The one that is expected in the end.
        """
        least, wanted = Quantity.parse(before), Quantity.parse(after)
        asked = _first(seen for seen in self.pods if _cpu(seen, *_ASKED) == wanted)
        generation = math.inf if asked is None else number_at(asked.document, "metadata", "generation")
        return Course(
            measured=_after(step, _first(seen for seen in self.measurements if _cpu(seen, *_USED) > least)),
            recommended=_after(step, _first(seen for seen in self.vpas if _cpu(seen, *_TARGET) == wanted)),
            asked=_after(step, asked),
            completed=_after(step, _first(seen for seen in self.events if _completed(seen) >= generation)),
            resizes=max(0, len({text_at(seen.document, *_ASKED) for seen in self.pods}) - 1),
        )


def _first(found: Iterable[Seen]) -> Seen | None:
    return next(iter(found), None)


def _after(step: float, seen: Seen | None) -> float:
    return math.inf if seen is None else seen.instant - step


def _cpu(seen: Seen, *steps: str | int) -> Quantity:
    """Return an amount of CPU in a document, 0 where there is none."""
    return Quantity.parse(text_at(seen.document, *steps) or "0")


def _completed(seen: Seen) -> int:
    """Return the generation whose resize an Event says is done; 0 if it says nothing like that."""
    if text_at(seen.document, "reason") != COMPLETED:
        return 0
    return number_at(json.loads(text_at(seen.document, "message").partition(": ")[2]), "generation")

"""What an answer about controllers was told by, and whether all of that is still the same.

Workloads and scales of a large cluster change all the time, but few of those above any one pod or VPA. So an answer is
kept for as long as everything that was looked up for it is the same object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from autoscaling.ownership import ControllerKey
from autoscaling.targets import KnownControllers, WorkloadKey
from autoscaling.workload import Workload

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


@dataclass(slots=True)
class _Noted(Mapping[_Key, _Value], Generic[_Key, _Value]):
    """A mapping that notes what is looked up in it, and what was found."""

    source: Mapping[_Key, _Value]
    reads: dict[_Key, _Value | None] = field(default_factory=dict)

    def __getitem__(self, key: _Key) -> _Value:
        found = self.reads[key] = self.source.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def __iter__(self) -> Iterator[_Key]:
        return iter(self.source)

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True, slots=True)
class Reads:
    """What was looked up, and what was found; None for nothing."""

    workloads: tuple[tuple[WorkloadKey, Workload | None], ...]
    scales: tuple[tuple[ControllerKey, object], ...]

    def hold(self, known: KnownControllers, *, are_workloads_as_before: bool) -> bool:
        """Say whether the same would be found now.

        Args:
            known: What is known of controllers.
            are_workloads_as_before: Whether no workload came, changed or went since this held.
        """
        # Asked for every direct controller and every VPA in every round: plain loops, as generators would take three
        # times as long.
        if not are_workloads_as_before:
            for key, found in self.workloads:
                if known.workloads.get(key) is not found:
                    return False
        for controller, answer in self.scales:  # noqa: SIM110
            if known.scales.get(controller) is not answer:
                return False
        return True


class NotedControllers:
    """What is known of controllers, and what is looked up in it.

    Args:
        known: What is known.

    Attributes:
        known: The same; what is looked up is noted.
    """

    def __init__(self, known: KnownControllers) -> None:
        self._workloads, self._scales = _Noted(known.workloads), _Noted(known.scales)
        self.known = replace(known, workloads=self._workloads, scales=self._scales)

    def reads(self) -> Reads:
        """Return what has been looked up so far."""
        return Reads(tuple(self._workloads.reads.items()), tuple(self._scales.reads.items()))

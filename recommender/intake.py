"""Samples into the histograms: first those that count are found, then they are folded in.

Spec: recommender 2.1, 2.2; performance R-1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoscaling.resources import CPU, MEMORY
from recommender.aggregation import AggregateTable
from recommender.container_table import ContainerTable
from recommender.kernels.intake import Peaks
from recommender.memory_peaks import accept_memory, accepted_memory
from recommender.pair import Later, in_turn
from recommender.samples import SampleColumns, UsageColumns, UsageOutcome, accept_cpu, count_fetches, take_cpu, turns

Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]

Told = Callable[[SampleColumns, str], None]
"""Is told of the samples that count, and of which resource they are, maybe while they are folded in."""


@dataclass(frozen=True, slots=True)
class Intake:
    """Takes batches in.

    Args:
        containers: Their last instants, windows and peaks move on.
        aggregates: Take the samples.
        restore: Makes aggregates for the containers of samples whose own were collected, if there are any.
    """

    containers: ContainerTable
    aggregates: AggregateTable
    restore: Callable[[SampleColumns], None]

    def cpu(self, samples: SampleColumns) -> Flags:
        """Take in CPU samples, in this order.

        Args:
            samples: In millicores.

        Returns:
            bool[n], which count.
        """
        accepted, counted = self._accept_cpu(samples, turns(self.containers, samples.containers))
        take_cpu(self.containers, self.aggregates, counted)
        return accepted

    def memory(self, samples: SampleColumns) -> Flags:
        """Take in samples of memory use, in this order.

        Args:
            samples: In bytes.

        Returns:
            bool[n], which count.
        """
        accepted, peaks = self._accept_memory(samples, turns(self.containers, samples.containers))
        self.aggregates.change_peaks(*peaks)
        return accepted

    def fetch(self, usage: UsageColumns, told: Told | None) -> UsageOutcome:
        """Take in one fetch.

        Args:
            usage: A CPU and a memory sample of each container, except where one is missing.
            told: None for nobody.
        """
        split = None if usage.are_distinct else turns(self.containers, usage.containers)
        is_settled = split is None and not self.containers.is_any_bare()
        if is_settled:
            usage = usage.with_feeding(self.containers)

        def of_cpu(later: Later) -> Flags:
            """Take in the CPU samples, which is the longest piece: what comes after is left to whoever has time."""
            accepted, counted = self._accept_cpu(usage.cpu_samples(), split)
            if told is not None:
                later(lambda: told(counted, CPU))
            take_cpu(self.containers, self.aggregates, counted)
            return accepted

        def of_memory(later: Later) -> Flags:
            """Take in the memory samples."""
            samples = usage.memory_samples()
            accepted, peaks = self._accept_memory(samples, split)
            later(lambda: self.aggregates.change_peaks(*peaks))
            if told is not None:
                told(samples.those(accepted), MEMORY)
            return accepted

        # Where an aggregate may have to be made, the two have something in common.
        cpu, memory = (self.aggregates.both if is_settled else in_turn)(of_cpu, of_memory)
        if not cpu.all():
            count_fetches(self.containers, self.aggregates, usage, memory)
        return UsageOutcome(cpu, memory, usage)

    def _accept_cpu(self, samples: SampleColumns, split: Sequence[Integers] | None) -> tuple[Flags, SampleColumns]:
        accepted = accept_cpu(self.containers, samples, split, self.aggregates.kernels)
        counted = samples.those(accepted)
        self.restore(counted)
        return accepted, counted

    def _accept_memory(self, samples: SampleColumns, split: Sequence[Integers] | None) -> tuple[Flags, Peaks]:
        if samples.feeding is None and self.containers.is_any_bare():
            self.restore(samples.select(accepted_memory(self.containers, samples)))
        return accept_memory(self.containers, self.aggregates, samples, split)

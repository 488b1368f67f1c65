"""Wall and CPU time of work in this process."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from bench.figures import Run


class Stopwatch:
    """Measures what runs inside its ``with`` block.

    Attributes:
        wall_seconds: By the clock on the wall.
        cpu_seconds: Of all threads of this process.
    """

    def __init__(self) -> None:
        self.wall_seconds = 0.0
        self.cpu_seconds = 0.0
        self._wall = 0.0
        self._cpu = 0.0

    def __enter__(self) -> Self:
        """Start."""
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""
        self.cpu_seconds += time.process_time() - self._cpu
        self.wall_seconds += time.perf_counter() - self._wall

    def run(self, **values: float) -> Run:
        """Return what was measured, with other measures beside it."""
        return Run(self.wall_seconds, self.cpu_seconds, values)

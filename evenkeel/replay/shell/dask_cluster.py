"""Strategies played by the workers of a Dask cluster that is there already."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from autoscaling.errors import ConfigurationError, EvenkeelError
from evenkeel.replay.shell.contest import Part, Task, play
from evenkeel.replay.shell.extras import required
from evenkeel.replay.shell.parquet_lot import ParquetLot

_PATIENCE: Final = "30s"
_WAITING: Final = 2
"""Tasks for each thread of a worker that are handed out at a time, as lots in memory are sent along."""


@dataclass(frozen=True, slots=True)
class DaskCluster:
    """Plays tasks on a cluster.

    Lots of Parquet files are read by the workers, which need them at the same path; others are sent to them.

    Args:
        address: Of its scheduler, such as ``tcp://10.0.0.1:8786``.
    """

    address: str

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Part]]:
        """Play all tasks.

        Raises:
            ConfigurationError: There is no such cluster, a lot cannot be read there, or a strategy fails.
        """
        distributed = required("distributed", "--dask")
        with self._blamed():
            client = distributed.Client(self.address, timeout=_PATIENCE, set_as_default=False)
        futures: dict[object, Task] = {}
        try:
            with self._blamed():
                client.wait_for_workers(1, timeout=_PATIENCE)
            left = iter(tasks)
            ahead = _WAITING * max(1, sum(client.nthreads().values()))
            done = distributed.as_completed(loop=client.loop)
            for task in islice(left, ahead):
                futures[self._hand_out(client, task, done)] = task
            for future in done:
                task = futures.pop(future)
                with self._blamed():
                    part: Part = future.result()
                future.release()
                if (following := next(left, None)) is not None:
                    futures[self._hand_out(client, following, done)] = following
                yield task, part
        finally:
            client.cancel(list(futures))
            client.close()

    def _hand_out(self, client: object, task: Task, done: object) -> object:
        """Let a worker play a task, and return what comes of it."""
        lot = task.lot
        if isinstance(lot, ParquetLot):
            # A worker is started in a folder of its own.
            groups = tuple(replace(group, file=os.path.abspath(group.file)) for group in lot.groups)  # noqa: PTH100 links stay
            task = replace(task, lot=replace(lot, groups=groups))
        future: object = client.submit(play, task, pure=False)  # type: ignore[attr-defined]
        done.add(future)  # type: ignore[attr-defined]
        return future

    @contextmanager
    def _blamed(self) -> Iterator[None]:
        """Say on which cluster something went wrong, unless it is the strategy's or the file's fault."""
        try:
            yield
        except EvenkeelError:
            raise
        except Exception as error:
            raise ConfigurationError(
                f"--dask {self.address}: {type(error).__name__}: {error}; name the scheduler of a running cluster whose"
                " workers have evenkeel[replay] in the same version, and memory enough"
            ) from error

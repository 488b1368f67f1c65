"""Strategies played in several processes of this machine, which all end with this one."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from threading import Thread

from evenkeel.replay.shell.contest import Part, Task, play
from evenkeel.replay.shell.playing import InTurn


@dataclass(frozen=True, slots=True)
class Processes:
    """Plays so many tasks at a time.

    Args:
        jobs: How many; with 1 this process plays itself.
    """

    jobs: int

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Part]]:
        """Play all tasks.

        Raises:
            ConfigurationError: A lot cannot be read, or a strategy fails.
        """
        jobs = min(self.jobs, len(tasks))
        if jobs <= 1:
            yield from InTurn().run(tasks)
            return
        others = set(multiprocessing.active_children())
        # A fork would take the threads' locks along. A lot goes to a process when its turn comes, not all at once.
        pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), initializer=_begin)
        try:
            playing = {pool.submit(play, task): task for task in tasks}
            for done in as_completed(playing):
                # What is finished is let go, as it is held by whoever asked for it.
                yield playing.pop(done), done.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            raise
        finally:
            pool.shutdown()


def _begin() -> None:
    """Leave it to the first process to be interrupted, and end with it however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    Thread(target=follow, daemon=True).start()

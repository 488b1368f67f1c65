"""Compiled kernels for a recommender that has use for them (spec: performance:R-1).

Compiling costs more than years of a small cluster's rounds would gain, so it waits until a round knows many containers.
It runs in a thread of its own, and numpy does the work until it is done; what comes of it is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from enum import Enum
from typing import Final

import structlog

from recommender.cluster_model import ClusterModel
from recommender.kernels.compiling import UncompiledError, compiled
from recommender.kernels.suite import Kernels
from recommender.shell.two_threads import TwoThreads

log = structlog.get_logger()

MANY_CONTAINERS: Final = 10_000
"""From here on a round gains a millisecond or more, so that what compiling takes has come back after two days."""


class CompiledKernels(Enum):
    """When kernels are compiled."""

    AUTO = "auto"
    """Once there are many containers."""
    ALWAYS = "always"
    NEVER = "never"


class KernelSupply:
    """Hands a model its kernels once they are compiled.

    Args:
        choice: When they are.
        compiler: Returns them, or fails with UncompiledError.
    """

    def __init__(self, choice: CompiledKernels, compiler: Callable[[], Kernels] = compiled) -> None:
        self._choice = choice
        self._compiler = compiler
        self._compiling: Future[Kernels] | None = None

    def follow(self, model: ClusterModel) -> None:
        """Begin to compile, or hand over what is compiled; to be called after every round.

        Args:
            model: Tells how many containers there are, and takes the kernels.
        """
        if self._compiling is None:
            if self._is_worthwhile(model):
                thread = ThreadPoolExecutor(1, thread_name_prefix="kernels")
                self._compiling = thread.submit(self._compiler)
                thread.shutdown(wait=False)
        elif self._compiling.done() and model.aggregates.kernels is None and self._choice is not CompiledKernels.NEVER:
            self._hand_over(self._compiling, model)

    def wait(self, model: ClusterModel) -> None:
        """Hand over what is being compiled once it is done."""
        if self._compiling is not None:
            self._compiling.exception()
            self.follow(model)

    def _is_worthwhile(self, model: ClusterModel) -> bool:
        return self._choice is CompiledKernels.ALWAYS or (
            self._choice is CompiledKernels.AUTO and len(model.containers.rows) >= MANY_CONTAINERS
        )

    def _hand_over(self, compiling: Future[Kernels], model: ClusterModel) -> None:
        try:
            model.aggregates.use(compiling.result(), TwoThreads())
        except UncompiledError as error:
            self._choice = CompiledKernels.NEVER
            log.warning("kernels not compiled", error=str(error))
        else:
            log.info("kernels compiled", containers=len(model.containers.rows))

"""Kernels compiled once for all cases, each of which is answered partly by them and partly by numpy.

The kernels take in the samples of both resources at a time, as they do where there are many containers.
"""

from __future__ import annotations

from functools import cache

from recommender.kernels.compiling import compiled
from recommender.kernels.suite import Kernels
from recommender.pair import Pair, in_turn
from recommender.shell.two_threads import TwoThreads


def by_turns(turn: int) -> Kernels | None:
    """Return what works in a turn of a case: numpy in the first one and every second one after."""
    return _kernels() if turn % 2 else None


def pair_by_turns(turn: int) -> Pair:
    """Return what takes in the samples of both resources in a turn of a case."""
    return _threads() if turn % 2 else in_turn


@cache
def _threads() -> TwoThreads:
    return TwoThreads()


@cache
def _kernels() -> Kernels:
    return compiled()

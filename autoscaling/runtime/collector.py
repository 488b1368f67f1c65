"""Python's cyclic garbage collector around bulk work, and while a process fills its caches."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep the collector from going through the objects of bulk work again and again; they form no cycles.

    Not to be kept over an await: whatever runs meanwhile would go without it, too.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def keep_imported() -> None:
    """Keep the collector from what a program has imported, which stays for as long as the program does.

    To go through that takes a tenth of a second each time, during which a process answers nobody.

    Spec: performance A-3.
    """
    gc.freeze()


@contextmanager
def caches_uncollected() -> Iterator[None]:
    """Keep the collector from what a process takes in at its start, then and for good.

    Most of that stays for as long as the process does, and forms no cycles: going through it again and again while it
    grows takes a sixth of a start with 100,000 pods. What is dropped later is freed all the same, with its last
    reference.
    Unlike ``collector_paused`` this is to be kept over awaits, but only until the caches are full.

    Spec: performance R-6.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()

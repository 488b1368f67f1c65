"""The cyclic garbage collector around bulk work."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from autoscaling.runtime.collector import caches_uncollected, collector_paused


@pytest.fixture(autouse=True)
def _enabled_afterwards() -> Iterator[None]:
    yield
    gc.enable()


def test_the_collector_rests_only_inside() -> None:
    with collector_paused():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_the_collector_works_again_after_a_failure() -> None:
    def fail() -> None:
        with collector_paused():
            raise ValueError("bulk work failed")

    with pytest.raises(ValueError, match="bulk work failed"):
        fail()
    assert gc.isenabled()


def test_one_that_is_switched_off_stays_off() -> None:
    gc.disable()
    with collector_paused(), collector_paused():
        pass
    assert not gc.isenabled()


def test_what_fills_the_caches_is_never_collected() -> None:
    """Spec: performance R-6; what came before stays out of collections as well, and what comes later does not."""
    before = gc.get_freeze_count()
    try:
        with caches_uncollected():
            assert not gc.isenabled()
            taken_in = [[number] for number in range(10)]
        assert gc.isenabled()
        assert gc.get_freeze_count() >= before + len(taken_in)
        assert not any(each is taken_in for each in gc.get_objects())
        later = [[0]]
        assert any(each is later for each in gc.get_objects())
    finally:
        gc.unfreeze()


def test_the_collector_works_again_where_the_caches_cannot_be_filled() -> None:
    """Spec: performance R-6."""

    def fail() -> None:
        with caches_uncollected():
            raise ValueError("not listed in time")

    try:
        with pytest.raises(ValueError, match="not listed in time"):
            fail()
        assert gc.isenabled()
    finally:
        gc.unfreeze()

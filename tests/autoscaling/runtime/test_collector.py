"""The cyclic garbage collector around bulk work."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from autoscaling.runtime.collector import collector_paused


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

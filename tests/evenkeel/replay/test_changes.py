"""The updater's judgement on replayed requests (quality:Q-5)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.replay.changes import Kills, are_worthwhile
from tests.evenkeel.replay.series import HOUR, NAN
from updater.screening import Standing

NEVER = float("-inf")
LATER = 13 * HOUR


def kills(before: float = NEVER, last: float = NEVER) -> Kills:
    return Kills(np.array([last]), np.array([before]))


def accepted(cpu: tuple[float, ...], memory: tuple[float, ...], at: float, killed: Kills | None = None) -> bool:
    """Say whether one series is changed; each resource is request, target, lower and upper bound."""
    columns = np.array([cpu, memory]).T[:, :, np.newaxis]
    return bool(are_worthwhile(Standing(*columns), np.array([at]), killed or kills())[0])


NOTHING = (NAN, NAN, NAN, NAN)
FITS = (1e8, 1e8, 9e7, 1.1e8)


@pytest.mark.parametrize(
    ("row", "cpu", "memory", "at", "expected"),
    [
        ("quality:Q-5 as recommended", (1.0, 1.0, 0.9, 1.1), FITS, LATER, False),
        ("quality:Q-5 above", (1.2, 1.0, 0.9, 1.1), FITS, 0.0, True),
        ("quality:Q-5 memory below", (1.0, 1.0, 0.9, 1.1), (8e7, 1e8, 9e7, 1.1e8), 0.0, True),
        ("quality:Q-5 both a little", (1.0, 1.05, 0.9, 1.1), (1e8, 1.05e8, 9e7, 1.1e8), 12 * HOUR, True),
        ("quality:Q-5 too early", (1.0, 1.05, 0.9, 1.1), (1e8, 1.05e8, 9e7, 1.1e8), 12 * HOUR - 1, False),
        ("quality:Q-5 one a little", (1.0, 1.05, 0.9, 1.1), FITS, LATER, False),
        ("quality:Q-5 less than a millicore apart", (0.0102, 0.0101, 0.0099, 0.01015), FITS, 0.0, True),
        ("quality:Q-5 by the last bit", (0.9, 1.0, np.nextafter(0.9, 1.0), 1.1), FITS, 0.0, True),
        ("quality:Q-5 no memory", (1.0, 2.0, 1.5, 2.5), NOTHING, 0.0, True),
        ("quality:Q-5 nothing", NOTHING, NOTHING, LATER, False),
        ("quality:Q-5 no request yet", (NAN, 1.0, 0.9, 1.1), FITS, 0.0, True),
    ],
)
def test_bounds_and_differences(
    row: str, cpu: tuple[float, ...], memory: tuple[float, ...], at: float, expected: bool
) -> None:
    assert accepted(cpu, memory, at) is expected, row


@pytest.mark.parametrize(
    ("row", "before", "last", "at", "target", "expected"),
    [
        ("quality:Q-5 second kill", 100.0, 699.0, 699.0, 1.001, True),
        ("quality:Q-5 no difference", 100.0, 699.0, 699.0, 1.0, False),
        ("quality:Q-5 ten minutes after the first", 100.0, 700.0, 700.0, 1.001, False),
        ("quality:Q-5 first kill", NEVER, 100.0, 100.0, 1.001, False),
        ("updater:P-6 a while ago", 100.0, 699.0, 1299.0, 1.001, False),
        ("updater:P-6 a short while ago", 100.0, 699.0, 1298.0, 1.001, True),
    ],
)
def test_kills(row: str, before: float, last: float, at: float, target: float, expected: bool) -> None:
    assert accepted((1.0, target, 0.5, 2.0), FITS, at, kills(before, last)) is expected, row


@given(target=st.floats(0.01, 10.0), request_share=st.floats(0.5, 2.0), hours=st.integers(0, 24))
def test_bounds_by_the_target_alone(target: float, request_share: float, hours: int) -> None:
    """quality:Q-5, quality:Q-6: as plain arithmetic has it, to the last bit."""
    request, lower, upper = target * request_share, target / 1.1, target / 0.9
    difference = abs(request - target) / request
    expected = request < lower or request > upper or (hours >= 12 and difference >= 0.1)
    assert accepted((request, target, lower, upper), NOTHING, hours * HOUR) == expected

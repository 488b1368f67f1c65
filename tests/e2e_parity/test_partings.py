"""The step at which two sides part is named: one difference is planted at each of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from autoscaling.resources import CPU, MEMORY
from e2e.parity.process.recommender.partings import (
    VECTORS,
    Arithmetic,
    History,
    Step,
    first_step_apart,
)
from evenkeel.comparison.retracing import SideSettings
from recommender.settings import EstimatorSettings, RenderingSettings

LAST = datetime(2026, 1, 2, tzinfo=UTC)
RIGHT = Arithmetic(SideSettings(), MEMORY, 2, History(LAST - timedelta(hours=7), LAST, 420))
BUCKET = 60
SMALL = 3
ROUNDED = RenderingSettings(round_memory_bytes=2**20)


def other(**changed: float | timedelta) -> Arithmetic:
    return replace(RIGHT, settings=SideSettings(replace(EstimatorSettings(), **changed)))  # type: ignore[arg-type]


def amount(arithmetic: Arithmetic, vector: str, bucket: int = BUCKET) -> int:
    return int(arithmetic.amounts()[VECTORS[vector], bucket])


@pytest.mark.parametrize(
    ("spec_id", "vector", "ours", "step"),
    [
        ("recommender:4.2", "uncappedTarget", amount(RIGHT, "uncappedTarget", BUCKET + 1), Step.PERCENTILE),
        ("recommender:4.2", "upperBound", amount(RIGHT, "upperBound", BUCKET - 2), Step.PERCENTILE),
        ("recommender:4.2", "uncappedTarget", amount(other(margin_fraction=0.0), "uncappedTarget"), Step.MARGIN),
        ("recommender:4.2", "uncappedTarget", amount(other(margin_fraction=0.21), "uncappedTarget"), Step.MARGIN),
        ("recommender:4.2", "lowerBound", amount(other(margin_fraction=0.0), "lowerBound"), Step.MARGIN),
        (
            "recommender:4.2",
            "upperBound",
            amount(other(confidence_interval_memory=timedelta(hours=13)), "upperBound"),
            Step.CONFIDENCE,
        ),
        ("recommender:4.2", "upperBound", int(RIGHT.amounts(Step.CONFIDENCE)[2, BUCKET]), Step.CONFIDENCE),
        ("recommender:4.4", "target", 1, Step.CAPS),
        ("recommender:4.2", "uncappedTarget", RIGHT.least - 1, Step.MINIMUM),
    ],
)
def test_a_planted_difference_is_found(spec_id: str, vector: str, ours: int, step: Step) -> None:
    theirs = amount(RIGHT, vector)
    assert ours != theirs, spec_id
    assert first_step_apart(RIGHT, vector, theirs, ours) is step, spec_id


def test_a_minimum_left_out_is_found() -> None:
    """Spec: recommender:4.2."""
    theirs = amount(RIGHT, "uncappedTarget", SMALL)
    ours = int(RIGHT.amounts(Step.MINIMUM)[0, SMALL])
    assert theirs == RIGHT.least > ours
    assert first_step_apart(RIGHT, "uncappedTarget", theirs, ours) is Step.MINIMUM
    assert first_step_apart(RIGHT, "uncappedTarget", theirs, 2 * theirs + 1) is Step.MINIMUM


def test_rounding_left_out_or_done_another_way_is_found() -> None:
    """Spec: recommender:4.3."""
    rounding = replace(RIGHT, settings=SideSettings(rendering=ROUNDED))
    theirs, exact = amount(rounding, "uncappedTarget"), amount(RIGHT, "uncappedTarget")
    assert theirs - exact not in {0, 1}
    assert first_step_apart(rounding, "uncappedTarget", theirs, exact) is Step.ROUNDING
    assert first_step_apart(rounding, "uncappedTarget", theirs, theirs - 1) is Step.ROUNDING


def test_what_no_use_leads_to_is_capped_or_not_known() -> None:
    """Spec: recommender:4.4."""
    assert first_step_apart(RIGHT, "upperBound", 1, amount(RIGHT, "upperBound")) is Step.CAPS
    assert first_step_apart(RIGHT, "uncappedTarget", 1, amount(RIGHT, "uncappedTarget")) is Step.UNKNOWN


def test_cpu_has_its_own_buckets_and_least_amount() -> None:
    """Spec: recommender:1.1, recommender:4.2."""
    cpu = replace(RIGHT, resource=CPU)
    assert cpu.least == 12
    assert RIGHT.least == 131072000
    theirs = amount(cpu, "uncappedTarget")
    assert first_step_apart(cpu, "uncappedTarget", theirs, amount(cpu, "uncappedTarget", BUCKET + 1)) is Step.PERCENTILE


def test_without_history_the_upper_bound_has_no_limit() -> None:
    """Spec: recommender:4.2."""
    nothing = replace(RIGHT, history=History(None, None, 0))
    theirs = amount(nothing, "upperBound")
    assert theirs == 100_000_000_000_000
    ours = int(nothing.amounts(Step.CONFIDENCE)[2, BUCKET])
    assert first_step_apart(nothing, "upperBound", theirs, ours) is Step.CONFIDENCE


@pytest.mark.parametrize("step", list(Step))
def test_every_step_says_where_it_is_specified(step: Step) -> None:
    assert "recommender 4." in step.value

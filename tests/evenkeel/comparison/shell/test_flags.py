"""Flags of recommenders to what they say about targets."""

from __future__ import annotations

import pytest

from autoscaling.errors import ConfigurationError
from evenkeel.comparison.retracing import SideSettings
from evenkeel.comparison.shell.flags import given_settings
from recommender.settings import RenderingSettings
from tests.builders import printed


def test_without_flags_both_sides_are_as_they_come() -> None:
    read = given_settings("--our-flags", "")
    assert read.estimator == SideSettings().estimator, "beyond:B-35"
    assert read.rendering == RenderingSettings()


def test_flags_are_read_as_the_recommender_reads_them() -> None:
    flags = "--recommendation-margin-fraction=0.2 --target-cpu-percentile 0.95 --round-cpu-millicores=10 --v=4"
    read = given_settings("--their-flags", f"{flags} --container-recommendation-max-allowed-cpu=2 --leader-elect")
    assert read.estimator.margin_fraction == 0.2, "beyond:B-35, recommender:9.1"
    assert read.estimator.cpu.target == 0.95
    assert read.rendering.round_cpu_millicores == 10
    assert printed(read.rendering.maximum) == {"cpu": "2"}


@pytest.mark.parametrize(
    ("spec_id", "flags", "words"),
    [
        ("beyond:B-35", "--no-such-flag", "--their-flags: unknown flag --no-such-flag"),
        ("beyond:B-35", "--recommendation-margin-fraction=much", "--recommendation-margin-fraction=much"),
        ("beyond:B-35", "--recommender-name='unclosed", "No closing quotation"),
        ("beyond:B-35", "--help", "--help is no flag of a running recommender"),
    ],
)
def test_flags_that_cannot_be_read_are_named_with_the_way_out(spec_id: str, flags: str, words: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        given_settings("--their-flags", flags)
    assert words in str(raised.value), spec_id
    assert "as the recommender's Deployment has them" in str(raised.value)

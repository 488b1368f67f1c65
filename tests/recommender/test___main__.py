"""What the flags mean to the parts of the process."""

from __future__ import annotations

import pytest

from autoscaling.behaviour import Profile
from recommender.__main__ import model_settings
from recommender.config import RecommenderConfig
from recommender.settings import ModelSettings


@pytest.mark.parametrize(
    ("row", "profile", "expected"),
    [
        (
            "beyond:B-4, B-5, B-19",
            Profile.EVENKEEL,
            ModelSettings(zero_peaks_give_way=True, oom_needs_count=True, peaks_count_as_use=True),
        ),
        ("upstream", Profile.UPSTREAM, ModelSettings()),
    ],
)
def test_what_a_profile_means_to_the_model(row: str, profile: Profile, expected: ModelSettings) -> None:
    assert model_settings(RecommenderConfig(profile=profile)) == expected, row

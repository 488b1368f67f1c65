"""Settings are the flags' own defaults."""

from __future__ import annotations

from autoscaling.behaviour import Behaviour, Profile
from updater.config import UpdaterConfig
from updater.settings import Settings


def test_defaults_are_those_of_the_flags() -> None:
    flags = {name: field.default for name, field in UpdaterConfig.model_fields.items()}
    settings = Settings()
    assert settings.min_replicas == flags["min_replicas"]
    assert settings.eviction_tolerance == flags["eviction_tolerance"]
    assert settings.pod_update_threshold == flags["pod_update_threshold"]
    assert settings.lifetime_threshold == flags["in_recommendation_bounds_eviction_lifetime_threshold"]
    assert settings.evict_after_oom_threshold == flags["evict_after_oom_threshold"]
    assert settings.skips_disruption_budget == flags["in_place_skip_disruption_budget"]
    assert settings.deferred_timeout == flags["in_place_deferred_timeout"]
    assert settings.progress_timeout == flags["in_place_progress_timeout"]


def test_the_default_profile_is_our_own() -> None:
    assert Settings().behaviour == Behaviour.of(Profile.EVENKEEL)

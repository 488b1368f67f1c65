from __future__ import annotations

from datetime import timedelta

from recommender.settings import EstimatorSettings, ModelSettings, Percentiles, RenderingSettings


def test_defaults_are_upstreams() -> None:
    """Spec: recommender:9.1."""
    day = timedelta(hours=24)
    model, estimator, rendering = ModelSettings(), EstimatorSettings(), RenderingSettings()
    assert (model.memory_interval, model.memory_interval_count) == (day, 8)
    assert (model.cpu_half_life, model.memory_half_life, model.garbage_interval) == (day, day, timedelta(hours=1))
    assert (model.oom_bump_up_ratio, model.oom_min_bump_up_bytes) == (1.2, 104857600.0)
    assert (model.per_vpa_config, model.memory_saver) == (False, False)
    assert (model.zero_peaks_give_way, model.oom_needs_count) == (False, False)
    assert estimator.cpu == estimator.memory == Percentiles(0.9, 0.5, 0.95)
    assert (estimator.confidence_interval_cpu, estimator.confidence_interval_memory) == (day, day)
    assert (estimator.margin_fraction, estimator.pod_minimum_cpu_millicores) == (0.15, 25.0)
    assert estimator.pod_minimum_memory_mib == 250.0
    assert (rendering.round_cpu_millicores, rendering.round_memory_bytes) == (1, 1)
    assert (rendering.humanize_memory, rendering.integer_cpu, dict(rendering.maximum)) == (False, False, {})


def test_percentiles_are_given_as_target_lower_and_upper() -> None:
    assert Percentiles(0.7, 0.1, 0.8).in_order() == (0.7, 0.1, 0.8)

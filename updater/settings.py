"""What the flags and feature gates say about deciding, as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from autoscaling.behaviour import Behaviour, Profile
from autoscaling.quantity import Quantity
from updater.storm_levels import StormFlags


@dataclass(frozen=True, slots=True)
class Settings:
    """Flags, gates and behaviour that the decisions depend on; the defaults are the flags' own (updater section 7).

    Args:
        min_replicas: Live pods a group needs before it is touched (M-22).
        eviction_tolerance: Share of the configured replicas that may be disrupted (R-5).
        pod_update_threshold: Relative difference below which a pod within its bounds is left alone (P-7).
        lifetime_threshold: Age from which a pod within its bounds may be updated (P-7).
        evict_after_oom_threshold: How short a run, and how recent its end, makes an OOM kill a quick one (P-6).
        skips_disruption_budget: ``--in-place-skip-disruption-budget`` (R-3, C-4).
        deferred_timeout: How long a deferred resize is waited for (C-5).
        progress_timeout: How long a resize in progress is waited for (C-5).
        ignored_namespaces: Namespaces whose VPAs are not looked at (M-8).
        is_in_place_on: Feature gate InPlace.
        is_startup_boost_on: Feature gate CPUStartupBoost.
        is_per_vpa_config_on: Feature gate PerVPAConfig.
        max_cpu_boost: Most CPU that the admission controller gives a container by a start-up boost; None for no limit.
        storms: How many changes at a time nodes, namespaces and the cluster bear (beyond:B-24).
        behaviour: Where to decide otherwise than upstream.
    """

    min_replicas: int = 2
    eviction_tolerance: float = 0.5
    pod_update_threshold: float = 0.1
    lifetime_threshold: timedelta = timedelta(hours=12)
    evict_after_oom_threshold: timedelta = timedelta(minutes=10)
    skips_disruption_budget: bool = False
    deferred_timeout: timedelta = timedelta(minutes=5)
    progress_timeout: timedelta = timedelta(hours=1)
    ignored_namespaces: frozenset[str] = frozenset()
    is_in_place_on: bool = False
    is_startup_boost_on: bool = False
    is_per_vpa_config_on: bool = False
    max_cpu_boost: Quantity | None = None
    storms: StormFlags = field(default_factory=StormFlags)
    behaviour: Behaviour = field(default_factory=lambda: Behaviour.of(Profile.EVENKEEL))

"""A cluster as an updater sees it, as a question, read into types."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from autoscaling.behaviour import Behaviour, Profile
from autoscaling.limitrange import LimitRange, NamespaceLimits, merge
from autoscaling.matching import NOTHING, SelectingVpa
from autoscaling.objectref import ObjectRef
from autoscaling.ownership import OwnerLookupError
from autoscaling.pod import Pod
from autoscaling.targets import KnownControllers, target_selector
from autoscaling.vpa import Recommendation, Vpa
from autoscaling.wire.objects import decode_limit_range, decode_vpa
from autoscaling.wire.pods import decode_pod
from autoscaling.workload import Workload
from e2e.parity.cluster import Scales, controllers, named, workload
from e2e.parity.kinds import Case
from updater.settings import Settings
from updater.snapshot import Snapshot


class Flags(msgspec.Struct, rename="camel"):
    """An updater's flags; durations in nanoseconds. What is left out is zero, as for the oracle."""

    min_replicas: int = 0
    tolerance: float = 0.0
    threshold: float = 0.0
    lifetime: int = 0
    after_oom: int = 0
    skips_budget: bool = False
    rate_limit: float = 0.0
    rate_burst: int = 0
    ignored: list[str] = []


class ClusterQuestion(msgspec.Struct, rename="camel"):
    """What all questions about an updater have."""

    gates: dict[str, bool] = {}
    flags: Flags = msgspec.field(default_factory=Flags)
    vpas: list[Case] = []
    workloads: list[Case] = []
    scales: dict[str, Case] = {}
    limit_ranges: list[Case] = []
    pods: list[Case] = []

    def settings(self) -> Settings:
        """Return flags and gates."""
        flags = self.flags
        return Settings(
            min_replicas=flags.min_replicas,
            eviction_tolerance=flags.tolerance,
            pod_update_threshold=flags.threshold,
            lifetime_threshold=duration(flags.lifetime),
            evict_after_oom_threshold=duration(flags.after_oom),
            skips_disruption_budget=flags.skips_budget,
            ignored_namespaces=frozenset(flags.ignored),
            is_in_place_on=self.gates.get("InPlace", False),
            is_startup_boost_on=self.gates.get("CPUStartupBoost", False),
            is_per_vpa_config_on=self.gates.get("PerVPAConfig", False),
            behaviour=Behaviour.of(Profile.UPSTREAM),
        )

    def cached_workloads(self) -> tuple[Workload, ...]:
        """Return the well-known controllers."""
        return tuple(workload(given) for given in self.workloads)

    def limits(self) -> dict[str, NamespaceLimits]:
        """Return the merged LimitRanges of each namespace."""
        found: defaultdict[str, list[LimitRange]] = defaultdict(list)
        for limit_range in self.decoded_limit_ranges():
            found[limit_range.namespace].append(limit_range)
        return {namespace: merge(ranges) for namespace, ranges in found.items()}

    def decoded_limit_ranges(self) -> list[LimitRange]:
        """Return the LimitRanges by name."""
        return [decode_limit_range(msgspec.json.encode(given)) for given in sorted(self.limit_ranges, key=named)]

    def snapshot(self, vpas: Iterable[Case], pods: Iterable[Case]) -> Snapshot:
        """Return the cluster with these VPAs and pods, both by name."""
        workloads = self.cached_workloads()
        known = controllers(workloads, self.scales)
        selecting = [_selecting(vpa_of(given), known) for given in sorted(vpas, key=named)]
        decoded = [pod_of(given) for given in sorted(pods, key=named)]
        return Snapshot.of(selecting, decoded, workloads, Scales(self.scales), self.decoded_limit_ranges())


def _selecting(vpa: Vpa, known: KnownControllers) -> SelectingVpa:
    try:
        return SelectingVpa(vpa, target_selector(vpa, known))
    except OwnerLookupError:
        return SelectingVpa(vpa, NOTHING)


def vpa_of(given: Case) -> Vpa:
    """Read a VPA."""
    return decode_vpa(msgspec.json.encode(given))


def pod_of(given: Case) -> Pod:
    """Read a pod."""
    return decode_pod(msgspec.json.encode(given))


def recommendation_of(given: Case) -> Recommendation:
    """Read a recommendation."""
    meta: Case = {"namespace": "n1", "name": "v"}
    found = vpa_of({"metadata": meta, "status": {"recommendation": given}}).recommendation
    assert found is not None
    return found


def workload_map(workloads: Iterable[Workload]) -> dict[ObjectRef, Workload]:
    """Return workloads by what names them."""
    return {each.ref: each for each in workloads}


def duration(nanoseconds: int) -> timedelta:
    """Return nanoseconds as a duration."""
    return timedelta(microseconds=nanoseconds // 1000)


def moment(text: str) -> datetime:
    """Read a moment."""
    return datetime.fromisoformat(text)

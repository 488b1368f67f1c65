"""The updater, from its command line to its periodic rounds."""

from __future__ import annotations

import os
import sys
from functools import partial

import structlog
from prometheus_client import CollectorRegistry

from autoscaling.behaviour import UPSTREAM
from autoscaling.kube.client import KubeClient
from autoscaling.kube.events import EventRecorder
from autoscaling.kube.lease import own_identity
from autoscaling.kube.lease_object import LeaseFile
from autoscaling.kube.liveness import LivenessSettings
from autoscaling.kube.paths import vertical_pod_autoscalers
from autoscaling.runtime.api_group import ApiGroup
from autoscaling.runtime.feature_gates import Gate
from autoscaling.runtime.flags import config_or_exit
from autoscaling.runtime.health import Vitals
from autoscaling.runtime.process import Driver, Process
from autoscaling.runtime.spans import open_spans
from autoscaling.runtime.startup import (
    SYNC_SECONDS,
    announce,
    open_client,
    open_events,
    open_telemetry,
    run_configured,
    run_elected,
    watch_tasks,
)
from updater.config import UpdaterConfig
from updater.ratelimit import TokenBucket
from updater.settings import Settings
from updater.shell.actuator import Buckets
from updater.shell.caches import Caches
from updater.shell.conditions import ConditionWriter
from updater.shell.loop import Loop, LoopSettings
from updater.shell.memory_use import MemoryReader
from updater.shell.metrics import UpdaterMetrics
from updater.shell.resize_spans import ResizeSpans
from updater.shell.storm_lease import StormLease
from updater.shell.unboosting import RESYNC_PERIOD, BoostQueue, Unboosting, notice
from updater.storm_levels import StormFlag, StormFlags
from updater.surroundings import Interest

log = structlog.get_logger()


def main() -> None:
    """Run the updater until it is told to stop."""
    config = config_or_exit(UpdaterConfig, sys.argv[1:], os.environ)

    async def start(process: Process) -> None:
        announce(config)
        sink = open_spans("evenkeel-updater", os.environ)
        spans = ResizeSpans(sink) if sink is not None else None
        if spans is not None:
            process.on_stop("send spans", lambda: spans.close(process.driver.now()))
        telemetry = (*open_telemetry(process, config, config.updater_interval, register_metrics), spans)
        client = await open_client(process, config, "updater")
        identity = own_identity(client.pacing) if config.leader_elect else ""
        run_elected(process, config, client, lambda: work(process, config, client, telemetry, identity), identity)

    raise SystemExit(run_configured(config, start))


def register_metrics(registry: CollectorRegistry) -> UpdaterMetrics:
    """Declare every metric family of the updater in a registry."""
    return UpdaterMetrics.register(registry)


async def work(
    process: Process,
    config: UpdaterConfig,
    client: KubeClient,
    telemetry: tuple[UpdaterMetrics, Vitals, ResizeSpans | None],
    identity: str,
) -> None:
    """Fill the caches, then run a round in every period; only the leader does.

    Args:
        telemetry: Metrics, probes, and what sends spans.
        identity: Who this process is in its Lease; empty where there is no leader election.
    """
    metrics, vitals, spans = telemetry
    settings = loop_settings(config)
    queue = BoostQueue(client.pacing.monotonic)
    on_pod = partial(notice, queue, settings.decisions) if settings.decisions.is_startup_boost_on else None
    caches = Caches(client, config.api_group, config.vpa_object_namespace, on_pod, config.switches())
    caches.events = events = event_recorder(process, config, client)
    tasks = caches.start()
    try:
        await caches.wait_synced(SYNC_SECONDS)
        log.info("caches filled", pods=len(caches.pods.snapshot()), vpas=len(caches.vpas.snapshot()))
        loop = Loop(
            settings=settings,
            client=client,
            caches=caches,
            events=events,
            metrics=metrics,
            vitals=vitals,
            driver=process.driver,
            buckets=Buckets(bucket(config), bucket(config)),
            usage=memory_reader(config, client),
            conditions=condition_writer(config, client, process.driver, events),
            storms=storm_lease(config, client, identity) if settings.decisions.behaviour.free_room else None,
            spans=spans,
        )
        vitals.start_monitoring()
        process.every("updater round", config.updater_interval, loop.run_round)
        if settings.decisions.is_startup_boost_on:
            run_unboosting(
                process, Unboosting(queue, caches, loop.actuator, settings.decisions, process.driver), config
            )
        process.on_stop("write notes", loop.write_notes)
        try:
            await watch_tasks(tasks)
        finally:
            loop.notes.close()
    finally:
        await caches.stop()


def run_unboosting(process: Process, unboosting: Unboosting, config: UpdaterConfig) -> None:
    """Have start-up boosts taken back from now on."""
    process.every("boost resync", RESYNC_PERIOD, unboosting.resync)
    for number in range(config.concurrent_cpu_startup_boost_syncs):
        process.run_in_background(f"un-boosting {number}", unboosting.work())


def storm_lease(config: UpdaterConfig, client: KubeClient, identity: str) -> StormLease:
    """Return what keeps the levels of the storm budgets in the Lease of leader election, be that on or off."""
    lease = LeaseFile(client, config.leader_elect_resource_namespace, config.leader_elect_resource_name)
    return StormLease(lease, identity)


def event_recorder(process: Process, config: UpdaterConfig, client: KubeClient) -> EventRecorder:
    """Return what takes events, under the name that goes with the API group."""
    return open_events(process, client, "evenkeel-updater" if config.api_group is ApiGroup.EVENKEEL else "vpa-updater")


def loop_settings(config: UpdaterConfig) -> LoopSettings:
    """Return what the flags say about a round."""
    liveness = LivenessSettings(
        config.admission_controller_status_lease_namespace,
        config.admission_controller_status_lease_name,
        config.admission_controller_status_lease_timeout.total_seconds(),
    )
    return LoopSettings(
        decisions=decision_settings(config),
        period=config.updater_interval,
        liveness=liveness if config.use_admission_controller_status else None,
        vpa_api_version=vertical_pod_autoscalers(config.api_group).api_version,
    )


def decision_settings(config: UpdaterConfig) -> Settings:
    """Return what the flags say about decisions."""
    gates = config.feature_gates
    return Settings(
        min_replicas=config.min_replicas,
        eviction_tolerance=config.eviction_tolerance,
        pod_update_threshold=config.pod_update_threshold,
        lifetime_threshold=config.in_recommendation_bounds_eviction_lifetime_threshold,
        evict_after_oom_threshold=config.evict_after_oom_threshold,
        skips_disruption_budget=config.in_place_skip_disruption_budget,
        deferred_timeout=config.in_place_deferred_timeout,
        progress_timeout=config.in_place_progress_timeout,
        storms=storm_flags(config),
        ignored_namespaces=frozenset(config.ignored_vpa_object_namespaces),
        is_in_place_on=gates.is_on(Gate.IN_PLACE),
        is_startup_boost_on=gates.is_on(Gate.CPU_STARTUP_BOOST),
        is_per_vpa_config_on=gates.is_on(Gate.PER_VPA_CONFIG),
        max_cpu_boost=config.max_allowed_cpu_boost,
        behaviour=config.switches(),
    )


def memory_reader(config: UpdaterConfig, client: KubeClient) -> MemoryReader | None:
    """Return what tells the use of memory; None where nobody asks."""
    if not Interest.of(config.switches()).memory:
        return None
    return MemoryReader(client, config.vpa_object_namespace, config.updater_interval)


def storm_flags(config: UpdaterConfig) -> StormFlags:
    """Return what the flags say about changes at a time."""
    return StormFlags(
        node=StormFlag(config.node_change_rate_burst, config.node_change_rate_limit),
        namespace=StormFlag(config.namespace_change_rate_burst, config.namespace_change_rate_limit),
        cluster=StormFlag(config.cluster_change_rate_burst, config.cluster_change_rate_limit),
    )


def condition_writer(
    config: UpdaterConfig, client: KubeClient, driver: Driver, events: EventRecorder
) -> ConditionWriter | None:
    """Return what writes conditions to VPAs; None where nothing is decided otherwise than upstream does."""
    if config.switches() == UPSTREAM:
        return None
    return ConditionWriter(client, vertical_pod_autoscalers(config.api_group), driver, events)


def bucket(config: UpdaterConfig) -> TokenBucket:
    """Return a full rate limiter; evictions and resizes have one each."""
    return TokenBucket(config.eviction_rate_limit, config.eviction_rate_burst)


if __name__ == "__main__":
    main()

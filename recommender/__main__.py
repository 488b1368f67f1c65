"""The recommender, from its command line to its periodic rounds."""

from __future__ import annotations

import os
import sys
from datetime import datetime

import structlog
from prometheus_client import CollectorRegistry

from autoscaling.kube.client import KubeClient
from autoscaling.kube.paths import checkpoints, vertical_pod_autoscalers
from autoscaling.quantity import Quantity
from autoscaling.resources import CPU, MEMORY, ResourceList
from autoscaling.runtime.api_group import ApiGroup
from autoscaling.runtime.collector import caches_uncollected
from autoscaling.runtime.feature_gates import Gate
from autoscaling.runtime.flags import config_or_exit
from autoscaling.runtime.health import Vitals
from autoscaling.runtime.process import Process
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
from recommender.cluster_model import ClusterModel
from recommender.config import RecommenderConfig
from recommender.external_usage import ExternalMetrics
from recommender.history.past import PastUse
from recommender.settings import EstimatorSettings, ModelSettings, Percentiles, RenderingSettings
from recommender.shell.caches import Caches
from recommender.shell.checkpoints import CheckpointKeeper, CheckpointSettings
from recommender.shell.external_usage import ExternalMetricsSource
from recommender.shell.kernel_supply import CompiledKernels, KernelSupply
from recommender.shell.loop import Loop
from recommender.shell.metrics import RecommenderMetrics
from recommender.shell.parts import LoopSettings, Parts
from recommender.shell.prometheus_past import PrometheusPast
from recommender.shell.prometheus_setup import PrometheusAccess, credentials
from recommender.shell.statuses import StatusWriter
from recommender.shell.strategies import FaultReporter, load_strategies
from recommender.shell.usage import ResourceMetricsSource, UsageSource
from recommender.strategies.known import KnownStrategies
from recommender.strategies.running import StrategyRuns

log = structlog.get_logger()


def main() -> None:
    """Run the recommender until it is told to stop."""
    config = config_or_exit(RecommenderConfig, sys.argv[1:], os.environ)

    async def start(process: Process) -> None:
        announce(config)
        # A token that cannot be read is noticed now, not when the first query is due.
        credentials(config).header()
        metrics, vitals = open_telemetry(process, config, config.recommender_interval, register_metrics)
        client = await open_client(process, config, "recommender")
        run_elected(process, config, client, lambda: work(process, config, client, metrics, vitals))

    raise SystemExit(run_configured(config, start))


def register_metrics(registry: CollectorRegistry) -> RecommenderMetrics:
    """Declare every metric family of the recommender in a registry."""
    return RecommenderMetrics.register(registry)


async def work(
    process: Process, config: RecommenderConfig, client: KubeClient, metrics: RecommenderMetrics, vitals: Vitals
) -> None:
    """Fill the caches, load the history, then run a round in every period; only the leader does."""
    caches = Caches(client, config.api_group, config.vpa_object_namespace, config.switches())
    caches.events = open_events(process, client, component(config))
    prometheus = PrometheusAccess.of(config, process, metrics)
    tasks = caches.start()
    try:
        with caches_uncollected():
            await caches.wait_synced(SYNC_SECONDS)
        log.info("caches filled", pods=len(caches.pods.snapshot()), vpas=len(caches.vpas.snapshot()))
        usage, standing = prometheus.usage(caches, usage_source(config, client, metrics))
        parts = Parts(
            caches=caches,
            usage=usage,
            statuses=status_writer(config, client, caches),
            checkpoints=CheckpointKeeper(client, checkpoint_settings(config), process.driver.now()),
            metrics=metrics,
            vitals=vitals,
            driver=process.driver,
            history=prometheus.history(),
            standing=standing,
            kernels=KernelSupply(CompiledKernels(config.compiled_kernels)),
        )
        model = ClusterModel(model_settings(config))
        model.strategies = StrategyRuns(strategies(config, metrics))
        loop = Loop(loop_settings(config), parts, model)
        await loop.load_history()
        vitals.start_monitoring()
        starts_at_once = config.switches().first_round_at_once
        process.every("recommender round", config.recommender_interval, loop.run_round, starts_at_once=starts_at_once)
        await watch_tasks(tasks)
    finally:
        prometheus.close()
        await caches.stop()


def component(config: RecommenderConfig) -> str:
    """Return the name that events are written under, which goes with the API group."""
    return "evenkeel-recommender" if config.api_group is ApiGroup.EVENKEEL else "vpa-recommender"


def status_writer(config: RecommenderConfig, client: KubeClient, caches: Caches) -> StatusWriter:
    """Return what writes statuses beside the conditions of the updater."""
    resource = vertical_pod_autoscalers(config.api_group)
    return StatusWriter(client, resource, config.update_worker_count, caches.newer)


def usage_source(config: RecommenderConfig, client: KubeClient, metrics: RecommenderMetrics) -> UsageSource:
    """Return where the flags say that usage comes from."""
    namespace = config.vpa_object_namespace
    if not config.use_external_metrics:
        return ResourceMetricsSource(client, namespace, metrics)
    external = ExternalMetrics(
        config.external_metrics_cpu_metric, config.external_metrics_memory_metric, config.container_name_label
    )
    return ExternalMetricsSource(client, external, namespace, config.switches(), metrics)


def strategies(config: RecommenderConfig, metrics: RecommenderMetrics) -> KnownStrategies | None:
    """Return the strategies that VPAs may ask for, and tell of those that failed; None where none is heeded.

    Objects of upstream's group have no field to ask by.
    """
    if config.api_group is ApiGroup.UPSTREAM or not config.switches().strategies:
        return None
    known, faults = load_strategies()
    FaultReporter(metrics.strategy_errors).report(faults)
    return known


def past_use(config: RecommenderConfig, now: datetime, cluster: str) -> PastUse:
    """Return what reads use of the past from Prometheus as the flags have it.

    Args:
        config: The flags.
        now: Up to when.
        cluster: The only cluster; empty where Prometheus has those of one.
    """
    return PrometheusPast.of(config, now, cluster)


def model_settings(config: RecommenderConfig) -> ModelSettings:
    """Return what the flags say about histograms."""
    behaviour = config.switches()
    return ModelSettings(
        memory_interval=config.memory_aggregation_interval,
        memory_interval_count=config.memory_aggregation_interval_count,
        cpu_half_life=config.cpu_histogram_decay_half_life,
        memory_half_life=config.memory_histogram_decay_half_life,
        oom_bump_up_ratio=config.oom_bump_up_ratio,
        oom_min_bump_up_bytes=config.oom_min_bump_up_bytes,
        per_vpa_config=config.feature_gates.is_on(Gate.PER_VPA_CONFIG),
        memory_saver=config.memory_saver,
        zero_peaks_give_way=behaviour.a_zero_first_sample_does_not_freeze_the_window,
        oom_needs_count=behaviour.oom_without_samples,
        peaks_count_as_use=behaviour.jobs_and_cronjobs_match_by_owner,
    )


def loop_settings(config: RecommenderConfig) -> LoopSettings:
    """Return what the flags say about a round."""
    behaviour = config.switches()
    cpu = Percentiles(
        config.target_cpu_percentile,
        config.recommendation_lower_bound_cpu_percentile,
        config.recommendation_upper_bound_cpu_percentile,
    )
    memory = Percentiles(
        config.target_memory_percentile,
        config.recommendation_lower_bound_memory_percentile,
        config.recommendation_upper_bound_memory_percentile,
    )
    return LoopSettings(
        name=config.recommender_name,
        namespace=config.vpa_object_namespace,
        ignored=frozenset(config.ignored_vpa_object_namespaces),
        estimator=EstimatorSettings(
            cpu=cpu,
            memory=memory,
            margin_fraction=config.recommendation_margin_fraction,
            confidence_interval_cpu=config.confidence_interval_cpu,
            confidence_interval_memory=config.confidence_interval_memory,
            pod_minimum_cpu_millicores=config.pod_recommendation_min_cpu_millicores,
            pod_minimum_memory_mib=config.pod_recommendation_min_memory_mb,
        ),
        rendering=RenderingSettings(
            round_cpu_millicores=config.round_cpu_millicores,
            round_memory_bytes=config.round_memory_bytes,
            humanize_memory=config.humanize_memory,
            integer_cpu=config.cpu_integer_post_processor_enabled,
            maximum=global_maximum(config),
        ),
        behaviour=behaviour,
        status_change_threshold=config.status_change_threshold if behaviour.small_status_changes_wait else 0.0,
        status_budget=config.recommender_interval if behaviour.small_status_changes_wait else None,
        interval=config.recommender_interval,
    )


def global_maximum(config: RecommenderConfig) -> ResourceList:
    """Return the caps for what a VPA's own maxAllowed does not name."""
    caps: dict[str, Quantity | None] = {
        CPU: config.container_recommendation_max_allowed_cpu,
        MEMORY: config.container_recommendation_max_allowed_memory,
    }
    return {name: cap for name, cap in caps.items() if cap is not None}


def checkpoint_settings(config: RecommenderConfig) -> CheckpointSettings:
    """Return what the flags say about checkpoints."""
    behaviour = config.switches()
    return CheckpointSettings(
        resource=checkpoints(config.api_group),
        workers=config.update_worker_count,
        budget=config.checkpoints_timeout,
        gc_interval=config.checkpoints_gc_interval,
        namespace=config.vpa_object_namespace,
        ignored=frozenset(config.ignored_vpa_object_namespaces),
        keep_windows=behaviour.running_window_saved,
        names_kept_apart=behaviour.checkpoint_names_kept_apart,
        is_guarded=behaviour.targets_may_vanish,
    )


if __name__ == "__main__":
    main()

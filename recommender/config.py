"""Every flag of the recommender (spec: recommender:9.1)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, ClassVar

from pydantic import SecretStr

from autoscaling.runtime.flag_model import Environment, GroupDefault, Standing
from autoscaling.runtime.flags import LeaderElectedConfig
from autoscaling.runtime.syntax import (
    Address,
    Cap,
    CompiledKernelsName,
    Duration,
    Fraction,
    Integer,
    Number,
    PositiveDuration,
    PositiveInteger,
    PrometheusDuration,
    Secret,
    Text,
    Toggle,
    UsageSourceName,
)


class MetricsSourceConfig(LeaderElectedConfig):
    """Flags about where usage comes from besides the metrics API."""

    container_name_label: Text = "name"
    """Label of container metrics that holds the container's name; with --use-external-metrics of their values, too."""

    container_namespace_label: Text = "namespace"
    """Label of container metrics in Prometheus that holds the namespace."""

    container_pod_name_label: Text = "pod_name"
    """Label of container metrics in Prometheus that holds the pod's name."""

    external_metrics_cpu_metric: Text = ""
    """Name of the CPU metric in the external metrics API, in cores by the labels pod and --container-name-label; empty
    for none."""

    external_metrics_memory_metric: Text = ""
    """Name of the memory metric in the external metrics API, in bytes by the same labels; empty for none."""

    history_cpu_metric: Text = "container_cpu_usage_seconds_total"
    """Prometheus counter that CPU history is computed from."""

    history_length: PrometheusDuration = timedelta(days=8)
    """How far back Prometheus is asked for history."""

    history_memory_metric: Text = "container_memory_working_set_bytes"
    """Prometheus gauge that memory history is taken from."""

    history_resolution: PrometheusDuration = timedelta(hours=1)
    """Time between two points of the history."""

    metric_for_pod_labels: Text = 'up{job="kubernetes-pods"}'
    """Prometheus query whose series carry the labels of pods. Upstream needs a range in it, such as [8d]; otherwise one
    without is asked over --history-length."""

    password: Secret = SecretStr("")
    """Password for Prometheus, which everybody on the machine can see here; --prometheus-password-file keeps it from
    them. The environment variable PROMETHEUS_PASSWORD counts where not user name and password are both given by
    flag."""

    pod_label_prefix: Text = "pod_label_"
    """Prefix that marks the labels of a pod among the labels of those series."""

    pod_name_label: Text = "kubernetes_pod_name"
    """Label of those series that holds the pod's name."""

    pod_namespace_label: Text = "kubernetes_namespace"
    """Label of those series that holds the pod's namespace."""

    prometheus_address: Text = "http://prometheus.monitoring.svc"
    """Base address of Prometheus."""

    prometheus_bearer_token: Secret = SecretStr("")
    """Token for Prometheus, which everybody on the machine can see here; --prometheus-bearer-token-file keeps it from
    them."""

    prometheus_bearer_token_file: Text = ""
    """File that holds the token for Prometheus, read anew for every request; it wins over --prometheus-bearer-token."""

    prometheus_cadvisor_job_name: Text = "kubernetes-cadvisor"
    """Prometheus job of the container metrics; empty for any."""

    prometheus_insecure: Toggle = False
    """Do not check the certificate of Prometheus."""

    prometheus_password_file: Text = ""
    """File that holds the password for Prometheus, read anew for every request; it wins over --password and over the
    environment. Not in upstream."""

    prometheus_query_timeout: Duration = timedelta(minutes=5)
    """How long one query to Prometheus may take, from the first byte sent to the last received."""

    storage: Text = ""
    """Where history comes from at start: prometheus, or checkpoints with any other value. With prometheus no
    checkpoints are written."""

    usage_source: UsageSourceName = "metrics-server"
    """Where usage comes from in each round: metrics-server, or prometheus, which tells peaks between two rounds and
    fills the gap of a restart; while Prometheus fails or lags, metrics-server counts. Not in upstream."""

    use_external_metrics: Toggle = False
    """Take usage of the pods that VerticalPodAutoscalers select from the external metrics API instead of
    metrics-server: one request for each pod and metric in every round."""

    username: Text = ""
    """User name for Prometheus. The environment variable PROMETHEUS_USERNAME counts where not user name and
    password are both given by flag."""

    environment_username: Annotated[str, Environment("PROMETHEUS_USERNAME")] = ""
    """User name for Prometheus from the environment."""

    environment_password: Annotated[SecretStr, Environment("PROMETHEUS_PASSWORD")] = SecretStr("")
    """Password for Prometheus from the environment."""

    def contradictions(self) -> Iterator[str]:
        """Yield what contradicts itself (spec: recommender:7)."""
        yield from super().contradictions()
        if self.prometheus_bearer_token.get_secret_value() and self.prometheus_bearer_token_file and self.username:
            yield (
                "--prometheus-bearer-token, --prometheus-bearer-token-file and --username exclude each other; "
                "choose one way to sign in to Prometheus"
            )
        if self.usage_source == "prometheus" and self.use_external_metrics:
            yield "--usage-source=prometheus and --use-external-metrics exclude each other; choose one source of usage"


class RecommenderConfig(MetricsSourceConfig):
    """Configuration of the recommender."""

    program: ClassVar[str] = "evenkeel-recommender"

    address: Address = ":8942"
    """Host and port for /metrics, /health-check and /readyz. Without a host every interface listens; port 0 takes a
    free one, which the log names."""

    checkpoints_gc_interval: Duration = timedelta(minutes=10)
    """How often checkpoints that belong to no VerticalPodAutoscaler are deleted."""

    checkpoints_timeout: Duration = timedelta(minutes=1)
    """Time of a round for writing checkpoints, and again for removing orphaned ones; what has begun is finished."""

    compiled_kernels: CompiledKernelsName = "auto"
    """Whether the arithmetic on samples and percentiles is compiled to machine code: auto (from 10,000 containers on),
    always or never. It takes up to 150 MiB and three seconds of processor time beside the rounds, and changes no
    result. Not in upstream."""

    confidence_interval_cpu: PositiveDuration = timedelta(hours=24)
    """Length of CPU history at which the upper bound is twice its percentile; longer history narrows the bounds."""

    confidence_interval_memory: PositiveDuration = timedelta(hours=24)
    """The same for memory."""

    container_recommendation_max_allowed_cpu: Cap = None
    """Most CPU to recommend for a container that no VerticalPodAutoscaler limits itself; 0 for no limit."""

    container_recommendation_max_allowed_memory: Cap = None
    """Most memory to recommend for a container that no VerticalPodAutoscaler limits itself; 0 for no limit."""

    cpu_histogram_decay_half_life: PositiveDuration = timedelta(hours=24)
    """Age at which a CPU sample counts half."""

    cpu_integer_post_processor_enabled: Toggle = False
    """Round CPU up to whole cores for the containers that a VerticalPodAutoscaler's annotation names."""

    humanize_memory: Toggle = False
    """Print memory with two decimals in the largest fitting unit. Deprecated upstream in favour of
    --round-memory-bytes."""

    leader_elect_resource_name: Annotated[Text, GroupDefault("recommender_lease")] = ""
    """Name of the Lease that leader election uses."""

    memory_aggregation_interval: PositiveDuration = timedelta(hours=24)
    """Time over which the highest memory use becomes one sample. A VerticalPodAutoscaler can set its own."""

    memory_aggregation_interval_count: PositiveInteger = 8
    """Number of such intervals after which unused history is forgotten. A VerticalPodAutoscaler can set its own."""

    memory_histogram_decay_half_life: PositiveDuration = timedelta(hours=24)
    """Age at which a memory sample counts half."""

    memory_saver: Toggle = False
    """Keep history only of pods that a VerticalPodAutoscaler selects."""

    min_checkpoints: Annotated[Integer, Standing.WITHOUT_EFFECT] = 10
    """Least number of checkpoints per round; upstream ignores it as well."""

    oom_bump_up_ratio: Number = 1.2
    """Factor by which memory in use at an out-of-memory kill is raised. A VerticalPodAutoscaler can set its own."""

    oom_min_bump_up_bytes: Number = 104857600.0
    """Bytes by which it is raised at least. A VerticalPodAutoscaler can set its own."""

    pod_recommendation_min_cpu_millicores: Number = 25.0
    """Least CPU of a pod in thousandths of a core, shared evenly by its containers."""

    pod_recommendation_min_memory_mb: Number = 250.0
    """Least memory of a pod in MiB, shared evenly by its containers."""

    recommendation_lower_bound_cpu_percentile: Fraction = 0.5
    """Percentile of CPU use for the lower bound, 0 to 1."""

    recommendation_lower_bound_memory_percentile: Fraction = 0.5
    """Percentile of memory peaks for the lower bound, 0 to 1."""

    recommendation_margin_fraction: Number = 0.15
    """Share of usage added as a safety margin."""

    recommendation_upper_bound_cpu_percentile: Fraction = 0.95
    """Percentile of CPU use for the upper bound, 0 to 1."""

    recommendation_upper_bound_memory_percentile: Fraction = 0.95
    """Percentile of memory peaks for the upper bound, 0 to 1."""

    recommender_interval: PositiveDuration = timedelta(minutes=1)
    """Time from the start of one round to the start of the next; the first follows one interval after the start."""

    recommender_name: Text = "default"
    """Serve the VerticalPodAutoscalers that ask for a recommender of this name; default also serves those that ask for
    none. Two recommenders of one name must not run in a cluster."""

    round_cpu_millicores: Integer = 1
    """Round CPU up to a multiple of this many thousandths of a core; 1 or less for no rounding."""

    round_memory_bytes: Integer = 1
    """Round memory up to a multiple of this many bytes; 1 or less for no rounding."""

    status_change_threshold: Fraction = 0.01
    """Share by which a target or a bound must have moved for a status to be written at once; smaller changes are
    written after ten minutes. Only where the behaviour small_status_changes_wait is on."""

    target_cpu_percentile: Fraction = 0.9
    """Percentile of CPU use for the target, 0 to 1."""

    target_memory_percentile: Fraction = 0.9
    """Percentile of memory peaks for the target, 0 to 1."""

    update_worker_count: PositiveInteger = 10
    """Statuses and checkpoints that are written at the same time; also the least number of checkpoints per round."""

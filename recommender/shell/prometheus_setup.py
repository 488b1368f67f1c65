"""What the flags say about Prometheus, made into the parts that ask it."""

from __future__ import annotations

from dataclasses import dataclass

from autoscaling.kube.retry import ONE_TRY
from autoscaling.runtime.go_literals import format_prometheus_duration
from autoscaling.runtime.process import Process
from recommender.config import RecommenderConfig
from recommender.history.queries import HistoryRequest
from recommender.shell.caches import Caches
from recommender.shell.metrics import RecommenderMetrics
from recommender.shell.prometheus_client import Credentials, PrometheusClient, ServerSettings
from recommender.shell.prometheus_history import HistoryLoader, HistorySettings
from recommender.shell.prometheus_usage import PrometheusUsage
from recommender.shell.questions import Questions
from recommender.shell.usage import UsageSource
from recommender.shell.usage_standing import UsageStanding
from recommender.shell.worker_thread import WorkerThread


@dataclass(frozen=True, slots=True)
class PrometheusAccess:
    """The one client of Prometheus, and the one thread that it is used in.

    Args:
        config: The flags.
        process: Tells the time.
        metrics: Count requests.
        client: The client.
        thread: The thread, which begins with the first question.
    """

    config: RecommenderConfig
    process: Process
    metrics: RecommenderMetrics
    client: PrometheusClient
    thread: WorkerThread

    @classmethod
    def of(cls, config: RecommenderConfig, process: Process, metrics: RecommenderMetrics) -> PrometheusAccess:
        """Return access as the flags have it; nothing is asked by that."""

        def observe(code: str, method: str, seconds: float) -> None:
            metrics.prometheus_requests.labels(code, method).inc()
            metrics.prometheus_request_duration.labels(code, method).observe(seconds)

        server = ServerSettings(
            config.prometheus_address,
            credentials(config),
            config.prometheus_insecure,
            config.prometheus_query_timeout,
            tells_timeout=config.switches().history_in_pieces,
        )
        return cls(config, process, metrics, PrometheusClient(server, observe), WorkerThread("prometheus"))

    def history(self) -> HistoryLoader | None:
        """Return what loads history, None where that comes from checkpoints."""
        if self.config.storage != "prometheus":
            return None
        settings = HistorySettings(history_request(self.config), self.config.switches())
        return HistoryLoader(settings, self.client, self.thread, self.process.pacing, self.metrics.history)

    def usage(self, caches: Caches, backup: UsageSource) -> tuple[UsageSource, UsageStanding | None]:
        """Return where usage comes from, and what tells whether it does.

        Args:
            caches: Tell which pods live.
            backup: Counts where Prometheus is not asked, or does not answer.
        """
        if self.config.usage_source != "prometheus":
            return backup, None
        standing = UsageStanding(self.metrics.usage)
        source = PrometheusUsage(
            history_request(self.config),
            self.config.recommender_interval,
            Questions(self.thread, self.process.pacing, ONE_TRY),
            self.client,
            backup,
            standing,
            self.process.driver,
            lambda: tuple(caches.pods.snapshot()),
        )
        return source, standing

    def close(self) -> None:
        """Let the thread end."""
        self.thread.shutdown(wait=False)


def credentials(config: RecommenderConfig) -> Credentials:
    """Return how to sign in to Prometheus; the environment counts where no flags name both user and password."""
    username, password = config.username, config.password.get_secret_value()
    if not (username and password):
        username, password = config.environment_username, config.environment_password.get_secret_value()
    password_file = config.prometheus_password_file
    if password_file:
        username, password = config.username or config.environment_username, ""
    token = config.prometheus_bearer_token.get_secret_value()
    return Credentials(config.prometheus_bearer_token_file, token, username, password, password_file)


def history_request(config: RecommenderConfig) -> HistoryRequest:
    """Return what the flags say about history."""
    return HistoryRequest(
        cpu_metric=config.history_cpu_metric,
        memory_metric=config.history_memory_metric,
        job=config.prometheus_cadvisor_job_name,
        namespace=config.vpa_object_namespace,
        namespace_label=config.container_namespace_label,
        pod_label=config.container_pod_name_label,
        container_label=config.container_name_label,
        labels_query=config.metric_for_pod_labels,
        pod_namespace_label=config.pod_namespace_label,
        pod_name_label=config.pod_name_label,
        label_prefix=config.pod_label_prefix,
        length=config.history_length,
        resolution=config.history_resolution,
        length_text=format_prometheus_duration(config.history_length),
        resolution_text=format_prometheus_duration(config.history_resolution),
    )

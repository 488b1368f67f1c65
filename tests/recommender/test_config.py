"""The recommender's flags: defaults as upstream's own help and start-up log show them."""

from __future__ import annotations

import pytest

from autoscaling.errors import ConfigurationError
from autoscaling.quantity import Quantity
from autoscaling.runtime.command_line import UsageError
from autoscaling.runtime.flag_model import flag_specs
from recommender.config import RecommenderConfig

DEFAULTS = {
    "address": ":8942",
    "checkpoints-gc-interval": "10m0s",
    "checkpoints-timeout": "1m0s",
    "confidence-interval-cpu": "24h0m0s",
    "confidence-interval-memory": "24h0m0s",
    "container-name-label": "name",
    "container-namespace-label": "namespace",
    "container-pod-name-label": "pod_name",
    "container-recommendation-max-allowed-cpu": "0",
    "container-recommendation-max-allowed-memory": "0",
    "cpu-histogram-decay-half-life": "24h0m0s",
    "cpu-integer-post-processor-enabled": "false",
    "external-metrics-cpu-metric": "",
    "external-metrics-memory-metric": "",
    "feature-gates": "",
    "history-cpu-metric": "container_cpu_usage_seconds_total",
    "history-length": "8d",
    "history-memory-metric": "container_memory_working_set_bytes",
    "history-resolution": "1h",
    "humanize-memory": "false",
    "ignored-vpa-object-namespaces": "",
    "kube-api-burst": "100",
    "kube-api-qps": "50",
    "kubeconfig": "",
    "leader-elect": "false",
    "leader-elect-lease-duration": "15s",
    "leader-elect-renew-deadline": "10s",
    "leader-elect-resource-lock": "leases",
    "leader-elect-resource-name": "vpa-recommender-lease",
    "leader-elect-resource-namespace": "kube-system",
    "leader-elect-retry-period": "2s",
    "memory-aggregation-interval": "24h0m0s",
    "memory-aggregation-interval-count": "8",
    "memory-histogram-decay-half-life": "24h0m0s",
    "memory-saver": "false",
    "metric-for-pod-labels": 'up{job="kubernetes-pods"}',
    "min-checkpoints": "10",
    "oom-bump-up-ratio": "1.2",
    "oom-min-bump-up-bytes": "1.048576e+08",
    "password": "",
    "pod-label-prefix": "pod_label_",
    "pod-name-label": "kubernetes_pod_name",
    "pod-namespace-label": "kubernetes_namespace",
    "pod-recommendation-min-cpu-millicores": "25",
    "pod-recommendation-min-memory-mb": "250",
    "profiling": "false",
    "prometheus-address": "http://prometheus.monitoring.svc",
    "prometheus-bearer-token": "",
    "prometheus-bearer-token-file": "",
    "prometheus-cadvisor-job-name": "kubernetes-cadvisor",
    "prometheus-insecure": "false",
    "prometheus-query-timeout": "5m0s",
    "recommendation-lower-bound-cpu-percentile": "0.5",
    "recommendation-lower-bound-memory-percentile": "0.5",
    "recommendation-margin-fraction": "0.15",
    "recommendation-upper-bound-cpu-percentile": "0.95",
    "recommendation-upper-bound-memory-percentile": "0.95",
    "recommender-interval": "1m0s",
    "recommender-name": "default",
    "round-cpu-millicores": "1",
    "round-memory-bytes": "1",
    "storage": "",
    "target-cpu-percentile": "0.9",
    "target-memory-percentile": "0.9",
    "update-worker-count": "10",
    "use-external-metrics": "false",
    "username": "",
    "vpa-object-namespace": "",
    "add-dir-header": "false",
    "alsologtostderr": "false",
    "alsologtostderrthreshold": "info",
    "legacy-stderr-threshold-behavior": "true",
    "log-backtrace-at": "",
    "log-dir": "",
    "log-file": "",
    "log-file-max-size": "1800",
    "logtostderr": "true",
    "one-output": "false",
    "skip-headers": "false",
    "skip-log-headers": "false",
    "stderrthreshold": "info",
    "v": "4",
    "vmodule": "",
}
OWN = {
    *("api-group", "behaviour", "compiled-kernels", "profile", "prometheus-password-file", "status-change-threshold"),
    "usage-source",
}
"""Flags that upstream does not have."""


def _read(*words: str, **environment: str) -> RecommenderConfig:
    return RecommenderConfig.from_command_line(words, environment)


def test_there_are_upstreams_flags_and_the_additions() -> None:
    assert {spec.name for spec in flag_specs(RecommenderConfig)} == DEFAULTS.keys() | OWN


@pytest.mark.parametrize(("section", "name", "default"), [("recommender:9.1", *item) for item in DEFAULTS.items()])
def test_defaults_are_upstreams(section: str, name: str, default: str) -> None:
    assert _read("--api-group=autoscaling.k8s.io").effective_flags()[name] == default


def test_our_own_group_has_its_own_lease() -> None:
    config = _read()
    names = (config.leader_elect_resource_namespace, config.leader_elect_resource_name)
    assert names == ("evenkeel-system", "evenkeel-recommender")
    assert _read("--leader-elect-resource-name=mine").leader_elect_resource_name == "mine"


def test_every_flag_has_a_help_text() -> None:
    assert [spec.name for spec in flag_specs(RecommenderConfig) if not spec.help.endswith(".")] == []


def test_usage_may_come_from_external_metrics() -> None:
    config = _read(
        "--use-external-metrics",
        "--external-metrics-cpu-metric=cpu_cores",
        "--external-metrics-memory-metric=memory_bytes",
        "--container-name-label=container",
    )
    names = (config.external_metrics_cpu_metric, config.external_metrics_memory_metric, config.container_name_label)
    assert (config.use_external_metrics, *names) == (True, "cpu_cores", "memory_bytes", "container")


def test_any_other_storage_means_checkpoints() -> None:
    assert _read("--storage=checkpoint").storage == "checkpoint"
    assert _read("--storage=whatever").storage == "whatever"


@pytest.mark.parametrize(
    ("row", "words", "message"),
    [
        (
            "recommender:7",
            ["--prometheus-bearer-token=t", "--prometheus-bearer-token-file=/f", "--username=u"],
            "--prometheus-bearer-token, --prometheus-bearer-token-file and --username exclude each other",
        ),
        ("recommender:9.1", ["--vpa-object-namespace=a", "--ignored-vpa-object-namespaces=b"], "exclude each other"),
        ("recommender:9.1", ["--recommender-interval=0"], "--recommender-interval=0s: input should be greater than"),
        ("recommender:9.1", ["--target-cpu-percentile=1.1"], "--target-cpu-percentile=1.1: input should be less"),
        ("recommender:9.1", ["--memory-aggregation-interval-count=0"], "interval-count=0: input should be greater"),
        ("recommender:9.1", ["--update-worker-count=0"], "--update-worker-count=0: input should be greater"),
    ],
)
def test_what_cannot_work_is_refused(row: str, words: list[str], message: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        _read(*words)
    assert message in str(refused.value)
    assert not isinstance(refused.value, UsageError)


def test_two_ways_to_sign_in_do_not_contradict_each_other() -> None:
    config = _read("--prometheus-bearer-token=t", "--username=u")
    assert (config.prometheus_bearer_token.get_secret_value(), config.username) == ("t", "u")


def test_history_from_prometheus_can_be_asked_for() -> None:
    config = _read("--storage=prometheus", "--history-length=2w", "--metric-for-pod-labels=up[8d]")
    assert (config.storage, config.history_length.days, config.metric_for_pod_labels) == ("prometheus", 14, "up[8d]")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--usage-source=prometheus", "--use-external-metrics"], "exclude each other"),
        (["--usage-source=cadvisor"], "usage-source"),
    ],
)
def test_there_is_one_source_of_usage(words: list[str], message: str) -> None:
    assert _read("--usage-source=prometheus").usage_source == "prometheus", "beyond:B-44"
    with pytest.raises(ConfigurationError, match=message):
        _read(*words)


def test_kernels_are_compiled_when_it_is_worth_it_unless_the_flag_says_otherwise() -> None:
    assert _read().compiled_kernels == "auto", "performance:R-1"
    assert _read("--compiled-kernels=never").compiled_kernels == "never", "performance:R-5"
    with pytest.raises(ConfigurationError, match="compiled-kernels"):
        _read("--compiled-kernels=sometimes")


def test_caps_are_quantities_and_zero_means_none() -> None:
    config = _read(
        "--container-recommendation-max-allowed-cpu=1500m", "--container-recommendation-max-allowed-memory=0"
    )
    assert config.container_recommendation_max_allowed_cpu == Quantity.parse("1.5")
    assert config.container_recommendation_max_allowed_memory is None


def test_rounding_may_be_switched_off() -> None:
    assert _read("--round-cpu-millicores=0", "--round-memory-bytes=-1").round_memory_bytes == -1


def test_the_deprecated_number_of_checkpoints_has_no_effect_and_says_so() -> None:
    assert _read("--min-checkpoints=20").warnings() == ("--min-checkpoints has no effect here",)


def test_credentials_may_come_from_the_environment() -> None:
    config = _read(PROMETHEUS_USERNAME="reader", PROMETHEUS_PASSWORD="hunter2")
    assert config.environment_username == "reader"
    assert config.environment_password.get_secret_value() == "hunter2"
    assert "hunter2" not in repr(config)

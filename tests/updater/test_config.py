"""The updater's flags: defaults as upstream's own help and start-up log show them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from admission.config import AdmissionConfig
from autoscaling.errors import ConfigurationError
from autoscaling.quantity import Quantity
from autoscaling.runtime.command_line import UsageError
from autoscaling.runtime.flag_model import flag_specs
from updater.config import UpdaterConfig

DEFAULTS = {
    "address": ":8943",
    "admission-controller-status-lease-name": "vpa-admission-controller",
    "admission-controller-status-lease-namespace": "kube-system",
    "admission-controller-status-lease-timeout": "1m0s",
    "concurrent-cpu-startup-boost-syncs": "1",
    "evict-after-oom-threshold": "10m0s",
    "eviction-rate-burst": "1",
    "eviction-rate-limit": "-1",
    "eviction-tolerance": "0.5",
    "feature-gates": "",
    "ignored-vpa-object-namespaces": "",
    "in-place-skip-disruption-budget": "false",
    "in-recommendation-bounds-eviction-lifetime-threshold": "12h0m0s",
    "kube-api-burst": "100",
    "kube-api-qps": "50",
    "kubeconfig": "",
    "leader-elect": "false",
    "leader-elect-lease-duration": "15s",
    "leader-elect-renew-deadline": "10s",
    "leader-elect-resource-lock": "leases",
    "leader-elect-resource-name": "vpa-updater",
    "leader-elect-resource-namespace": "kube-system",
    "leader-elect-retry-period": "2s",
    "min-replicas": "2",
    "pod-update-threshold": "0.1",
    "profiling": "false",
    "updater-interval": "1m0s",
    "use-admission-controller-status": "true",
    "vpa-object-namespace": "",
}
LOGGING = {
    *("add-dir-header", "alsologtostderr", "alsologtostderrthreshold", "legacy-stderr-threshold-behavior"),
    *("log-backtrace-at", "log-dir", "log-file", "log-file-max-size", "logtostderr", "one-output", "skip-headers"),
    *("skip-log-headers", "stderrthreshold", "v", "vmodule"),
}
OWN = {
    "api-group": "autoscaling.evenkeel.dev",
    "behaviour": "",
    "cluster-change-rate-burst": "0",
    "cluster-change-rate-limit": "0",
    "in-place-deferred-timeout": "5m0s",
    "in-place-progress-timeout": "1h0m0s",
    "max-allowed-cpu-boost": "0",
    "namespace-change-rate-burst": "0",
    "namespace-change-rate-limit": "0",
    "node-change-rate-burst": "10",
    "node-change-rate-limit": "0",
    "profile": "evenkeel",
}


def _read(*words: str, **environment: str) -> UpdaterConfig:
    return UpdaterConfig.from_command_line(words, environment)


def test_there_are_upstreams_flags_and_the_additions() -> None:
    assert {spec.name for spec in flag_specs(UpdaterConfig)} == DEFAULTS.keys() | OWN.keys() | LOGGING


@pytest.mark.parametrize(("section", "name", "default"), [("updater:7", *item) for item in DEFAULTS.items()])
def test_defaults_are_upstreams(section: str, name: str, default: str) -> None:
    assert _read("--api-group=autoscaling.k8s.io").effective_flags()[name] == default


def test_how_many_calls_a_second_it_makes_is_upstreams() -> None:
    config = _read()
    assert (config.kube_api_qps, config.kube_api_burst) == (50, 100), "updater:M-5"


@pytest.mark.parametrize(("name", "default"), OWN.items())
def test_defaults_of_the_additions(name: str, default: str) -> None:
    assert _read().effective_flags()[name] == default


def test_every_flag_has_a_help_text() -> None:
    assert [spec.name for spec in flag_specs(UpdaterConfig) if not spec.help.endswith(".")] == []


@pytest.mark.parametrize(
    ("row", "words", "message"),
    [
        ("updater:M-6", ["--vpa-object-namespace=a", "--ignored-vpa-object-namespaces=b"], "exclude each other"),
        (
            "upstream-1.8.1:2.6",
            ["--admission-controller-status-lease-timeout=0"],
            "lease-timeout must be longer than 0s",
        ),
        ("upstream-1.8.1:2.6", ["--admission-controller-status-lease-timeout=-1s"], "lease-timeout must be longer"),
        ("upstream-1.8.1:2.6", ["--concurrent-cpu-startup-boost-syncs=0"], "boost-syncs must be at least 1"),
        ("updater:M-1", ["--updater-interval=0"], "--updater-interval=0s: input should be greater than 0 seconds"),
        ("product:1", ["--in-place-deferred-timeout=0"], "--in-place-deferred-timeout=0s: input should be greater"),
        ("product:1", ["--in-place-progress-timeout=-1h"], "--in-place-progress-timeout=-1h0m0s: input should be"),
    ],
)
def test_what_cannot_work_is_refused(row: str, words: list[str], message: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        _read(*words)
    assert message in str(refused.value)
    assert not isinstance(refused.value, UsageError)


def test_the_smallest_allowed_values() -> None:
    config = _read("--admission-controller-status-lease-timeout=1us", "--concurrent-cpu-startup-boost-syncs=1")
    assert config.admission_controller_status_lease_timeout == timedelta(microseconds=1)


def test_upstream_accepts_any_number_of_replicas_and_any_tolerance() -> None:
    config = _read("--min-replicas=-3", "--eviction-tolerance=7", "--eviction-rate-limit=0")
    assert (config.min_replicas, config.eviction_tolerance, config.eviction_rate_limit) == (-3, 7.0, 0.0)


@pytest.mark.parametrize(
    ("row", "words", "environment", "namespace"),
    [
        ("updater:M-7", ["--admission-controller-status-lease-namespace=given"], {"NAMESPACE": "mine"}, "given"),
        ("updater:M-7", [], {"NAMESPACE": "mine"}, "mine"),
        ("updater:M-7", [], {}, "evenkeel-system"),
        ("updater:M-7", ["--api-group=autoscaling.k8s.io"], {}, "kube-system"),
    ],
)
def test_the_status_lease_is_looked_for_where_the_admission_controller_puts_it(
    row: str, words: list[str], environment: dict[str, str], namespace: str
) -> None:
    assert _read(*words, **environment).admission_controller_status_lease_namespace == namespace


@pytest.mark.parametrize(
    ("row", "words", "cap"),
    [("admission:8", [], None), ("admission:8", ["--max-allowed-cpu-boost=1500m"], Quantity.parse("1500m"))],
)
def test_the_cap_on_boosts_is_that_of_the_admission_controller(
    row: str, words: list[str], cap: Quantity | None
) -> None:
    assert _read(*words).max_allowed_cpu_boost == cap, row
    assert AdmissionConfig.from_command_line(words, {}).max_allowed_cpu_boost == cap, row


def test_our_own_group_has_its_own_leases() -> None:
    config = _read(NAMESPACE="mine")
    assert config.admission_controller_status_lease_name == "evenkeel-admission-controller"
    names = (config.leader_elect_resource_namespace, config.leader_elect_resource_name)
    assert names == ("evenkeel-system", "evenkeel-updater"), "NAMESPACE has no say in the leader's Lease"

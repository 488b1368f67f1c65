"""The admission controller's flags: defaults as upstream's own help and start-up log show them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from admission.config import AdmissionConfig
from autoscaling.errors import ConfigurationError
from autoscaling.quantity import Quantity
from autoscaling.runtime.command_line import UsageError
from autoscaling.runtime.flag_model import flag_specs
from autoscaling.runtime.flags import config_or_exit

DEFAULTS = [
    ("admission:10.1", "address", ":8944"),
    ("admission:10.2", "client-ca-file", "/etc/tls-certs/caCert.pem"),
    ("admission:10.3", "tls-cert-file", "/etc/tls-certs/serverCert.pem"),
    ("admission:10.3", "tls-private-key", "/etc/tls-certs/serverKey.pem"),
    ("admission:10.4", "reload-cert", "false"),
    ("admission:10.5", "tls-ciphers", ""),
    ("admission:10.6", "min-tls-version", "tls1_2"),
    ("admission:10.7", "port", "8000"),
    ("admission:10.8", "webhook-service", "vpa-webhook"),
    ("admission:10.9", "webhook-address", ""),
    ("admission:10.9", "webhook-port", ""),
    ("admission:10.10", "register-by-url", "false"),
    ("admission:10.11", "register-webhook", "true"),
    ("admission:10.12", "webhook-labels", ""),
    ("admission:10.13", "webhook-timeout-seconds", "30"),
    ("admission:10.14", "webhook-failure-policy-fail", "false"),
    ("admission:10.15", "max-allowed-cpu-boost", "0"),
    ("admission:10.16", "feature-gates", ""),
    ("admission:10.17", "kubeconfig", ""),
    ("admission:10.18", "kube-api-qps", "50"),
    ("admission:10.18", "kube-api-burst", "100"),
    ("admission:10.19", "profiling", "false"),
    ("admission:10.20", "vpa-object-namespace", ""),
    ("admission:10.21", "ignored-vpa-object-namespaces", ""),
    ("admission:10.23", "status-lease-name", "vpa-admission-controller"),
    ("admission:10.23", "status-lease-namespace", "kube-system"),
    ("admission:10.23", "status-lease-update-interval", "10s"),
]
LOGGING = {
    *("add-dir-header", "alsologtostderr", "alsologtostderrthreshold", "legacy-stderr-threshold-behavior"),
    *("log-backtrace-at", "log-dir", "log-file", "log-file-max-size", "logtostderr", "one-output", "skip-headers"),
    *("skip-log-headers", "stderrthreshold", "v", "vmodule"),
}
OWN = {"api-group", "behaviour", "profile"}


def _read(*words: str, **environment: str) -> AdmissionConfig:
    return AdmissionConfig.from_command_line(words, environment)


def test_there_are_upstreams_flags_and_the_additions() -> None:
    assert {spec.name for spec in flag_specs(AdmissionConfig)} == {name for _, name, _ in DEFAULTS} | OWN | LOGGING


@pytest.mark.parametrize(("row", "name", "default"), DEFAULTS)
def test_defaults_are_upstreams(row: str, name: str, default: str) -> None:
    assert _read("--api-group=autoscaling.k8s.io").effective_flags()[name] == default, row


def test_every_flag_has_a_help_text() -> None:
    assert [spec.name for spec in flag_specs(AdmissionConfig) if not spec.help.endswith(".")] == []


def test_the_command_line_of_upstreams_manifest_is_read() -> None:
    """Spec: admission:10.4, admission:10.22."""
    config = _read("--v=4", "--stderrthreshold=info", "--reload-cert")
    assert config.reload_cert
    assert not _read("--reload-cert", "--reload-cert=false").reload_cert


@pytest.mark.parametrize(
    ("row", "words", "message"),
    [
        ("admission:1.1", ["--vpa-object-namespace=a", "--ignored-vpa-object-namespaces=b"], "exclude each other"),
        (
            "admission:1.1",
            ["--status-lease-update-interval=0"],
            "--status-lease-update-interval must be longer than 0s",
        ),
        ("admission:1.1", ["--status-lease-update-interval=-1s"], "--status-lease-update-interval must be longer"),
        ("admission:2.3", ["--min-tls-version=tls1_1"], "--min-tls-version=tls1_1: input should be"),
        ("admission:3.2", ["--webhook-labels=bogus"], "--webhook-labels=bogus: a part without key or colon"),
        ("admission:3.2", ["--webhook-labels=a:b,:c"], "a part without key or colon"),
        ("admission:3.10", ["--webhook-timeout-seconds=0"], "--webhook-timeout-seconds=0: Kubernetes allows 1 to 30"),
        ("admission:3.10", ["--webhook-timeout-seconds=31"], "--webhook-timeout-seconds=31: Kubernetes allows 1 to 30"),
        ("admission:3.7", ["--register-by-url"], "--register-by-url needs --webhook-address=https://host"),
        ("admission:3.7", ["--register-by-url", "--webhook-address=http://x"], "needs --webhook-address=https://host"),
        ("admission:10.7", ["--port=65536"], "--port=65536: input should be less than or equal to 65535"),
        ("admission:10.7", ["--port=-1"], "--port=-1: input should be greater than or equal to 0"),
    ],
)
def test_what_cannot_work_is_refused(row: str, words: list[str], message: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        _read(*words)
    assert message in str(refused.value)
    assert not isinstance(refused.value, UsageError)


@pytest.mark.parametrize(
    ("row", "words", "status"),
    [
        ("admission:1.1", ["--vpa-object-namespace=a", "--ignored-vpa-object-namespaces=b"], 1),
        ("admission:1.1", ["--status-lease-update-interval=0s"], 1),
        ("admission:1.1", ["--no-such-flag"], 2),
        ("admission:1.1", ["--feature-gates=NoSuchGate=true"], 2),
    ],
)
@pytest.mark.parametrize("profile", ["evenkeel", "upstream"])
def test_what_is_refused_ends_the_process(
    row: str, words: list[str], status: int, profile: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        config_or_exit(AdmissionConfig, [*words, f"--profile={profile}"], {})
    assert ended.value.code == status, row
    assert capsys.readouterr().err.startswith("evenkeel-admission-controller: ")


def test_the_shortest_interval_of_the_lease_is_taken() -> None:
    """Spec: admission:1.1, the other side."""
    assert _read("--status-lease-update-interval=1ms").status_lease_update_interval == timedelta(milliseconds=1)


def test_registration_is_judged_only_where_it_takes_place() -> None:
    config = _read("--register-webhook=false", "--register-by-url", "--webhook-timeout-seconds=60")
    assert config.webhook_timeout_seconds == 60
    assert _read("--register-by-url", "--webhook-address=https://x", "--webhook-port=8443").webhook_port == "8443"
    assert _read("--webhook-timeout-seconds=1").webhook_timeout_seconds == 1


@pytest.mark.parametrize(
    ("row", "text", "labels"),
    [
        ("admission:3.2", "", ()),
        ("admission:3.2", "a:b", (("a", "b"),)),
        ("admission:3.2", '"a:b, c : d:e "', (("a", "b"), ("c", "d:e"))),
        ("admission:3.2", "a:", (("a", ""),)),
        ("admission:3.2", '""', ()),
    ],
)
def test_labels_of_the_webhook(row: str, text: str, labels: tuple[tuple[str, str], ...]) -> None:
    assert _read(f"--webhook-labels={text}").labels() == labels


@pytest.mark.parametrize("text", ["bogus", "a:b,", "a:b,:c", "a:b,c"])
def test_profile_upstream_drops_all_labels_when_one_is_malformed(text: str) -> None:
    config = _read(f"--webhook-labels={text}", "--profile=upstream")
    assert config.labels() == ()
    assert config.warnings() == (f"--webhook-labels={text} is malformed; the webhook gets no labels",)


def test_a_boost_has_no_cap_by_default() -> None:
    """Spec: admission:10.15, as zero is none."""
    assert _read("--max-allowed-cpu-boost=0").max_allowed_cpu_boost is None
    assert _read("--max-allowed-cpu-boost=2").max_allowed_cpu_boost == Quantity.parse("2")


@pytest.mark.parametrize(
    ("row", "words", "environment", "lease", "service"),
    [
        ("admission:9.1", [], {}, "evenkeel-system", "evenkeel-system"),
        ("admission:10.24", [], {"NAMESPACE": "mine"}, "mine", "mine"),
        ("admission:9.1", ["--api-group=autoscaling.k8s.io"], {}, "kube-system", "kube-system"),
        ("admission:9.1", ["--status-lease-namespace=given"], {"NAMESPACE": "mine"}, "given", "mine"),
    ],
)
def test_namespaces_come_from_the_flag_then_the_environment_then_the_group(
    row: str, words: list[str], environment: dict[str, str], lease: str, service: str
) -> None:
    config = _read(*words, **environment)
    assert (config.status_lease_namespace, config.service_namespace) == (lease, service)


def test_our_own_group_has_its_own_names() -> None:
    config = _read()
    assert (config.webhook_service, config.status_lease_name) == ("evenkeel-webhook", "evenkeel-admission-controller")
    assert config.names.webhook_configuration == "evenkeel-webhook-config"
    assert _read("--webhook-service=mine").webhook_service == "mine"


def test_the_namespace_of_the_service_is_no_flag() -> None:
    with pytest.raises(UsageError, match="unknown flag --service-namespace"):
        _read("--service-namespace=x")

"""Every flag of the admission controller (spec: admission:10)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, ClassVar

from pydantic import Field

from autoscaling.behaviour import Profile
from autoscaling.runtime.flag_model import Environment, GroupDefault
from autoscaling.runtime.flags import ProcessConfig
from autoscaling.runtime.syntax import Address, Cap, Duration, Integer, Text, TlsVersion, Toggle


class AdmissionConfig(ProcessConfig):
    """Configuration of the admission controller."""

    program: ClassVar[str] = "evenkeel-admission-controller"

    address: Address = ":8944"
    """Host and port for /metrics, /health-check and /readyz. Without a host every interface listens; port 0 takes a
    free one, which the log names."""

    client_ca_file: Text = "/etc/tls-certs/caCert.pem"
    """Path of the PEM file with the certificate authority that the API server is to trust for the webhook."""

    max_allowed_cpu_boost: Cap = None
    """Most CPU that a startup boost may give a container; 0 for no limit."""

    min_tls_version: TlsVersion = "tls1_2"
    """Lowest TLS version to accept: tls1_2 or tls1_3."""

    port: Annotated[Integer, Field(ge=0, le=65535)] = 8000
    """Port of the webhook."""

    register_by_url: Toggle = False
    """Register the webhook by --webhook-address and --webhook-port instead of by Service."""

    register_webhook: Toggle = True
    """Create the webhook configuration in the cluster at start."""

    reload_cert: Toggle = False
    """Read certificate, key and certificate authority again when their files change."""

    service_namespace: Annotated[str, Environment("NAMESPACE"), GroupDefault("namespace")] = ""
    """Namespace of the webhook's Service: the environment variable NAMESPACE, else what goes with the API group."""

    status_lease_name: Annotated[Text, GroupDefault("status_lease")] = ""
    """Name of the Lease that says the admission controller is alive; the updater's
    --admission-controller-status-lease-name."""

    status_lease_namespace: Annotated[Text, Environment("NAMESPACE"), GroupDefault("namespace")] = ""
    """Namespace of that Lease; the updater's --admission-controller-status-lease-namespace."""

    status_lease_update_interval: Duration = timedelta(seconds=10)
    """How often that Lease is renewed, and how long one attempt may take. Must be well below the updater's
    --admission-controller-status-lease-timeout."""

    tls_cert_file: Text = "/etc/tls-certs/serverCert.pem"
    """Path of the PEM file with the webhook's certificate."""

    tls_ciphers: Text = ""
    """Names of the cipher suites to accept with TLS 1.2, separated by commas or colons; empty for the usual ones."""

    tls_private_key: Text = "/etc/tls-certs/serverKey.pem"
    """Path of the PEM file with the key of the webhook's certificate."""

    webhook_address: Text = ""
    """Address to register the webhook under, with https://; only with --register-by-url."""

    webhook_failure_policy_fail: Toggle = False
    """Let pods be refused while no admission controller answers. By default they are admitted unchanged."""

    webhook_labels: Text = ""
    """Labels for the webhook configuration, as key1:value1,key2:value2."""

    webhook_port: Text = ""
    """Port to register the webhook under; only with --register-by-url."""

    webhook_service: Annotated[Text, GroupDefault("webhook_service")] = ""
    """Name of the Service to register the webhook under; not with --register-by-url."""

    webhook_timeout_seconds: Integer = 30
    """Seconds that the API server waits for an answer before it goes on without."""

    def labels(self) -> tuple[tuple[str, str], ...]:
        """Return the labels for the webhook configuration; none at all when one of them is malformed.

        Spec: admission:3.
        """
        pairs = [_label(entry) for entry in self.webhook_labels.strip('"').split(",")]
        return tuple(pairs) if self.webhook_labels and all(name for name, _ in pairs) else ()

    def _has_malformed_labels(self) -> bool:
        return bool(self.webhook_labels.strip('"')) and not self.labels()

    def contradictions(self) -> Iterator[str]:
        """Yield what contradicts itself (spec: admission:1, admission:3)."""
        yield from super().contradictions()
        if self.status_lease_update_interval <= timedelta(0):
            yield "--status-lease-update-interval must be longer than 0s"
        if self.profile is Profile.EVENKEEL and self._has_malformed_labels():
            yield f"--webhook-labels={self.webhook_labels}: a part without key or colon; write key1:value1,key2:value2"
        if not self.register_webhook:
            return
        if not 1 <= self.webhook_timeout_seconds <= 30:
            yield f"--webhook-timeout-seconds={self.webhook_timeout_seconds}: Kubernetes allows 1 to 30"
        if self.register_by_url and not self.webhook_address.startswith("https://"):
            yield "--register-by-url needs --webhook-address=https://host; the API server calls no other scheme"

    def warnings(self) -> tuple[str, ...]:
        """Say what the user should know about a command line that was accepted."""
        note = f"--webhook-labels={self.webhook_labels} is malformed; the webhook gets no labels"
        return (*super().warnings(), note) if self._has_malformed_labels() else super().warnings()


def _label(entry: str) -> tuple[str, str]:
    """Split one label at its first colon; an entry without colon has an empty name."""
    name, colon, value = entry.partition(":")
    return (name.strip(), value.strip()) if colon else ("", "")

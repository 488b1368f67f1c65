"""A second mutating webhook beside ours: a host process, and its registration for the pods of one namespace."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster.documents import JsonObject
from e2e.cluster.kube import Kube
from e2e.cluster.layout import HOST_ADDRESS

_SERVICE = "webhook"
_PORT = 9443


@dataclass(frozen=True, slots=True)
class OtherWebhook:
    """What the second webhook does.

    Args:
        configuration: Name of its configuration; the API server asks webhooks in the order of these names.
        cpu: CPU request that it gives to the first container of each pod; empty for leaving that alone.
        asked_again: Whether it wants to be asked again about what a later webhook has changed.
    """

    configuration: str
    cpu: str = ""
    asked_again: bool = False

    def registration(self, kube: Kube) -> JsonObject:
        """Return its configuration for the pods of a namespace; it must answer."""
        service: JsonObject = {"namespace": kube.namespace, "name": _SERVICE}
        return {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": self.configuration},
            "webhooks": [
                {
                    "name": "pods.e2e.evenkeel.dev",
                    "clientConfig": {"service": service, "caBundle": kube.cluster.authority_bundle},
                    "rules": [
                        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
                    ],
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": kube.namespace}},
                    "sideEffects": "None",
                    "failurePolicy": "Fail",
                    "reinvocationPolicy": "IfNeeded" if self.asked_again else "Never",
                    "admissionReviewVersions": ["v1"],
                }
            ],
        }

    @contextmanager
    def registered(self, kube: Kube, folder: Path) -> Iterator[None]:
        """Have it answer for the time of a ``with`` block; the API server learns of it soon after the beginning.

        Args:
            kube: The namespace whose pods it is asked about.
            folder: For its certificate.
        """
        cluster = kube.cluster
        cluster.serving_certificate(f"{_SERVICE}.{kube.namespace}.svc").write(folder, "webhook")
        files = [str(folder / "webhook.crt"), str(folder / "webhook.key")]
        command = [sys.executable, "-m", "e2e.webhook_server", HOST_ADDRESS, str(_PORT), *files]
        environment = {"PYTHONPATH": str(Path(__file__).parent.parent)}
        process = cluster.start_process("webhook", [*command, *filter(None, [self.cpu])], environment)
        try:
            cluster.expose_host_port(kube.namespace, _SERVICE, _PORT)
            kube.apply(self.registration(kube))
            yield
        finally:
            kube.delete("mutatingwebhookconfiguration", self.configuration)
            cluster.stop_process(process)

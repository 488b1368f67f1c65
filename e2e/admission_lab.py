"""What the admission controller's tests on a real API server share: workloads whose pods are only tried, or created.

A pod that is tried (a dry run) passes every webhook and the API server's own checks, and is not stored.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from e2e.api_socket import Answer, ApiSocket
from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject, JsonValue, at, objects_at, text_at
from e2e.cluster.kube import Kube
from e2e.installation import Group, Installation, logged, recommendation
from e2e.metrics_page import ADMISSION_PORT, total
from e2e.other_webhook import OtherWebhook
from e2e.updater_lab import Workload, asked_of
from e2e.webhook_server import LABEL

TARGET_CPU = "150m"
TEMPLATE_CPU = "50m"
ADMISSION = "admission-controller"
CONFIGURATION = "evenkeel-webhook-config"

_AWAKE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of a pod that was only tried.

    Args:
        answer: The API server's.
        seconds: How long it took.
    """

    answer: Answer
    seconds: float

    @property
    def is_patched(self) -> bool:
        """Whether our webhook has left its mark."""
        return bool(text_at(self.answer.body, "metadata", "annotations", "vpaObservedContainers"))

    @property
    def cpu(self) -> str:
        """The CPU request that the pod would have."""
        return asked_of(self.answer.body)


@dataclass(frozen=True, slots=True)
class AdmissionLab:
    """Workloads in one namespace, and what their pods get on the way in.

    Args:
        kube: The namespace.
        api: The API server.
        installation: The admission controller among others.
    """

    kube: Kube
    api: ApiSocket
    installation: Installation

    @property
    def cluster(self) -> Cluster:
        """The cluster that all of it runs on."""
        return self.kube.cluster

    @property
    def vpas(self) -> str:
        """Path of the namespace's autoscalers."""
        return f"/apis/{Group.OWN.value}/v1/namespaces/{self.kube.namespace}/verticalpodautoscalers"

    def prepare(self, name: str, mode: str, **fields: JsonValue) -> None:
        """Create a workload without pods, and its VPA with a recommendation.

        Args:
            name: Of both.
            mode: The VPA's update mode.
            fields: Further fields of its spec.
        """
        workload, scaler = Workload(replicas=0, mode=mode).documents(name)
        spec = scaler["spec"]
        assert isinstance(spec, dict)
        spec.update(fields)
        self.kube.apply(workload, scaler)
        status = recommendation("main", TARGET_CPU, "32Mi")
        self.kube.patch(Group.OWN.resource, name, status, subresource="status", style="merge")

    def try_pod(self, name: str, namespace: str = "") -> Tried:
        """Have the API server try a new pod of a workload.

        Args:
            name: Of the workload, which need not exist.
            namespace: Where; the lab's own if empty.
        """
        template = at(Workload().documents(name)[0], "spec", "template")
        owner: JsonObject = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": name}
        metadata: JsonObject = {
            "generateName": f"{name}-",
            "labels": at(template, "metadata", "labels"),
            "ownerReferences": [{**owner, "controller": True}],
        }
        pod: JsonObject = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": at(template, "spec")}
        began = time.monotonic()
        answer = self.api.post(f"/api/v1/namespaces/{namespace or self.kube.namespace}/pods?dryRun=All", pod)
        return Tried(answer, time.monotonic() - began)

    def wait_until_patched(self, name: str) -> Tried:
        """Wait until our webhook answers for new pods of a workload, and knows its recommendation."""

        def patched() -> Tried:
            tried = self.try_pod(name)
            assert tried.is_patched, f"{tried.answer.code} {tried.answer.message}, not patched"
            assert text_at(tried.answer.body, "metadata", "annotations", "vpaUpdates"), "no recommendation yet"
            return tried

        return self.kube.wait_for(patched, "the webhook's patch", timeout_seconds=_AWAKE_SECONDS)

    def run(self, name: str) -> JsonObject:
        """Let a workload have a pod, and return it once it is Ready."""
        self.kube.run("scale", "deployment", name, "--replicas=1")
        (pod,) = self.kube.wait_for_pods(f"app={name}")
        return pod

    def registration(self) -> JsonObject:
        """Return our webhook as it is registered."""
        (webhook,) = objects_at(self.kube.read("mutatingwebhookconfiguration", CONFIGURATION), "webhooks")
        return webhook

    def reviews(self, *, only_tried: bool, **labels: str) -> float:
        """Return how many reviews the process that runs now has answered, dry runs or all others."""
        family = "dry_runs" if only_tried else "reviews"
        return total(self.cluster, ADMISSION_PORT, f"evenkeel_admission_{family}_total", **labels)

    def decided(self) -> list[JsonObject]:
        """Return what the log tells of reviews of the namespace's objects that came of something, oldest first."""
        log = logged(self.cluster, f"evenkeel-{ADMISSION}")
        mine = f" {self.kube.namespace}/"
        return [line for line in log if line["event"] == "review decided" and mine in text_at(line, "object")]

    @contextmanager
    def beside(self, other: OtherWebhook, folder: Path) -> Iterator[None]:
        """Have a second webhook take its turn for the time of a ``with`` block.

        Args:
            folder: For its certificate.
        """
        with other.registered(self.kube, folder):
            self.kube.wait_for(self._has_other, "the other webhook's turn")
            yield
        self.kube.wait_for(lambda: not self._has_other(), "the end of the other webhook's turns")

    def _has_other(self) -> bool:
        """Say whether another webhook is asked about the namespace's pods, too."""
        tried = self.try_pod("anybody")
        return text_at(tried.answer.body, "metadata", "labels", LABEL) == "yes"

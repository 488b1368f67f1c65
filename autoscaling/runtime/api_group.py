"""The two API groups Evenkeel can serve, and the cluster-wide names that go with each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ApiGroup(StrEnum):
    """Group of the VerticalPodAutoscaler objects a process works on, chosen by ``--api-group``."""

    EVENKEEL = "autoscaling.evenkeel.dev"
    UPSTREAM = "autoscaling.k8s.io"


@dataclass(frozen=True, slots=True)
class ClusterNames:
    """Names of the objects outside the API group that the processes share or own.

    Two installations of different groups must not meet in one of them.
    """

    namespace: str
    recommender_lease: str
    updater_lease: str
    status_lease: str
    certificate_lease: str
    webhook_configuration: str
    webhook: str
    webhook_service: str
    webhook_secret: str


_OWN_NAMES = ClusterNames(
    namespace="evenkeel-system",
    recommender_lease="evenkeel-recommender",
    updater_lease="evenkeel-updater",
    status_lease="evenkeel-admission-controller",
    certificate_lease="evenkeel-admission-certs",
    webhook_configuration="evenkeel-webhook-config",
    webhook="pods.autoscaling.evenkeel.dev",
    webhook_service="evenkeel-webhook",
    webhook_secret="evenkeel-tls-certs",  # noqa: S106 - the name of the Secret object, not its content
)
_UPSTREAM_NAMES = ClusterNames(
    namespace="kube-system",
    recommender_lease="vpa-recommender-lease",
    updater_lease="vpa-updater",
    status_lease="vpa-admission-controller",
    # Upstream has no such Lease, so ours cannot collide with one of its.
    certificate_lease="evenkeel-admission-certs",
    webhook_configuration="vpa-webhook-config",
    webhook="vpa.k8s.io",
    webhook_service="vpa-webhook",
    webhook_secret="vpa-tls-certs",  # noqa: S106 - likewise
)


def cluster_names(group: ApiGroup) -> ClusterNames:
    """Return the names that belong to an API group."""
    return _OWN_NAMES if group is ApiGroup.EVENKEEL else _UPSTREAM_NAMES

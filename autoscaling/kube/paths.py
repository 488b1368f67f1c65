"""Where each collection of the API lives: group, version and plural to a request path."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote

VPA_VERSION = "v1"
_PLAIN = re.compile(r"[A-Za-z0-9.-]+")


@dataclass(frozen=True, slots=True)
class Resource:
    """One collection of the API.

    Args:
        group: API group; empty for the core group.
        version: API version without the group, such as ``v1``.
        plural: Name in paths, such as ``pods``.
        kind: Name in objects, such as ``Pod``.
        namespaced: Whether its objects live in namespaces.
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """The ``apiVersion`` its objects carry."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def title(self) -> str:
        """Plural and group as permissions and CRDs spell it, such as ``deployments.apps``."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Path of the collection, of one object or of one of its subresources.

        Args:
            namespace: Empty for a cluster-wide kind, or for the collection over all namespaces.
            name: Empty for the collection.
            subresource: Such as ``status``; empty for the object itself.

        Returns:
            The path, each segment escaped.

        Raises:
            ValueError: A namespaced object without its namespace, or a subresource without a name.
        """
        if name and self.namespaced and not namespace:
            raise ValueError(f"{self.kind} {name}: a namespaced object needs its namespace in the path")
        if subresource and not name:
            raise ValueError(f"{self.title}/{subresource}: a subresource needs the name of its object in the path")
        root = ("apis", self.group, self.version) if self.group else ("api", self.version)
        place = ("namespaces", namespace) if namespace and self.namespaced else ()
        segments = [segment for segment in (*root, *place, self.plural, name, subresource) if segment]
        # Nearly all names are plain, which is quickly seen.
        if not _PLAIN.fullmatch("".join(segments)):
            segments = [quote(segment, safe="") for segment in segments]
        return "/" + "/".join(segments)


@dataclass(frozen=True, slots=True)
class Selection:
    """The part of a collection that is listed or watched.

    Args:
        resource: The collection.
        namespace: Empty for all namespaces.
        label_selector: As the API spells it; empty for all objects.
        field_selector: As the API spells it; empty for all objects.
    """

    resource: Resource
    namespace: str = ""
    label_selector: str = ""
    field_selector: str = ""

    @property
    def path(self) -> str:
        """Path of the collection."""
        return self.resource.path(self.namespace)

    @property
    def query(self) -> dict[str, str]:
        """The selectors as query parameters; those that select everything are left out."""
        both = {"labelSelector": self.label_selector, "fieldSelector": self.field_selector}
        return {name: text for name, text in both.items() if text}

    def __str__(self) -> str:
        """Print as ``pods in namespace shop`` or ``nodes``."""
        return f"{self.resource.title} in namespace {self.namespace}" if self.namespace else self.resource.title


PODS = Resource("", "v1", "pods", "Pod")
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
EVENTS = Resource("", "v1", "events", "Event")
LIMIT_RANGES = Resource("", "v1", "limitranges", "LimitRange")
RESOURCE_QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
SECRETS = Resource("", "v1", "secrets", "Secret")
SERVICES = Resource("", "v1", "services", "Service")
REPLICATION_CONTROLLERS = Resource("", "v1", "replicationcontrollers", "ReplicationController")
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
REPLICA_SETS = Resource("apps", "v1", "replicasets", "ReplicaSet")
STATEFUL_SETS = Resource("apps", "v1", "statefulsets", "StatefulSet")
DAEMON_SETS = Resource("apps", "v1", "daemonsets", "DaemonSet")
JOBS = Resource("batch", "v1", "jobs", "Job")
CRON_JOBS = Resource("batch", "v1", "cronjobs", "CronJob")
POD_DISRUPTION_BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
HORIZONTAL_POD_AUTOSCALERS = Resource("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
MUTATING_WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
    namespaced=False,
)
VALIDATING_WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)
CUSTOM_RESOURCE_DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
POD_METRICS = Resource("metrics.k8s.io", "v1beta1", "pods", "PodMetrics")
NODE_METRICS = Resource("metrics.k8s.io", "v1beta1", "nodes", "NodeMetrics", namespaced=False)
ACCESS_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False
)


def vertical_pod_autoscalers(group: str) -> Resource:
    """The autoscaler objects of one API group, own or drop-in."""
    return Resource(group, VPA_VERSION, "verticalpodautoscalers", "VerticalPodAutoscaler")


def checkpoints(group: str) -> Resource:
    """The stored histograms of one API group, own or drop-in."""
    return Resource(group, VPA_VERSION, "verticalpodautoscalercheckpoints", "VerticalPodAutoscalerCheckpoint")


def external_metric(name: str) -> Resource:
    """The values of one metric of the external metrics API, which has a collection for each."""
    return Resource("external.metrics.k8s.io", "v1beta1", name, "ExternalMetricValueList")

"""The built-in kinds, and how events.k8s.io shows the core group's events."""

from __future__ import annotations

from dataclasses import replace

from evenkeel.simulator.api.fields import JsonObject, child, text
from evenkeel.simulator.api.kinds import READ_VERBS, GroupResource, Kind, View

EVENTS = GroupResource("", "events")
PODS = GroupResource("", "pods")
NAMESPACES = GroupResource("", "namespaces")
ENDPOINTS = GroupResource("", "endpoints")
LIMIT_RANGES = GroupResource("", "limitranges")
RESOURCE_QUOTAS = GroupResource("", "resourcequotas")
AUTOSCALERS = GroupResource("autoscaling", "horizontalpodautoscalers")
BUDGETS = GroupResource("policy", "poddisruptionbudgets")
DEFINITIONS = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")
MUTATING_WEBHOOKS = GroupResource("admissionregistration.k8s.io", "mutatingwebhookconfigurations")
VALIDATING_WEBHOOKS = GroupResource("admissionregistration.k8s.io", "validatingwebhookconfigurations")
POLICIES = GroupResource("admissionregistration.k8s.io", "validatingadmissionpolicies")
POLICY_BINDINGS = GroupResource("admissionregistration.k8s.io", "validatingadmissionpolicybindings")
RBAC = "rbac.authorization.k8s.io"
METRICS = "metrics.k8s.io"

_RENAMED_EVENT_FIELDS = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "source": "deprecatedSource",
}
_RESTORED_EVENT_FIELDS = {new: old for old, new in _RENAMED_EVENT_FIELDS.items()}


def _renamed(body: JsonObject, names: dict[str, str]) -> JsonObject:
    """Return an object with some of its top-level fields under other names."""
    return {names.get(key, key): value for key, value in body.items()}


def _event_to_stored(body: JsonObject) -> JsonObject:
    """Return an event of events.k8s.io as the core group stores it."""
    stored = _renamed(body, _RESTORED_EVENT_FIELDS)
    if not text(child(stored, "source"), "component") and stored.get("reportingComponent"):
        stored["source"] = {**child(stored, "source"), "component": stored["reportingComponent"]}
    return stored


_EVENT_VIEW = View(lambda body: _renamed(body, _RENAMED_EVENT_FIELDS), _event_to_stored)


def _kind(group: str, kind: str, plural: str, *short: str, parts: tuple[str, ...] = ()) -> Kind:
    """Return a namespaced kind in version v1 with generations."""
    return Kind(group, "v1", kind, plural, short_names=short, subresources=parts, generation=True)


def _cluster(group: str, kind: str, plural: str, *short: str, parts: tuple[str, ...] = ()) -> Kind:
    """Return a cluster-wide kind in version v1 with generations."""
    return replace(_kind(group, kind, plural, *short, parts=parts), namespaced=False)


def _plain(kind: Kind) -> Kind:
    """Return a kind without generations."""
    return replace(kind, generation=False)


def _listed(kind: Kind) -> Kind:
    """Return a kind that belongs to the category ``all``."""
    return replace(kind, categories=("all",))


def builtin_kinds() -> tuple[Kind, ...]:
    """Return every kind that is served from the start."""
    return (*_core_kinds(), *_workload_kinds(), *_policy_kinds(), *_metrics_kinds())


def _core_kinds() -> tuple[Kind, ...]:
    """Return the core group."""
    return (
        _listed(_kind("", "Pod", "pods", "po", parts=("status", "resize", "eviction", "binding"))),
        _plain(_cluster("", "Node", "nodes", "no", parts=("status",))),
        _plain(_cluster("", "Namespace", "namespaces", "ns", parts=("status",))),
        _plain(_kind("", "Event", "events", "ev")),
        _plain(_kind("", "LimitRange", "limitranges", "limits")),
        _plain(_kind("", "ResourceQuota", "resourcequotas", "quota", parts=("status",))),
        _plain(_kind("", "ServiceAccount", "serviceaccounts", "sa", parts=("token",))),
        _plain(_kind("", "Secret", "secrets")),
        _plain(_kind("", "ConfigMap", "configmaps", "cm")),
        _plain(_listed(_kind("", "Service", "services", "svc", parts=("status",)))),
        _plain(replace(_kind("", "Endpoints", "endpoints", "ep"), singular="endpoints")),
        _listed(_kind("", "ReplicationController", "replicationcontrollers", "rc", parts=("status", "scale"))),
    )


def _workload_kinds() -> tuple[Kind, ...]:
    """Return apps, batch and autoscaling."""
    scaled = ("status", "scale")
    horizontal = _kind("autoscaling", "HorizontalPodAutoscaler", AUTOSCALERS.plural, "hpa", parts=("status",))
    return (
        _listed(_kind("apps", "Deployment", "deployments", "deploy", parts=scaled)),
        _listed(_kind("apps", "ReplicaSet", "replicasets", "rs", parts=scaled)),
        _listed(_kind("apps", "StatefulSet", "statefulsets", "sts", parts=scaled)),
        _listed(_kind("apps", "DaemonSet", "daemonsets", "ds", parts=("status",))),
        _plain(_kind("apps", "ControllerRevision", "controllerrevisions")),
        _listed(_kind("batch", "Job", "jobs", parts=("status",))),
        _listed(_kind("batch", "CronJob", "cronjobs", "cj", parts=("status",))),
        replace(_plain(horizontal), version="v2"),
    )


def _policy_kinds() -> tuple[Kind, ...]:
    """Return the groups that steer others: policy, leases, events, webhooks, CRDs, RBAC, priorities."""
    admission, extensions = MUTATING_WEBHOOKS.group, DEFINITIONS.group
    events = replace(_plain(_kind("events.k8s.io", "Event", "events", "ev")), storage=EVENTS, view=_EVENT_VIEW)
    return (
        _kind("policy", "PodDisruptionBudget", "poddisruptionbudgets", "pdb", parts=("status",)),
        _plain(_kind("coordination.k8s.io", "Lease", "leases")),
        events,
        _cluster(admission, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations"),
        _cluster(admission, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
        _cluster(admission, "ValidatingAdmissionPolicy", POLICIES.plural, parts=("status",)),
        _cluster(admission, "ValidatingAdmissionPolicyBinding", POLICY_BINDINGS.plural),
        _cluster(extensions, "CustomResourceDefinition", "customresourcedefinitions", "crd", "crds", parts=("status",)),
        _plain(_cluster(RBAC, "ClusterRole", "clusterroles")),
        _plain(_cluster(RBAC, "ClusterRoleBinding", "clusterrolebindings")),
        _plain(_kind(RBAC, "Role", "roles")),
        _plain(_kind(RBAC, "RoleBinding", "rolebindings")),
        _cluster("scheduling.k8s.io", "PriorityClass", "priorityclasses", "pc"),
        _kind("networking.k8s.io", "NetworkPolicy", "networkpolicies", "netpol"),
    )


def _metrics_kinds() -> tuple[Kind, ...]:
    """Return metrics.k8s.io, which is answered from a source and never stored."""
    verbs = tuple(verb for verb in READ_VERBS if verb != "watch")
    return (
        Kind(METRICS, "v1beta1", "NodeMetrics", "nodes", namespaced=False, verbs=verbs),
        Kind(METRICS, "v1beta1", "PodMetrics", "pods", verbs=verbs),
    )

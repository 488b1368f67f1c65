"""What each process has to be allowed, as the roles under manifests/rbac grant it (beyond:B-39)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from autoscaling.runtime.api_group import ApiGroup, cluster_names
from evenkeel.inspection.findings import Area, Finding, Level

_LOOK: Final = ("list", "watch")
_LEASES: Final = "coordination.k8s.io"
_WEBHOOKS: Final = "admissionregistration.k8s.io"


@dataclass(frozen=True, slots=True)
class Right:
    """One rule of a role.

    Args:
        group: API group; empty for the core group.
        resources: With their subresource behind a slash.
        verbs: What has to be allowed.
        name: The only object it has to be allowed for; empty for all.
        namespace: The only namespace; empty for the whole cluster.
        is_optional: Whether the process works on without, only less well.
    """

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    name: str = ""
    namespace: str = ""
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class Access:
    """One question to the API server: one verb on one resource."""

    group: str
    resource: str
    verb: str
    name: str
    namespace: str
    is_optional: bool

    def __str__(self) -> str:
        """Print as ``patch pods/resize`` or ``get leases.coordination.k8s.io evenkeel-updater in namespace x``."""
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.verb} {resource}{f' {self.name}' if self.name else ''}{where}"


def _workloads() -> tuple[Right, ...]:
    """Return what all three need to know of controllers."""
    return (
        Right("", ("replicationcontrollers",), _LOOK),
        Right("apps", ("daemonsets", "deployments", "replicasets", "statefulsets"), _LOOK),
        Right("batch", ("cronjobs", "jobs"), _LOOK),
        Right("*", ("*/scale",), ("get",)),
    )


def _lease(name: str, namespace: str) -> tuple[Right, ...]:
    """Return what keeping a Lease needs."""
    return (
        Right(_LEASES, ("leases",), ("create",), namespace=namespace),
        Right(_LEASES, ("leases",), ("get", "update"), name, namespace),
    )


def rights_of_recommender(group: ApiGroup, namespace: str) -> tuple[Right, ...]:
    """Return what the recommender needs.

    Args:
        group: API group that it serves.
        namespace: Where its Lease is.
    """
    return (
        Right(group.value, ("verticalpodautoscalers",), _LOOK),
        Right(group.value, ("verticalpodautoscalers/status",), ("patch",)),
        Right(group.value, ("verticalpodautoscalercheckpoints",), (*_LOOK, "create", "patch", "delete")),
        Right("metrics.k8s.io", ("pods",), ("list",)),
        Right("", ("pods",), _LOOK),
        Right("", ("events",), (*_LOOK, "create", "patch")),
        Right("autoscaling", ("horizontalpodautoscalers",), _LOOK, is_optional=True),
        Right("", ("nodes",), _LOOK, is_optional=True),
        *_workloads(),
        *_lease(cluster_names(group).recommender_lease, namespace),
    )


def rights_of_updater(group: ApiGroup, namespace: str) -> tuple[Right, ...]:
    """Return what the updater needs.

    Args:
        group: API group that it serves.
        namespace: Where the Leases are.
    """
    names = cluster_names(group)
    return (
        Right(group.value, ("verticalpodautoscalers",), _LOOK),
        Right(group.value, ("verticalpodautoscalers/status",), ("patch",), is_optional=True),
        Right("", ("pods",), ("get", *_LOOK, "patch")),
        Right("", ("pods/resize",), ("patch",)),
        Right("", ("pods/eviction",), ("create",)),
        Right("", ("limitranges",), _LOOK),
        Right("", ("nodes", "resourcequotas"), _LOOK, is_optional=True),
        Right("policy", ("poddisruptionbudgets",), _LOOK, is_optional=True),
        Right("metrics.k8s.io", ("pods",), ("list",), is_optional=True),
        Right("", ("events",), ("create", "patch"), is_optional=True),
        *_workloads(),
        *_lease(names.updater_lease, namespace),
        Right(_LEASES, ("leases",), ("get",), names.status_lease, namespace),
    )


def rights_of_admission(group: ApiGroup, namespace: str, own_namespace: str) -> tuple[Right, ...]:
    """Return what the admission controller needs.

    Args:
        group: API group that it serves.
        namespace: Where its status Lease is.
        own_namespace: Where it runs, with its Secret and the Lease for it.
    """
    names = cluster_names(group)
    other = next(each for each in ApiGroup if each is not group)
    return (
        Right(group.value, ("verticalpodautoscalers",), _LOOK),
        Right(_WEBHOOKS, ("mutatingwebhookconfigurations",), ("get", "patch"), names.webhook_configuration),
        Right(
            _WEBHOOKS,
            ("mutatingwebhookconfigurations",),
            ("get",),
            cluster_names(other).webhook_configuration,
            is_optional=True,
        ),
        Right(_WEBHOOKS, ("mutatingwebhookconfigurations",), ("create",)),
        Right("", ("limitranges",), _LOOK),
        *_workloads(),
        *_lease(names.status_lease, namespace),
        Right("", ("secrets",), ("get", "patch"), names.webhook_secret, own_namespace),
        *_lease(names.certificate_lease, own_namespace),
    )


def accesses(rights: tuple[Right, ...]) -> tuple[Access, ...]:
    """Return the questions that rights come to, each once."""
    asked = (
        Access(right.group, resource, verb, right.name, right.namespace, right.is_optional)
        for right in rights
        for resource in right.resources
        for verb in right.verbs
    )
    return tuple(dict.fromkeys(asked))


def right_findings(process: str, subject: str, answers: Mapping[Access, bool]) -> Iterator[Finding]:
    """Yield what a process may not do.

    Args:
        process: Its name.
        subject: On whose behalf it was asked.
        answers: Whether each access is allowed.
    """
    missing = [access for access, is_allowed in answers.items() if not is_allowed]
    for access in missing:
        level = Level.WARNING if access.is_optional else Level.PROBLEM
        effect = "it works on without, only less well" if access.is_optional else "it cannot work"
        file = "admission" if process.startswith("admission") else process
        remedy = f"apply manifests/rbac/{file}.yaml of this version"
        yield Finding(Area.RIGHTS, level, f"{process}: {subject} may not {access}; {effect}", remedy)
    if not missing:
        yield Finding(Area.RIGHTS, Level.OK, f"{process}: {subject} has all {len(answers)} rights")

"""The webhook's registration in the cluster: what it should say, and what to do about what is there.

Upstream deletes whatever has the name and creates its own. Here an object is created where there is none, brought up
to date in place where it is ours, and left alone where somebody else made it (spec: admission:3, product section 2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

OWNER_LABEL = "evenkeel.dev/registered-by"
"""Marks a registration as ours; its value is the namespace of the process that made it."""

_NAMESPACE_NAME = "kubernetes.io/metadata.name"
_VPA_RESOURCE = "verticalpodautoscalers"

JsonObject = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ServiceTarget:
    """Registration by Service: port 443, any path."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class UrlTarget:
    """Registration by URL."""

    url: str


@dataclass(frozen=True, slots=True)
class NamespaceScope:
    """Whose pods and VPAs are sent to the webhook.

    Args:
        only: Those of this namespace; empty for all.
        ignored: All but those of these namespaces. Without any there is still a selector, as upstream writes one.
    """

    only: str = ""
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RegistrationSettings:
    """What a registration should say.

    Args:
        name: Name of the object.
        webhook: Name of the webhook in it.
        group: API group of the VPAs.
        owner: Namespace of the process.
        target: How the API server reaches the webhook.
        scope: Whose objects are sent.
        labels: Labels for the object beside our own.
        timeout_seconds: How long the API server waits for an answer.
        fails_closed: Whether objects are refused while nobody answers.
    """

    name: str
    webhook: str
    group: str
    owner: str
    target: ServiceTarget | UrlTarget
    scope: NamespaceScope
    labels: tuple[tuple[str, str], ...] = ()
    timeout_seconds: int = 30
    fails_closed: bool = False


class Action(Enum):
    """What to do about the registration."""

    CREATE = "create"
    UPDATE = "update"
    KEEP = "keep"
    LEAVE_ALONE = "leave alone"


def configuration(settings: RegistrationSettings, ca_bundle: str) -> dict[str, object]:
    """Return the whole object (spec: admission:3).

    Args:
        settings: What it should say.
        ca_bundle: Base64 of the PEM text of the authorities to trust; empty for none.
    """
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": settings.name, "labels": {**dict(settings.labels), OWNER_LABEL: settings.owner}},
        "webhooks": [
            {
                "name": settings.webhook,
                "admissionReviewVersions": ["v1"],
                "rules": [
                    _rule("", "v1", "pods", ["CREATE"]),
                    _rule(settings.group, "*", _VPA_RESOURCE, ["CREATE", "UPDATE"]),
                ],
                "clientConfig": _client_config(settings.target, ca_bundle),
                "failurePolicy": "Fail" if settings.fails_closed else "Ignore",
                "sideEffects": "None",
                "timeoutSeconds": settings.timeout_seconds,
                "namespaceSelector": {"matchExpressions": [_namespace_expression(settings.scope)]},
            }
        ],
    }


def _rule(group: str, version: str, resource: str, operations: list[str]) -> dict[str, object]:
    """Return one rule."""
    return {"apiGroups": [group], "apiVersions": [version], "resources": [resource], "operations": operations}


def _client_config(target: ServiceTarget | UrlTarget, ca_bundle: str) -> dict[str, object]:
    """Return how the API server reaches the webhook and whom it trusts."""
    config: dict[str, object] = (
        {"url": target.url}
        if isinstance(target, UrlTarget)
        else {"service": {"namespace": target.namespace, "name": target.name}}
    )
    return config | {"caBundle": ca_bundle} if ca_bundle else config


def _namespace_expression(scope: NamespaceScope) -> dict[str, object]:
    """Return the selector's only expression; names and nothing at all are alike excluded, as upstream does it."""
    if scope.only:
        return {"key": _NAMESPACE_NAME, "operator": "In", "values": [scope.only]}
    return {"key": _NAMESPACE_NAME, "operator": "NotIn", "values": list(scope.ignored) or [""]}


def owner_of(existing: JsonObject) -> str:
    """Return the namespace of the process that made a registration, empty where it is not one of ours."""
    value = _object(_object(existing, "metadata"), "labels").get(OWNER_LABEL)
    return value if isinstance(value, str) else ""


def action_for(existing: JsonObject | None, wanted: JsonObject, owner: str) -> Action:
    """Decide what to do about a registration.

    Args:
        existing: What there is under the name, None where nothing is.
        wanted: What ``configuration`` returned.
        owner: Our own namespace.
    """
    if existing is None:
        return Action.CREATE
    if owner_of(existing) != owner:
        return Action.LEAVE_ALONE
    return Action.KEEP if _covers(existing, wanted) else Action.UPDATE


def merge_patch(existing: JsonObject, wanted: JsonObject) -> dict[str, object]:
    """Return the merge patch that brings a registration up to date, unless somebody changed it in between."""
    metadata = {
        "resourceVersion": _object(existing, "metadata").get("resourceVersion"),
        "labels": _object(wanted, "metadata").get("labels"),
    }
    return {"metadata": metadata, "webhooks": wanted.get("webhooks")}


def ca_bundles(existing: JsonObject, webhook: str) -> tuple[str, ...]:
    """Return the base64 texts of the authorities that a registration trusts for one webhook."""
    hooks = existing.get("webhooks")
    found: list[str] = []
    for hook in hooks if isinstance(hooks, list) else ():
        if isinstance(hook, dict) and hook.get("name") == webhook:
            bundle = _object(hook, "clientConfig").get("caBundle")
            found.append(bundle if isinstance(bundle, str) else "")
    return tuple(found)


def reaches(existing: JsonObject, webhook: str, target: ServiceTarget | UrlTarget) -> bool:
    """Say whether a registration, whoever made it, sends reviews to where this process listens."""
    wanted = _client_config(target, "")
    hooks = existing.get("webhooks")
    return any(
        isinstance(hook, dict) and hook.get("name") == webhook and _covers(_object(hook, "clientConfig"), wanted)
        for hook in (hooks if isinstance(hooks, list) else ())
    )


def _object(parent: JsonObject, name: str) -> JsonObject:
    """Return an object below another, an empty one where it is absent."""
    value = parent.get(name)
    return value if isinstance(value, dict) else {}


def _covers(existing: object, wanted: object) -> bool:
    """Say whether everything wanted is there; what the API server or others added beside it does not matter."""
    if isinstance(wanted, Mapping):
        return isinstance(existing, Mapping) and all(_covers(existing.get(k), v) for k, v in wanted.items())
    if isinstance(wanted, list):
        if not isinstance(existing, list) or len(existing) != len(wanted):
            return False
        return all(_covers(have, want) for have, want in zip(existing, wanted, strict=True))
    return existing == wanted

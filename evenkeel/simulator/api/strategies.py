"""What each kind does to an object on its way into the store: defaults, fields out of reach, validation."""

from __future__ import annotations

from collections.abc import Iterator

from evenkeel.simulator.api.admission_matching import condition_faults
from evenkeel.simulator.api.fields import JsonObject, child, copy_of, ensure, text, value_at
from evenkeel.simulator.api.kinds import Kind
from evenkeel.simulator.api.propagation import Propagation
from evenkeel.simulator.api.schemas import StructuralSchema
from evenkeel.simulator.api.status import Cause, CauseType
from evenkeel.simulator.api.workload_defaults import default_workload


class Strategy:
    """What holds for every kind; others refine it.

    Args:
        kind: The kind it serves.
    """

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def set_defaults(self, body: JsonObject) -> list[str]:
        """Fill in defaults, in place, and return the paths of fields dropped as unknown."""
        del body
        return []

    def prepare_create(self, body: JsonObject) -> None:
        """Reset what a creator may not set."""
        if self.kind.splits_status:
            body.pop("status", None)

    def prepare_update(self, body: JsonObject, old: JsonObject, subresource: str) -> None:
        """Reset what a writer may not change through this (sub)resource to the stored values."""
        if subresource == "status":
            keep_all_but(body, old, "status")
        elif self.kind.splits_status:
            restore(body, old, "status")

    def validate_create(self, body: JsonObject) -> list[Cause]:
        """Return what is wrong with a new object."""
        del body
        return []

    def validate_update(self, body: JsonObject, old: JsonObject, subresource: str) -> list[Cause]:
        """Return what is wrong with a changed object."""
        del body, old, subresource
        return []

    @property
    def propagation(self) -> Propagation:
        """What becomes of owned objects where a client leaves it open."""
        return Propagation.BACKGROUND

    def grace_seconds(self, body: JsonObject, asked: int | None) -> int:
        """Return how long a deletion takes; zero removes the object at once."""
        del body, asked
        return 0


def keep_all_but(body: JsonObject, old: JsonObject, *fields: str) -> None:
    """Turn a body into a copy of the old one that keeps only some top-level fields of its own."""
    own = {field: body[field] for field in fields if field in body}
    body.clear()
    body.update({key: value for key, value in copy_of(old).items() if key not in fields})
    body.update(own)


def restore(body: JsonObject, old: JsonObject, field: str) -> None:
    """Give a body the old value of one top-level field."""
    if field in old:
        body[field] = copy_of({field: old[field]})[field]
    else:
        body.pop(field, None)


class CustomStrategy(Strategy):
    """A custom kind: its schema prunes, fills in and validates.

    Args:
        kind: The kind.
        schema: Its schema.
    """

    def __init__(self, kind: Kind, schema: StructuralSchema) -> None:
        super().__init__(kind)
        self.schema = schema

    def set_defaults(self, body: JsonObject) -> list[str]:
        """Prune and default by the schema."""
        dropped = self.schema.prune(body)
        self.schema.set_defaults(body)
        return dropped

    def validate_create(self, body: JsonObject) -> list[Cause]:
        """Validate by the schema."""
        return self.schema.validate(body)

    def validate_update(self, body: JsonObject, old: JsonObject, subresource: str) -> list[Cause]:
        """Validate by the schema."""
        del subresource
        return self.schema.validate(body, old)


class WorkloadStrategy(Strategy):
    """Deployments, ReplicaSets, StatefulSets, DaemonSets and ReplicationControllers."""

    @property
    def propagation(self) -> Propagation:
        """Leave the pods of a ReplicationController, which is older than garbage collection."""
        return Propagation.BACKGROUND if self.kind.group else Propagation.ORPHAN

    def set_defaults(self, body: JsonObject) -> list[str]:
        """Default what the kind has defaults for, and a ReplicationController's selector."""
        spec = ensure(body, "spec")
        default_workload(self.kind.plural, spec)
        if not self.kind.group and not spec.get("selector"):
            spec["selector"] = dict(child(spec, "template", "metadata", "labels"))
        return []

    def validate_create(self, body: JsonObject) -> list[Cause]:
        """Require a selector that finds the template's own pods."""
        selector, labels = child(body, "spec", "selector"), child(body, "spec", "template", "metadata", "labels")
        wanted = child(selector, "matchLabels") if self.kind.group else selector
        if not wanted and not selector.get("matchExpressions"):
            return [Cause(CauseType.REQUIRED, "spec.selector", "Required value")]
        if any(labels.get(key) != value for key, value in wanted.items()):
            field = "spec.template.metadata.labels"
            return [Cause(CauseType.INVALID, field, "Invalid value: the selector does not find these labels")]
        return []

    def validate_update(self, body: JsonObject, old: JsonObject, subresource: str) -> list[Cause]:
        """Keep the selector of an apps/v1 workload as it was."""
        del subresource
        if self.kind.group and value_at(body, "spec", "selector") != value_at(old, "spec", "selector"):
            return [Cause(CauseType.INVALID, "spec.selector", "Invalid value: cannot change once set")]
        return []


class NamespaceStrategy(Strategy):
    """Namespaces: labelled with their name, active from the start."""

    def set_defaults(self, body: JsonObject) -> list[str]:
        """Label a namespace with its name."""
        ensure(body, "metadata", "labels").setdefault("kubernetes.io/metadata.name", text(body, "metadata", "name"))
        return []

    def prepare_create(self, body: JsonObject) -> None:
        """Begin in phase Active."""
        body["status"] = {"phase": "Active"}


_CHOICES = {
    "failurePolicy": ("Fail", "Ignore"),
    "matchPolicy": ("Equivalent", "Exact"),
    "reinvocationPolicy": ("IfNeeded", "Never"),
}


def _choice_causes(webhook: JsonObject, where: str) -> Iterator[Cause]:
    """Yield which settings of a webhook have no possible value, and what is wrong with its match conditions."""
    for field, choices in _CHOICES.items():
        value = webhook.get(field, choices[0])
        if value not in choices:
            listed = ", ".join(f'"{choice}"' for choice in choices)
            message = f'Unsupported value: "{value}": supported values: {listed}'
            yield Cause(CauseType.NOT_SUPPORTED, f"{where}.{field}", message)
    yield from condition_faults(webhook, f"{where}.")


class WebhookStrategy(Strategy):
    """Webhook configurations: defaults that the dispatcher and readers rely on."""

    def set_defaults(self, body: JsonObject) -> list[str]:
        """Default policy, timeout, selectors and scopes of every webhook."""
        webhooks = body.get("webhooks")
        for webhook in webhooks if isinstance(webhooks, list) else []:
            webhook.setdefault("failurePolicy", "Fail")
            webhook.setdefault("matchPolicy", "Equivalent")
            webhook.setdefault("timeoutSeconds", 10)
            webhook.setdefault("namespaceSelector", {})
            webhook.setdefault("objectSelector", {})
            if self.kind.kind.startswith("Mutating"):
                webhook.setdefault("reinvocationPolicy", "Never")
            for rule in webhook.get("rules") or []:
                rule.setdefault("scope", "*")
        return []

    def validate_create(self, body: JsonObject) -> list[Cause]:
        """Check names, side effects, review versions and time-outs."""
        causes: list[Cause] = []
        webhooks = body.get("webhooks")
        for index, webhook in enumerate(webhooks if isinstance(webhooks, list) else []):
            where = f"webhooks[{index}]"
            if text(webhook, "name").count(".") < 2:
                message = "Invalid value: must be a domain name of three or more parts"
                causes.append(Cause(CauseType.INVALID, f"{where}.name", message))
            if webhook.get("sideEffects") not in {"None", "NoneOnDryRun"}:
                message = 'Unsupported value: supported values: "None", "NoneOnDryRun"'
                causes.append(Cause(CauseType.NOT_SUPPORTED, f"{where}.sideEffects", message))
            if "v1" not in (webhook.get("admissionReviewVersions") or []):
                message = "Invalid value: must name v1, the only version sent here"
                causes.append(Cause(CauseType.INVALID, f"{where}.admissionReviewVersions", message))
            causes += _choice_causes(webhook, where)
            if not 1 <= webhook["timeoutSeconds"] <= 30:
                message = "Invalid value: must be between 1 and 30 seconds"
                causes.append(Cause(CauseType.INVALID, f"{where}.timeoutSeconds", message))
        return causes

    def validate_update(self, body: JsonObject, old: JsonObject, subresource: str) -> list[Cause]:
        """Check as at creation."""
        del old, subresource
        return self.validate_create(body)

"""HorizontalPodAutoscalers on their way into the store: defaults, and what they must say."""

from __future__ import annotations

from collections.abc import Iterator

from autoscaling.errors import InvalidQuantityError
from evenkeel.simulator.api.fields import JsonObject, child, copy_of, ensure, number, quantity, rows, text, value_at
from evenkeel.simulator.api.status import Cause, CauseType
from evenkeel.simulator.api.strategies import Strategy

USUAL_METRIC: JsonObject = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
}
"""What is scaled on where no metric is named."""

_PACE: dict[str, JsonObject] = {
    "scaleUp": {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [
            {"type": "Pods", "value": 4, "periodSeconds": 15},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ],
    },
    "scaleDown": {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]},
}
_PARTS = {
    "Resource": "resource",
    "ContainerResource": "containerResource",
    "Pods": "pods",
    "Object": "object",
    "External": "external",
}
_OF_RESOURCES = ("Resource", "ContainerResource")
_SELECTIONS, _POLICIES = ("Max", "Min", "Disabled"), ("Pods", "Percent")
_LONGEST_WINDOW_SECONDS, _LONGEST_PERIOD_SECONDS = 3600, 1800
_REQUIRED = "Required value"


class AutoscalerStrategy(Strategy):
    """HorizontalPodAutoscalers of autoscaling/v2."""

    def set_defaults(self, body: JsonObject) -> list[str]:
        """Fill in the fewest replicas, the metric, and the pace where a pace is given at all."""
        spec = ensure(body, "spec")
        if spec.get("minReplicas") is None:
            spec["minReplicas"] = 1
        if not spec.get("metrics"):
            spec["metrics"] = [copy_of(USUAL_METRIC)]
        if isinstance(spec.get("behavior"), dict):
            for direction, defaults in _PACE.items():
                rules = ensure(spec, "behavior", direction)
                for field, value in copy_of(defaults).items():
                    if rules.get(field) is None:
                        rules[field] = value
        return []

    def validate_create(self, body: JsonObject) -> list[Cause]:
        """Check target, bounds, metrics and pace."""
        spec = child(body, "spec")
        return [*_bounds(spec), *_target(spec), *_metrics(spec), *_behavior(spec)]

    def validate_update(self, body: JsonObject, old: JsonObject, subresource: str) -> list[Cause]:
        """Check as at creation."""
        del old
        return [] if subresource else self.validate_create(body)


def _invalid(field: str, value: object, why: str) -> Cause:
    return Cause(CauseType.INVALID, field, f"Invalid value: {value}: {why}")


def _unknown(field: str, value: object, known: tuple[str, ...]) -> Cause:
    listed = ", ".join(f'"{one}"' for one in known)
    return Cause(CauseType.NOT_SUPPORTED, field, f'Unsupported value: "{value}": supported values: {listed}')


def _bounds(spec: JsonObject) -> Iterator[Cause]:
    """Yield what is wrong with the bounds of the replicas."""
    least, most = number(spec, "minReplicas"), number(spec, "maxReplicas")
    if least < 1:
        yield _invalid("spec.minReplicas", least, "must be 1 or more")
    if most < 1:
        yield _invalid("spec.maxReplicas", most, "must be 1 or more")
    elif most < least:
        yield _invalid("spec.maxReplicas", most, "must not be less than minReplicas")


def _target(spec: JsonObject) -> Iterator[Cause]:
    """Yield what is missing of the reference to the scaled object."""
    for field in ("kind", "name"):
        if not text(spec, "scaleTargetRef", field):
            yield Cause(CauseType.REQUIRED, f"spec.scaleTargetRef.{field}", _REQUIRED)


def _metrics(spec: JsonObject) -> Iterator[Cause]:
    """Yield what is wrong with the metrics."""
    for index, metric in enumerate(rows(spec, "metrics")):
        where, kind = f"spec.metrics[{index}]", text(metric, "type")
        if kind not in _PARTS:
            yield _unknown(f"{where}.type", kind, tuple(_PARTS))
            continue
        where = f"{where}.{_PARTS[kind]}"
        source = child(metric, _PARTS[kind])
        if not source:
            yield Cause(CauseType.REQUIRED, where, f"{_REQUIRED}: it is what the type names")
        elif kind in _OF_RESOURCES:
            yield from _resource(source, where, needs_container=kind == "ContainerResource")


def _resource(source: JsonObject, where: str, *, needs_container: bool) -> Iterator[Cause]:
    """Yield what is wrong with a metric of a resource."""
    for field in ("name", "container") if needs_container else ("name",):
        if not text(source, field):
            yield Cause(CauseType.REQUIRED, f"{where}.{field}", _REQUIRED)
    target = child(source, "target")
    share, amount = target.get("averageUtilization"), target.get("averageValue")
    match text(target, "type"):
        case "Utilization" if share is None:
            yield Cause(CauseType.REQUIRED, f"{where}.target.averageUtilization", _REQUIRED)
        case "AverageValue" if amount is None:
            yield Cause(CauseType.REQUIRED, f"{where}.target.averageValue", _REQUIRED)
        case "Utilization" | "AverageValue":
            if share is not None and amount is not None:
                yield Cause(CauseType.FORBIDDEN, f"{where}.target", "Forbidden: name a share or an amount, not both")
        case other:
            yield _unknown(f"{where}.target.type", other, ("Utilization", "AverageValue"))
    if share is not None and (not isinstance(share, int) or share < 1):
        yield _invalid(f"{where}.target.averageUtilization", share, "must be a whole number from 1 on")
    if amount is not None and not _is_amount(amount, least=1):
        yield _invalid(f"{where}.target.averageValue", amount, "must be a quantity above zero")


def _is_amount(amount: object, *, least: int) -> bool:
    """Say whether something is a quantity of so many billionths or more."""
    try:
        return quantity(amount).nano >= least
    except InvalidQuantityError:
        return False


def _behavior(spec: JsonObject) -> Iterator[Cause]:
    """Yield what is wrong with the pace in either direction."""
    for direction in _PACE:
        rules = child(spec, "behavior", direction)
        if rules:
            yield from _rules(rules, f"spec.behavior.{direction}")


def _rules(rules: JsonObject, where: str) -> Iterator[Cause]:
    """Yield what is wrong with the pace in one direction."""
    window = value_at(rules, "stabilizationWindowSeconds")
    if window is not None and not (isinstance(window, int) and 0 <= window <= _LONGEST_WINDOW_SECONDS):
        why = f"must be from 0 to {_LONGEST_WINDOW_SECONDS} seconds"
        yield _invalid(f"{where}.stabilizationWindowSeconds", window, why)
    if text(rules, "selectPolicy") not in _SELECTIONS:
        yield _unknown(f"{where}.selectPolicy", rules.get("selectPolicy"), _SELECTIONS)
    tolerance = rules.get("tolerance")
    if tolerance is not None and not _is_amount(tolerance, least=0):
        yield _invalid(f"{where}.tolerance", tolerance, "must be a quantity from 0 on")
    policies = rows(rules, "policies")
    if not policies:
        yield Cause(CauseType.REQUIRED, f"{where}.policies", f"{_REQUIRED}: at least one policy")
    for index, policy in enumerate(policies):
        yield from _policy(policy, f"{where}.policies[{index}]")


def _policy(policy: JsonObject, where: str) -> Iterator[Cause]:
    """Yield what is wrong with one policy."""
    if text(policy, "type") not in _POLICIES:
        yield _unknown(f"{where}.type", policy.get("type"), _POLICIES)
    if number(policy, "value") < 1:
        yield _invalid(f"{where}.value", policy.get("value"), "must be 1 or more")
    if not 1 <= number(policy, "periodSeconds") <= _LONGEST_PERIOD_SECONDS:
        why = f"must be from 1 to {_LONGEST_PERIOD_SECONDS} seconds"
        yield _invalid(f"{where}.periodSeconds", policy.get("periodSeconds"), why)

"""Container resources inside a pod's JSON: canonical quantities, defaults, QoS class, validation."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from autoscaling import qos
from autoscaling.errors import InvalidQuantityError
from autoscaling.quantity import ZERO, Quantity
from autoscaling.resources import ContainerResources
from evenkeel.simulator.api.fields import JsonObject, as_object, child, quantity, rows, text
from evenkeel.simulator.api.status import Cause, CauseType, UndecodableError

GROUPS = ("containers", "initContainers")
SECTIONS = ("requests", "limits")
_COMPUTE = ("cpu", "memory")
_STANDARD = ("cpu", "memory", "ephemeral-storage")
_HUGE_PAGES = "hugepages-"
_KNOWN_AMOUNTS = 4096


def containers_of(body: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Yield every container and init container with the path of it, such as ``spec.containers[0]``."""
    for group in GROUPS:
        for index, container in enumerate(rows(body, "spec", group)):
            yield f"spec.{group}[{index}]", container


def amounts(resources: JsonObject, section: str) -> dict[str, Quantity]:
    """Return the requests or limits of a resources object."""
    return {name: quantity(value) for name, value in child(resources, section).items()}


def default_resources(body: JsonObject) -> None:
    """Write quantities canonically and request what is limited, in place (spec: in-place-resize 1.2).

    Raises:
        UndecodableError: A quantity cannot be read.
    """
    for path, container in containers_of(body):
        resources = container.setdefault("resources", {})
        if isinstance(resources, dict):
            _default_one(f"{path}.resources", resources)
    if isinstance(child(body, "spec").get("resources"), dict):
        _default_one("spec.resources", child(body, "spec", "resources"))


def _default_one(path: str, resources: JsonObject) -> None:
    """Do the same for one resources object."""
    for section in SECTIONS:
        values = resources.get(section)
        if not isinstance(values, dict):
            resources.pop(section, None)
            continue
        for name, value in values.items():
            try:
                values[name] = _canonical(name, value)
            except InvalidQuantityError as error:
                raise UndecodableError(f"{path}.{section}.{name}: {error}") from None
        if not values:
            del resources[section]
    limits = child(resources, "limits")
    if limits:
        requests = as_object(resources.setdefault("requests", {}))
        for name, value in limits.items():
            requests.setdefault(name, value)


def _canonical(name: str, value: object) -> str:
    """Return one amount as stored: canonical, cpu in whole thousandths, other things in whole units."""
    return _canonical_text(name, value) if isinstance(value, str) else _canonical_amount(name, quantity(value))


@lru_cache(maxsize=_KNOWN_AMOUNTS)
def _canonical_text(name: str, value: str) -> str:
    """Return the canonical form of an amount's text; clusters write the same few over and over."""
    return _canonical_amount(name, quantity(value))


def _canonical_amount(name: str, amount: Quantity) -> str:
    """Return the text of an amount, rounded up to what is stored of it."""
    if name == "cpu" and not amount.is_whole_milli():
        amount = Quantity.of_milli(amount.milli_value(), amount.format)
    if name == "memory" and not amount.is_whole_units():
        amount = Quantity.of_units(amount.value(), amount.format)
    return str(amount)


def validate_resources(body: JsonObject) -> list[Cause]:
    """Return what is wrong with the resources of a pod's containers (spec: resize V1)."""
    causes: list[Cause] = []
    for path, container in containers_of(body):
        causes += _validate_one(f"{path}.resources", child(container, "resources"))
    for index, container in enumerate(rows(body, "spec", "ephemeralContainers")):
        if container.get("resources"):
            field = f"spec.ephemeralContainers[{index}].resources"
            causes.append(
                Cause(CauseType.FORBIDDEN, field, "Forbidden: ephemeral containers have no resources of their own")
            )
    return causes


def _validate_one(path: str, resources: JsonObject) -> list[Cause]:
    """Return what is wrong with one resources object."""
    causes: list[Cause] = []
    requests, limits = amounts(resources, "requests"), amounts(resources, "limits")
    for section, values in (("requests", requests), ("limits", limits)):
        for name, amount in values.items():
            field = f"{path}.{section}"
            if name not in _STANDARD and not name.startswith(_HUGE_PAGES) and "/" not in name:
                message = f'Invalid value: "{name}": is no standard resource and has no domain prefix'
                causes.append(Cause(CauseType.INVALID, f"{field}[{name}]", message))
            if amount < ZERO:
                message = f'Invalid value: "{amount}": must not be negative'
                causes.append(Cause(CauseType.INVALID, f"{field}[{name}]", message))
    for name, request in requests.items():
        limit = limits.get(name)
        if limit is not None and request > limit:
            message = f'Invalid value: "{request}": must not exceed the {name} limit of {limit}'
            causes.append(Cause(CauseType.INVALID, f"{path}.requests", message))
        elif name not in _STANDARD and request != limit:
            message = f'Invalid value: "{request}": must equal the limit of {name}, which cannot be overcommitted'
            causes.append(Cause(CauseType.INVALID, f"{path}.requests", message))
    return causes


def qos_class(body: JsonObject) -> str:
    """Return the QoS class that a pod's spec amounts to."""
    resources = (child(container, "resources") for _, container in containers_of(body))
    return qos.qos_class(ContainerResources(amounts(r, "requests"), amounts(r, "limits")) for r in resources).value


def validate_resize_policies(body: JsonObject) -> list[Cause]:
    """Return what is wrong with the resize policies of a new pod's containers (spec: in-place-resize 1.4, R58)."""
    causes: list[Cause] = []
    never = text(body, "spec", "restartPolicy") == "Never"
    for path, container in containers_of(body):
        seen: set[str] = set()
        for index, policy in enumerate(rows(container, "resizePolicy")):
            where = f"{path}.resizePolicy[{index}]"
            name, restart = text(policy, "resourceName"), text(policy, "restartPolicy")
            if name not in _COMPUTE:
                message = f'Unsupported value: "{name}": supported values: "cpu", "memory"'
                causes.append(Cause(CauseType.NOT_SUPPORTED, f"{where}.resourceName", message))
            if name in seen:
                causes.append(Cause(CauseType.DUPLICATE, f"{path}.resizePolicy", f'Duplicate value: "{name}"'))
            seen.add(name)
            if restart not in {"NotRequired", "RestartContainer"}:
                message = f'Unsupported value: "{restart}": supported values: "NotRequired", "RestartContainer"'
                causes.append(Cause(CauseType.NOT_SUPPORTED, f"{where}.restartPolicy", message))
            elif never and restart == "RestartContainer":
                message = 'Invalid value: "RestartContainer": must be NotRequired in a pod that never restarts'
                causes.append(Cause(CauseType.INVALID, f"{where}.restartPolicy", message))
    return causes

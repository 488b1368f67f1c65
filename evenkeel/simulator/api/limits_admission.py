"""LimitRanges at work: they fill in what containers leave open, and refuse what lies outside (resize R41)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autoscaling.quantity import Quantity
from evenkeel.simulator.api.builtin import LIMIT_RANGES
from evenkeel.simulator.api.containers import amounts, containers_of
from evenkeel.simulator.api.fields import JsonObject, child, ensure, rows, text
from evenkeel.simulator.api.objects import ObjectStore
from evenkeel.simulator.api.pod_amounts import spec_limits, spec_requests
from evenkeel.simulator.api.strategies import Strategy

_ANNOTATION = "kubernetes.io/limit-ranger"
_FILLED = (("limits", "default"), ("requests", "defaultRequest"))


class LimitRangeStrategy(Strategy):
    """LimitRanges on their way into the store."""

    def set_defaults(self, body: JsonObject) -> list[str]:
        """Derive the defaults of container limits from each other and from the bounds."""
        for item in rows(body, "spec", "limits"):
            if text(item, "type") != "Container":
                continue
            for target, source in (("default", "max"), ("defaultRequest", "default"), ("defaultRequest", "min")):
                for name, value in child(item, source).items():
                    ensure(item, target).setdefault(name, value)
        return []


@dataclass(frozen=True, slots=True)
class _Scope:
    """What one set of bounds is held against."""

    type: str
    requests: Mapping[str, Quantity]
    limits: Mapping[str, Quantity]


@dataclass(slots=True)
class LimitRanger:
    """The LimitRanges of one server.

    Args:
        objects: Where they are stored.
    """

    objects: ObjectStore

    def complete(self, namespace: str, pod: JsonObject) -> None:
        """Give a pod's containers the default requests and limits of their namespace, in place.

        Spec: in-place-resize 1.5.
        """
        filled: list[str] = []
        for item in self._items(namespace, "Container"):
            for _, container in containers_of(pod):
                filled += _complete(container, item)
        if filled:
            ensure(pod, "metadata", "annotations")[_ANNOTATION] = "LimitRanger set: " + "; ".join(filled)

    def faults(self, namespace: str, pod: JsonObject) -> list[str]:
        """Return how a pod lies outside the bounds of its namespace; empty when it does not.

        Only its spec is looked at, never its status (spec: in-place-resize 1.5).
        """
        found: list[str] = []
        whole = _Scope("Pod", spec_requests(pod), spec_limits(pod))
        for item in self._items(namespace):
            if text(item, "type") == "Pod":
                found += _faults(item, whole)
            elif text(item, "type") == "Container":
                for _, container in containers_of(pod):
                    resources = child(container, "resources")
                    scope = _Scope("Container", amounts(resources, "requests"), amounts(resources, "limits"))
                    found += _faults(item, scope)
        return found

    def _items(self, namespace: str, kind: str = "") -> Iterator[JsonObject]:
        """Yield the entries of a namespace's LimitRanges, of one type or all."""
        for stored in self.objects.versions.snapshot(LIMIT_RANGES, namespace):
            for item in rows(stored.body, "spec", "limits"):
                if kind in {"", text(item, "type")}:
                    yield item


def _complete(container: JsonObject, item: JsonObject) -> list[str]:
    """Fill in what one container leaves open, and return what was."""
    filled: list[str] = []
    for section, source in _FILLED:
        for name, value in child(item, source).items():
            if name not in child(container, "resources", section):
                ensure(container, "resources", section)[name] = value
                filled.append(f"{name} {section.removesuffix('s')} of container {text(container, 'name')}")
    return filled


def _faults(item: JsonObject, scope: _Scope) -> Iterator[str]:
    """Yield what violates one entry of a LimitRange."""
    for name, least in amounts(item, "min").items():
        yield from _below(f"minimum {name} usage per {scope.type} is {least}", least, name, scope)
    for name, most in amounts(item, "max").items():
        yield from _above(f"maximum {name} usage per {scope.type} is {most}", most, name, scope)
    for name, ratio in amounts(item, "maxLimitRequestRatio").items():
        yield from _ratio(f"{name} max limit to request ratio per {scope.type} is {ratio}", ratio, name, scope)


def _below(rule: str, least: Quantity, name: str, scope: _Scope) -> Iterator[str]:
    """Yield what lies below a minimum; a request must be there."""
    request, limit = scope.requests.get(name), scope.limits.get(name)
    if request is None:
        yield f"{rule}, but no request is set"
    elif request < least:
        yield f"{rule}, but request is {request}"
    elif limit is not None and limit < least:
        yield f"{rule}, but limit is {limit}"


def _above(rule: str, most: Quantity, name: str, scope: _Scope) -> Iterator[str]:
    """Yield what lies above a maximum; a limit must be there."""
    request, limit = scope.requests.get(name), scope.limits.get(name)
    if limit is None:
        yield f"{rule}, but no limit is set"
    elif limit > most:
        yield f"{rule}, but limit is {limit}"
    elif request is not None and request > most:
        yield f"{rule}, but request is {request}"


def _ratio(rule: str, most: Quantity, name: str, scope: _Scope) -> Iterator[str]:
    """Yield that a limit is too many times its request; both must be there."""
    request, limit = scope.requests.get(name), scope.limits.get(name)
    if request is None or request.is_zero():
        yield f"{rule}, but no request is set or it is 0"
    elif limit is None or limit.is_zero():
        yield f"{rule}, but no limit is set or it is 0"
    elif limit.nano * 10**9 > most.nano * request.nano:
        yield f"{rule}, but provided ratio is {limit.nano / request.nano:f}"

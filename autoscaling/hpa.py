"""A frozen snapshot of a HorizontalPodAutoscaler, and which controllers it scales.

Only metrics that are a share of the request matter here: a vertical autoscaler that changes the request changes what
the horizontal one aims at. Amounts per pod and metrics of other kinds do not depend on the request.

Spec: beyond:B-14.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from autoscaling.objectref import ObjectRef
from autoscaling.ownership import ControllerKey, api_group
from autoscaling.vpa import TargetRef


@dataclass(frozen=True, slots=True)
class UtilizationMetric:
    """A metric that is a share of the pods' requests.

    Args:
        resource: ``cpu`` or ``memory``; other names occur, too.
        percent: ``averageUtilization``, of the request.
        container: The only container that counts; empty where the whole pod does.
    """

    resource: str
    percent: int
    container: str = ""

    def covers(self, container: str, resource: str) -> bool:
        """Say whether a resource of a container counts in this metric."""
        return self.resource == resource and self.container in {"", container}


@dataclass(frozen=True, slots=True)
class Hpa:
    """A horizontal autoscaler as one process saw it at one moment.

    Args:
        target: ``spec.scaleTargetRef``.
        metrics: Its metrics on utilisation, in order; the others are left out.
    """

    namespace: str
    name: str
    target: TargetRef
    metrics: tuple[UtilizationMetric, ...] = ()
    resource_version: str = ""

    @property
    def ref(self) -> ObjectRef:
        """The object's kind, namespace and name."""
        return ObjectRef("HorizontalPodAutoscaler", self.namespace, self.name)


ScaledObject = tuple[str, str, str, str]
"""Namespace, API group, kind and name; the version does not tell objects apart."""


def scaled_object(hpa: Hpa) -> ScaledObject:
    """Return what a horizontal autoscaler scales."""
    return hpa.namespace, api_group(hpa.target.api_version), hpa.target.kind, hpa.target.name


def controller_object(key: ControllerKey) -> ScaledObject:
    """Return the object behind a controller; the kind alone tells the group of a well-known one (recommender 11.1)."""
    return key.namespace, key.group, key.kind, key.name


class HpaIndex:
    """Horizontal autoscalers by what they scale; those without a metric on utilisation are left out.

    Args:
        hpas: All of them.
    """

    def __init__(self, hpas: Iterable[Hpa]) -> None:
        self._by_object: dict[ScaledObject, list[Hpa]] = {}
        for hpa in hpas:
            if hpa.metrics:
                self._by_object.setdefault(scaled_object(hpa), []).append(hpa)

    def __bool__(self) -> bool:
        """Say whether there is any."""
        return bool(self._by_object)

    def of(self, controllers: Iterable[ControllerKey]) -> tuple[Hpa, ...]:
        """Return those that scale any of some controllers, sorted by name."""
        objects = {controller_object(key) for key in controllers}
        found = (hpa for scaled in objects for hpa in self._by_object.get(scaled, ()))
        return tuple(sorted(found, key=lambda hpa: hpa.name))


ContainerResource = tuple[str, str]
"""Names of a container and of one of its resources."""


@dataclass(frozen=True, slots=True)
class Use:
    """What a container uses of a resource.

    Args:
        amount: Its use, without a safety margin, in millicores or bytes.
        minimum: Least request.
    """

    amount: int
    minimum: int


@dataclass(frozen=True, slots=True)
class HorizontalScaling:
    """What scales the target of one VPA by shares of requests.

    Args:
        hpas: The horizontal autoscalers, sorted by name.
        requests: Largest request among pods that run, in millicores or bytes; 0 where none of them has one. A container
            that runs nowhere is missing.
        uses: What requests are derived from, in the same units; empty where they are held as they are.
    """

    hpas: tuple[Hpa, ...]
    requests: Mapping[ContainerResource, int]
    uses: Mapping[ContainerResource, Use] = field(default_factory=dict)

    def covers(self, container: str, resource: str) -> bool:
        """Say whether a request of a container is what a metric is measured by."""
        return self.percent(container, resource) is not None

    def percent(self, container: str, resource: str) -> int | None:
        """Return the share of a request that is aimed at, the least of several; None where no metric covers it.

        Of several metrics the one that asks for the most pods wins, and that is the one with the least share.
        """
        metrics = (metric for hpa in self.hpas for metric in hpa.metrics)
        return min((metric.percent for metric in metrics if metric.covers(container, resource)), default=None)

"""What a HorizontalPodAutoscaler asks for, read from its body: pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from evenkeel.simulator.api.fields import JsonObject, child, number, quantity, rows, text, value_at

USUAL_TOLERANCE = 0.1
DOWN_WINDOW = timedelta(minutes=5)
"""How long the highest recommendation holds before pods go, unless the autoscaler says otherwise."""


class MetricType(StrEnum):
    """What an autoscaler can look at; the last three need metrics APIs that the embedded cluster does not have."""

    RESOURCE = "Resource"
    CONTAINER_RESOURCE = "ContainerResource"
    PODS = "Pods"
    OBJECT = "Object"
    EXTERNAL = "External"

    @property
    def part(self) -> str:
        """The field that describes a metric of this type."""
        return self.value[:1].lower() + self.value[1:]


class PolicyType(StrEnum):
    """What the value of a policy counts."""

    PODS = "Pods"
    PERCENT = "Percent"


class Selection(StrEnum):
    """Which of several policies counts."""

    MAX = "Max"
    MIN = "Min"
    DISABLED = "Disabled"


@dataclass(frozen=True, slots=True)
class Aim:
    """What a metric should come to: one of the two.

    Args:
        utilization: Usage in percent of the requests.
        average_milli: Usage of a pod, in thousandths.
    """

    utilization: int | None = None
    average_milli: int | None = None


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric.

    Args:
        type: Its type.
        resource: Name of the resource; empty for other metrics.
        container: The only container that counts; all where it is empty.
        aim: What it should come to.
    """

    type: MetricType
    resource: str = ""
    container: str = ""
    aim: Aim = Aim()

    @property
    def is_of_pods(self) -> bool:
        """Whether it is about what pods use of a resource."""
        return self.type in {MetricType.RESOURCE, MetricType.CONTAINER_RESOURCE}

    def __str__(self) -> str:
        where = f" of container {self.container}" if self.container else ""
        return f"{self.resource}{where}" if self.is_of_pods else f"{self.type} metric"


@dataclass(frozen=True, slots=True)
class Policy:
    """How far the number of replicas may move within a period.

    Args:
        type: What the value counts.
        value: Pods, or percent of the replicas at the start of the period.
        period: The period.
    """

    type: PolicyType
    value: int
    period: timedelta


@dataclass(frozen=True, slots=True)
class Rules:
    """The pace in one direction.

    Args:
        window: How far back the more careful recommendation counts.
        select: Which policy counts.
        policies: The policies.
        tolerance: By which share usage may miss its aim without any change.
    """

    window: timedelta = timedelta(0)
    select: Selection = Selection.MAX
    policies: tuple[Policy, ...] = ()
    tolerance: float = USUAL_TOLERANCE


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast the number of replicas may change.

    Args:
        up: When it grows.
        down: When it shrinks.
        is_given: Whether the autoscaler sets a pace; the usual one has no policies.
    """

    up: Rules = Rules()
    down: Rules = Rules(DOWN_WINDOW)
    is_given: bool = False


@dataclass(frozen=True, slots=True)
class Wish:
    """What an autoscaler asks for.

    Args:
        target: Reference to the scaled object.
        least: Fewest replicas.
        most: Most replicas.
        metrics: What it looks at.
        pace: How fast it may act.
    """

    target: JsonObject
    least: int
    most: int
    metrics: tuple[Metric, ...]
    pace: Pace


def wish_of(body: JsonObject) -> Wish:
    """Read a HorizontalPodAutoscaler of autoscaling/v2 that has its defaults.

    Args:
        body: The object.

    Raises:
        ValueError: A type is unknown, which the API refuses.
        InvalidQuantityError: An amount is none, likewise.
    """
    spec = child(body, "spec")
    return Wish(
        child(spec, "scaleTargetRef"),
        number(spec, "minReplicas", default=1),
        number(spec, "maxReplicas"),
        tuple(_metric(metric) for metric in rows(spec, "metrics")),
        _pace(spec),
    )


def _metric(metric: JsonObject) -> Metric:
    """Read one metric."""
    kind = MetricType(text(metric, "type"))
    source = child(metric, kind.part)
    target = child(source, "target")
    share, amount = target.get("averageUtilization"), target.get("averageValue")
    aim = Aim(
        share if isinstance(share, int) else None,
        quantity(amount).milli_value() if amount is not None else None,
    )
    return Metric(kind, text(source, "name"), text(source, "container"), aim)


def _pace(spec: JsonObject) -> Pace:
    """Read how fast an autoscaler may act."""
    if not isinstance(value_at(spec, "behavior"), dict):
        return Pace()
    return Pace(
        _rules(child(spec, "behavior", "scaleUp"), timedelta(0)),
        _rules(child(spec, "behavior", "scaleDown"), DOWN_WINDOW),
        is_given=True,
    )


def _rules(rules: JsonObject, usual: timedelta) -> Rules:
    """Read the pace in one direction."""
    seconds, tolerance = rules.get("stabilizationWindowSeconds"), rules.get("tolerance")
    return Rules(
        timedelta(seconds=seconds) if isinstance(seconds, int) else usual,
        Selection(text(rules, "selectPolicy") or Selection.MAX),
        tuple(
            Policy(
                PolicyType(text(policy, "type")),
                number(policy, "value"),
                timedelta(seconds=number(policy, "periodSeconds")),
            )
            for policy in rows(rules, "policies")
        ),
        quantity(tolerance).milli_value() / 1000 if tolerance is not None else USUAL_TOLERANCE,
    )

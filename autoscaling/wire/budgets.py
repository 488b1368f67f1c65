"""PodDisruptionBudget objects of ``policy/v1`` as JSON, converted to the snapshot."""

from __future__ import annotations

from typing import Literal

from autoscaling.disruption_budget import DisruptionBudget
from autoscaling.matching import NOTHING, Selector, of_label_selector
from autoscaling.wire.objects import Wire, decoded


class _Metadata(Wire):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    generation: int = 0


class _Expression(Wire):
    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: list[str] | None = None


class _LabelSelector(Wire):
    match_labels: dict[str, str] | None = None
    match_expressions: list[_Expression] | None = None

    def snapshot(self) -> Selector:
        """Return the selector; an empty one matches everything."""
        expressions = [(e.key, e.operator, tuple(e.values or ())) for e in self.match_expressions or ()]
        return of_label_selector(self.match_labels or {}, expressions)


class _Spec(Wire):
    selector: _LabelSelector | None = None
    unhealthy_pod_eviction_policy: str | None = None


class _Status(Wire):
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    observed_generation: int = 0


class _Budget(Wire):
    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()
    status: _Status = _Status()


def decode_budget(raw: bytes) -> DisruptionBudget:
    """Read one disruption budget; without a selector it protects no pod (beyond:B-43).

    Raises:
        InvalidObjectError: A field has a wrong type or value.
    """
    return decoded(raw, "PodDisruptionBudget", lambda: _snapshot(_Budget.model_validate_json(raw)))


def _snapshot(read: _Budget) -> DisruptionBudget:
    """Convert the wire form to the snapshot."""
    metadata, spec, status = read.metadata, read.spec, read.status
    return DisruptionBudget(
        namespace=metadata.namespace,
        name=metadata.name,
        selector=spec.selector.snapshot() if spec.selector else NOTHING,
        disruptions_allowed=status.disruptions_allowed,
        current_healthy=status.current_healthy,
        desired_healthy=status.desired_healthy,
        is_observed=status.observed_generation >= metadata.generation,
        spares_unhealthy=spec.unhealthy_pod_eviction_policy == "AlwaysAllow",
        resource_version=metadata.resource_version,
    )

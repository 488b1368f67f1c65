"""HorizontalPodAutoscaler objects of ``autoscaling/v2`` as JSON, converted to the snapshot."""

from __future__ import annotations

from autoscaling.hpa import Hpa, UtilizationMetric
from autoscaling.resources import CPU
from autoscaling.vpa import TargetRef
from autoscaling.wire.objects import Wire, decoded

_KIND = "HorizontalPodAutoscaler"
_DEFAULT_METRICS = (UtilizationMetric(CPU, 80),)
"""What the API server fills in where an object names no metric at all."""


class _MetricTarget(Wire):
    average_utilization: int | None = None


class _ResourceMetric(Wire):
    name: str
    container: str = ""
    target: _MetricTarget = _MetricTarget()


class _Metric(Wire):
    resource: _ResourceMetric | None = None
    container_resource: _ResourceMetric | None = None

    def snapshot(self) -> UtilizationMetric | None:
        """Return the metric if it is one on utilisation."""
        # Only one of the two is ever set; a container named in the other one means nothing.
        source = self.resource or self.container_resource
        if source is None or source.target.average_utilization is None:
            return None
        container = "" if self.resource else source.container
        return UtilizationMetric(source.name, source.target.average_utilization, container)


class _Target(Wire):
    api_version: str = ""
    kind: str
    name: str


class _Spec(Wire):
    scale_target_ref: _Target
    metrics: list[_Metric] | None = None


class _Metadata(Wire):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class _Hpa(Wire):
    metadata: _Metadata = _Metadata()
    spec: _Spec


def decode_hpa(raw: bytes) -> Hpa:
    """Read one horizontal autoscaler.

    Raises:
        InvalidObjectError: A field is missing or has a wrong type.
    """
    return decoded(raw, _KIND, lambda: _snapshot(_Hpa.model_validate_json(raw)))


def _snapshot(read: _Hpa) -> Hpa:
    """Convert the wire form to the snapshot."""
    metadata, target, given = read.metadata, read.spec.scale_target_ref, read.spec.metrics
    metrics = tuple(metric for metric in (m.snapshot() for m in given or ()) if metric is not None)
    return Hpa(
        namespace=metadata.namespace,
        name=metadata.name,
        target=TargetRef(target.kind, target.name, target.api_version),
        metrics=metrics if given else _DEFAULT_METRICS,
        resource_version=metadata.resource_version,
    )

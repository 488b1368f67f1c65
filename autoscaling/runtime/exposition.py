"""Metrics as text, named and formatted as upstream's.

The Prometheus client library has two habits that would break dashboards made for upstream: it appends ``_total`` to
every counter, also to those that upstream names otherwise, and prints bucket ends as ``1.0`` where Go prints ``1``.
Its metrics are used as they are; only their text is written here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.metrics_core import Metric
from prometheus_client.samples import Sample

from autoscaling.runtime.go_literals import format_float

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SUFFIX, _CREATED = "_total", "_created"
_TYPE_NAMES = {"unknown": "untyped", "info": "gauge", "stateset": "gauge", "gaugehistogram": "histogram"}


class _BareCounterFamily(Metric):
    """A counter family whose name is its samples' name."""


class BareCounter(Counter):
    """A counter whose name does not end in ``_total``."""

    def collect(self) -> Iterable[Metric]:
        """Return the family with its samples under the plain name."""
        for family in super().collect():
            bare = _BareCounterFamily(family.name, family.documentation, "counter")
            for sample in family.samples:
                if not sample.name.endswith(_CREATED):
                    bare.add_sample(family.name, sample.labels, sample.value)
            yield bare


def new_registry() -> CollectorRegistry:
    """Return a registry of its own for one process, with the metrics of the process and the interpreter."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    return registry


def exposition(registry: CollectorRegistry) -> str:
    """Return every family that has samples, sorted by name, in Prometheus' text format."""
    families = sorted(registry.collect(), key=lambda family: family.name)
    return "".join(line for family in families for line in _family_lines(family))


def _family_lines(family: Metric) -> Iterator[str]:
    """Yield the lines of one family; none for one without samples."""
    samples = [sample for sample in family.samples if not sample.name.endswith(_CREATED)]
    if not samples:
        return
    name = family.name
    if family.type == "counter" and not isinstance(family, _BareCounterFamily):
        name += _SUFFIX
    elif family.type == "info":
        name += "_info"
    help_text = family.documentation.replace("\\", "\\\\").replace("\n", "\\n")
    yield f"# HELP {name} {help_text}\n# TYPE {name} {_TYPE_NAMES.get(family.type, family.type)}\n"
    for sample in samples:
        yield f"{sample.name}{_label_text(sample)} {format_float(sample.value)}\n"


def _label_text(sample: Sample) -> str:
    """Return the labels in braces, a bucket's end last."""
    if not sample.labels:
        return ""
    labels = sorted(sample.labels.items(), key=lambda label: (label[0] == "le", label[0]))
    return "{" + ",".join(f'{name}="{_label_value(name, value)}"' for name, value in labels) + "}"


def _label_value(name: str, value: str) -> str:
    """Return a label's value, escaped; a bucket's end as Go prints it."""
    if name == "le":
        return format_float(float(value))
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')

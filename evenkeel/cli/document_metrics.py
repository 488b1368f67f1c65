"""Writes docs/metrics.md from the declared metrics; run as ``python -m evenkeel.cli.document_metrics``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from admission import __main__ as admission
from autoscaling.runtime.exposition import BareCounter, new_registry
from evenkeel.simulator.kubelet.metrics import ResizeMetrics
from recommender import __main__ as recommender
from updater import __main__ as updater

_INTRODUCTION = """\
# Metrics

This file is generated: `python -m evenkeel.cli.document_metrics` writes it.

Each process shows its metrics under `/metrics` as text: the recommender on port 8942, the updater on 8943, the
admission controller on 8944, or where `--address` says. Names, labels and buckets that begin with `vpa_` are those of
upstream VPA 1.8.1, so that its dashboards work, also where they break a rule of naming (a gauge that ends in `_total`);
what begins with `evenkeel_` is Evenkeel's own. A family with labels shows once it has a value. Of several replicas only
the leader works, so recommender and updater show most families there alone.

Alerts, a dashboard, and how to have all of this scraped: [monitoring.md](monitoring.md).
"""

_TITLES: Final = {
    "recommender": "Recommender (`evenkeel-recommender`)",
    "updater": "Updater (`evenkeel-updater`)",
    "admission": "Admission controller (`evenkeel-admission-controller`)",
    "shared": "All processes",
    "kubelet": "Kubelets, about resizes",
}
_KUBELETS = """\
These are not Evenkeel's: every kubelet of Kubernetes 1.33 and newer shows them, under `/metrics`, and alerts and
dashboard need them. The names are those that kubelet 1.35 exports. All of them are alpha.
"""


@dataclass(frozen=True, slots=True)
class Declared:
    """One metric family.

    Args:
        name: As it is shown, for a counter with the ending of its samples.
        kind: Its type.
        labels: Names of its labels, without that of buckets.
        meaning: Its help text.
    """

    name: str
    kind: str
    labels: tuple[str, ...]
    meaning: str


class _Declarations(CollectorRegistry):
    """A registry that knows its collectors."""

    def __init__(self) -> None:
        super().__init__()
        self.collectors: list[Collector] = []

    def register(self, collector: Collector) -> None:
        """Take a collector in."""
        super().register(collector)
        self.collectors.append(collector)


def declared(register: Callable[[CollectorRegistry], object]) -> tuple[Declared, ...]:
    """Return the families that a function declares in a registry, sorted by name."""
    registry = _Declarations()
    register(registry)
    found = (
        _declared(collector, family)
        for collector in registry.collectors
        for family in (collector.describe() if hasattr(collector, "describe") else collector.collect())
    )
    return tuple(sorted(found, key=lambda each: each.name))


def families() -> Mapping[str, tuple[Declared, ...]]:
    """Return the families of each process, of all of them, and of kubelets."""
    shared = (_declared(None, family) for family in new_registry().collect())
    return {
        "recommender": declared(recommender.register_metrics),
        "updater": declared(updater.register_metrics),
        "admission": declared(admission.register_metrics),
        "shared": tuple(sorted(shared, key=lambda each: each.name)),
        "kubelet": declared(lambda registry: registry.register(ResizeMetrics())),
    }


def render_metrics() -> str:
    """Return the text of docs/metrics.md."""
    found = families()
    prefaces = {"kubelet": _KUBELETS}
    sections = (_section(title, prefaces.get(name, ""), found[name]) for name, title in _TITLES.items())
    return "\n".join([_INTRODUCTION, *sections])


def _declared(collector: Collector | None, family: Metric) -> Declared:
    """Return a family; the library keeps the names of labels to itself until there are samples."""
    labels = getattr(collector, "_labelnames", None) or getattr(family, "_labelnames", None)
    if labels is None:
        labels = sorted({name for sample in family.samples for name in sample.labels} - {"le"})
    is_suffixed = family.type == "counter" and not isinstance(collector, BareCounter)
    name = f"{family.name}_total" if is_suffixed else family.name
    return Declared(name, family.type, tuple(labels), family.documentation)


def _section(title: str, preface: str, rows: Iterable[Declared]) -> str:
    """Return a heading, what is to be said first, and a table of families."""
    lines = "".join(
        f"| `{row.name}` | {row.kind} | {', '.join(f'`{label}`' for label in row.labels)} | {row.meaning} |\n"
        for row in rows
    )
    head = f"## {title}\n\n{preface}\n" if preface else f"## {title}\n\n"
    return f"{head}| metric | type | labels | meaning |\n|---|---|---|---|\n{lines}"


def main() -> None:
    """Write the file below the folder given, or below the working directory."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
    (root / "docs" / "metrics.md").write_text(render_metrics(), encoding="utf-8")


if __name__ == "__main__":
    main()

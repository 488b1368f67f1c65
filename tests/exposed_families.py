"""What a registry exposes, read back from the text: for the tests of the processes' metrics."""

from __future__ import annotations

import re
from dataclasses import dataclass

from prometheus_client import CollectorRegistry

from autoscaling.runtime.exposition import exposition

EXECUTION = "0.01 0.02 0.05 0.1 0.2 0.5 1 2 5 10 20 30 40 50 60 70 80 90 100 120 150 240 300 +Inf"  # fmt: skip
REQUEST = "0.01 0.02 0.05 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1 2 5 10 20 30 60 120 300 +Inf"


@dataclass(frozen=True)
class Family:
    """One family as a scraper sees it: its bucket ends are text, separated by spaces."""

    type: str
    labels: frozenset[str] = frozenset()
    buckets: str = ""


def family(kind: str, labels: str = "", buckets: str = "") -> Family:
    """Build an expected family from label names separated by spaces."""
    return Family(kind, frozenset(labels.split()), buckets)


def exposed(registry: CollectorRegistry, prefix: str) -> dict[str, Family]:
    """Return the families whose name starts with a prefix."""
    families: dict[str, Family] = {}
    for block in re.split(r"^# HELP ", exposition(registry), flags=re.MULTILINE)[1:]:
        name = block.split(" ", 1)[0]
        kind = re.search(rf"^# TYPE {name} (\w+)$", block, re.MULTILINE)
        assert kind is not None
        samples = re.findall(r"^(\w+)(?:\{(.*)\})? (\S+)$", block, re.MULTILINE)
        assert {sample[0] for sample in samples} == _sample_names(name, kind[1])
        labels = {label for sample in samples for label in re.findall(r'(\w+)="', sample[1])}
        ends = list(dict.fromkeys(re.findall(r'le="([^"]*)"', block)))
        families[name] = Family(kind[1], frozenset(labels - {"le"}), " ".join(ends))
    return {name: found for name, found in families.items() if name.startswith(prefix)}


def _sample_names(name: str, kind: str) -> set[str]:
    return {f"{name}_bucket", f"{name}_sum", f"{name}_count"} if kind == "histogram" else {name}

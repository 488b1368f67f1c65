"""What Prometheus is asked for history.

Spec: recommender 7, beyond B-7.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

_TEXT = r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`[^`]*`"
_MATCHERS = rf"\{{(?:[^\"'`{{}}]|{_TEXT})*\}}"
_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_SELECTOR = rf"(?:{_NAME}\s*(?:{_MATCHERS})?|{_MATCHERS})"
_PLAIN = re.compile(rf"\s*(?P<selector>{_SELECTOR})\s*(?:\[\s*(?P<range>[0-9a-z]+)\s*\])?\s*", re.DOTALL)
_QUOTED = re.compile(rf"{_TEXT}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class HistoryRequest:
    """What the flags say about history.

    Args:
        cpu_metric: Counter of CPU seconds.
        memory_metric: Gauge of bytes in use.
        job: Prometheus job of both; empty for any.
        namespace: The only namespace; empty for all.
        namespace_label: Label of both metrics that holds the namespace.
        pod_label: Likewise the pod's name.
        container_label: Likewise the container's name.
        labels_query: Query whose series carry the labels of pods.
        pod_namespace_label: Label of those series that holds the namespace.
        pod_name_label: Likewise the pod's name.
        label_prefix: What the names of a pod's labels begin with there.
        length: How far back history goes.
        resolution: Time between two points.
        length_text: The same as Prometheus writes it.
        resolution_text: Likewise.
    """

    cpu_metric: str = "container_cpu_usage_seconds_total"
    memory_metric: str = "container_memory_working_set_bytes"
    job: str = "kubernetes-cadvisor"
    namespace: str = ""
    namespace_label: str = "namespace"
    pod_label: str = "pod_name"
    container_label: str = "name"
    labels_query: str = 'up{job="kubernetes-pods"}'
    pod_namespace_label: str = "kubernetes_namespace"
    pod_name_label: str = "kubernetes_pod_name"
    label_prefix: str = "pod_label_"
    length: timedelta = timedelta(days=8)
    resolution: timedelta = timedelta(hours=1)
    length_text: str = "8d"
    resolution_text: str = "1h"

    def matchers(self, *further: str) -> str:
        """Return what series of containers must match: upstream's conditions, then further ones."""
        conditions = [f'job="{self.job}"'] if self.job else []
        conditions += [f'{self.pod_label}=~".+"', f'{self.container_label}!="POD"', f'{self.container_label}!=""']
        if self.namespace:
            conditions.append(f'{self.namespace_label}="{self.namespace}"')
        return ", ".join((*conditions, *further))

    def cpu_query(self, *further: str) -> str:
        """Return the query for CPU in cores."""
        return f"rate({self.cpu_metric}{{{self.matchers(*further)}}}[{self.resolution_text}])"

    def memory_query(self, *further: str) -> str:
        """Return the query for memory in bytes."""
        return f"{self.memory_metric}{{{self.matchers(*further)}}}"

    def raw_queries(self, window: str, *further: str) -> tuple[str, str]:
        """Return the queries for all that was measured within some time: counters of CPU, and memory."""
        matchers = self.matchers(*further)
        return f"{self.cpu_metric}{{{matchers}}}[{window}]", f"{self.memory_metric}{{{matchers}}}[{window}]"

    def freshness_query(self, *further: str) -> str:
        """Return the query for when anything was measured last, in seconds since the epoch."""
        return f"max(timestamp({self.memory_query(*further)}))"

    def sizes_query(self, *further: str) -> str:
        """Return the query for the number of series in each namespace."""
        return f"count by ({self.namespace_label}) ({self.memory_query(*further)})"

    def pods_query(self, cluster_label: str) -> str:
        """Return the query for the pods of each cluster."""
        return f"group by ({cluster_label}, {self.namespace_label}, {self.pod_label}) ({self.memory_query()})"


@dataclass(frozen=True, slots=True)
class LabelQuery:
    """How the labels of pods are asked for.

    Args:
        expression: What has a value at every instant, or a query to be sent as it is.
        length: What ``expression`` is asked over, as Prometheus writes it; empty where it is sent as it is.
        is_selector: Whether ``expression`` is a plain selector of series.
    """

    expression: str
    length: str
    is_selector: bool

    def within(self, length: str) -> str:
        """Return the query for all series that a selector has had within some time."""
        return f"last_over_time({self.expression}[{length}])"

    def among(self, *conditions: str) -> str:
        """Return a selector with further conditions."""
        if not self.expression.endswith("}"):
            return f"{self.expression}{{{', '.join(conditions)}}}"
        stated = self.expression[:-1].rstrip().rstrip(",")
        separator = "" if stated.endswith("{") else ", "
        return f"{stated}{separator}{', '.join(conditions)}}}"


def label_query(text: str, length: str) -> LabelQuery:
    """Give a query for labels the range without which it would only find the pods of now.

    Args:
        text: As the flag has it. A plain selector with a range is asked over that range instead of ``length``; anything
            else that holds a range is sent as it is.
        length: What is asked over where the query has no range, as Prometheus writes it.

    Spec: beyond B-7.
    """
    plain = _PLAIN.fullmatch(text)
    if plain is not None:
        return LabelQuery(plain["selector"].strip(), plain["range"] or length, is_selector=True)
    if "[" in _QUOTED.sub("", text):
        return LabelQuery(text, "", is_selector=False)
    return LabelQuery(text.strip(), length, is_selector=False)


def matches_any(label: str, values: Sequence[str]) -> str:
    """Return the condition that a label has one of some values."""
    if len(values) == 1:
        return f"{label}={quoted(values[0])}"
    return f"{label}=~{quoted('|'.join(re.escape(value) for value in values))}"


def quoted(text: str) -> str:
    """Return text as a string of the query language."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'

"""Labels of pods as their history has them.

Prometheus writes ``app.kubernetes.io/name`` as ``app_kubernetes_io_name``, under a prefix. Upstream takes the name as
it stands there, which then matches no selector. What living pods and selectors call their labels tells the real names.

Spec: recommender 7, beyond B-7.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from recommender.history.queries import HistoryRequest
from recommender.history.series import Flaw, FlawRecord, Series, missing_label
from recommender.instants import NEVER

PodKey = tuple[str, str]
"""Namespace and name."""

_SANITISED = re.compile(r"[^a-zA-Z0-9_]")


@dataclass(slots=True)
class LastLabels:
    """Of each pod the labels that were seen last.

    Attributes:
        labels: By namespace and name of the pod.
        seen: When they were seen, nanoseconds since the epoch.
    """

    request: HistoryRequest
    labels: dict[PodKey, Mapping[str, str]] = field(default_factory=dict)
    seen: dict[PodKey, int] = field(default_factory=dict)

    def take(self, series: Iterable[Series], flaws: FlawRecord | None) -> None:
        """Take in the series of an answer; of series that were seen last at the same time the first counts.

        Args:
            series: The series; the last instant of each is when it was seen.
            flaws: Counts the series that do not say which pod they are about; None where one makes all useless.

        Raises:
            HistoryError: A series does not say, and that is not counted.
        """
        for each in series:
            key = _pod_of(each, self.request, flaws)
            if key is None:
                continue
            last = int(each.instants[-1]) if len(each.instants) else NEVER
            if last > self.seen.get(key, NEVER):
                self.seen[key] = last
                self.labels[key] = own_labels(each.labels, self.request.label_prefix)


@dataclass(slots=True)
class FoundLabels:
    """Of each pod all labels that it has had, without when.

    Attributes:
        sets: By namespace and name of the pod; most have one set of labels.
    """

    request: HistoryRequest
    sets: dict[PodKey, list[Mapping[str, str]]] = field(default_factory=dict)

    def take(self, series: Iterable[Series], flaws: FlawRecord | None) -> None:
        """Take in the series of an answer, as ``LastLabels`` does.

        Raises:
            HistoryError: A series does not say which pod it is about, and that is not counted.
        """
        for each in series:
            key = _pod_of(each, self.request, flaws)
            if key is None:
                continue
            found, labels = self.sets.setdefault(key, []), own_labels(each.labels, self.request.label_prefix)
            if labels not in found:
                found.append(labels)

    def sure(self) -> dict[PodKey, Mapping[str, str]]:
        """Return the labels of the pods that have always had the same."""
        return {pod: sets[0] for pod, sets in self.sets.items() if len(sets) == 1}

    def unsure(self, most: int) -> Iterator[tuple[PodKey, ...]]:
        """Yield the pods that were labelled anew, at most so many at a time."""
        pods = sorted(pod for pod, sets in self.sets.items() if len(sets) > 1)
        for begin in range(0, len(pods), most):
            yield tuple(pods[begin : begin + most])


def _pod_of(series: Series, request: HistoryRequest, flaws: FlawRecord | None) -> PodKey | None:
    """Return the pod that a series of labels is about, None where it does not say and that is counted."""
    try:
        return series.labels[request.pod_namespace_label], series.labels[request.pod_name_label]
    except KeyError as error:
        if flaws is None:
            raise missing_label(series, error.args[0]) from None
        flaws.note(Flaw.MISSING_LABEL, series)
        return None


def own_labels(labels: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return the labels of a series that are a pod's own, without their prefix."""
    if not prefix:
        return {}
    return {name.removeprefix(prefix): value for name, value in labels.items() if name.startswith(prefix)}


def real_names(known: Iterable[str]) -> dict[str, str]:
    """Return for each label name as Prometheus writes it the real name, where only one is known.

    Args:
        known: Names of labels that pods have or selectors ask for.
    """
    found: dict[str, set[str]] = {}
    for name in set(known):
        found.setdefault(_SANITISED.sub("_", name), set()).add(name)
    return {written: names.pop() for written, names in found.items() if len(names) == 1}


def with_real_names(labels: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """Return labels under their real names; one whose real name is not known stays as it is."""
    return {names.get(name, name): value for name, value in labels.items()}


def home_cluster(
    series: Sequence[Series], label: str, request: HistoryRequest, living: frozenset[PodKey]
) -> str | None:
    """Find out which of several clusters is this one: the one that has the most of the pods that live here.

    Args:
        series: Series with the labels of cluster, namespace and pod.
        label: The label that names the cluster.
        request: Names the other labels.
        living: The pods of this cluster.

    Returns:
        The label's value, empty where our series have no such label; None where no cluster has any of our pods.
    """
    votes: dict[str, int] = {}
    for each in series:
        pod = each.labels.get(request.namespace_label, ""), each.labels.get(request.pod_label, "")
        cluster = each.labels.get(label, "")
        votes[cluster] = votes.get(cluster, 0) + (pod in living)
    best = max(sorted(votes), key=votes.__getitem__, default="")
    return best if votes.get(best) else None

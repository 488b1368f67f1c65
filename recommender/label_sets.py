"""Which VPAs select which pods, found without comparing every VPA with every pod.

Pods of one sharing key are one label set, matched once. Label sets and selectors are both filed under the labels they
carry or ask for, so that a new one meets only those it has a label in common with.

Spec: recommender 3.2; performance R-9.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from autoscaling.hpa import HorizontalScaling
from autoscaling.matching import Operator, Selector
from autoscaling.ownership import ControllerKey
from autoscaling.scheduling import Demands
from autoscaling.targets import WorkloadKey
from autoscaling.vpa import Vpa
from recommender.aggregation import SharingKey
from recommender.instants import NEVER

_Label = tuple[str, str, str]
"""Namespace, label name, label value."""

_Key = TypeVar("_Key")
_Entry = TypeVar("_Entry")


Room = tuple[int, int]
"""Millicores and bytes."""


@dataclass(slots=True, eq=False)
class Shape:
    """What pods of one label set have in common with regard to nodes.

    Attributes:
        key: What it is told by.
        label_set: Theirs.
        demands: What they ask of a node; of a DaemonSet's pods without its node affinity, in place of which each pod
            names its node.
        daemon_set: The DaemonSet that they are of; None for others.
        requests: What each container asks for that runs as long as the pod.
        overhead: What the pod costs besides its containers.
        total: What the pod asks for as a whole.
        parts: What the key names by identity, kept so that nothing else comes to be known by it.
        pods: How many there are.
    """

    key: tuple[object, ...]
    label_set: LabelSet
    demands: Demands
    daemon_set: WorkloadKey | None
    requests: Mapping[str, Room]
    overhead: Room
    total: Room
    parts: tuple[object, ...] = ()
    pods: int = 0


@dataclass(slots=True, eq=False)
class LabelSet:
    """Pods of one sharing key.

    Attributes:
        namespace: Their namespace.
        key: The sharing key.
        pods: Number of known pods, of whatever phase.
        aggregates: Container name to aggregate row.
        vpas: VPAs that select them, in the order in which they were linked.
        shapes: What they look like to nodes, by key; empty where nobody asks.
    """

    namespace: str
    key: SharingKey
    pods: int = 0
    aggregates: dict[str, int] = field(default_factory=dict)
    vpas: dict[TrackedVpa, None] = field(default_factory=dict)
    shapes: dict[tuple[object, ...], Shape] = field(default_factory=dict)

    def count(self, change: int) -> None:
        """Take in that there are so many pods more, or less."""
        self.pods += change
        for tracked in self.vpas:
            tracked.pod_count += change


@dataclass(slots=True, eq=False)
class TrackedVpa:
    """A VPA with everything the model remembers of it.

    Attributes:
        vpa: The object as last observed.
        selector: Of the sharing keys of its target's pods.
        api_version: Version the object was read in.
        label_sets: The label sets it selects.
        pod_count: Number of known pods it selects.
        linked: Container name to the rows of the aggregates of pods, in the order of linking.
        initial: Container name to the row of the aggregate loaded from a checkpoint.
        checkpoint_written: Instant at which its checkpoints were last written, ``NEVER`` before.
        is_shared: Whether another VPA has ever selected some of the same pods.
        controllers: Its target and the topmost controller above it.
        pod_selector: Of its target's pods, over the labels that these have; None where ``selector`` is that.
        scaling: What scales the target horizontally by shares of requests; None where nothing does.
        target_missing_at: Instant at which the target was last found missing, ``NEVER`` where it never was.
    """

    vpa: Vpa
    selector: Selector
    api_version: str = "v1"
    label_sets: dict[LabelSet, None] = field(default_factory=dict)
    pod_count: int = 0
    linked: dict[str, list[int]] = field(default_factory=dict)
    initial: dict[str, int] = field(default_factory=dict)
    checkpoint_written: int = NEVER
    is_shared: bool = False
    controllers: tuple[ControllerKey, ...] = ()
    pod_selector: Selector | None = None
    scaling: HorizontalScaling | None = None
    target_missing_at: int = NEVER

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.vpa.namespace, self.vpa.name

    @property
    def linked_rows(self) -> list[int]:
        """Rows of all aggregates of pods, in the order of linking of each container's."""
        return [row for rows in self.linked.values() for row in rows]


def _asked_labels(namespace: str, selector: Selector) -> list[list[_Label]]:
    """Return for each requirement that needs a label to be present with a value the labels that would do."""
    return [
        [(namespace, requirement.key, value) for value in requirement.values]
        for requirement in selector.requirements
        if requirement.operator in {Operator.EQUALS, Operator.IN}
    ]


class Matching:
    """Label sets and VPAs, and which selects which."""

    def __init__(self) -> None:
        self._sets: dict[tuple[str, str], LabelSet] = {}
        self._sets_by_label: dict[_Label, dict[LabelSet, None]] = {}
        self._sets_by_namespace: dict[str, dict[LabelSet, None]] = {}
        self._vpas_by_label: dict[_Label, dict[TrackedVpa, None]] = {}
        self._vpas_by_namespace: dict[str, dict[TrackedVpa, None]] = {}

    def __iter__(self) -> Iterator[LabelSet]:
        """Go through all label sets."""
        return iter(self._sets.values())

    def __len__(self) -> int:
        """Number of label sets."""
        return len(self._sets)

    def find(self, namespace: str, key: SharingKey) -> LabelSet:
        """Return the label set of a key, made and matched if it is new."""
        known = self._sets.get((namespace, key.text))
        if known is not None:
            return known
        label_set = LabelSet(namespace, key)
        for tracked in self._selecting(namespace, key):
            _join(tracked, label_set)
        self._sets[namespace, key.text] = label_set
        self._sets_by_namespace.setdefault(namespace, {})[label_set] = None
        for label in _labels(label_set):
            self._sets_by_label.setdefault(label, {})[label_set] = None
        return label_set

    def is_selected(self, namespace: str, key: SharingKey) -> bool:
        """Say whether any VPA selects pods of a key."""
        known = self._sets.get((namespace, key.text))
        return bool(known.vpas if known is not None else self._selecting(namespace, key))

    def _selecting(self, namespace: str, key: SharingKey) -> list[TrackedVpa]:
        candidates = list(self._vpas_by_namespace.get(namespace, ()))
        for name, value in key.labels.items():
            candidates += self._vpas_by_label.get((namespace, name, value), ())
        return [tracked for tracked in candidates if tracked.selector.matches(key.labels)]

    def drop_if_unused(self, label_set: LabelSet) -> None:
        """Forget a label set that has neither pods nor aggregates left."""
        if label_set.pods or label_set.aggregates:
            return
        if self._sets.pop((label_set.namespace, label_set.key.text), None) is None:
            return
        for tracked in label_set.vpas:
            del tracked.label_sets[label_set]
        _unfile(self._sets_by_namespace, [label_set.namespace], label_set)
        _unfile(self._sets_by_label, _labels(label_set), label_set)

    def add_vpa(self, tracked: TrackedVpa) -> None:
        """File a VPA and match it with the label sets known so far."""
        namespace = tracked.vpa.namespace
        for label_set in self._selected(namespace, tracked.selector):
            _join(tracked, label_set)
        if tracked.selector.is_nothing:
            return
        anchors = self._anchors(tracked)
        if anchors is None:
            self._vpas_by_namespace.setdefault(namespace, {})[tracked] = None
        for label in anchors or ():
            self._vpas_by_label.setdefault(label, {})[tracked] = None

    def _anchors(self, tracked: TrackedVpa) -> list[_Label] | None:
        """Return the labels a VPA is filed under, those that the fewest others share; None if it asks for none."""
        asked = _asked_labels(tracked.vpa.namespace, tracked.selector)
        return min(asked, key=lambda labels: sum(len(self._vpas_by_label.get(x, ())) for x in labels), default=None)

    def _selected(self, namespace: str, selector: Selector) -> list[LabelSet]:
        filed = self._sets_by_label
        asked = _asked_labels(namespace, selector)
        fewest = min(asked, key=lambda labels: sum(len(filed.get(x, ())) for x in labels), default=None)
        candidates: Iterable[LabelSet] = self._sets_by_namespace.get(namespace, ())
        if fewest is not None:
            candidates = dict.fromkeys(label_set for label in fewest for label_set in filed.get(label, ()))
        return [label_set for label_set in candidates if selector.matches(label_set.key.labels)]

    def remove_vpa(self, tracked: TrackedVpa) -> None:
        """Forget a VPA."""
        for label_set in tracked.label_sets:
            del label_set.vpas[tracked]
        tracked.label_sets.clear()
        tracked.pod_count = 0
        _unfile(self._vpas_by_namespace, [tracked.vpa.namespace], tracked)
        labels = [x for asked in _asked_labels(tracked.vpa.namespace, tracked.selector) for x in asked]
        _unfile(self._vpas_by_label, labels, tracked)


def _join(tracked: TrackedVpa, label_set: LabelSet) -> None:
    """Note that a VPA selects a label set."""
    tracked.label_sets[label_set] = None
    tracked.pod_count += label_set.pods
    label_set.vpas[tracked] = None
    if len(label_set.vpas) > 1:
        for sharing in label_set.vpas:
            sharing.is_shared = True


def _labels(label_set: LabelSet) -> list[_Label]:
    return [(label_set.namespace, name, value) for name, value in label_set.key.labels.items()]


def _unfile(files: dict[_Key, dict[_Entry, None]], keys: Iterable[_Key], entry: _Entry) -> None:
    """Take an entry out of some files; a file left empty goes, too."""
    for key in keys:
        filed = files.get(key)
        if filed is not None:
            filed.pop(entry, None)
            if not filed:
                del files[key]

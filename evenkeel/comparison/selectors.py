"""Which of many selectors find a pod, without comparing every pod with each of them.

Spec: beyond:B-35; performance R-9.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from autoscaling.matching import Operator, Selector

Label = tuple[str, str, str]
"""Namespace, label name, label value; both empty for a selector that asks for no value."""

Named = tuple[str, str, Selector]
"""Namespace and name of whatever selects, and its selector."""

_ANY: Final = ("", "")


@dataclass(frozen=True, slots=True)
class SelectorIndex:
    """Selectors, filed under a label that each of them asks for: the one that the fewest others ask for.

    Args:
        filed: By label, names with their selectors.
    """

    filed: Mapping[Label, tuple[tuple[str, Selector], ...]]

    @classmethod
    def of(cls, selectors: Iterable[Named]) -> SelectorIndex:
        """File selectors."""
        listed = tuple(selectors)
        counts = Counter(label for each in listed for label in _asked(each))
        filed: dict[Label, list[tuple[str, Selector]]] = {}
        for each in listed:
            namespace, name, selector = each
            label = min(_asked(each), key=lambda asked: (counts[asked], asked), default=(namespace, *_ANY))
            filed.setdefault(label, []).append((name, selector))
        return cls({label: tuple(found) for label, found in filed.items()})

    def selecting(self, namespace: str, labels: Mapping[str, str]) -> list[str]:
        """Return the names of those that select a pod, sorted.

        Args:
            namespace: Of the pod.
            labels: Of the pod.
        """
        places = [(namespace, *_ANY), *((namespace, *label) for label in labels.items())]
        candidates = (each for place in places for each in self.filed.get(place, ()))
        return sorted(name for name, selector in candidates if selector.matches(labels))


def _asked(named: Named) -> list[Label]:
    """Return the labels that a selector asks for with one value."""
    namespace, _, selector = named
    equals = (each for each in selector.requirements if each.operator is Operator.EQUALS)
    return [(namespace, each.key, each.values[0]) for each in equals]

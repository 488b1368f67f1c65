"""Label selectors, and which of several VPAs controls a pod."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Final

from autoscaling.errors import EvenkeelError
from autoscaling.ownership import ControllerKey, api_group
from autoscaling.vpa import TargetRef, Vpa


class InvalidSelectorError(EvenkeelError, ValueError):
    """A label selector that cannot be read."""


class Operator(Enum):
    """How a label is compared."""

    EQUALS = "="
    NOT_EQUALS = "!="
    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label; ``values`` is empty for the two operators on presence."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Say whether labels meet the condition; the negative operators hold where the label is missing."""
        match self.operator:
            case Operator.EQUALS | Operator.IN:
                return self.key in labels and labels[self.key] in self.values
            case Operator.NOT_EQUALS | Operator.NOT_IN:
                return self.key not in labels or labels[self.key] not in self.values
            case Operator.EXISTS:
                return self.key in labels
            case Operator.DOES_NOT_EXIST:
                return self.key not in labels

    def __str__(self) -> str:
        match self.operator:
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case Operator.EQUALS | Operator.NOT_EQUALS:
                return f"{self.key}{self.operator.value}{self.values[0]}"
            case Operator.IN | Operator.NOT_IN:
                return f"{self.key} {self.operator.value} ({','.join(sorted(self.values))})"


@dataclass(frozen=True, slots=True)
class Selector:
    """A label selector: every requirement must hold; without any it matches everything.

    Args:
        is_nothing: The selector of a target that cannot be resolved; it matches no pod.
    """

    requirements: tuple[Requirement, ...] = ()
    is_nothing: bool = False

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Say whether a pod with these labels is selected."""
        return not self.is_nothing and all(r.matches(labels) for r in self.requirements)

    def __str__(self) -> str:
        return ",".join(str(r) for r in self.requirements)


NOTHING = Selector(is_nothing=True)
EVERYTHING = Selector()

_EXPRESSION_OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}
_TERM = re.compile(
    r"\s*(?:(?P<absent>!)\s*(?P<missing>[^\s,()=!]+)"
    r"|(?P<key>[^\s,()=!]+)\s*(?:(?P<sign>==|=|!=)\s*(?P<value>[^\s,()=!]*)"
    r"|\s(?P<set>in|notin)\s*\((?P<values>[^()]*)\))?)\s*(?:,|$)",
)


def of_labels(labels: Mapping[str, str]) -> Selector:
    """Return the selector that asks for exactly these values."""
    return Selector(tuple(Requirement(k, Operator.EQUALS, (labels[k],)) for k in sorted(labels)))


def of_label_selector(
    match_labels: Mapping[str, str],
    expressions: Iterable[tuple[str, str, tuple[str, ...]]],
) -> Selector:
    """Return the selector of an object's ``matchLabels`` and ``matchExpressions``.

    Args:
        expressions: Key, operator as in the API, and values of each expression.

    Raises:
        InvalidSelectorError: An operator is unknown.
    """
    requirements = list(of_labels(match_labels).requirements)
    for key, operator, values in expressions:
        if operator not in _EXPRESSION_OPERATORS:
            known = ", ".join(_EXPRESSION_OPERATORS)
            raise InvalidSelectorError(f"selector on label {key!r}: operator {operator!r} is none of {known}")
        requirements.append(Requirement(key, _EXPRESSION_OPERATORS[operator], values))
    return Selector(tuple(sorted(requirements, key=lambda r: r.key)))


def parse_selector(text: str) -> Selector:
    """Read the text form, as in ``status.selector`` of a scale object.

    Raises:
        InvalidSelectorError: The text is no selector.
    """
    requirements: list[Requirement] = []
    position = 0
    while position < len(text):
        match = _TERM.match(text, position)
        if match is None or match.end() == position:
            raise InvalidSelectorError(f"selector {text!r}: cannot be read from {text[position:]!r} on")
        requirements.append(_requirement(match))
        position = match.end()
    return Selector(tuple(sorted(requirements, key=lambda r: r.key)))


def _requirement(match: re.Match[str]) -> Requirement:
    """Return the requirement that one matched term stands for."""
    if match["absent"]:
        return Requirement(match["missing"], Operator.DOES_NOT_EXIST)
    if match["sign"]:
        operator = Operator.NOT_EQUALS if match["sign"] == "!=" else Operator.EQUALS
        return Requirement(match["key"], operator, (match["value"],))
    if match["set"]:
        values = tuple(value.strip() for value in match["values"].split(","))
        return Requirement(match["key"], Operator(match["set"]), values)
    return Requirement(match["key"], Operator.EXISTS)


@dataclass(frozen=True, slots=True)
class SelectingVpa:
    """A VPA with the pod selector of its target."""

    vpa: Vpa
    selector: Selector


_FORMER_GROUPS: Final = frozenset({"extensions"})
"""Groups that well-known kinds had before; old manifests still name them."""


def is_of_group(target: TargetRef, topmost: ControllerKey) -> bool:
    """Say whether a target and a controller of the same kind and name are of the same API group (updater K-28).

    A target that names no group is taken to mean the controller.
    """
    named = api_group(target.api_version)
    return not target.api_version or named == topmost.group or (topmost.is_well_known and named in _FORMER_GROUPS)


def is_match(
    candidate: SelectingVpa, topmost: ControllerKey, labels: Mapping[str, str], *, compares_groups: bool = False
) -> bool:
    """Say whether a VPA is for the pods of a controller: namespace, kind and name, then labels (updater M-9).

    Args:
        compares_groups: Whether the API group has to be the same, too (beyond:B-30).
    """
    target = candidate.vpa.target_ref
    return (
        target is not None
        and candidate.vpa.namespace == topmost.namespace
        and (target.kind, target.name) == (topmost.kind, topmost.name)
        and (not compares_groups or is_of_group(target, topmost))
        and candidate.selector.matches(labels)
    )


def strongest(candidates: Iterable[Vpa]) -> Vpa | None:
    """Return the VPA that counts among several: the oldest, then the one whose name sorts first (updater M-9)."""
    return min(candidates, key=_strength, default=None)


def _strength(vpa: Vpa) -> tuple[datetime, str]:
    """Return what VPAs are ordered by; an object without a creation time is as old as can be."""
    return vpa.created or datetime.min.replace(tzinfo=UTC), vpa.name


def controlling_vpa(
    candidates: Iterable[SelectingVpa],
    topmost: ControllerKey,
    labels: Mapping[str, str],
    *,
    compares_groups: bool = False,
) -> Vpa | None:
    """Return the VPA that controls a pod, None where no candidate matches.

    Args:
        compares_groups: See ``is_match``.
    """
    return strongest(c.vpa for c in candidates if is_match(c, topmost, labels, compares_groups=compares_groups))

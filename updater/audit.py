"""What a change made of a pod, and out of what it was worked out: the text that logs and events give (beyond:B-42)."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from typing import Final

from autoscaling.pod import Pod
from autoscaling.quantity import Quantity
from autoscaling.resources import ContainerResources, ResourceList, in_order
from autoscaling.target_resources import ContainerTarget
from autoscaling.vpa import Vpa

LONGEST_TEXT_BYTES: Final = 1024
"""What an event's message may have."""

_DIGEST_DIGITS: Final = 12
_NOTHING_CHANGES: Final = "no amounts change"

Plain = None | bool | int | str | list["Plain"] | dict[str, "Plain"]


@dataclass(frozen=True, slots=True)
class AmountChange:
    """One amount that changes.

    Args:
        container: Whose it is.
        resource: What it is of: a resource's name for a request, followed by "limit" for a limit.
        old: Amount before, or "none".
        new: Amount after.
    """

    container: str
    resource: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Audit:
    """One change of a pod. Nothing of it is worked out before it is told, as most decisions change nothing.

    Args:
        pod: As it was.
        targets: What each of ``pod.containers`` gets; None for one that is left out altogether.
        vpa: On whose behalf.
        replaces: Whether another pod gets these amounts. Then the old ones are those in force, else those of the spec,
            which is what a resize changes.
    """

    pod: Pod
    targets: tuple[ContainerTarget | None, ...]
    vpa: Vpa
    replaces: bool = False

    def by_container(self) -> tuple[str, ...]:
        """Return a text for each container of which something changes, such as ``web cpu 100m→250m``."""
        by_name = groupby(self.changes(), key=lambda change: change.container)
        return tuple(f"{name} {', '.join(f'{c.resource} {c.old}→{c.new}' for c in found)}" for name, found in by_name)

    def changes(self) -> tuple[AmountChange, ...]:
        """Return every amount that changes, container by container."""
        return tuple(
            change
            for container, target in zip(self.pod.containers, self.targets, strict=True)
            if target is not None
            for change in _changes(
                container.name, self.pod.actual_resources(container) if self.replaces else container.resources, target
            )
        )

    def digest(self) -> str:
        """Return a short hash of what the amounts come from: recommendation and container policies of the VPA."""
        given = self.vpa.recommendation.containers if self.vpa.recommendation is not None else ()
        text = json.dumps([_plain(given), _plain(self.vpa.container_policies)], separators=(",", ":"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_DIGITS]

    def told(self, opening: str, closing: str) -> str:
        """Return the change in one text that fits into an event.

        Args:
            opening: What comes before the amounts.
            closing: What comes after them, such as the reason.

        Returns:
            With as many containers as fit, in order, and the number of the others.
        """
        ending = f". {closing} Digest {self.digest()}."
        texts = self.by_container()
        for shown in range(len(texts), 0, -1):
            left = len(texts) - shown
            more = f" and {left} more containers" if left > 1 else " and one more container" if left else ""
            text = f"{opening}: {'; '.join(texts[:shown])}{more}{ending}"
            if len(text.encode()) <= LONGEST_TEXT_BYTES:
                return text
        return f"{opening}: {f'{len(texts)} containers' if texts else _NOTHING_CHANGES}{ending}"


def _changes(container: str, before: ContainerResources, target: ContainerTarget) -> Iterator[AmountChange]:
    """Yield what changes of one container: requests by their names, limits as such."""
    for old, new, kind in ((before.requests, target.requests, ""), (before.limits, target.limits, " limit")):
        for name, was, becomes in _differences(old or {}, new):
            yield AmountChange(container, f"{name}{kind}", was, becomes)


def _differences(old: ResourceList, new: ResourceList) -> Iterator[tuple[str, str, str]]:
    """Yield the amounts that differ, by resource."""
    for name, amount in in_order(new):
        if name not in old:
            yield name, "none", str(amount)
        elif old[name] != amount:
            yield name, str(old[name]), str(amount)


def _plain(value: object) -> Plain:
    """Return a value of our own types as JSON has it; equal amounts come out the same, however they were written."""
    match value:
        case Quantity():
            return value.nano
        case Enum():
            return str(value.value)
        case None | bool() | int() | str():
            return value
        case tuple() | list():
            return [_plain(each) for each in value]
        case Mapping():
            return {str(key): _plain(each) for key, each in value.items()}
        case _ if dataclasses.is_dataclass(value):
            return {each.name: _plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
        case _:
            raise TypeError(f"{type(value).__name__} cannot be part of a digest; add a case for it")

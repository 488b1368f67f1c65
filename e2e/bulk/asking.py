"""Puts drawn pods to the API server without storing them, and what it refuses once more where no webhook patches."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from e2e.api_socket import Answer, ApiSocket
from e2e.bulk.drawing import drawn_pod
from e2e.bulk.spaces import Space, labels_of
from e2e.cluster.documents import JsonObject, at, text_at
from e2e.parity.dice import Dice

_AT_ONCE: Final = 4
_SHARE: Final = 50
_AGAIN: Final = 12
_MESSAGE_CHARACTERS: Final = 600


@dataclass(frozen=True, slots=True)
class Finding:
    """A pod that the API server refuses with our patch alone.

    Args:
        number: Of the pod; seed and number draw it again.
        pod: As it was submitted.
        vpa: Of its workload.
        refusal: What the API server says.
    """

    number: int
    pod: JsonObject
    vpa: JsonObject
    refusal: str

    def __str__(self) -> str:
        return f"pod {self.number}: {self.refusal}\n  pod {json.dumps(self.pod)}\n  VPA {json.dumps(self.vpa)}"


@dataclass(slots=True)
class Tally:
    """What became of the pods so far."""

    counts: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)

    def __str__(self) -> str:
        total = sum(self.counts.values())
        parts = ", ".join(f"{count} {what}" for what, count in sorted(self.counts.items()))
        return f"admission: {total} pods, {len(self.findings)} refused for our patch ({parts})"


def ask(api: ApiSocket, spaces: Sequence[Space], seed: int, numbers: Iterable[int]) -> Tally:
    """Draw pods and put each to the API server, four at a time."""
    tally = Tally()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for outcome, finding in pool.map(lambda share: _share(api, spaces, seed, share), _shares(numbers)):
            tally.counts.update(outcome)
            tally.findings.extend(finding)
    return tally


def _shares(numbers: Iterable[int]) -> Iterator[list[int]]:
    share: list[int] = []
    for number in numbers:
        share.append(number)
        if len(share) == _SHARE:
            yield share
            share = []
    if share:
        yield share


def _share(
    api: ApiSocket, spaces: Sequence[Space], seed: int, numbers: Sequence[int]
) -> tuple[list[str], list[Finding]]:
    outcomes: list[str] = []
    findings: list[Finding] = []
    for number in numbers:
        dice = Dice(f"{seed}/pod/{number}")
        space = dice.among(spaces)
        chosen = dice.whole(0, len(space.workloads) - 1)
        owner = space.workloads[chosen]
        pod = drawn_pod(dice, owner, labels_of(text_at(owner, "name")))
        outcome, refusal = _outcome(api, space, pod)
        outcomes.append(outcome)
        if refusal:
            findings.append(Finding(number, pod, space.vpas[chosen], refusal[:_MESSAGE_CHARACTERS]))
    return outcomes, findings


def _outcome(api: ApiSocket, space: Space, pod: JsonObject) -> tuple[str, str]:
    """Say what became of a pod, and how it was refused if that is our doing."""
    answer = _dry_run(api, space.name, pod)
    if answer.code == 201:
        return ("patched" if at(answer.body, "metadata", "annotations", "vpaUpdates") not in _FOREIGN else "left"), ""
    if _dry_run(api, space.plain, pod).code != 201:
        return "refused either way", ""
    # Defaults of several LimitRanges are filled in by turns that differ from one request to the next.
    for _ in range(_AGAIN):
        if _dry_run(api, space.name, pod).code == 201 or _dry_run(api, space.plain, pod).code != 201:
            return "refused by chance", ""
    return "refused with our patch", f"{answer.code} {answer.message}"


def troubles_in(log: str) -> list[str]:
    """Return the lines of a webhook's log that tell of a fault of its own; a slow API server is none."""
    return [line for line in log.splitlines() if any(mark in line for mark in _TROUBLES)]


_TROUBLES: Final = ('"level": "error"', '"level": "critical"', "InternalError", "Traceback")

_FOREIGN: Final = (None, "x", "y" * 1000)
"""The annotation as it is where it was not written by us."""


def _dry_run(api: ApiSocket, namespace: str, pod: JsonObject) -> Answer:
    try:
        return api.post(f"/api/v1/namespaces/{namespace}/pods?dryRun=All", pod)
    except OSError as error:
        return Answer(0, {"message": f"no answer: {error}"})

"""Status patches as JSON text, without building the objects in between (spec: recommender:5; performance R-3).

Ten thousand of them are due in a minute, nearly all of the same shape: numbers in a frame that stays the same. So the
text is put together from columns, as far as there are columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from autoscaling.kube.table import Key
from autoscaling.resources import ResourceList
from autoscaling.vpa import ContainerRecommendation, Recommendation, Vpa, VpaCondition
from autoscaling.wire.objects import timestamp
from recommender.due_statuses import DueStatuses
from recommender.recommendation_table import BOUNDED, UNCAPPED_TARGET, AmountTexts
from recommender.status import VpaStatus, with_others_conditions

Integers = NDArray[np.int64]

_HEAD = '[{"op":"add","path":"/status","value":{'
_TAIL = "}}]"
_FIRST = f'{_HEAD}"recommendation":{{"containerRecommendations":['
_END = "]}"
_NO_ENTRY = f'{_HEAD}"recommendation":{{}}'.encode()
_LOT: Final = 1024
"""Statuses whose texts are made at a time: as many as few round trips write, and not those of all VPAs at once."""

_AMOUNTS: Final = ("", '","memory":"', "")
"""CPU and memory of a vector, with what stands between them."""

_ENTRY: Final = (
    "", '{"containerName":', "", ',"target":{"cpu":"', *_AMOUNTS, '"},"lowerBound":{"cpu":"', *_AMOUNTS,
    '"},"upperBound":{"cpu":"', *_AMOUNTS, '"},"uncappedTarget":{"cpu":"', *_AMOUNTS, '"}}', "",
)  # fmt: skip
"""What stands before an entry, the entry with room for its name and amounts, and what stands behind it."""

_NAME_AT: Final = 2
_AMOUNTS_AT: Final = (4, 8, 12, 16)
"""Where the CPU of each vector stands in an entry; its memory stands two places on."""


Latest = Mapping[Key, Vpa]
"""VPAs as they are now, by namespace and name; those that have not changed since they were observed may be missing."""


@dataclass(frozen=True, slots=True)
class StatusFrame:
    """What stands around a VPA's recommendation in a patch for as long as its conditions and its generation stay.

    Args:
        key: Namespace and name of the VPA.
        path: Where the patch goes.
        tail: What follows the recommendation, see ``_tail``.
    """

    key: Key
    path: str
    tail: bytes


def status_frame(path: str, vpa: Vpa) -> StatusFrame:
    """Return what stands around the recommendation in patches of a VPA as observed.

    Args:
        path: Where they go.
        vpa: The VPA.
    """
    return StatusFrame((vpa.namespace, vpa.name), path, _tail(vpa.conditions, vpa.generation))


def status_patch(status: VpaStatus) -> bytes:
    """Return the JSON patch that replaces a whole status; empty members are left out."""
    tail = _tail(status.conditions, status.observed_generation)
    if status.recommendation is None:
        return _HEAD.encode() + tail.removeprefix(b",")
    return _recommendation(status.recommendation) + tail


def due_patches(due: DueStatuses, frames: Sequence[StatusFrame], latest: Latest) -> Iterator[tuple[Vpa, str, bytes]]:
    """Yield the patches of the statuses that are due, with their VPAs and paths.

    Each is made when it is asked for, of what others have written until then.

    Args:
        due: What to write.
        frames: Of each VPA as observed.
        latest: Tells what others write, also while patches are asked for.
    """
    vpas, changed, texts = due.recommendations.groups.vpas, due.changed, AmountTexts(due.recommendations)
    for begin in range(0, len(due.places), _LOT):
        lot = due.places[begin : begin + _LOT]
        for place, text in zip(lot, recommendation_texts(texts, np.array(lot, dtype=np.int64)), strict=True):
            vpa, frame = vpas[place].vpa, frames[place]
            tail = frame.tail
            if place in changed or (latest and frame.key in latest):
                ours = changed[place].conditions if place in changed else vpa.conditions
                tail = _tail(with_latest(ours, vpa, latest), vpa.generation)
            yield vpa, frame.path, text + tail


def with_latest(conditions: tuple[VpaCondition, ...], observed: Vpa, latest: Latest) -> tuple[VpaCondition, ...]:
    """Return conditions with what others have written since a VPA was observed, see ``with_others_conditions``."""
    now = latest.get((observed.namespace, observed.name))
    return conditions if now is None or now is observed else with_others_conditions(conditions, observed, now)


@lru_cache(maxsize=4096)
def _tail(conditions: tuple[VpaCondition, ...], generation: int) -> bytes:
    """Return what follows the recommendation in a patch; many VPAs carry the same few conditions."""
    listed = f',"conditions":[{",".join([_condition(each) for each in conditions])}]' if conditions else ""
    observed = f',"observedGeneration":{generation}' if generation else ""
    return f"{listed}{observed}{_TAIL}".encode()


def recommendation_texts(texts: AmountTexts, places: Integers) -> list[bytes]:
    """Return the patches of some VPAs as far as the end of their recommendations.

    Args:
        texts: The recommendations.
        places: int64[n], places of the VPAs.
    """
    table = texts.table
    groups, counts = table.entries_of(places)
    # No text holds a line feed: in JSON it is written as two other characters.
    lines = "".join(_pieces(texts, groups, counts)).encode().split(b"\n")[:-1]
    for at in np.flatnonzero(counts == 0).tolist():
        lines.insert(at, _NO_ENTRY)
    if table.adjusted:
        for at, place in enumerate(places.tolist()):
            if place in table.adjusted:
                lines[at] = _recommendation(table.adjusted[place])
    return lines


def _pieces(texts: AmountTexts, groups: Integers, counts: Integers) -> list[str]:
    """Return what the columns tell of some groups, each VPA's as a line that begins a patch.

    Args:
        texts: The recommendations.
        groups: int64[n], VPA by VPA.
        counts: int64[vpas], how many of them are each VPA's.
    """
    table, width = texts.table, len(_ENTRY)
    pieces = list(_ENTRY) * len(groups)
    names = [table.groups.names[group] for group in groups.tolist()]
    written = {name: _text(name) for name in set(names)}
    pieces[_NAME_AT::width] = [written[name] for name in names]
    vectors = [(texts.cpu(groups, each), texts.memory(groups, each)) for each in BOUNDED]
    # Where nothing is bounded or cut the uncapped target is the target.
    is_same = not (table.typed.quantities or table.is_cut)
    last = vectors[0] if is_same else (texts.cpu(groups, UNCAPPED_TARGET), texts.memory(groups, UNCAPPED_TARGET))
    for at, (cpu, memory) in zip(_AMOUNTS_AT, (*vectors, last), strict=True):
        pieces[at::width], pieces[at + 2 :: width] = cpu, memory
    odd = np.flatnonzero(~(table.groups.controls_cpu[groups] & table.groups.controls_memory[groups]))
    for at, entry in zip(odd.tolist(), table.entries(groups[odd]) if len(odd) else (), strict=True):
        pieces[at * width + 1 : (at + 1) * width - 1] = [_entry(entry), *[""] * (width - 3)]
    ends = np.cumsum(counts[counts > 0])
    begins, behind = [","] * len(names), [""] * len(names)
    for begin, end in pairwise([0, *ends.tolist()]):
        begins[begin], behind[end - 1] = _FIRST, f"{_END}\n"
    pieces[::width], pieces[width - 1 :: width] = begins, behind
    return pieces


def _recommendation(recommendation: Recommendation) -> bytes:
    """Return the beginning of a patch, up to the end of the recommendation."""
    entries = [_entry(each) for each in recommendation.containers]
    return f"{_FIRST}{','.join(entries)}{_END}".encode() if entries else _NO_ENTRY


def _entry(entry: ContainerRecommendation) -> str:
    """Return one container's recommendation; absent and empty bounds are left out."""
    target = _amounts(entry.target)
    lower = f',"lowerBound":{_amounts(entry.lower_bound)}' if entry.lower_bound else ""
    upper = f',"upperBound":{_amounts(entry.upper_bound)}' if entry.upper_bound else ""
    uncapped = f',"uncappedTarget":{_amounts(entry.uncapped_target)}' if entry.uncapped_target else ""
    return f'{{"containerName":{_text(entry.container_name)},"target":{target}{lower}{upper}{uncapped}}}'


def _amounts(amounts: ResourceList) -> str:
    """Return a resource list; the text of a quantity needs no escaping."""
    members = ",".join([f'{_text(name)}:"{value}"' for name, value in amounts.items()])
    return f"{{{members}}}"


@lru_cache(maxsize=4096)
def _text(text: str) -> str:
    """Return a name as JSON text; clusters hold few distinct container names."""
    return msgspec.json.encode(text).decode()


@lru_cache(maxsize=4096)
def _condition(condition: VpaCondition) -> str:
    """Return one condition; in most rounds many VPAs carry the same few."""
    body = {"type": condition.type, "status": condition.status.value}
    if condition.last_transition_time is not None:
        body["lastTransitionTime"] = timestamp(condition.last_transition_time)
    if condition.reason:
        body["reason"] = condition.reason
    if condition.message:
        body["message"] = condition.message
    return msgspec.json.encode(body).decode()

"""Status patches as JSON text, without building the objects in between (spec: recommender:5; performance R-3).

Ten thousand of them are due in a minute, nearly all of the same shape: numbers in a frame that stays the same. So the
text is put together from columns, as far as there are columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from autoscaling.kube.table import Key
from autoscaling.resources import ResourceList
from autoscaling.vpa import ContainerRecommendation, Vpa, VpaCondition
from autoscaling.wire.objects import timestamp
from recommender.due_statuses import DueStatuses
from recommender.recommendation_table import BOUNDED, UNCAPPED_TARGET, RecommendationTable
from recommender.status import VpaStatus, with_others_conditions

Integers = NDArray[np.int64]

_HEAD = '[{"op":"add","path":"/status","value":{'
_TAIL = "}}]"
_LOT: Final = 1024
"""Statuses whose texts are made at a time: as many as few round trips write, and not those of all VPAs at once."""


Latest = Callable[[Key], Vpa | None]
"""Returns a VPA as it is now, by namespace and name."""


@dataclass(frozen=True, slots=True)
class StatusFrame:
    """What stands around a VPA's recommendation in a patch for as long as its conditions stay.

    Args:
        path: Where the patch goes.
        conditions: Text of the conditions as observed, see ``conditions_text``.
    """

    path: str
    conditions: str


def status_patch(status: VpaStatus) -> bytes:
    """Return the JSON patch that replaces a whole status; empty members are left out."""
    recommendation = status.recommendation
    text = "" if recommendation is None else _recommendation([_entry(each) for each in recommendation.containers])
    return _patch(text, conditions_text(status.conditions), status.observed_generation)


def due_patches(
    due: DueStatuses, frames: Sequence[StatusFrame], latest: Latest | None
) -> Iterator[tuple[Vpa, str, bytes]]:
    """Yield the patches of the statuses that are due, with their VPAs and paths.

    Each is made when it is asked for, of what others have written until then.

    Args:
        due: What to write.
        frames: Of each VPA as observed.
        latest: Tells what others write; None where nobody else writes.
    """
    vpas, changed = due.recommendations.groups.vpas, due.changed
    for begin in range(0, len(due.places), _LOT):
        lot = due.places[begin : begin + _LOT]
        texts = recommendation_texts(due.recommendations, np.array(lot, dtype=np.int64))
        for place, text in zip(lot, texts, strict=True):
            vpa, frame = vpas[place].vpa, frames[place]
            conditions = frame.conditions
            if latest is not None or place in changed:
                ours = changed[place].conditions if place in changed else vpa.conditions
                now = with_latest(ours, vpa, latest)
                conditions = frame.conditions if now is vpa.conditions else conditions_text(now)
            yield vpa, frame.path, _patch(text, conditions, vpa.generation)


def with_latest(conditions: tuple[VpaCondition, ...], observed: Vpa, latest: Latest | None) -> tuple[VpaCondition, ...]:
    """Return conditions with what others have written since a VPA was observed, see ``with_others_conditions``."""
    now = latest((observed.namespace, observed.name)) if latest is not None else None
    return conditions if now is None or now is observed else with_others_conditions(conditions, observed, now)


def conditions_text(conditions: tuple[VpaCondition, ...]) -> str:
    """Return the member of a status with its comma in front; nothing where there are no conditions."""
    return f',"conditions":[{",".join([_condition(each) for each in conditions])}]' if conditions else ""


def _patch(recommendation: str, conditions: str, observed_generation: int) -> bytes:
    """Return the patch of a status from the texts of its members, of which the first may be missing."""
    generation = f',"observedGeneration":{observed_generation}' if observed_generation else ""
    if not recommendation:
        return f"{_HEAD}{f'{conditions}{generation}'[1:]}{_TAIL}".encode()
    return f'{_HEAD}"recommendation":{recommendation}{conditions}{generation}{_TAIL}'.encode()


def recommendation_texts(table: RecommendationTable, places: Integers) -> list[str]:
    """Return the recommendations of some VPAs as JSON text.

    Args:
        table: The recommendations.
        places: int64[n], places of the VPAs.
    """
    groups, counts = table.entries_of(places)
    entries = _entries(table, groups)
    ends = np.cumsum(counts)
    texts = [
        _recommendation(entries[begin:end]) for begin, end in zip((ends - counts).tolist(), ends.tolist(), strict=True)
    ]
    if table.adjusted:
        for at, place in enumerate(places.tolist()):
            if place in table.adjusted:
                texts[at] = _recommendation([_entry(entry) for entry in table.adjusted[place].containers])
    return texts


def _entries(table: RecommendationTable, groups: Integers) -> list[str]:
    """Return what the columns tell of some groups."""
    names = [_text(table.groups.names[group]) for group in groups.tolist()]
    columns = [texts(groups, vector) for vector in BOUNDED for texts in (table.cpu_texts, table.memory_texts)]
    # Where nothing is bounded or cut the uncapped target is the target.
    uncapped = columns[:2]
    if table.typed.quantities or table.is_cut:
        uncapped = [texts(groups, UNCAPPED_TARGET) for texts in (table.cpu_texts, table.memory_texts)]
    entries = [
        f'{{"containerName":{name},"target":{{"cpu":"{target_cpu}","memory":"{target_memory}"}},'
        f'"lowerBound":{{"cpu":"{lower_cpu}","memory":"{lower_memory}"}},'
        f'"upperBound":{{"cpu":"{upper_cpu}","memory":"{upper_memory}"}},'
        f'"uncappedTarget":{{"cpu":"{cpu}","memory":"{memory}"}}}}'
        for name, target_cpu, target_memory, lower_cpu, lower_memory, upper_cpu, upper_memory, cpu, memory in zip(
            names, *columns, *uncapped, strict=True
        )
    ]
    flags = table.groups.controls_cpu[groups], table.groups.controls_memory[groups]
    for at in np.flatnonzero(~(flags[0] & flags[1])).tolist():
        entries[at] = _entry(table.entry(int(groups[at])))
    return entries


def _recommendation(entries: list[str]) -> str:
    return f'{{"containerRecommendations":[{",".join(entries)}]}}' if entries else "{}"


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

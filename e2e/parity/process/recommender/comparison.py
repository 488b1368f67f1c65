"""What two recommenders left, side by side: whether it is the same, and by which rule they part first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from autoscaling.quantity import Quantity
from autoscaling.resources import CONTROLLED
from e2e.parity.process.differences import Difference, first_apart
from e2e.parity.process.recommender.cluster import RecommenderCluster
from e2e.parity.process.recommender.partings import VECTORS, Arithmetic, History, first_step_apart
from e2e.parity.process.recommender.rounds import Key, State, Write
from evenkeel.comparison.shell.flags import side_settings
from evenkeel.simulator.api.fields import JsonObject, child, copy_of, rows, text
from evenkeel.simulator.api.fields import number as number_at
from evenkeel.simulator.clock import EPOCH, parse_rfc3339
from recommender.amounts import from_quantity

_ROUNDING = 1e-9
_EPSILON = 1e-4
_STATUS_WRITE = "patch verticalpodautoscalers/status"
_USUAL_HALF_LIFE = timedelta(hours=24)
_RULES = (
    ("spec", "6.3"),
    ("status.version", "6.3"),
    ("status.totalSamplesCount", "aggregation, recommender 2.1 (which samples count)"),
    ("status.firstSampleStart", "aggregation, recommender 2.1 (which samples count)"),
    ("status.lastSampleStart", "aggregation, recommender 2.1 (which samples count)"),
    ("status.cpuHistogram", "aggregation, recommender 1.3 and 2.1 (the CPU histogram)"),
    ("status.memoryHistogram", "aggregation, recommender 2.2 and 2.3 (peaks and OOM kills)"),
)
"""Rules behind the parts of a checkpoint, in the order in which one leads to the next."""


@dataclass(slots=True)
class Comparison:
    """What two recommenders left after the same rounds.

    Args:
        cluster: Where they worked.
        upstream: What upstream's left after each round.
        ours: What ours left.
        taken_over_at: Number of the round in which recommenders took over from others; None where none did.
        rounded: Checkpoints that were equal but for what upstream itself leaves to chance.
    """

    cluster: RecommenderCluster
    upstream: tuple[State, ...]
    ours: tuple[State, ...]
    taken_over_at: int | None = None
    rounded: int = 0
    _seen: set[Key] = field(default_factory=set)

    @property
    def half_lives(self) -> Mapping[str, timedelta]:
        """The half-life of each histogram of a checkpoint."""
        found = {"cpuHistogram": _USUAL_HALF_LIFE, "memoryHistogram": _USUAL_HALF_LIFE}
        for flag in self.cluster.flags:
            name, _, value = flag.removeprefix("--").partition("=")
            if name.endswith("-histogram-decay-half-life"):
                found[f"{name.partition('-')[0]}Histogram"] = timedelta(hours=int(value.removesuffix("h")))
        return found

    def objects(self) -> int:
        """Return how many VPAs and checkpoints there were after the last round."""
        return len(self.upstream[-1].statuses) + len(self.upstream[-1].checkpoints)

    def differences(self) -> Iterator[Difference]:
        """Yield the first difference of each object."""
        for number, (theirs, ours) in enumerate(zip(self.upstream, self.ours, strict=True)):
            before = (self.upstream[number - 1], self.ours[number - 1]) if number else None
            yield from self._checkpoints(number, theirs.checkpoints, ours.checkpoints)
            yield from self._statuses(number, (theirs, ours), before)
            yield from self._writes(number, theirs, ours)

    def _checkpoints(
        self, number: int, theirs: Mapping[Key, JsonObject], ours: Mapping[Key, JsonObject]
    ) -> Iterator[Difference]:
        for key in sorted({*theirs, *ours} - self._seen):
            one, other = _timeless(theirs.get(key)), _timeless(ours.get(key))
            apart = first_apart(one, other)
            if apart is None:
                continue
            if one is not None and other is not None and is_left_to_chance(one, other, self.half_lives):
                self.rounded += 1
                continue
            self._seen.add(key)
            rule = "6.3 (which checkpoints there are)" if one is None or other is None else stored_rule(one, other)
            yield self._difference(number, f"checkpoint {key[0]}/{key[1]}", rule, apart)

    def _statuses(
        self, number: int, now: tuple[State, State], before: tuple[State, State] | None
    ) -> Iterator[Difference]:
        for key in sorted(set(now[0].statuses) - self._seen):
            theirs, ours = (
                _with_transitions(state.statuses[key], earlier.statuses.get(key, {}) if earlier else {})
                for state, earlier in zip(now, before or (None, None), strict=True)
            )
            apart = first_apart(theirs, ours)
            if apart is not None:
                self._seen.add(key)
                rule = _status_rule(theirs, ours) or self._estimation_rule(key, now[0], theirs, ours)
                yield self._difference(number, f"VPA {key[0]}/{key[1]}", rule, apart)

    def _estimation_rule(self, key: Key, state: State, theirs: JsonObject, ours: JsonObject) -> str:
        """Return the step at which the first amounts part that differ, or the section about conditions."""
        entries = [rows(side, "recommendation", "containerRecommendations") for side in (theirs, ours)]
        settings = side_settings(self.cluster.flags)
        for vector in VECTORS:
            for one, other in zip(*entries, strict=True):
                for resource in CONTROLLED:
                    amounts = [text(side, vector, resource) for side in (one, other)]
                    if amounts[0] == amounts[1]:
                        continue
                    if not all(amounts):
                        return f"4.1 (which resources, {vector})"
                    history = history_of(state.checkpoints.get((key[0], f"{key[1]}-{text(one, 'containerName')}"), {}))
                    arithmetic = Arithmetic(settings, resource, len(entries[0]), history)
                    whole = [from_quantity(Quantity.parse(amount), resource) for amount in amounts]
                    return f"{first_step_apart(arithmetic, vector, whole[0], whole[1]).value} ({vector}.{resource})"
        return "recommender 5 (conditions)"

    def _writes(self, number: int, theirs: State, ours: State) -> Iterator[Difference]:
        for write in sorted({*theirs.writes, *ours.writes}):
            if number == self.taken_over_at and _is_new_wording(write, theirs):
                continue
            if theirs.writes[write] != ours.writes[write] and write[1] not in self._seen:
                self._seen.add(write[1])
                counts = f"{theirs.writes[write]} times", f"{ours.writes[write]} times"
                yield self._difference(
                    number, f"{write[0]} {write[1][0]}/{write[1][1]}, {write[2]}", "5 or 6.3", ("", *counts)
                )

    def _difference(self, number: int, what: str, rule: str, apart: tuple[str, object, object]) -> Difference:
        path, theirs, ours = apart
        place = f", at {path}" if path else ""
        hints = (f"flags: {' '.join(self.cluster.flags)}",)
        case = f"seed {self.cluster.seed}, round {number + 1}, {what}"
        named = rule if "recommender" in rule else f"recommender {rule}"
        return Difference(case, f"{named}{place}", str(theirs), str(ours), hints)


def _is_new_wording(write: Write, state: State) -> bool:
    """Say whether a status may have been written only because the new recommender words its messages otherwise."""
    conditions = rows(state.statuses.get(write[1], {}), "conditions")
    return write[0] == _STATUS_WRITE and any(row.get("message") for row in conditions)


def _timeless(checkpoint: JsonObject | None) -> JsonObject | None:
    """Return a checkpoint without the time at which it was written, None for none."""
    if checkpoint is None:
        return None
    copy = copy_of(checkpoint)
    child(copy, "status").pop("lastUpdateTime", None)
    return copy


def is_left_to_chance(theirs: JsonObject, ours: JsonObject, half_lives: Mapping[str, timedelta]) -> bool:
    """Say whether two checkpoints differ only as those of two runs of upstream do.

    Upstream goes through maps when it merges (recommender 3.5). So sums differ in their last digits, a weight that lies
    in the middle between two whole numbers differs by one, and a histogram that has no sample yet gets the reference
    time of whatever it is merged with before: all weights then differ by a power of two, which means nothing, but an
    outermost one may come to lie below the least weight that counts.
    """
    one, other = copy_of(theirs), copy_of(ours)
    for name, half_life in half_lives.items():
        left, right = child(one, "status", name), child(other, "status", name)
        if not math.isclose(_at_beginning(left, half_life), _at_beginning(right, half_life), abs_tol=_ROUNDING):
            return False
        if not _are_near(left, right):
            return False
        for histogram in (left, right):
            for part in ("totalWeight", "referenceTimestamp", "bucketWeights"):
                histogram.pop(part, None)
    return one == other


def _at_beginning(histogram: JsonObject, half_life: timedelta) -> float:
    """Return the logarithm of a histogram's weight as it would be with a reference time that is always the same one."""
    total, reference = histogram.get("totalWeight", 0.0), text(histogram, "referenceTimestamp")
    if not isinstance(total, int | float) or not total or not reference:
        return 0.0
    return math.log2(total) + (parse_rfc3339(reference) - EPOCH) / half_life


def _are_near(left: JsonObject, right: JsonObject) -> bool:
    """Say whether the weights of two histograms differ by one at most, but for those that are cut off on one side."""
    one, other = child(left, "bucketWeights"), child(right, "bucketWeights")
    return all(
        abs(int(str(one.get(bucket, 0))) - int(str(other.get(bucket, 0)))) <= 1
        or (bucket not in other and _is_cut_off(bucket, left, right))
        or (bucket not in one and _is_cut_off(bucket, right, left))
        for bucket in {*one, *other}
    )


def _is_cut_off(bucket: str, has: JsonObject, lacks: JsonObject) -> bool:
    """Say whether a histogram lacks a weight that lies beyond all others and is too little at its reference time."""
    weights, kept = child(has, "bucketWeights"), [int(name) for name in child(lacks, "bucketWeights")]
    total = lacks.get("totalWeight", 0.0)
    assert isinstance(total, int | float)
    share = int(str(weights[bucket])) / sum(int(str(weight)) for weight in weights.values())
    is_outside = bool(kept) and not min(kept) <= int(bucket) <= max(kept)
    return is_outside and share * total < _EPSILON


def stored_rule(theirs: JsonObject, ours: JsonObject) -> str:
    """Return the first rule at which two checkpoints part."""
    for path, rule in _RULES:
        parts = path.split(".")
        if first_apart(_at(theirs, parts), _at(ours, parts)) is not None:
            return rule
    return "6.3"


def _at(obj: object, parts: list[str]) -> object:
    for part in parts:
        obj = obj.get(part) if isinstance(obj, dict) else None
    return obj


def _with_transitions(status: JsonObject, before: JsonObject) -> JsonObject:
    """Return a status that says of each condition whether its time is the one it had a round before."""
    copy = copy_of(status)
    earlier = {text(row, "type"): text(row, "lastTransitionTime") for row in rows(before, "conditions")}
    for row in rows(copy, "conditions"):
        at = text(row, "lastTransitionTime")
        row["lastTransitionTime"] = "as before" if earlier.get(text(row, "type")) == at else "new"
        row["message"] = bool(row.get("message"))
    return copy


def history_of(checkpoint: JsonObject) -> History:
    """Return how much history a checkpoint tells of."""
    status = child(checkpoint, "status")
    first, last = (text(status, name) for name in ("firstSampleStart", "lastSampleStart"))
    return History(
        parse_rfc3339(first) if first else None,
        parse_rfc3339(last) if last else None,
        number_at(status, "totalSamplesCount"),
    )


def _status_rule(theirs: JsonObject, ours: JsonObject) -> str:
    """Return the first rule before the estimation at which two statuses part; empty where that is later."""
    conditions = [{text(row, "type"): row for row in rows(side, "conditions")} for side in (theirs, ours)]
    for kind, rule in (("ConfigUnsupported", "11 (the target)"), ("NoPodsMatched", "3.2 (the pods)")):
        if conditions[0].get(kind) != conditions[1].get(kind):
            return rule
    entries = [rows(side, "recommendation", "containerRecommendations") for side in (theirs, ours)]
    names = [[text(row, "containerName") for row in side] for side in entries]
    return "4.1 (which containers)" if names[0] != names[1] else ""

"""What a recommendation comes to for a pod: capping, and limits in proportion (spec: limits:2 to limits:6)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from autoscaling.capping import ProcessedRecommendation, process
from autoscaling.errors import InvalidObjectError
from autoscaling.limitrange import NO_LIMITS
from autoscaling.quantity import MAX_INT64
from autoscaling.resources import amount, resource_texts
from autoscaling.scaling import proportional_limit
from autoscaling.target_resources import container_targets
from autoscaling.vpa import ContainerRecommendation
from autoscaling.wire.objects import decode_vpa
from autoscaling.wire.pods import decode_pod
from e2e.parity.admission.drawing import SPACE, limit_ranges, pod, vpa
from e2e.parity.admission.reviews import ClusterQuestion
from e2e.parity.amounts import BEYOND_64_BITS, wanted_beyond_64_bits
from e2e.parity.dice import Dice
from e2e.parity.kinds import Case, Kind


class _CappingQuestion(ClusterQuestion):
    pod: Case = msgspec.field(default_factory=dict)


def draw(dice: Dice) -> Case:
    """Draw a pod, a VPA and LimitRanges."""
    drawn = pod(dice)
    drawn["metadata"] = {"namespace": SPACE, "name": "p"}
    return {"vpas": [vpa(dice, "v")], "limitRanges": limit_ranges(dice), "pod": drawn}


def answer(question: Case) -> object:
    """Cap a recommendation for a pod, and work out its containers' resources."""
    asked = msgspec.convert(question, _CappingQuestion)
    vpa, pod = decode_vpa(msgspec.json.encode(asked.vpas[0])), decode_pod(msgspec.json.encode(asked.pod))
    limits = asked.limits().get(pod.namespace, NO_LIMITS)
    try:
        processed = process(pod, vpa, limits)
    except InvalidObjectError:
        return {"isRefused": True, "isPodRefused": vpa.recommendation is not None}
    targets = container_targets(pod, vpa, processed if vpa.recommendation is not None else None, limits)
    return {
        "isRefused": False,
        "isPodRefused": False,
        "processed": _entries(processed),
        "notes": _notes((processed.notes if processed else {}).items()),
        "containers": [{"requests": resource_texts(t.requests), "limits": resource_texts(t.limits)} for t in targets],
        "allNotes": _notes((c.name, t.notes) for c, t in zip(pod.containers, targets, strict=True)),
    }


def _entries(processed: ProcessedRecommendation | None) -> list[Case] | None:
    return [_entry(entry) for entry in processed.recommendation.containers] if processed else None


def _entry(entry: ContainerRecommendation) -> Case:
    vectors = {"target": entry.target, "lowerBound": entry.lower_bound, "upperBound": entry.upper_bound}
    return {"containerName": entry.container_name, **{name: resource_texts(v or {}) for name, v in vectors.items()}}


def _notes(notes: Iterable[tuple[str, Iterable[str]]]) -> Case:
    """Return the notes of containers that have some; those on different resources come in the order of a map."""
    return {container: said for container, given in notes if (said := sorted(given))}


def read(question: Case, given: object) -> object:  # noqa: ARG001 one of several
    """Return upstream's answer with absent and empty lists alike."""
    assert isinstance(given, dict)
    if given["isRefused"]:
        return {"isRefused": True, "isPodRefused": given["isPodRefused"]}
    processed = given["processed"]
    entries = None
    if processed is not None:
        vectors = ("target", "lowerBound", "upperBound")
        listed = processed.get("containerRecommendations") or []
        entries = [{"containerName": e["containerName"], **{v: e.get(v) or {} for v in vectors}} for e in listed]
    containers = [{name: each[name] or {} for name in ("requests", "limits")} for each in given["containers"]]
    return {
        "isRefused": False,
        "isPodRefused": given["isPodRefused"],
        "processed": entries,
        "notes": _notes((given["notes"] or {}).items()),
        "containers": containers,
        "allNotes": _notes((given["allNotes"] or {}).items()),
    }


def wanted_of_limits(case: Case, ours: object, theirs: object) -> str:
    """Return why two answers may differ, empty where they may not.

    Where a limit in proportion is cut to the largest 64-bit integer, its sum with another one wraps around upstream,
    and what is scaled by that sum need not be large itself.
    """
    asked = msgspec.convert(case, _CappingQuestion)
    vpa, pod = decode_vpa(msgspec.json.encode(asked.vpas[0])), decode_pod(msgspec.json.encode(asked.pod))
    item = asked.limits().get(pod.namespace, NO_LIMITS).container
    for entry in vpa.recommendation.containers if vpa.recommendation is not None else ():
        container = pod.container(entry.container_name)
        if container is None:
            continue
        current = pod.actual_resources(container)
        vectors = (entry.target, entry.lower_bound, entry.upper_bound)
        for resource, request in ((name, each) for vector in vectors for name, each in (vector or {}).items()):
            default = amount(item.default if item is not None else None, resource)
            limit = proportional_limit(resource, current, request, default).limit
            if limit is not None and limit.value() == MAX_INT64:
                return BEYOND_64_BITS
    return wanted_beyond_64_bits(case, ours, theirs)


CAPPING: Final = Kind("capping", draw, answer, read, wanted=wanted_of_limits)

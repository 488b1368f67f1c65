"""Admission reviews of pods and VPAs, from the bytes of the request to those of the answer (spec: admission:4)."""

from __future__ import annotations

import base64
import json
import re
from collections import defaultdict
from typing import Final

import msgspec

from admission.boosting import BoostRules
from admission.review import ReviewRules
from admission.shell.exchange import Memory, read_question, verdict_on, write_answer
from admission.vpa_matching import ClusterView, TargetName
from admission.vpa_validation import Gates
from autoscaling.behaviour import Behaviour, Profile
from autoscaling.limitrange import LimitRange, NamespaceLimits, merge
from autoscaling.quantity import Quantity
from autoscaling.vpa import Vpa
from autoscaling.wire.objects import decode_limit_range, decode_vpa
from e2e.parity.admission.drawing import SPACE, limit_ranges, pod, scales, vpa, workloads
from e2e.parity.admission.submissions import submitted_vpa
from e2e.parity.amounts import wanted_beyond_64_bits
from e2e.parity.cluster import controllers, named, workload
from e2e.parity.dice import Dice
from e2e.parity.kinds import Case, Kind
from e2e.parity.patches import in_order

_GROUP: Final = "autoscaling.k8s.io"
_UPDATES: Final = "/metadata/annotations/vpaUpdates"
_PART: Final = re.compile(r"; (?=container [0-9]+: )")
_BOUND: Final = re.compile(r"\.(minAllowed|maxAllowed)\[[^\]]*\]$")


class ClusterQuestion(msgspec.Struct, rename="camel"):
    """A cluster's objects."""

    gates: dict[str, bool] = {}
    vpas: list[Case] = []
    workloads: list[Case] = []
    scales: dict[str, Case] = {}
    limit_ranges: list[Case] = []

    def limits(self) -> dict[str, NamespaceLimits]:
        """Return the merged LimitRanges of each namespace."""
        found: defaultdict[str, list[LimitRange]] = defaultdict(list)
        for given in sorted(self.limit_ranges, key=named):
            limit_range = decode_limit_range(msgspec.json.encode(given))
            found[limit_range.namespace].append(limit_range)
        return {namespace: merge(ranges) for namespace, ranges in found.items()}


class _ReviewQuestion(ClusterQuestion):
    review: Case = {}
    max_boost: str = ""

    def boosts(self) -> BoostRules | None:
        """Return what is told about start-up boosts, None where they are off."""
        if not self.gates.get("CPUStartupBoost", False):
            return None
        return BoostRules(Quantity.parse(self.max_boost) if self.max_boost else None)


def draw(dice: Dice) -> Case:
    """Draw a review of a pod, or of a VPA that is created or changed."""
    if dice.chance(0.6):
        names = dice.pick(*[("v",)] * 8, ("v", "w"), ("w", "v"), ("v", "w", "x"), ())
        gates: Case = {name: dice.chance(0.5) for name in ("InPlace", "PerVPAConfig", "CPUStartupBoost")}
        return {
            "gates": gates,
            "maxBoost": dice.pick("", "", "1500m", "0", "1"),
            "vpas": [vpa(dice, name) for name in names],
            "workloads": workloads(dice),
            "scales": scales(dice),
            "limitRanges": limit_ranges(dice),
            "review": _review("pods", pod(dice), {"version": dice.pick(*["v1"] * 80, "v2")}),
        }
    change: Case = {"operation": "CREATE"}
    if dice.chance(0.5):
        change = {"operation": "UPDATE", "oldObject": submitted_vpa(dice)}
    resource = dice.pick(*["verticalpodautoscalers"] * 40, "others")
    gates = {name: dice.chance(0.4) for name in ("InPlace", "PerVPAConfig", "CPUStartupBoost")}
    return {"gates": gates, "review": _review(resource, submitted_vpa(dice), change)}


def _review(resource: str, given: Case, more: Case) -> Case:
    is_pod = resource == "pods"
    group, kind = ("", "Pod") if is_pod else (_GROUP, "VerticalPodAutoscaler")
    version = str(more.pop("version", "v1"))
    of_kind: Case = {"group": group, "version": version, "kind": kind}
    request: Case = {
        "uid": "u-1",
        "kind": of_kind,
        "requestKind": of_kind,
        "resource": {"group": group, "version": version, "resource": resource},
        "namespace": SPACE,
        "name": "" if is_pod else "v",
        "operation": "CREATE",
        "object": given,
        **more,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def answer(question: Case) -> object:
    """Answer a review that was answered before, as most pods are of a template seen before."""
    asked = msgspec.convert(question, _ReviewQuestion)
    gates = Gates(
        cpu_startup_boost=asked.gates.get("CPUStartupBoost", False),
        in_place=asked.gates.get("InPlace", False),
        per_vpa_config=asked.gates.get("PerVPAConfig", False),
    )
    rules = ReviewRules(_GROUP, gates, Behaviour.of(Profile.UPSTREAM), asked.boosts())
    read_in = read_question(msgspec.json.encode(asked.review))
    view, memory = _view(asked), Memory.of(1)
    for _ in range(2):
        verdict = verdict_on(read_in, view, rules, memory)
    return _comparable(json.loads(write_answer(read_in.uid, verdict, memory.texts)))


def _view(asked: ClusterQuestion) -> ClusterView:
    vpas: defaultdict[str, dict[TargetName, tuple[Vpa, ...]]] = defaultdict(dict)
    for given in asked.vpas:
        found = decode_vpa(msgspec.json.encode(given))
        if found.target_ref is not None:
            of_namespace, target = vpas[found.namespace], (found.target_ref.kind, found.target_ref.name)
            of_namespace[target] = (*of_namespace.get(target, ()), found)
    known = controllers((workload(given) for given in asked.workloads), asked.scales)
    return ClusterView(is_complete=True, vpas=vpas, controllers=known, limits=asked.limits())


def read(question: Case, given: object) -> object:  # noqa: ARG001 one of several
    """Return upstream's answer in a form that compares."""
    return _comparable(given)


def _comparable(review: object) -> Case:
    """Return a review's answer without wording, and with what comes in the order of a map sorted."""
    assert isinstance(review, dict)
    response = review["response"]
    result: Case = {"uid": response["uid"], "allowed": response["allowed"]}
    result["warnings"] = [
        [w.partition(":")[0], re.findall(r'"([A-Za-z/]*)"', w)[:1]] for w in response.get("warnings", ())
    ]
    result["patchType"] = response.get("patchType", "")
    patch = json.loads(base64.b64decode(response["patch"])) if response.get("patch") else []
    result["patch"] = in_order([_operation(o) for o in patch])
    status = response.get("status")
    if status is not None:
        details = status["details"]
        result["status"] = {name: status[name] for name in ("status", "code", "reason")}
        result["about"] = [details.get(name) for name in ("name", "group", "kind")]
        result["causes"] = _causes(details.get("causes") or [])
    return result


def _operation(operation: Case) -> Case:
    """Return an operation; the notes of one container come in the order of a map."""
    value = operation["value"]
    if operation["path"] == _UPDATES and isinstance(value, str):
        head, _, parts = value.partition(": ")
        notes = [part.partition(": ") for part in _PART.split(parts)]
        return {**operation, "value": [head, [[where, sorted(said.split(", "))] for where, _, said in notes]]}
    return operation


def _causes(causes: list[Case]) -> list[list[object]]:
    """Return field and reason of each cause; those on bounds of one policy come in the order of a map."""
    found = [[cause["field"], cause["reason"]] for cause in causes]
    return sorted(found, key=lambda cause: _place(found, cause))


def _place(causes: list[list[object]], cause: list[object]) -> tuple[int, str, str]:
    """Return what to sort a cause by: those on bounds of one policy stand where the first of them stands."""
    policy = _BOUND.sub("", str(cause[0]))
    if policy == cause[0]:
        return causes.index(cause), "", ""
    first = next(
        i for i, other in enumerate(causes) if _BOUND.search(str(other[0])) and _BOUND.sub("", str(other[0])) == policy
    )
    return first, str(cause[0]), str(cause[1])


REVIEW: Final = Kind("review", draw, answer, read, wanted=wanted_beyond_64_bits)

"""Judgements on pods without acting: groups, priority, acceptance and in-place decisions (spec: updater:2 to 4)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from autoscaling.errors import InvalidObjectError
from autoscaling.limitrange import NO_LIMITS
from autoscaling.objectref import ObjectRef
from autoscaling.ownership import pod_controller
from autoscaling.pod import Pod
from e2e.parity.dice import Dice
from e2e.parity.kinds import BEGIN, Case, Kind, dated
from e2e.parity.updater.drawing import Neighbourhood, all_limit_ranges, flags, gates, workloads
from e2e.parity.updater.questions import ClusterQuestion, duration, pod_of, recommendation_of, vpa_of, workload_map
from updater.acceptance import judge, meets_requirements
from updater.assessment import Assessment, Assessor
from updater.circumstances import Circumstances, Memory
from updater.eviction import clear_eviction, clear_fallback
from updater.group import Group, Groups, form_groups
from updater.in_place import Verdict, decide_in_place
from updater.infeasible import InfeasibleMemory
from updater.resize_status import resize_status
from updater.resize_watch import ResizeWatch
from updater.selection import Member

_AGES: Final = (0, 60, 299, 300, 301, 400, 3599, 3600, 3601, 5000)
_MEMBER: Final = re.compile(r"(\w+):(\w+)")
_NO_GROUP: Final = Group(0, 0, 0)
_LATE: Final = timedelta(days=30)
_DECISIONS: Final = {
    Verdict.APPROVED: "InPlaceApproved",
    Verdict.DEFERRED: "InPlaceDeferred",
    Verdict.EVICT: "InPlaceEvict",
    Verdict.INFEASIBLE: "InPlaceInfeasible",
    Verdict.INFEASIBLE_REMEMBERED: "InPlaceInfeasibleCached",
}


class _Judgement(ClusterQuestion):
    waited: dict[str, int] = msgspec.field(default_factory=dict)
    infeasible: dict[str, Case] = msgspec.field(default_factory=dict)
    begin: int = 0


def draw(dice: Dice) -> Case:
    """Draw a VPA with its pods, and what an updater remembers of them."""
    around = Neighbourhood(dice)
    pods = around.pods()
    names = [f"n1/p{index}" for index in range(len(pods))]
    return {
        "gates": gates(dice),
        "flags": flags(dice),
        "vpas": [around.vpa("v")],
        "workloads": workloads(dice, len(pods)),
        "limitRanges": all_limit_ranges(dice),
        "pods": pods,
        "waited": {name: dice.among(_AGES) * 10**9 for name in names if dice.chance(0.5)},
        "infeasible": {f"uid-p{i}": around.recommendation() for i in range(len(pods)) if dice.chance(0.25)},
    }


def question(case: Case, at: datetime) -> Case:  # noqa: ARG001 each question has a time of its own
    """Return a case in the oracle's time: some weeks after its beginning, so that ages are possible."""
    dated_case = dated(case, BEGIN + _LATE)
    assert isinstance(dated_case, dict)
    return {**dated_case, "begin": int(_LATE.total_seconds()) * 10**9}


def answer(asked_question: Case) -> object:
    """Judge pods."""
    asked = msgspec.convert(asked_question, _Judgement)
    now = BEGIN + duration(asked.begin)
    vpa, pods = vpa_of(asked.vpas[0]), [pod_of(given) for given in asked.pods]
    settings = asked.settings()
    infeasible = InfeasibleMemory({uid: recommendation_of(given) for uid, given in asked.infeasible.items()})
    waited = {ObjectRef("Pod", *name.split("/")): now - duration(age) for name, age in asked.waited.items()}
    limits = asked.limits().get(vpa.namespace, NO_LIMITS)
    fresh = Circumstances(vpa, limits, now, settings, Memory(infeasible))
    timed = Circumstances(vpa, limits, now, settings, Memory(infeasible, ResizeWatch(waited)))
    members = [Member(pod, _group(pod)) for pod in pods]
    groups = form_groups(members, vpa, workload_map(asked.cached_workloads()), settings)
    assessor = Assessor(fresh)
    try:
        judged = {f"{m.pod.namespace}/{m.pod.name}": _pod(m, groups, assessor.of(m.pod), fresh, timed) for m in members}
    except InvalidObjectError as error:
        # Upstream crashes on such a pod.
        return {"refused": str(error)}
    shown = {f"{ref.namespace}/{ref.kind}/{ref.name}": _shown(group) for ref, group in groups.known.items()}
    return {"groups": shown, "pods": judged, "order": _order(pods, assessor, fresh)}


def _group(pod: Pod) -> ObjectRef:
    key = pod_controller(pod)
    return ObjectRef(key.kind, key.namespace, key.name) if key else ObjectRef("", pod.namespace, "")


def _shown(group: Group) -> Case:
    return {
        "configured": group.configured,
        "tolerance": group.tolerance,
        "running": group.running,
        "isBelow": group.is_below_minimum,
    }


def _pod(member: Member, groups: Groups, assessed: Assessment, fresh: Circumstances, timed: Circumstances) -> Case:
    pod, group = member.pod, groups.of(member.group)
    status = resize_status(pod)
    budget = group if isinstance(group, Group) else _NO_GROUP
    return {
        "inPlace": _DECISIONS[decide_in_place(pod, group, fresh).verdict],
        "mayEvict": clear_eviction(pod, group, fresh).is_given,
        "mayFallBack": status is not None and clear_fallback(pod, status, budget, timed).is_given,
        "isOutside": assessed.priority.is_outside_bounds,
        "isScaleUp": assessed.priority.is_scale_up,
        "difference": assessed.priority.difference,
    }


def _order(pods: Sequence[Pod], assessor: Assessor, circumstances: Circumstances) -> list[str]:
    """Return the pods worth updating, the most urgent first, whatever their groups say."""
    worth: list[tuple[tuple[bool, float], str]] = []
    for pod in pods:
        found = assessor.of(pod)
        if found.processed is None:
            continue
        recommendation = found.processed.recommendation
        is_given = judge(pod, recommendation, found.priority, circumstances).is_given
        if is_given and meets_requirements(pod, circumstances.vpa, recommendation):
            worth.append((found.priority.rank, f"{pod.namespace}/{pod.name}"))
    return [name for _, name in sorted(worth, key=lambda each: each[0])]


def read(asked_question: Case, given: object) -> object:  # noqa: ARG001 one of several
    """Return upstream's answer with its printed statistics taken apart."""
    assert isinstance(given, dict)
    groups = {name: _statistics(shown) for name, shown in given["groups"].items()}
    return {**given, "groups": groups}


def _statistics(shown: str) -> Case:
    found = dict(_MEMBER.findall(shown))
    return {
        "configured": int(found["configured"]),
        "tolerance": int(found["evictionTolerance"]),
        "running": int(found["running"]),
        "isBelow": found["belowMinReplicas"] == "true",
    }


JUDGEMENT: Final = Kind("judgement", draw, answer, read, question)

"""Taking CPU start-up boosts back: which pods, when, and with which patches (spec: updater:5)."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import msgspec

from autoscaling.errors import InvalidObjectError
from autoscaling.limitrange import NO_LIMITS
from autoscaling.pod import Pod
from e2e.parity.dice import Dice
from e2e.parity.kinds import BEGIN, Case, Kind
from e2e.parity.patches import in_order
from e2e.parity.updater.drawing import CONTAINERS, Neighbourhood, all_limit_ranges, boost_annotation, flags, workloads
from e2e.parity.updater.judgements import question
from e2e.parity.updater.questions import ClusterQuestion, duration, workload_map
from updater.decision import Action
from updater.patches import Patch
from updater.unboost import UnboostContext, Verdict, next_step, unboost


class _Unboost(ClusterQuestion):
    begin: int = 0


def draw(dice: Dice) -> Case:
    """Draw boosted pods of one VPA."""
    around = Neighbourhood(dice)
    pods = around.pods(5)
    vpa = around.vpa("v")
    spec = vpa["spec"]
    assert isinstance(spec, dict)
    if dice.chance(0.7):
        spec["startupBoost"] = {
            "cpu": {"type": "Factor", "factor": 2, **dice.pick({}, {"durationSeconds": dice.pick(0, -1, 60, 600)})}
        }
    if dice.chance(0.3):
        policy: Case = {
            "containerName": dice.pick(*CONTAINERS, "*"),
            "startupBoost": dice.pick(
                {}, {"cpu": {"type": "Quantity", "quantity": "1", "durationSeconds": dice.pick(0, 30, 61)}}
            ),
        }
        spec["resourcePolicy"] = {"containerPolicies": [policy]}
    if dice.chance(0.3):
        spec["updatePolicy"] = {"updateMode": dice.pick("Off", "Initial")}
    for pod in pods:
        _boost(dice, pod)
    return {
        "gates": {"CPUStartupBoost": True, "InPlace": dice.chance(0.5)},
        "flags": flags(dice),
        "vpas": [vpa],
        "workloads": workloads(dice, len(pods)),
        "limitRanges": all_limit_ranges(dice),
        "pods": pods,
    }


def _boost(dice: Dice, pod: Case) -> None:
    meta = pod["metadata"]
    assert isinstance(meta, dict)
    boosted = {f"vpaCpuStartupBoost/{name}": boost_annotation(dice) for name in dice.some((*CONTAINERS, "x"), 2)}
    meta["annotations"] = {**meta.get("annotations", {}), **boosted}


def answer(asked_question: Case) -> object:
    """Say what becomes of each boosted pod."""
    asked = msgspec.convert(asked_question, _Unboost)
    now = BEGIN + duration(asked.begin)
    snapshot = asked.snapshot(asked.vpas, asked.pods)
    vpa = snapshot.vpas[0]
    limits = snapshot.limits.get(vpa.vpa.namespace, NO_LIMITS)
    around = UnboostContext(vpa, snapshot.pods, workload_map(snapshot.workloads.values()), limits, asked.settings())
    answers: Case = {}
    for pod in snapshot.pods:
        step = next_step(pod, vpa.vpa, now)
        if step.verdict is not Verdict.FORGET:
            answers[f"{pod.namespace}/{pod.name}"] = _answer(pod, step.expired, step.wait, around)
    return answers


def _answer(pod: Pod, expired: tuple[str, ...], wait: timedelta, around: UnboostContext) -> Case:
    if not expired:
        return {"wait": wait // timedelta(microseconds=1)}
    try:
        decision = unboost(pod, expired, around)
    except InvalidObjectError:
        return {"hasFailed": True}
    if decision.action is Action.WAIT:
        return {"expired": list(expired)}
    if decision.patches is None:
        return {"hasFailed": True}
    patches = decision.patches
    return {"calls": [_call("resize", pod, patches.resize), _call("annotate", pod, patches.annotations)]}


def _call(verb: str, pod: Pod, patch: Patch) -> Case:
    sent = [dict(operation.as_json()) for operation in patch]
    return {"do": verb, "pod": f"{pod.namespace}/{pod.name}", "patch": in_order(sent)}


def read(asked_question: Case, given: object) -> object:  # noqa: ARG001 one of several
    """Return upstream's answer by what becomes of each pod."""
    assert isinstance(given, dict)
    return {name: _read(each) for name, each in given.items()}


def _read(given: Case) -> Case:
    expired, remaining, calls = given["expired"], given["remaining"], given["calls"]
    assert isinstance(remaining, int)
    assert isinstance(calls, list)
    if not expired:
        return {"wait": remaining // 1000}
    assert isinstance(expired, list)
    if not given["isAllowed"]:
        return {"expired": [str(name).partition("/")[2] for name in expired]}
    if given["hasFailed"]:
        return {"hasFailed": True}
    return {"calls": [{**call, "patch": in_order(call["patch"])} for call in calls]}


UNBOOST: Final = Kind("unboost", draw, answer, read, question)

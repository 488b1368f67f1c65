"""Whole rounds of an updater: the calls that it makes, in order, and the events that it tells (spec: updater:1)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from autoscaling.startup_boost import BOOST_ANNOTATION_PREFIX
from autoscaling.vpa import Vpa
from e2e.parity.cluster import named
from e2e.parity.dice import Dice
from e2e.parity.kinds import Case, Kind, dated, text_of
from e2e.parity.patches import in_order
from e2e.parity.updater.drawing import Neighbourhood, all_limit_ranges, flags, gates, workloads
from e2e.parity.updater.questions import ClusterQuestion, moment
from updater.circumstances import Memory
from updater.decision import Action, Decision, Outcome, Reason
from updater.patches import Patch
from updater.plan import Plan
from updater.ratelimit import TokenBucket
from updater.selection import select
from updater.snapshot import Snapshot

ONE_MOMENT: Final = (
    "a start-up boost that ends while upstream waits for its rate limiter; a round of ours goes by one moment"
)
"""Why answers may differ: named in docs/parity.md."""

_DEADLINE: Final = timedelta(minutes=1)
_REFUSALS: Final = {
    "resize": ("capacity", "forbidden", "invalid", "missing"),
    "annotate": ("forbidden",),
    "evict": ("budget", "budget", "missing"),
}


class _Round(msgspec.Struct):
    at: str
    vpas: list[Case] = []
    pods: list[Case] = []
    gone: list[str] = []


class _Update(ClusterQuestion):
    refusals: dict[str, str] = msgspec.field(default_factory=dict)
    rounds: list[_Round] = msgspec.field(default_factory=list)


def draw(dice: Dice) -> Case:
    """Draw a cluster, and what changes between rounds."""
    around = Neighbourhood(dice)
    pods = around.pods()
    vpas = [around.vpa("v")]
    flag = flags(dice)
    match dice.pick("one", "one", "one", "one", "rated", "two", "foreign"):
        case "rated":
            # With several VPAs it would depend on the order of a map which of them gets the tokens.
            flag |= {"rateLimit": dice.pick(0.02, 0.05, 0.5, 2.0), "rateBurst": dice.pick(0, 1, 1, 2, 5)}
        case "two":
            vpas.append(around.vpa("u"))
        case "foreign":
            vpas.append(around.vpa("w", target="other"))
            flag |= {"ignored": dice.pick([""], ["n1"])}
    names = [named(pod) for pod in pods]
    refused = {
        f"{verb} {name}": dice.among(causes)
        for verb, causes in _REFUSALS.items()
        for name in names
        if dice.chance(0.12)
    }
    return {
        "gates": gates(dice),
        "flags": flag,
        "vpas": vpas,
        "workloads": workloads(dice, len(pods)),
        "limitRanges": all_limit_ranges(dice),
        "pods": pods,
        "refusals": refused,
        "rounds": [{"after": 0}, *(_later_round(dice, around, vpas, len(pods)) for _ in range(dice.pick(0, 0, 1, 2)))],
    }


def _later_round(dice: Dice, around: Neighbourhood, vpas: list[Case], pods: int) -> Case:
    """Draw what changes before another round, and how long after the last one it comes."""
    drawn: Case = {"after": dice.pick(60, 60, 300, 301, 600, 3540, 3600, 3601)}
    if dice.chance(0.4):
        status: Case = {"recommendation": around.recommendation()}
        drawn["vpas"] = [{**dice.among(vpas), "status": status}]
    if pods and dice.chance(0.5):
        drawn["pods"] = [around.pod(f"p{index}") for index in dice.some(range(pods), 2)]
    if pods and dice.chance(0.1):
        drawn["gone"] = [f"n1/p{dice.whole(0, pods - 1)}"]
    return drawn


def question(case: Case, at: datetime) -> Case:
    """Return a case with its first round at a moment."""
    given = {key: dated(member, at) for key, member in case.items() if key != "rounds"}
    rounds: list[Case] = []
    for each in _rounds(case):
        at += timedelta(seconds=_seconds(each))
        # What is drawn of a later round tells its ages as of that round.
        changed = dated({key: member for key, member in each.items() if key != "after"}, at)
        assert isinstance(changed, dict)
        rounds.append({**changed, "at": text_of(at)})
    return {**given, "rounds": rounds}


def lasts(case: Case) -> timedelta:
    """Return how long a case takes."""
    return sum((timedelta(seconds=_seconds(each)) for each in _rounds(case)), start=_DEADLINE)


def _rounds(case: Case) -> list[Case]:
    rounds = case.get("rounds", [])
    assert isinstance(rounds, list)
    return rounds


def _seconds(round_of: Case) -> int:
    seconds = round_of.get("after", 0)
    assert isinstance(seconds, int)
    return seconds


class _Cluster:
    """The objects of a case as they change from round to round."""

    def __init__(self, asked: _Update) -> None:
        self._asked = asked
        self._vpas = {named(given): given for given in asked.vpas}
        self._pods = {named(given): given for given in asked.pods}

    def snapshot(self, each: _Round) -> Snapshot:
        """Bring the objects up to date for a round and return them."""
        self._vpas |= {named(given): given for given in each.vpas}
        self._pods |= {named(given): given for given in each.pods}
        for name in each.gone:
            self._pods.pop(name, None)
        return self._asked.snapshot(self._vpas.values(), self._pods.values())


def answer(asked_question: Case) -> object:
    """Run an updater's rounds."""
    asked = msgspec.convert(asked_question, _Update)
    cluster, settings, memory = _Cluster(asked), asked.settings(), Memory()
    hands = _Hands(asked)
    rounds: list[object] = []
    for each in asked.rounds:
        snapshot, now = cluster.snapshot(each), moment(each.at)
        plan = Plan.of(snapshot, now, memory, settings)
        hands.begin(now)
        while (decision := plan.next()) is not None:
            plan = plan.after(decision, hands.carry_out(decision))
        memory = plan.memory
        rounds.append(_answer(hands.calls, hands.events, _owners(snapshot, asked)))
    return rounds


class _Hands:
    """Carries decisions out as the API server of a case lets them be."""

    def __init__(self, asked: _Update) -> None:
        self._refusals = asked.refusals
        full = TokenBucket(asked.flags.rate_limit, asked.flags.rate_burst)
        self._buckets = {Action.RESIZE: full, Action.EVICT: full}
        self._now = self._deadline = datetime.min
        self.calls: list[Case] = []
        self.events: list[str] = []

    def begin(self, now: datetime) -> None:
        """Begin a round."""
        self._now, self._deadline = now, now + _DEADLINE
        self.calls, self.events = [], []

    def carry_out(self, decision: Decision) -> Outcome:
        """Carry out one decision."""
        if decision.action in {Action.WAIT, Action.SKIP}:
            if decision.reason is Reason.INFEASIBLE_REMEMBERED:
                self._tell("InPlaceResizeSkipped", decision)
            return Outcome.DONE
        kind = Action.EVICT if decision.action is Action.EVICT else Action.RESIZE
        token = self._buckets[kind].take(self._now, self._deadline)
        self._buckets[kind] = token.bucket
        if token.wait is None:
            return Outcome.RATE_LIMITED
        self._now += token.wait
        if decision.action is Action.EVICT:
            return self._evict(decision)
        return Outcome.FAILED if decision.patches is None else self._resize(decision)

    def _resize(self, decision: Decision) -> Outcome:
        assert decision.patches is not None
        refusal = self._call("resize", decision, decision.patches.resize)
        if refusal:
            return Outcome.NO_NODE_CAPACITY if refusal == "capacity" else Outcome.FAILED
        self._call("annotate", decision, decision.patches.annotations)
        self._tell("InPlaceResizedByVPA", decision)
        return Outcome.DONE

    def _evict(self, decision: Decision) -> Outcome:
        if self._call("evict", decision):
            return Outcome.FAILED
        self._tell("EvictedByVPA", decision)
        assert decision.scope is not None
        self.events.append(f"EvictedPod VerticalPodAutoscaler {decision.scope.vpa.namespace}/{decision.scope.vpa.name}")
        return Outcome.DONE

    def _call(self, verb: str, decision: Decision, patch: Patch | None = None) -> str:
        """Make a call and return why it is refused, empty where it is not."""
        pod = f"{decision.ref.namespace}/{decision.ref.name}"
        call: Case = {"do": verb, "pod": pod}
        if patch is not None:
            call["patch"] = [dict(operation.as_json()) for operation in patch]
        self.calls.append(call)
        return self._refusals.get(f"{verb} {pod}", "")

    def _tell(self, reason: str, decision: Decision) -> None:
        self.events.append(f"{reason} Pod {decision.ref.namespace}/{decision.ref.name}")


def _owners(snapshot: Snapshot, asked: _Update) -> dict[str, str]:
    """Return which VPA controls each pod; upstream serves VPAs in the order of a map, so calls are told apart by it."""
    controlled = select(snapshot, asked.settings()).controlled
    return {f"{m.pod.namespace}/{m.pod.name}": _name(each.vpa) for each in controlled for m in each.members}


def _name(vpa: Vpa) -> str:
    return f"{vpa.namespace}/{vpa.name}"


def read(asked_question: Case, given: object) -> object:
    """Return upstream's answer with the calls of each VPA by themselves."""
    assert isinstance(given, list)
    asked = msgspec.convert(asked_question, _Update)
    cluster = _Cluster(asked)
    snapshots = [cluster.snapshot(each) for each in asked.rounds]
    return [
        _answer(each["calls"], each["events"], _owners(snapshot, asked))
        for each, snapshot in zip(given, snapshots, strict=True)
    ]


def _answer(calls: Iterable[Case], events: Iterable[str], owners: Mapping[str, str]) -> Case:
    by_vpa: defaultdict[str, list[Case]] = defaultdict(list)
    for call in calls:
        patch = call.get("patch")
        sorted_call = {**call, "patch": in_order(patch)} if isinstance(patch, list) else call
        by_vpa[owners.get(str(call["pod"]), "")].append(sorted_call)
    # Events that resemble each other are put together by who sends them, so it counts only that they are there.
    return {"calls": dict(by_vpa), "events": sorted(set(events))}


def wanted_at_one_moment(case: Case, ours: object, theirs: object) -> str:
    """Return why two answers may differ in start-up boosts that end while upstream waits, empty where they may not."""
    given = case.get("flags")
    if not isinstance(given, dict) or "rateLimit" not in given:
        return ""
    boosted = {named(pod) for pod in _pods(case) if _is_boosted(pod)}
    return ONE_MOMENT if _without_patches(ours, boosted) == _without_patches(theirs, boosted) else ""


def _pods(case: Case) -> list[Case]:
    """Return the pods of a case as they are in any round."""
    listed = [case.get("pods", []), *(each.get("pods", []) for each in _rounds(case))]
    return [pod for pods in listed if isinstance(pods, list) for pod in pods]


def _is_boosted(pod: Case) -> bool:
    metadata = pod["metadata"]
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return any(name.startswith(BOOST_ANNOTATION_PREFIX) for name in annotations or ())


def _without_patches(rounds: object, boosted: set[str]) -> list[tuple[list[Case], list[str]]]:
    """Return an answer, in either form, without what it changes in boosted pods; that it does, and when, stays."""
    assert isinstance(rounds, list)
    found: list[tuple[list[Case], list[str]]] = []
    for each in rounds:
        listed = each["calls"]
        calls = [call for of_vpa in listed.values() for call in of_vpa] if isinstance(listed, dict) else listed
        told = [{**c, "patch": [] if c["pod"] in boosted else in_order(c.get("patch", []))} for c in calls]
        found.append((sorted(told, key=lambda call: str(call["pod"])), sorted(set(each["events"]))))
    return found


UPDATE: Final = Kind("update", draw, answer, read, question, wanted_at_one_moment, lasts)

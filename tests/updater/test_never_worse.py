"""Never worse: over simulated days with faults of all kinds, no change does harm (see ``model_rules``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Final

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from autoscaling.limitrange import LimitRangeItem, LimitType
from autoscaling.matching import EVERYTHING, of_labels
from autoscaling.node import Node
from autoscaling.pod import Container, ResizePolicy
from autoscaling.quantity import Quantity
from autoscaling.vpa import (
    ChangeRequirement,
    ContainerPolicy,
    ControlledValues,
    EvictionRequirement,
    TargetRef,
    UpdateMode,
    UpdatePolicy,
    Vpa,
)
from tests.builders import amounts, container, recommended, vpa
from tests.updater.model_amounts import BILLION
from tests.updater.model_cluster import Cluster, Guard, Team
from tests.updater.model_rules import MIB, Watch
from tests.updater.model_updater import REFUSALS, ModelServer, ModelUpdater
from tests.updater.situations import EVENKEEL, MINUTE

pytestmark = pytest.mark.lengthy

NAMESPACES: Final = ("one", "two")
QUOTAS: Final = ("requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
FAULTS: Final = ("", "", "", "", *REFUSALS, "gone", "answer lost")
FATES: Final = ("", "slow", "deferred", "infeasible", "error")
MODES: Final = (
    UpdateMode.IN_PLACE_OR_RECREATE,
    UpdateMode.IN_PLACE_OR_RECREATE,
    UpdateMode.IN_PLACE,
    UpdateMode.RECREATE,
    UpdateMode.OFF,
)
DONE: Counter[str] = Counter()
"""What all machines of this run have done."""

cpus = st.integers(1, 40).map(lambda n: 50 * n)
memories = st.integers(1, 40).map(lambda n: 50 * n)
picks = st.integers(0, 99)
FAULTY = st.lists(st.sampled_from(FAULTS), max_size=6)
CUTS = st.sampled_from([None, None, None, 1, 2, 4])
MOVES = st.lists(st.integers(0, 3), max_size=3)


@st.composite
def templates(draw: st.DrawFn) -> tuple[Container, ...]:
    """Draw one or two containers, Guaranteed, Burstable or BestEffort, some of which restart for resizes."""
    made: list[Container] = []
    for name in draw(st.sampled_from([("c",), ("c", "d")])):
        cpu, memory = draw(cpus), draw(memories)
        requests = draw(st.sampled_from([f"{cpu}m/{memory}Mi"] * 5 + ["-", f"-/{memory}Mi"]))
        limits = draw(st.sampled_from(["-", requests, f"{2 * cpu}m/{2 * memory}Mi", f"-/{memory + 7}Mi"]))
        limits = "-" if requests == "-" else limits
        policies = tuple(ResizePolicy(n, restarts_container=draw(st.booleans())) for n in ("cpu", "memory"))
        made.append(replace(container(name, requests, limits), resize_policy=policies))
    return tuple(made)


@st.composite
def policies(draw: st.DrawFn) -> UpdatePolicy:
    """Draw an update policy."""
    change = draw(st.sampled_from(ChangeRequirement))
    wanted = (EvictionRequirement(("cpu", "memory"), change),) if draw(picks) < 15 else ()
    return UpdatePolicy(draw(st.sampled_from(MODES)), draw(st.sampled_from([None, None, 1, 3])), wanted)


@st.composite
def recommendations(draw: st.DrawFn, made: Vpa, names: tuple[str, ...]) -> Vpa:
    """Draw what is recommended for some containers; below its target a bound is half of it, above twice as much."""
    entries = []
    for name in names:
        cpu, memory = draw(cpus), draw(memories)
        low, high = draw(st.sampled_from([(1, 1), (2, 2), (1, 4)]))
        bounds = (f"{cpu // low}m/{memory // low}Mi", f"{cpu * high}m/{memory * high}Mi")
        entries.append(recommended(name, f"{cpu}m/{memory}Mi", *bounds))
    return replace(made, recommendation=vpa(*entries).recommendation)


@st.composite
def teams(draw: st.DrawFn, number: int) -> Team:
    """Draw a Deployment with its VPA."""
    namespace, name, template = NAMESPACES[number % 2], f"t{number}", draw(templates())
    target = TargetRef("Deployment", name, "apps/v1")
    made = replace(vpa(), namespace=namespace, name=name, uid=f"vpa-{name}", target_ref=target)
    values = ContainerPolicy("*", controlled_values=draw(st.sampled_from(ControlledValues)))
    covered = tuple(c.name for c in template)[: draw(st.sampled_from([1, 2]))]
    made = replace(draw(recommendations(made, covered)), container_policies=(values,))
    return Team(namespace, name, draw(st.integers(1, 4)), template, replace(made, update_policy=draw(policies())))


def node(name: str, cpu: int, memory: int) -> Node:
    """Return a node, told millicores and mebibytes."""
    return Node(name, {**amounts(f"{cpu}m/{memory}Mi"), "pods": Quantity.of_units(110)})


class NeverWorse(RuleBasedStateMachine):
    """A cluster on which everything moves, and the updater on it; each call is checked when it is sent."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster()
        self.updater = ModelUpdater(EVENKEEL)
        self.watch = Watch(self.cluster)

    @initialize(
        made=st.tuples(*(teams(number) for number in range(4))),
        rooms=st.lists(st.tuples(st.integers(2, 10), st.integers(2, 10)), min_size=2, max_size=4),
    )
    def begin(self, made: tuple[Team, ...], rooms: list[tuple[int, int]]) -> None:
        for number, (cpu, memory) in enumerate(rooms):
            self.cluster.nodes[f"n{number}"] = node(f"n{number}", 1000 * cpu, 1000 * memory)
        self.cluster.teams = {team.name: team for team in made}
        for team in made:
            team.vpa, kept = replace(team.vpa, recommendation=None), team.vpa
            self.cluster.tick(MINUTE)
            team.vpa = kept
        self.cluster.tick(MINUTE)

    @rule(faults=FAULTY, lanes=st.sampled_from([1, 2, 16]), cut=CUTS, moves=MOVES, data=st.data())
    def rounds_with_faults(
        self, faults: list[str], lanes: int, cut: int | None, moves: list[int], data: st.DataObject
    ) -> None:
        self._recommend(moves, data)
        self._rounds(3, ModelServer(self.cluster, self.watch, faults), lanes, cut)

    @rule(rounds=st.integers(1, 12), moves=MOVES, data=st.data())
    def rounds_without_faults(self, rounds: int, moves: list[int], data: st.DataObject) -> None:
        self._recommend(moves, data)
        self._rounds(rounds, ModelServer(self.cluster, self.watch))

    @rule(moves=MOVES, fate=st.sampled_from(FATES), pick=picks, data=st.data())
    def rounds_with_an_odd_kubelet(self, moves: list[int], fate: str, pick: int, data: st.DataObject) -> None:
        if self.cluster.pods:
            self.cluster.fates[self._uid(pick)] = fate
        self._recommend(moves, data)
        self._rounds(8, ModelServer(self.cluster, self.watch))

    @rule(namespace=st.sampled_from(NAMESPACES), spare=st.integers(1, 2), data=st.data())
    def rounds_with_slow_restarts_under_one_budget(self, namespace: str, spare: int, data: st.DataObject) -> None:
        """Restarts of one round are still to come in the next, when another team under the same budget is due."""
        broad = Guard(namespace, "b0", EVERYTHING, 0)
        least = max(len(self.cluster.healthy(broad)) - spare, 1)
        kept, odd = self.cluster.guards, self.cluster.fates
        self.cluster.guards = [*(g for g in kept if g.namespace != namespace), replace(broad, least=least)]
        self.cluster.fates = dict.fromkeys(self.cluster.pods, "slow")
        for number in data.draw(st.permutations(range(4))):
            self._recommend([number], data)
            self._rounds(1, ModelServer(self.cluster, self.watch))
        self.cluster.guards, self.cluster.fates = kept, odd

    @rule(minutes=st.sampled_from([2, 6, 61, 13 * 60]))
    def time_passes_without_an_updater(self, minutes: int) -> None:
        for _ in range(3):
            self.cluster.tick(timedelta(minutes=minutes / 3))

    @rule()
    def updater_restarts(self) -> None:
        self.updater.restart(self.cluster)

    @rule(pick=picks, made=policies())
    def policy_changes(self, pick: int, made: UpdatePolicy) -> None:
        team = self._team(pick)
        team.vpa = replace(team.vpa, update_policy=made)

    @rule(pick=picks, values=st.sampled_from(ControlledValues), most=st.integers(1, 2), data=st.data())
    def vpa_covers_more_or_less(self, pick: int, values: ControlledValues, most: int, data: st.DataObject) -> None:
        """What a VPA no longer touches is as in the template again in a new pod."""
        team = self._team(pick)
        changed = replace(team.vpa, container_policies=(ContainerPolicy("*", controlled_values=values),))
        team.vpa = data.draw(recommendations(changed, tuple(c.name for c in team.template)[:most]))

    @rule(pick=picks, replicas=st.integers(1, 5))
    def team_is_scaled(self, pick: int, replicas: int) -> None:
        self._team(pick).replicas = replicas

    @rule(pick=picks)
    def target_comes_or_goes(self, pick: int) -> None:
        self._team(pick).is_resolved ^= True

    @rule(pick=picks)
    @precondition(lambda self: self.cluster.pods)
    def pod_goes(self, pick: int) -> None:
        uid = self._uid(pick)
        self.cluster.pods[uid] = replace(self.cluster.pods[uid], is_terminating=True)

    @rule(pick=picks)
    @precondition(lambda self: self.cluster.pods)
    def pod_falls_ill_or_recovers(self, pick: int) -> None:
        self.cluster.sick ^= {self._uid(pick)}

    @rule(pick=st.integers(0, 4), cpu=st.integers(1, 10), memory=st.integers(1, 10))
    def node_comes_or_is_replaced(self, pick: int, cpu: int, memory: int) -> None:
        self.cluster.nodes[f"n{pick}"] = node(f"n{pick}", 1000 * cpu, 1000 * memory)

    @rule(pick=picks, what=st.sampled_from(["goes", "ready", "cordon"]))
    @precondition(lambda self: len(self.cluster.nodes) > 1)
    def node_changes(self, pick: int, what: str) -> None:
        names = list(self.cluster.nodes)
        name = names[pick % len(names)]
        found = self.cluster.nodes[name]
        if what == "goes":
            del self.cluster.nodes[name]
            self.cluster.tick(timedelta(0))
        elif what == "ready":
            self.cluster.nodes[name] = replace(found, is_ready=not found.is_ready)
        else:
            self.cluster.nodes[name] = replace(found, is_unschedulable=not found.is_unschedulable)

    @rule(namespace=st.sampled_from(NAMESPACES), names=st.sets(st.sampled_from(QUOTAS)), spare=st.integers(0, 2000))
    def quota_changes(self, namespace: str, names: set[str], spare: int) -> None:
        units = {"cpu": BILLION // 1000, "memory": MIB * BILLION}
        self.cluster.quotas[namespace] = {
            name: self.cluster.used(namespace, name) + spare * units[name.partition(".")[2]] for name in sorted(names)
        }

    @rule(
        namespace=st.sampled_from(NAMESPACES),
        kind=st.sampled_from(LimitType),
        least=st.integers(0, 500),
        more=st.integers(0, 4000),
        ratio=st.sampled_from([None, "1", "2"]),
    )
    def limit_range_changes(self, namespace: str, kind: LimitType, least: int, more: int, ratio: str | None) -> None:
        item = LimitRangeItem(
            kind,
            minimum=amounts(f"{least}m/{least}Mi") if least > 100 else None,
            maximum=amounts(f"{least + more}m/{least + more}Mi") if more > 1000 else None,
            ratio=amounts(f"{ratio}/{ratio}") if ratio else None,
        )
        self.cluster.limit_ranges[namespace] = (item,) if least % 2 else ()

    @rule(
        namespace=st.sampled_from(NAMESPACES),
        pick=picks,
        least=st.integers(0, 3),
        spares=st.booleans(),
        is_broad=st.booleans(),
    )
    def disruption_budget_changes(self, namespace: str, pick: int, least: int, spares: bool, is_broad: bool) -> None:
        name = f"b{pick % 3}"
        selector = EVERYTHING if is_broad else of_labels(self._team(pick).labels)
        others = [guard for guard in self.cluster.guards if (guard.namespace, guard.name) != (namespace, name)]
        self.cluster.guards = [*others, Guard(namespace, name, selector, least, spares)] if least else others

    @rule(pick=picks, mebibytes=st.integers(1, 3000))
    @precondition(lambda self: self.cluster.use)
    def memory_use_moves(self, pick: int, mebibytes: int) -> None:
        keys = list(self.cluster.use)
        self.cluster.use[keys[pick % len(keys)]] = mebibytes * MIB

    @rule()
    def metrics_come_or_go(self) -> None:
        self.cluster.is_blind ^= True

    @invariant()
    def steps_are_counted(self) -> None:
        DONE["steps"] += 1

    def teardown(self) -> None:
        DONE.update(self.watch.counted)

    def _recommend(self, moves: list[int], data: st.DataObject) -> None:
        for pick in moves:
            team = self._team(pick)
            assert team.vpa.recommendation is not None
            covered = tuple(entry.container_name for entry in team.vpa.recommendation.containers)
            team.vpa = data.draw(recommendations(team.vpa, covered))

    def _rounds(self, rounds: int, server: ModelServer, lanes: int = 16, cut: int | None = None) -> None:
        for number in range(rounds):
            self.cluster.tick(MINUTE)
            self.watch.begin()
            self.updater.round(self.cluster, server, lanes, cut if number == 0 else None)
            DONE["rounds"] += 1
            DONE["rounds that act"] += bool(self.watch.acted)

    def _team(self, pick: int) -> Team:
        return self.cluster.teams[f"t{pick % 4}"]

    def _uid(self, pick: int) -> str:
        uids = list(self.cluster.pods)
        return uids[pick % len(uids)]


TestNeverWorse = NeverWorse.TestCase
# The same days every time, but for a soak, which looks for new ones.
IS_SOAK: Final = hypothesis_settings.get_current_profile_name() == "soak"
TestNeverWorse.settings = hypothesis_settings(stateful_step_count=40, derandomize=not IS_SOAK, database=None)


def test_the_machine_was_not_idle(record_property: Callable[[str, object], None]) -> None:
    """beyond:B-24: a machine that never acts proves nothing."""
    acts = Counter({name: count for name, count in DONE.items() if name.startswith(("resize ", "evict "))})
    record_property(
        "figures",
        f"{DONE['steps']} steps, {DONE['rounds']} rounds, {DONE['rounds that act']} of them with changes; {dict(acts)}",
    )
    assert DONE["rounds that act"] * 20 > DONE["rounds"]

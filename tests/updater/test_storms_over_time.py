"""Storms: very many controllers out of bounds at once, followed minute by minute until all have what they need."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

import pytest
from hypothesis import settings as hypothesis_settings

from autoscaling.matching import of_labels
from autoscaling.node import Node
from autoscaling.pod import Pod, ResizePolicy
from autoscaling.quantity import Quantity
from autoscaling.vpa import TargetRef, UpdateMode, UpdatePolicy, Vpa
from tests.builders import amounts, container, recommended, vpa
from tests.updater.model_amounts import NAMES, in_force, is_ready, nano, runs
from tests.updater.model_cluster import Cluster, Guard, Team
from tests.updater.model_rules import Watch
from tests.updater.model_updater import ModelServer, ModelUpdater
from tests.updater.situations import EVENKEEL, MINUTE
from updater.decision import Decision, Outcome

IPOR, IN_PLACE, RECREATE = UpdateMode.IN_PLACE_OR_RECREATE, UpdateMode.IN_PLACE, UpdateMode.RECREATE
MODES = (IPOR, IPOR, IPOR, IN_PLACE, RECREATE)
GROWN, GROWN_TWICE, SHRUNK = "400m/512Mi", "1200m/2Gi", "100m/128Mi"
SIZES = (GROWN, GROWN, SHRUNK, GROWN, GROWN_TWICE, GROWN, GROWN)


def team(number: int, namespaces: int) -> Team:
    """Return one of many teams, of which no two that follow each other are alike."""
    mode, size = MODES[number % len(MODES)], SIZES[number % len(SIZES)]
    made = container("c", "200m/256Mi", "-" if number % 2 else "400m/512Mi")
    if number % 3 == 0:
        made = replace(made, resize_policy=(ResizePolicy("memory", restarts_container=True),))
    name, namespace = f"t{number:04}", f"ns{number % namespaces:02}"
    return Team(namespace, name, 2 + number % 2, (made,), vpa_for(name, namespace, mode, size))


def vpa_for(name: str, namespace: str, mode: UpdateMode, size: str) -> Vpa:
    """Return the VPA of a team."""
    made = replace(vpa(recommended("c", size)), namespace=namespace, name=name, uid=f"vpa-{name}")
    policy = UpdatePolicy(mode, min_replicas=1 if mode is RECREATE else None)
    return replace(made, target_ref=TargetRef("Deployment", name, "apps/v1"), update_policy=policy)


def node(name: str, room: str) -> Node:
    """Return a node."""
    return Node(name, {**amounts(room), "pods": Quantity.of_units(110)})


def settled(teams: int, nodes: int, namespaces: int) -> Cluster:
    """Return a cluster whose pods all run with what their authors wrote, before anything is recommended."""
    cluster = Cluster()
    cluster.nodes = {f"n{number:03}": node(f"n{number:03}", "14/48Gi") for number in range(nodes)}
    cluster.teams = {each.name: each for each in (team(number, namespaces) for number in range(teams))}
    wanted = {name: each.vpa for name, each in cluster.teams.items()}
    for each in cluster.teams.values():
        each.vpa = replace(each.vpa, recommendation=None)
    for _ in range(3):
        cluster.tick(MINUTE)
    for name, each in cluster.teams.items():
        each.vpa = wanted[name]
    cluster.guards = [
        Guard(each.namespace, name, of_labels(each.labels), least=each.replicas - 1)
        for number, (name, each) in enumerate(cluster.teams.items())
        if number % 4 == 0
    ]
    movable = [pod.uid for pod in cluster.pods.values() if may_move(cluster.team_of(pod))]
    cluster.fates = {uid: ("infeasible", "deferred")[number % 2] for number, uid in enumerate(movable[::16])}
    return cluster


def may_move(each: Team) -> bool:
    """Say whether pods of a team are evicted where their node refuses what they need: they grow, and may go."""
    assert each.vpa.recommendation is not None
    grows = nano(each.vpa.recommendation.containers[0].target, "cpu") > nano(each.template[0].resources.requests, "cpu")
    return each.vpa.update_mode is IPOR and grows


def has_all(cluster: Cluster, pod: Pod) -> bool:
    """Say whether a pod has what is recommended for it."""
    entry = cluster.team_of(pod).vpa.recommendation
    assert entry is not None
    requests = in_force(pod, pod.containers[0]).requests
    return all(nano(requests, name) == nano(entry.containers[0].target, name) for name in NAMES)


@dataclass(slots=True)
class Run:
    """The updater over a cluster, minute by minute.

    Args:
        restarts: By number of the round, after how many of its calls the process ends; 0 for before the round.
        calls: When each pod was changed, by UID, and for what.
        rounds: How many there were.
    """

    cluster: Cluster
    updater: ModelUpdater
    watch: Watch
    restarts: dict[int, int] = field(default_factory=dict)
    calls: defaultdict[str, list[tuple[datetime, str]]] = field(default_factory=lambda: defaultdict(list))
    rounds: int = 0

    @classmethod
    def over(cls, cluster: Cluster, restarts: dict[int, int] | None = None) -> Run:
        """Return a run that has not begun."""
        return cls(cluster, ModelUpdater(EVENKEEL), Watch(cluster), restarts or {})

    def minute(self) -> None:
        """Let a minute pass, and the updater have a round."""
        self.cluster.tick(MINUTE)
        self.watch.begin()
        cut_after = self.restarts.get(self.rounds)
        if cut_after == 0:
            self.updater.restart(self.cluster)
        server = ModelServer(self.cluster, self.watch)

        def answer(decision: Decision) -> Outcome:
            self.calls[decision.uid].append((self.cluster.now, decision.action.value))
            return server(decision)

        self.updater.round(self.cluster, answer, lanes=16, cut_after=cut_after or None)
        self.rounds += 1

    def left(self) -> int:
        """Return how many pods do not have what is recommended for them."""
        return sum(not has_all(self.cluster, pod) for pod in self.cluster.pods.values())

    def until_all_have_it(self, most: int) -> None:
        """Go on until every pod has what is recommended for it.

        Args:
            most: Rounds that this may take.
        """
        while self.rounds < most:
            self.minute()
            up = Counter(pod.labels["team"] for pod in self.cluster.pods.values() if runs(pod) and is_ready(pod))
            for name, each in self.cluster.teams.items():
                assert up[name] >= each.replicas - each.replicas // 2, f"{name} has only {up[name]} pods that serve"
            if not self.left():
                return
        raise AssertionError(f"{self.left()} pods do not have what they should after {most} rounds")


IS_SOAK = hypothesis_settings.get_current_profile_name() == "soak"
SIZE = (1500, 150, 30) if IS_SOAK else (150, 15, 6)
"""Teams, nodes and namespaces."""
BURST = 20
"""Changes that a cluster of up to 200 nodes bears at once, and per minute."""


def test_all_get_what_they_need_within_the_budgets(record_property: Callable[[str, object], None]) -> None:
    """case:38, beyond:B-24, beyond:B-20: every single call is checked by ``Watch`` when it is sent."""
    cluster = settled(*SIZE)
    before = set(cluster.pods)
    run = Run.over(cluster, restarts={5: 0, 8: 7, 11: 1})
    run.until_all_have_it(len(before) // BURST + 12)
    for uid, calls in run.calls.items():
        assert uid in before, f"{uid} was made with what it should have, and changed all the same: {calls}"
        assert [action for _, action in calls] in (["resize"], ["evict"], ["resize", "evict"]), f"{uid}: {calls}"
    told = {"pods": len(before), "rounds": run.rounds, **run.watch.counted}
    record_property("figures", f"storm of {SIZE[0]} controllers: {told}")
    assert run.watch.counted["evict resize_timed_out"]
    assert run.watch.counted["evict resize_failed"]
    assert run.watch.counted["evict outside_bounds"]


def test_restarts_change_nothing_but_the_time_it_takes() -> None:
    """beyond:B-24: what a process had reserved when it ended is lost, and fills up again within a minute."""
    runs = [Run.over(settled(40, 4, 3), restarts) for restarts in ({}, {n: n % 3 + 1 for n in range(1, 6)})]
    for run in runs:
        run.until_all_have_it(40)
    quiet, restarted = runs
    assert quiet.watch.counted == restarted.watch.counted
    assert quiet.rounds <= restarted.rounds <= quiet.rounds + 5 + 1


@pytest.mark.parametrize(("id_", "restarts"), [("beyond:B-20", {}), *[("updater:K-32", {n: 0}) for n in range(1, 8)]])
def test_a_resize_is_waited_for_no_longer_and_no_shorter_after_a_restart(id_: str, restarts: dict[int, int]) -> None:
    cluster = settled(1, 2, 1)
    uids = list(cluster.pods)
    cluster.fates = dict.fromkeys(uids, "deferred")
    run = Run.over(cluster, restarts)
    for _ in range(9):
        run.minute()
    (asked, resize), (gone, evict) = run.calls[uids[0]]
    assert (resize, evict) == ("resize", "evict"), id_
    assert gone - asked == 6 * MINUTE, id_

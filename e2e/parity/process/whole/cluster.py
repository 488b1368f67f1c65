"""One cluster for all three programs, made up from a seed: the same objects, seen by each of them in its own way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from e2e.parity.process.changes import Change, ChangeKind, partial
from e2e.parity.process.recommender.checkpoints import CheckpointMaker
from e2e.parity.process.recommender.cluster import RARE_FLAGS, Frame, RecommenderCluster
from e2e.parity.process.recommender.usage import UsageMaker
from e2e.parity.process.updater.cluster import ClusterMaker as UpdaterMaker
from e2e.parity.process.updater.cluster import PodKey, UpdaterCluster
from e2e.parity.process.whole.submissions import Submission, SubmissionMaker, probe
from e2e.parity.process.world import surroundings
from e2e.parity.process.world.dice import Dice
from evenkeel.simulator.api.fields import JsonObject, child, copy_of, ensure, rows, text
from evenkeel.simulator.clock import rfc3339

_STEP = timedelta(hours=5)
_ALIVE = timedelta(days=-1)
"""Renewed so far ahead that no run, however slow the machine, comes to see the webhook's Lease grow stale."""

_KILL_AGES = (5, 600, 4000, 50_000)
_ASLEEP = 0.45
"""Share of workloads without pods: they have VPAs and checkpoints, and new pods are submitted."""

_BOOSTS = "--feature-gates=CPUStartupBoost=true"
_BY_HAND = [{"name": "by-hand"}]


@dataclass(frozen=True, slots=True)
class WholeCluster:
    """A cluster.

    Args:
        recommender: As recommenders see it, with what they are told of the use of pods.
        updater: As updaters see it, with what happens between their rounds; the same objects.
        gates: Feature gates of all three programs.
        submissions: What is submitted while webhooks listen.
        probe: A pod that a webhook changes once it knows the cluster.
    """

    recommender: RecommenderCluster
    updater: UpdaterCluster
    gates: tuple[str, ...]
    submissions: tuple[Submission, ...]
    probe: Submission

    @property
    def objects(self) -> tuple[JsonObject, ...]:
        """Everything in it."""
        return self.updater.objects


class ClusterMaker:
    """Makes a cluster up.

    Args:
        seed: From what.
        now: From when all ages in it count.
        size: How many workloads it has.
        submissions: How many objects are submitted to the webhooks.
    """

    recommender_rounds, updater_rounds = 3, 2

    def __init__(self, seed: str, now: datetime, size: int, submissions: int) -> None:
        self._seed, self._now, self._size, self._submissions = seed, now, size, submissions
        self._dice = Dice(seed, "whole")
        # Never near a moment to which reference times are rounded: in which order samples come is left open.
        self._last = now.replace(minute=7, second=0, microsecond=0) - timedelta(hours=1)

    def make(self) -> WholeCluster:
        """Make it up."""
        drawn = UpdaterMaker(self._seed, self._now, self._size, self.updater_rounds).make()
        probed, first = probe()
        asleep = {one.name for one in drawn.drawn if self._dice.chance(_ASLEEP)}
        awake = (one for one in drawn.objects if drawn.workloads.get(_key(one), "").rpartition("/")[2] not in asleep)
        objects = (*(self._revised(one) for one in awake), *self._stored(drawn), *probed)
        # A namespace of its own for each program's flags would leave little of the cluster to the others.
        flags = tuple(flag for flag in drawn.flags if not flag.startswith("--vpa-object-namespace"))
        pods = {_key(one) for one in objects if one["kind"] == "Pod"}
        workloads = {key: workload for key, workload in drawn.workloads.items() if key in pods}
        updater = replace(drawn, objects=objects, flags=flags, workloads=workloads, is_alive=True)
        gates = tuple(flag for flag in flags if flag.startswith("--feature-gates="))
        given = SubmissionMaker(self._seed, self._now, drawn, has_boosts=_BOOSTS in gates)
        return WholeCluster(
            self._recommended(updater, gates), updater, gates, tuple(given.make(self._submissions)), first
        )

    def _revised(self, obj: JsonObject) -> JsonObject:
        """Return an object as it is in this cluster: the webhook's Lease is fresh, and some VPAs are done by hand."""
        if obj["kind"] == "Lease":
            return surroundings.status_lease(self._now, _ALIVE)
        if obj["kind"] == "VerticalPodAutoscaler":
            # Where pods as a whole are limited, upstream leaves it to chance what containers get of which some have no
            # recommendation, as they would have while they are not seen to use anything.
            is_limited = text(obj, "metadata", "namespace") == surroundings.POD_LIMITED
            if is_limited or self._dice.chance(0.15):
                obj = copy_of(obj)
                ensure(obj, "spec")["recommenders"] = _BY_HAND
        return obj

    def _stored(self, drawn: UpdaterCluster) -> Iterator[JsonObject]:
        """Make up what an earlier recommender has stored."""
        maker, dice = CheckpointMaker(Dice(self._seed, "checkpoints"), self._now), self._dice
        containers = {(one.namespace, one.name): one.containers for one in drawn.drawn}
        for scaler in drawn.scalers:
            namespace, name = text(scaler, "metadata", "namespace"), text(scaler, "metadata", "name")
            for container in containers[namespace, text(scaler, "spec", "targetRef", "name")]:
                if dice.chance(0.5):
                    yield maker.make(namespace, name, container.name)
            if dice.chance(0.05):
                yield maker.make(namespace, f"{name}-gone", "c0")

    def _recommended(self, updater: UpdaterCluster, gates: tuple[str, ...]) -> RecommenderCluster:
        """Make up what recommenders are told round by round, and what happens to pods meanwhile."""
        pods = [one for one in updater.objects if one["kind"] == "Pod"]
        usage = UsageMaker(Dice(self._seed, "usage"))
        moments = [
            self._last - (self.recommender_rounds - 1 - number) * _STEP for number in range(self.recommender_rounds)
        ]
        frames = [self._frame(pods, usage, moment) for moment in moments]
        changes: list[tuple[Change, ...]] = []
        for number in range(1, self.recommender_rounds):
            moment = self._last - (self.recommender_rounds - number) * _STEP + _STEP / 2
            changes.append(tuple(self._kills(pods, updater.twins, moment)))
        flags = (*gates, "--checkpoints-gc-interval=1s", *self._dice.some(RARE_FLAGS, 0.15))
        return RecommenderCluster(self._seed, flags, updater.objects, tuple(frames), tuple(changes))

    def _frame(self, pods: list[JsonObject], usage: UsageMaker, moment: datetime) -> Frame:
        """Make up what is told of the use of pods at a moment."""
        found: list[JsonObject] = []
        for pod in pods:
            names = tuple(text(one, "name") for one in rows(pod, "spec", "containers"))
            row = usage.row(_key(pod), names, moment)
            if row is not None:
                ensure(row, "metadata")["labels"] = child(pod, "metadata", "labels")
                found.append(row)
        return tuple(found)

    def _kills(self, pods: list[JsonObject], twins: Mapping[PodKey, str], moment: datetime) -> Iterator[Change]:
        """Let some pods run out of memory, all that are alike together: which one an updater acts on is chance."""
        alike: dict[str, list[JsonObject]] = {}
        for pod in pods:
            if text(pod, "status", "phase") == "Running" and rows(pod, "status", "containerStatuses"):
                alike.setdefault(twins[_key(pod)], []).append(pod)
        for some in alike.values():
            if self._dice.chance(0.15):
                at = rfc3339(moment - timedelta(seconds=self._dice.pick(_KILL_AGES)))
                yield from (Change(ChangeKind.MERGE, _killed(pod, at)) for pod in some)


def _key(obj: JsonObject) -> PodKey:
    return text(obj, "metadata", "namespace"), text(obj, "metadata", "name")


def _killed(pod: JsonObject, at: str) -> JsonObject:
    """Return what is merged into a pod whose first container was killed for lack of memory once more."""
    first, *others = rows(copy_of(pod), "status", "containerStatuses")
    count = first["restartCount"]
    assert isinstance(count, int)
    ended = {"reason": "OOMKilled", "exitCode": 137, "startedAt": "2026-01-01T00:00:00Z", "finishedAt": at}
    killed = {**first, "restartCount": count + 1, "lastState": {"terminated": ended}}
    # Kept for the next time: a restart is told by a count that has grown.
    child(pod, "status")["containerStatuses"] = [killed, *others]
    return partial(pod, status={"containerStatuses": [killed, *others]})

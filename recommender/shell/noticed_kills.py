"""OOM kills that the watches tell of, kept until a round takes them in."""

from __future__ import annotations

from collections import deque

import structlog

from autoscaling.behaviour import Behaviour
from autoscaling.kube.table import Change
from autoscaling.pod import Pod
from recommender.oom import OomRecord
from recommender.oom_detection import oom_kills, oom_kills_at_first_sight, oom_kills_of_run

_MOST_WAITING = 5000
_REPORTED_EVERY = 1000

log = structlog.get_logger()


class NoticedKills:
    """OOM kills noticed since the last round.

    Args:
        behaviour: Whether runs of Jobs are followed, and whether kills count that show when a pod is first seen.

    Spec: recommender 8.3, 13 (5).
    """

    def __init__(self, behaviour: Behaviour) -> None:
        self._minds_first_sight = behaviour.oom_without_samples
        self._follows_runs = behaviour.jobs_and_cronjobs_match_by_owner
        self._waiting: deque[OomRecord] = deque()
        self._earlier: deque[OomRecord] = deque(maxlen=_MOST_WAITING)
        self._pods: dict[tuple[str, str], Pod] = {}
        self._dropped = 0

    def look(self, change: Change[Pod], *, is_synced: bool) -> tuple[OomRecord, ...]:
        """Notice the kills that a change of a pod shows.

        Args:
            change: What became of the pod.
            is_synced: Whether all pods have been listed; what shows before that need not be news.

        Returns:
            Those that are news.
        """
        if change.new is None:
            return ()
        kills: tuple[OomRecord, ...] = ()
        if change.old is not None:
            kills = oom_kills(change.old, change.new)
        elif not is_synced:
            if self._minds_first_sight:
                self._earlier.extend(oom_kills_at_first_sight(change.new))
        elif self._minds_first_sight:
            kills = oom_kills_at_first_sight(change.new)
        elif self._follows_runs:
            kills = oom_kills_of_run(change.new)
        self.notice(kills)
        if kills and self._follows_runs and len(self._pods) < _MOST_WAITING:
            self._pods[change.key] = change.new
        return kills

    def notice(self, kills: tuple[OomRecord, ...]) -> None:
        """Keep kills until the next round; the oldest make room when there are too many."""
        for kill in kills:
            if len(self._waiting) >= _MOST_WAITING:
                self._waiting.popleft()
                self._dropped += 1
                if self._dropped % _REPORTED_EVERY == 1:
                    log.warning("OOM kills dropped", dropped=self._dropped, kept=_MOST_WAITING)
            self._waiting.append(kill)

    def take(self) -> list[OomRecord]:
        """Return the kills noticed since the last call."""
        kills = list(self._waiting)
        self._waiting.clear()
        return kills

    def take_earlier(self) -> list[OomRecord]:
        """Return the kills that showed in the first list of pods; whether they are news is not known here."""
        kills = list(self._earlier)
        self._earlier.clear()
        return kills

    def take_pods(self) -> list[Pod]:
        """Return the pods as they were at kills since the last call, where runs of Jobs are followed.

        A pod may have come, been killed and gone since the last round.
        """
        pods = list(self._pods.values())
        self._pods.clear()
        return pods

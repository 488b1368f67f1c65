"""Our recommender on a world in memory: the steps of a round in their order, by the real cores."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

import msgspec
import numpy as np
from prometheus_client import CollectorRegistry

from autoscaling.behaviour import Behaviour, Profile
from autoscaling.errors import InvalidObjectError
from autoscaling.ownership import OwnerLookupError
from autoscaling.pod import Pod
from autoscaling.resources import MEMORY
from autoscaling.targets import KnownControllers, resolve_target, target_key
from autoscaling.vpa import Vpa
from autoscaling.wire.objects import decode_vpa
from autoscaling.wire.pods import decode_pod
from autoscaling.workload import Workload
from e2e.parity.cluster import controllers, named, workload
from e2e.parity.kinds import Case
from e2e.parity.recommender.machine_code import by_turns, pair_by_turns
from e2e.parity.recommender.questions import Change, Gone, RoundsQuestion, duration
from recommender.checkpoint import ContainerCheckpoint
from recommender.checkpointing import checkpoint_order, checkpoints_of, load_checkpoints
from recommender.cluster_model import ClusterModel, NamespacedName
from recommender.due_statuses import RoundFindings, due_statuses
from recommender.garbage import collect, doubtful_vpas, is_due
from recommender.instants import instant
from recommender.label_sets import TrackedVpa
from recommender.observed_statuses import ObservedStatuses
from recommender.oom import OomRecord
from recommender.oom_detection import oom_kills
from recommender.quality import usage_quality
from recommender.recommending import recommend
from recommender.samples import SampleColumns, UsageColumns
from recommender.shell.metrics import QualityMetrics
from recommender.shell.parts import LoopSettings
from recommender.usage_table import UsageMatcher
from recommender.wire.checkpoints import checkpoint_status_json, decode_checkpoint
from recommender.wire.eviction_events import decode_eviction
from recommender.wire.pod_metrics import decode_usage
from recommender.wire.status_patches import StatusFrame, due_patches, status_frame
from recommender.write_rule import WriteRule

_LATE: Final = datetime(2200, 1, 1, tzinfo=UTC)
"""When no window runs any more, so that no peak is left out."""


def _frame(vpa: Vpa) -> StatusFrame:
    """Return what a status is written by, with the VPA's name in the place of a path."""
    return status_frame(f"{vpa.namespace}/{vpa.name}", vpa)


@dataclass(slots=True)
class RoundAnswer:
    """What a round wrote."""

    statuses: dict[str, object] = field(default_factory=dict)
    checkpoints: dict[str, object] = field(default_factory=dict)
    created: dict[str, bool] = field(default_factory=dict)
    removed: dict[str, bool] = field(default_factory=dict)


class World:
    """A recommender and all that it reads and writes.

    Args:
        question: Its life.
        now: When it starts.
    """

    def __init__(self, question: RoundsQuestion, now: datetime) -> None:
        flags = question.flags
        self._settings = LoopSettings(
            name=flags.name,
            namespace=flags.namespace,
            ignored=frozenset(flags.ignored),
            estimator=flags.estimator(),
            rendering=flags.rendering(),
            behaviour=Behaviour.of(Profile.UPSTREAM),
        )
        self._gc_interval = duration(flags.checkpoints_gc_interval)
        self._scales = question.scales
        self.model = ClusterModel(flags.model())
        self._matcher = UsageMatcher(self.model)
        self._objects: dict[str, Case] = {}
        self._vpas: dict[str, Vpa] = {}
        self._pods: dict[str, Pod] = {}
        self._seen: dict[NamespacedName, Pod] = {}
        self._workloads: dict[tuple[str, str], Workload] = {}
        self._checkpoints: dict[str, ContainerCheckpoint] = {}
        self._kills: list[OomRecord] = []
        self._problems: dict[NamespacedName, str] = {}
        self._collected = now
        self._rounds = 0
        self._known = KnownControllers.of((), {})
        self._registry = CollectorRegistry()
        self._quality = QualityMetrics.register(self._registry)
        self._observed = ObservedStatuses(_frame)
        self._rule = WriteRule(0.0, now)

    def change(self, changes: list[Change]) -> None:
        """Bring the objects up to date."""
        for change in changes:
            if change.apply is not None:
                self._apply(change.apply)
            elif change.delete is not None:
                self._delete(change.delete)
        self._known = controllers(self._workloads.values(), self._scales)

    def _apply(self, given: Case) -> None:
        name = named(given)
        match given.get("kind"):
            case "VerticalPodAutoscaler":
                # An update leaves the status alone, as the API server does.
                old = self._objects.get(name, given)
                self._store_vpa(name, {**given, "status": old.get("status")})
            case "Pod":
                pod = decode_pod(msgspec.json.encode(given))
                if name in self._pods:
                    self._kills += oom_kills(self._pods[name], pod)
                self._pods[name] = pod
            case "VerticalPodAutoscalerCheckpoint":
                self._checkpoints[name] = decode_checkpoint(msgspec.json.encode(given))
            case "Event":
                self._notice(msgspec.json.encode(given))
            case kind:
                self._workloads[str(kind), name] = workload(given)

    def _notice(self, event: bytes) -> None:
        try:
            self._kills += decode_eviction(event)
        except InvalidObjectError:
            # An event that cannot be read tells of nothing.
            return

    def _store_vpa(self, name: str, given: Case) -> None:
        self._objects[name] = given
        self._vpas[name] = decode_vpa(msgspec.json.encode(given))

    def _delete(self, gone: Gone) -> None:
        match gone.kind:
            case "VerticalPodAutoscaler":
                self._vpas.pop(gone.name, None)
                self._objects.pop(gone.name, None)
            case "Pod":
                self._pods.pop(gone.name, None)
            case "VerticalPodAutoscalerCheckpoint":
                self._checkpoints.pop(gone.name, None)
            case kind:
                self._workloads.pop((kind, gone.name), None)

    def load_history(self, now: datetime) -> None:
        """Take in the stored checkpoints."""
        self._load_vpas()
        stored = (self._checkpoints[name] for name in sorted(self._checkpoints))
        load_checkpoints(self.model, [c for c in stored if c.namespace not in self._settings.ignored], now)

    def run_round(self, metrics: list[Case], now: datetime) -> RoundAnswer:
        """Run one round."""
        answer = RoundAnswer()
        self._rounds += 1
        self.model.aggregates.use(by_turns(self._rounds), pair_by_turns(self._rounds))
        self._load_vpas()
        vanished = self._load_pods(now)
        usage = decode_usage(msgspec.json.encode({"items": metrics})).table
        self._take_samples(self._matcher.match(usage).columns, now)
        self._kills = []
        for namespace, name in vanished:
            self.model.forget_pod(namespace, name)
        self._update_vpas(now, answer)
        self._write_checkpoints(now, answer)
        self._collect_garbage(now)
        return answer

    def _take_samples(self, columns: UsageColumns, now: datetime) -> None:
        self.model.take_usage(columns, now, self._show_quality)
        self._show_quality(self.model.take_ooms(self._kills, now).needs, MEMORY, is_oom=True)

    def _show_quality(self, samples: SampleColumns, resource: str, *, is_oom: bool = False) -> None:
        model = self.model
        self._quality.show_usage(usage_quality(model.containers, model.aggregates, samples, resource, is_oom=is_oom))

    def _load_vpas(self) -> None:
        served = [vpa for _, vpa in sorted(self._vpas.items()) if self._settings.serves(vpa)]
        for vpa in served:
            target = resolve_target(vpa, self._known)
            self._problems[vpa.namespace, vpa.name] = target.problem
            self.model.observe_vpa(vpa, target.selector)
        kept = {(vpa.namespace, vpa.name) for vpa in served}
        for namespace, name in [key for key in self.model.vpas if key not in kept]:
            self.model.forget_vpa(namespace, name)

    def _load_pods(self, now: datetime) -> list[NamespacedName]:
        current = {(pod.namespace, pod.name): pod for _, pod in sorted(self._pods.items())}
        for key, pod in current.items():
            if self._seen.get(key) is not pod or self.model.settings.memory_saver:
                self.model.observe_pod(pod, now)
        self._seen = current
        return [key for key in self.model.pods if key not in current]

    def _update_vpas(self, now: datetime, answer: RoundAnswer) -> None:
        groups = self.model.groups()
        self._observed.look(groups)
        settings = self._settings
        found = recommend(self.model, groups, settings.estimator, settings.rendering, settings.behaviour)
        pod_counts = np.array([each.pod_count for each in groups.vpas], dtype=np.int64)
        self._quality.show_changes(self._observed.stated_mode, pod_counts, found.changes)
        findings = RoundFindings(found.recommendations, pod_counts, self._problems)
        due = due_statuses(findings, self._observed, self._rule, now)
        for _, name, patch in due_patches(due, self._observed.frames, {}):
            (operation,) = msgspec.json.decode(patch, type=list[Case])
            answer.statuses[name] = operation["value"]
            self._store_vpa(name, {**self._objects[name], "status": operation["value"]})

    def _write_checkpoints(self, now: datetime, answer: RoundAnswer) -> None:
        due = checkpoint_order(self.model)
        for tracked, checkpoints in zip(due, checkpoints_of(self.model, due, now), strict=True):
            for checkpoint in checkpoints:
                name = f"{checkpoint.namespace}/{checkpoint.name}"
                answer.checkpoints[name] = checkpoint_status_json(checkpoint)
                if name not in self._checkpoints:
                    answer.created[name] = True
                self._checkpoints[name] = checkpoint
            if checkpoints:
                tracked.checkpoint_written = instant(now)
        if now - self._collected > self._gc_interval:
            self._collected = now
            self._remove_orphans(answer)

    def _remove_orphans(self, answer: RoundAnswer) -> None:
        namespace, ignored = self._settings.namespace, self._settings.ignored
        for name, checkpoint in list(self._checkpoints.items()):
            is_served = checkpoint.namespace not in ignored and namespace in {"", checkpoint.namespace}
            if is_served and f"{checkpoint.namespace}/{checkpoint.vpa_name}" not in self._vpas:
                answer.removed[name] = True
                del self._checkpoints[name]

    def _collect_garbage(self, now: datetime) -> None:
        if not is_due(self.model, now):
            return
        existing = {tracked.key for tracked in doubtful_vpas(self.model) if self._has_controller(tracked)}
        collect(self.model, existing, now)

    def _has_controller(self, tracked: TrackedVpa) -> bool:
        key = target_key(tracked.vpa)
        try:
            return key is not None and self._known.topmost(key) is not None
        except OwnerLookupError:
            return False

    def aggregates(self) -> dict[str, object]:
        """Return what is known of each container of each VPA, the running peaks included."""
        vpas = list(self.model.vpas.values())
        result: dict[str, object] = {}
        for tracked, checkpoints in zip(vpas, checkpoints_of(self.model, vpas, _LATE), strict=True):
            name = "/".join(tracked.key)
            result[name] = {"pods": tracked.pod_count}
            for checkpoint in checkpoints:
                known = checkpoint_status_json(replace(checkpoint, updated=None))
                result[f"{name}/{checkpoint.container_name}"] = known
        return result

    def quality(self) -> dict[str, list[int]]:
        """Return the counts of each series of the quality metrics: one for each bucket, one for a counter."""
        counts: dict[str, list[int]] = {}
        for family in self._registry.collect():
            for sample in family.samples:
                if not sample.name.endswith(("_bucket", "recommendation_count")):
                    continue
                labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()) if name != "le")
                series = f"{sample.name.removesuffix('_bucket')} {labels}"
                counts.setdefault(series, []).append(int(sample.value))
        return counts

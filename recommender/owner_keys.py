"""Which pods are one workload: sharing keys that go by the controllers above a pod, not by its labels.

All pods of a workload, that is of one topmost controller, share their histograms, container by container. A rollout, a
run of a Job or a new label makes no new ones, and what is kept is bounded by the workloads. The key says so in a label
that no object can have, and the selector that a VPA is followed by asks for that label with its target's name. So a
VPA gets the pods that updater and admission controller take for its own, and no others.

What becomes of a pod:

* Its topmost controller is known and selects it: it belongs to that controller. The controller's own selector tells,
  over all labels, those that change with every pod included; those of Jobs and CronJobs need not be asked.
* Its topmost controller does not select it, as where a custom controller names some of its pods only: it shares with
  the others of that controller that are not selected, and no VPA gets it.
* The way up cannot be followed yet, as where a ReplicaSet's Deployment is not known: it waits in a place of its direct
  controller. Once the way is known it moves, and all that it has shown goes along. A pod whose way was known stays.
* It has no controller, or one that nothing can aim at: no VPA gets it, and it shares with others of its kind.
* It is known from history only, where nothing tells of owners: see ``past_pods``.
* It changes its controller: what it has shown stays with the former one, but for the peak of its last memory window,
  which is replaced when more is used.

Spec: beyond:B-3, beyond:B-19, case:22, case:23, case:39; recommender 3.1, 11.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from autoscaling.behaviour import Behaviour
from autoscaling.hpa import controller_object
from autoscaling.matching import NOTHING, Selector, of_labels
from autoscaling.ownership import ControllerKey, NodeOwnerError, OwnerLookupError, OwnerNotCachedError, pod_controller
from autoscaling.pod import Pod
from autoscaling.targets import RUN_KINDS, KnownControllers, ResolvedTarget
from recommender.aggregation import Basis, SharingKey, by_all_labels
from recommender.noted_reads import NotedControllers, Reads
from recommender.past_pods import PastOwners, stable_labels

CONTROLLER: Final = "topmost controller"
"""The label that names a pod's workload; with its space it is none that an object can have."""

_RUN_NAMES: Final = ("batch/CronJob/", "batch/Job/")
_SPARE_ANSWERS: Final = 64


@dataclass(frozen=True, slots=True)
class SharingRules:
    """For which pods the controller counts instead of the labels.

    Args:
        by_controller: For all (beyond:B-3).
        runs_by_owner: For those of Jobs and CronJobs (beyond:B-19).
    """

    by_controller: bool
    runs_by_owner: bool

    @classmethod
    def of(cls, behaviour: Behaviour) -> SharingRules:
        """Return the rules of a behaviour."""
        return cls(behaviour.memory_bounded_by_workloads, behaviour.jobs_and_cronjobs_match_by_owner)

    @property
    def is_any(self) -> bool:
        """Whether owners count at all."""
        return self.by_controller or self.runs_by_owner

    def covers(self, topmost: ControllerKey) -> bool:
        """Say whether pods of a topmost controller are told by it."""
        return self.by_controller or (self.runs_by_owner and topmost.kind in RUN_KINDS)


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the way up from a direct controller came to.

    Args:
        topmost: The highest controller that a VPA can aim at; None where there is none, or where the way is not known.
        selector: Of its pods.
        is_settled: Whether the way could be followed.
        reads: What this was told by; it holds as long as all of that is the same.
    """

    topmost: ControllerKey | None
    selector: Selector
    is_settled: bool
    reads: Reads

    def says_as(self, other: _Answer) -> bool:
        """Say whether pods get the same keys by another answer."""
        return (self.topmost, self.selector, self.is_settled) == (other.topmost, other.selector, other.is_settled)


def _answer(start: ControllerKey, known: KnownControllers) -> _Answer:
    """Climb from a direct controller.

    Raises:
        OwnerNotCachedError: A scale on the way has not been looked up yet.
    """
    noted = NotedControllers(known)
    topmost, selector, is_settled = None, NOTHING, True
    try:
        topmost = noted.known.topmost(start)
        selector = _selector(topmost, noted.known)
    except OwnerNotCachedError:
        raise
    except NodeOwnerError:
        # A static pod: nobody scales it.
        pass
    except OwnerLookupError:
        is_settled = False
    return _Answer(topmost, selector, is_settled, noted.reads())


def _selector(topmost: ControllerKey | None, known: KnownControllers) -> Selector:
    """Return the selector of a topmost controller; one that has none selects nothing."""
    if topmost is None:
        return NOTHING
    try:
        return known.selector(topmost)
    except OwnerLookupError:
        return NOTHING


class OwnerKeys:
    """The sharing key of each pod, and the selector that each VPA is followed by.

    Args:
        rules: For which pods the controller counts; with none of them labels do, as upstream has it.
        known: Returns what is known of controllers now.

    Attributes:
        targets: Targets of VPAs of other than well-known kinds, with their selectors, for pods of the past.
    """

    def __init__(self, rules: SharingRules, known: Callable[[], KnownControllers]) -> None:
        self.rules = rules
        self.targets: tuple[tuple[ControllerKey, Selector], ...] = ()
        self._known = known
        self._answers: dict[ControllerKey, _Answer] = {}
        self._past: PastOwners | None = None
        self._selectors: dict[str, Selector] = {}
        self._kept = 0
        self._labels: Mapping[str, str] | None = None
        self._labels_key = SharingKey("", {})

    def __len__(self) -> int:
        """Number of direct controllers that are remembered."""
        return len(self._answers)

    def __call__(self, pod: Pod) -> SharingKey:
        """Return the key of a pod."""
        if not self.rules.is_any:
            return self._by_labels(pod)
        controller = pod_controller(pod)
        if controller is not None:
            return self._controlled(pod, controller)
        if not pod.uid:
            return self._past_key(pod)
        return SharingKey("uncontrolled", {}, Basis.CONTROLLER) if self.rules.by_controller else self._by_labels(pod)

    def _by_labels(self, pod: Pod) -> SharingKey:
        """Return the key by labels: the one of the pod before where that shares them, as replicas do."""
        if pod.labels is not self._labels:
            self._labels, self._labels_key = pod.labels, by_all_labels(pod)
        return self._labels_key

    def _controlled(self, pod: Pod, controller: ControllerKey) -> SharingKey:
        """Return the key of a pod that has a controller."""
        answer = self._answers.get(controller)
        if answer is None:
            try:
                answer = self._answers[controller] = _answer(controller, self._known())
            except OwnerNotCachedError:
                return self._unsettled(pod, controller)
        if not answer.is_settled:
            return self._unsettled(pod, controller)
        if answer.topmost is None:
            return self._unselected(pod, controller)
        if answer.selector.matches(pod.labels):
            return self._selected(pod, answer.topmost)
        return self._unselected(pod, answer.topmost)

    def _selected(self, pod: Pod, topmost: ControllerKey) -> SharingKey:
        """Return the key of pods that a controller selects."""
        name = controller_name(topmost)
        if self.rules.by_controller:
            return SharingKey(name, {CONTROLLER: name}, Basis.CONTROLLER)
        by_labels = by_all_labels(pod)
        if not self.rules.covers(topmost):
            return by_labels
        return SharingKey(f"{by_labels.text} {name}", {**pod.labels, CONTROLLER: name}, Basis.CONTROLLER)

    def _unselected(self, pod: Pod, controller: ControllerKey) -> SharingKey:
        """Return the key of pods that have a controller and that no VPA can get."""
        if not self.rules.by_controller:
            return by_all_labels(pod)
        return SharingKey(f"{controller_name(controller)} unselected", {}, Basis.CONTROLLER)

    def _unsettled(self, pod: Pod, controller: ControllerKey) -> SharingKey:
        """Return the key of pods whose topmost controller is not known yet."""
        if not self.rules.by_controller:
            return by_all_labels(pod)
        return SharingKey(f"{controller_name(controller)} unsettled", {}, Basis.UNSETTLED)

    def _past_key(self, pod: Pod) -> SharingKey:
        """Return the key of a pod that only history tells of."""
        if self._past is None:
            self._past = PastOwners.of(self._known(), self.targets)
        owner = self._past.owner_of(pod)
        if owner is not None:
            return self._selected(pod, owner)
        if not self.rules.by_controller:
            return by_all_labels(pod)
        return SharingKey(f"past {by_all_labels(replace(pod, labels=stable_labels(pod.labels))).text}", {})

    def selector_of(self, target: ResolvedTarget) -> Selector:
        """Return the selector, over the labels of sharing keys, that a VPA with this target is followed by."""
        if target.selector.is_nothing or not target.controllers or not self.rules.covers(target.controllers[0]):
            return target.selector
        name = controller_name(target.controllers[0])
        if name not in self._selectors:
            self._selectors[name] = of_labels({CONTROLLER: name})
        return self._selectors[name]

    def forget_selectors(self, vpas: int) -> None:
        """Forget selectors once they may be more than there are VPAs.

        Args:
            vpas: Number of VPAs.
        """
        if len(self._selectors) > 2 * vpas + _SPARE_ANSWERS:
            self._selectors.clear()

    def doubtful(self, fresh: Iterable[Pod], *, are_workloads_as_before: bool = False) -> list[ControllerKey]:
        """Return the direct controllers that have to be climbed from: new ones, and where something above has changed.

        Args:
            fresh: Pods that came or changed.
            are_workloads_as_before: Whether no workload came, changed or went since all these had been settled.
        """
        self._past = None
        if not self.rules.is_any:
            return []
        known = self._known()
        found = {
            key: None
            for key, answer in self._answers.items()
            if not answer.reads.hold(known, are_workloads_as_before=are_workloads_as_before)
        }
        for pod in fresh:
            key = pod_controller(pod)
            if key is not None and key not in self._answers:
                found[key] = None
        return list(found)

    def settle(self, controller: ControllerKey, known: KnownControllers) -> bool:
        """Climb from a direct controller, and say whether pods that were given keys by it get others now.

        Raises:
            OwnerNotCachedError: A scale on the way has not been looked up yet.
        """
        before, now = self._answers.get(controller), _answer(controller, known)
        self._answers[controller] = now
        return before is not None and not now.says_as(before)

    def prune(self, pods: Iterable[Pod]) -> None:
        """Forget direct controllers without pods, once they may be more than those with some.

        Args:
            pods: All pods.
        """
        if len(self._answers) <= 2 * self._kept + _SPARE_ANSWERS:
            return
        living = {pod_controller(pod) for pod in pods}
        self._answers = {key: answer for key, answer in self._answers.items() if key in living}
        self._kept = len(self._answers)


def is_of_runs(key: SharingKey) -> bool:
    """Say whether a key is of the pods of a Job or CronJob, told by their owners."""
    return key.labels.get(CONTROLLER, "").startswith(_RUN_NAMES)


def controller_name(key: ControllerKey) -> str:
    """Return what names a controller within its namespace; versions of its API do not tell it apart."""
    _, group, kind, name = controller_object(key)
    return f"{group}/{kind}/{name}"

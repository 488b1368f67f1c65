"""What the updater and the admission controller would do now, and why not: their own decisions, carried out by nobody.

The updater's plan runs as in a round in which every call succeeds. What it would remember of earlier rounds, such as
refused resizes, back-off and the levels of the storm budgets, is not known here.

Spec: beyond:B-34.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from admission.review import PODS, ReviewRequest, ReviewRules, SubmittedPod, review
from admission.verdict import Reason as AdmissionReason
from admission.vpa_matching import ClusterView, TargetName
from autoscaling.limitrange import NO_LIMITS
from autoscaling.objectref import ObjectRef
from autoscaling.vpa import Vpa
from evenkeel.inspection.limit_defaults import as_admitted
from evenkeel.inspection.survey import Survey
from updater.circumstances import Memory
from updater.decision import Action, Decision, Outcome
from updater.guidance import GUIDANCE
from updater.plan import Plan
from updater.settings import Settings


@dataclass(frozen=True, slots=True)
class UpdaterAnswer:
    """What the updater would do about one pod, or says of a whole VPA.

    Args:
        object: The pod or the VPA.
        action: ``resize``, ``evict``, ``fail``, ``wait`` or ``skip``.
        reason: Its name; docs/decisions.md has them all.
        meaning: The reason in words.
        remedy: What can be done about it.
        detail: What no reason can say.
        changes: What each container would get, such as ``web cpu 100m→250m``.
    """

    object: ObjectRef
    action: str
    reason: str
    meaning: str
    remedy: str
    detail: str
    changes: tuple[str, ...]


def updater_answers(survey: Survey, settings: Settings, now: datetime) -> Mapping[ObjectRef, UpdaterAnswer]:
    """Return what the updater would do in a round now, by pod, and by VPA where all of it is left out.

    Args:
        survey: The cluster.
        settings: What the updater is set to do.
        now: The time of the round.
    """
    plan = Plan.of(survey.snapshot, now, Memory(), settings)
    answers: dict[ObjectRef, UpdaterAnswer] = {}
    while (decision := plan.next()) is not None:
        answers.setdefault(decision.ref, _answer(decision))
        plan = plan.after(decision, Outcome.DONE)
    return answers


def _answer(decision: Decision) -> UpdaterAnswer:
    """Return a decision in words."""
    guidance = GUIDANCE.get(decision.reason)
    is_change = decision.action in {Action.RESIZE, Action.EVICT} and decision.audit is not None
    return UpdaterAnswer(
        object=decision.ref,
        action=decision.action.value,
        reason=decision.reason.value,
        meaning=decision.reason.meaning,
        remedy=guidance.remedy if guidance else "",
        detail=decision.detail,
        changes=decision.audit.by_container() if is_change and decision.audit is not None else (),
    )


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that the webhook would set.

    Args:
        field: Its path, with the names of containers in place of their numbers.
        value: What it would be.
    """

    field: str
    value: str


@dataclass(frozen=True, slots=True)
class AdmissionAnswer:
    """What the webhook would make of a new pod.

    Args:
        source: What the pod was made of for the question.
        outcome: ``applied``, ``skipped`` or ``error``.
        reason: Its name.
        meaning: The reason in words.
        detail: What no reason can say.
        vpa: The VPA that the pod would belong to, empty for none.
        changes: What would be set.
    """

    source: str
    outcome: str
    reason: str
    meaning: str
    detail: str
    vpa: str
    changes: tuple[FieldChange, ...]


_MEANINGS: Mapping[AdmissionReason, str] = {
    AdmissionReason.PATCHED: "The pod would get what its VPA recommends.",
    AdmissionReason.HELD_BACK: "The pod would get what its VPA recommends, as far as the API server would take it.",
    AdmissionReason.NO_CONTROLLER: "The pod has no controller, so it belongs to no VPA.",
    AdmissionReason.STATIC_POD: "The pod belongs to a node, and static pods are left as they are.",
    AdmissionReason.OWNER_NOT_KNOWN: "Its controllers cannot be followed to the top.",
    AdmissionReason.OWNER_NOT_CACHED: "Its controller is of a custom kind whose scale is yet to be looked up.",
    AdmissionReason.OWNER_NOT_SCALABLE: "Its topmost controller is neither of a well-known kind nor has it a scale.",
    AdmissionReason.NO_MATCHING_VPA: "No VPA acts on its controller; one in mode Off never does.",
    AdmissionReason.CANNOT_BE_CAPPED: "It cannot be fitted to the LimitRanges of its namespace, so it stays as it is.",
    AdmissionReason.ANNOTATIONS_FULL: "It has no room for the annotations that would explain its amounts.",
    AdmissionReason.UNREADABLE_POD: "It cannot be read.",
}


def admission_answer(source: str, submitted: SubmittedPod, survey: Survey, rules: ReviewRules) -> AdmissionAnswer:
    """Return what the webhook would make of a pod that is created now.

    Args:
        source: What the pod was made of.
        submitted: The pod.
        survey: The cluster.
        rules: What the webhook is set to do.
    """
    submitted = as_admitted(submitted, survey.snapshot.limits.get(submitted.pod.namespace, NO_LIMITS))
    pod = submitted.pod
    group, resource = PODS
    request = ReviewRequest(group, "v1", resource, "Pod", pod.namespace, pod.name, submitted)
    verdict = review(request, _view(survey, rules), rules)
    names = {f"/spec/containers/{index}": each.name for index, each in enumerate(pod.containers)}
    names |= {f"/spec/initContainers/{index}": each.name for index, each in enumerate(pod.init_containers)}
    return AdmissionAnswer(
        source=source,
        outcome=verdict.outcome.value,
        reason=verdict.reason.value,
        meaning=_MEANINGS.get(verdict.reason, ""),
        detail=verdict.detail,
        vpa=verdict.vpa,
        changes=tuple(change for each in verdict.patch for change in _changes(each.path, each.value, names)),
    )


def _changes(path: str, value: str | Mapping[str, str], names: Mapping[str, str]) -> Iterable[FieldChange]:
    """Yield what one operation of a patch sets, leaving out empty objects that only make room for the next one."""
    field = _field(path, names)
    if isinstance(value, str):
        yield FieldChange(field, value)
    else:
        for name, text in value.items():
            yield FieldChange(f"{field}.{name}", text)


def _field(path: str, names: Mapping[str, str]) -> str:
    """Return a JSON pointer as people write fields."""
    for pointer, name in names.items():
        if path.startswith(pointer + "/"):
            path = f"{pointer.rpartition('/')[0]}[{name}]{path[len(pointer) :]}"
            break
    return path.lstrip("/").replace("/", ".").replace("~1", "/").replace("~0", "~")


def _view(survey: Survey, rules: ReviewRules) -> ClusterView:
    """Return the cluster as the webhook's caches would hold it."""
    vpas: defaultdict[str, defaultdict[TargetName, tuple[Vpa, ...]]] = defaultdict(lambda: defaultdict(tuple))
    for selecting in survey.snapshot.vpas:
        target = selecting.vpa.target_ref
        if target is not None:
            vpas[selecting.vpa.namespace][target.kind, target.name] += (selecting.vpa,)
    return ClusterView(
        is_complete=True,
        vpas=vpas,
        controllers=survey.known,
        limits=survey.snapshot.limits,
        compares_groups=rules.behaviour.custom_controllers,
    )

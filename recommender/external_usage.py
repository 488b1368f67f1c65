"""Usage from the external metrics API: what is asked for, and how the answers become one table.

For every pod that a VPA selects each metric is asked for once; a label of the values names their container.

Spec: recommender 8.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from autoscaling.matching import Operator, Requirement, Selector
from autoscaling.objectref import ObjectRef
from autoscaling.resources import CPU, MEMORY
from recommender.cluster_model import ClusterModel, NamespacedName
from recommender.instants import NEVER
from recommender.label_sets import LabelSet
from recommender.samples import MISSING
from recommender.usage_table import UsageTable

POD_LABEL: Final = "pod"
"""Label of values that names the pod."""

_LABEL_VALUE: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class ExternalMetrics:
    """Which metrics tell what containers use.

    Args:
        cpu: Metric of CPU use; empty where there is none.
        memory: Metric of memory use; empty where there is none.
        container_label: Label of values that names the container.
    """

    cpu: str
    memory: str
    container_label: str

    @property
    def named(self) -> tuple[tuple[str, str], ...]:
        """Resource and metric of each resource that has one."""
        return tuple(pair for pair in ((CPU, self.cpu), (MEMORY, self.memory)) if pair[1])


@dataclass(frozen=True, slots=True)
class PodQuestion:
    """The use of one pod, as one VPA asks for it.

    Args:
        namespace: Of the pod.
        pod: Its name.
        selector: Label selector of the values, as the API spells it.
    """

    namespace: str
    pod: str
    selector: str


@dataclass(frozen=True, slots=True)
class Questions:
    """What is to be asked.

    Args:
        askable: By VPA, then by pod; a pod that two VPAs select stands there twice.
        unaskable: Pods whose name cannot be the value of a label, so that no selector can ask for them.
    """

    askable: tuple[PodQuestion, ...]
    unaskable: tuple[ObjectRef, ...]


@dataclass(frozen=True, slots=True)
class ExternalAnswer:
    """What the API says of one pod and one resource.

    Args:
        instant: When the first value was measured, nanoseconds since the epoch; ``NEVER`` where it does not say, None
            where there is no value.
        amounts: Container to millicores or bytes, of the values that name a container.
    """

    instant: int | None
    amounts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ExternalUsage:
    """What all answers say.

    Args:
        table: The use of containers.
        undated: Pods that were left out, since the answers do not say when their use was measured.
    """

    table: UsageTable
    undated: tuple[ObjectRef, ...]


def questions_of(model: ClusterModel, namespace: str) -> Questions:
    """Return what is to be asked about the pods that VPAs select, of whatever phase.

    Args:
        model: The pods and VPAs.
        namespace: The only one to ask about; empty for all.

    Spec: recommender 8.2.
    """
    pods = _pods_by_label_set(model)
    askable: list[PodQuestion] = []
    unaskable: dict[ObjectRef, None] = {}
    for key in sorted(key for key in model.vpas if namespace in {"", key[0]}):
        tracked = model.vpas[key]
        for pod in sorted(name for label_set in tracked.label_sets for _, name in pods.get(label_set, ())):
            if _LABEL_VALUE.fullmatch(pod):
                askable.append(PodQuestion(key[0], pod, _selector_of(tracked.pod_selector or tracked.selector, pod)))
            else:
                unaskable[ObjectRef("Pod", key[0], pod)] = None
    return Questions(tuple(askable), tuple(unaskable))


def _pods_by_label_set(model: ClusterModel) -> dict[LabelSet, list[NamespacedName]]:
    pods: dict[LabelSet, list[NamespacedName]] = {}
    for key, state in model.pods.items():
        pods.setdefault(state.label_set, []).append(key)
    return pods


def _selector_of(selector: Selector, pod: str) -> str:
    """Return the selector of a VPA's pods narrowed to one of them, by label."""
    requirements = (*selector.requirements, Requirement(POD_LABEL, Operator.EQUALS, (pod,)))
    return str(Selector(tuple(sorted(requirements, key=lambda requirement: requirement.key))))


def usage_of(
    questions: Sequence[PodQuestion], answers: Mapping[str, Sequence[ExternalAnswer]], *, gaps_are_zero: bool
) -> ExternalUsage:
    """Put the answers together: of each pod the containers that any of them names, by name.

    A pod's use counts as measured when the last of its answers that has a value says.

    Args:
        questions: What was asked.
        answers: By resource, in the order in which they count, the answer to each question.
        gaps_are_zero: Whether a container of which an answer says nothing used nothing of that resource, as upstream
            has it; else there is no sample of it.

    Spec: recommender 8.2, 13 (14).
    """
    gap = 0 if gaps_are_zero else MISSING
    pods: list[PodQuestion] = []
    instants: list[int] = []
    sizes: list[int] = []
    rows: list[tuple[str, int, int]] = []
    undated: list[ObjectRef] = []
    for place, question in enumerate(questions):
        told = {resource: given[place] for resource, given in answers.items()}
        containers = sorted({name for answer in told.values() for name in answer.amounts})
        at = _instant_of(told.values())
        if containers and at == NEVER:
            undated.append(ObjectRef("Pod", question.namespace, question.pod))
        elif containers:
            pods.append(question)
            instants.append(at)
            sizes.append(len(containers))
            cpu, memory = (told[r].amounts if r in told else {} for r in (CPU, MEMORY))
            rows += [(name, cpu.get(name, gap), memory.get(name, gap)) for name in containers]
    table = UsageTable(
        namespaces=[each.namespace for each in pods],
        pods=[each.pod for each in pods],
        sizes=sizes,
        instants=np.array(instants, dtype=np.int64),
        containers=[name for name, _, _ in rows],
        millicores=np.array([amount for _, amount, _ in rows], dtype=np.int64),
        memory_bytes=np.array([amount for _, _, amount in rows], dtype=np.int64),
    )
    return ExternalUsage(table, tuple(undated))


def _instant_of(answers: Iterable[ExternalAnswer]) -> int:
    """Return when the last answer with a value was measured."""
    given = [answer.instant for answer in answers if answer.instant is not None]
    return given[-1] if given else NEVER

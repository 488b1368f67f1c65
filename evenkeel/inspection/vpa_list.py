"""One line for each VPA: what is recommended, what stands in the way, and how its pods fare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from autoscaling.behaviour import Behaviour
from autoscaling.pod import ConditionStatus, Pod
from autoscaling.resources import CPU, MEMORY, ResourceList
from autoscaling.vpa import ContainerRecommendation, TargetRef, Vpa
from evenkeel.inspection.documents import Table
from evenkeel.inspection.resize_report import ResizeVerdict, verdict_of
from evenkeel.inspection.survey import Control

_NOTHING = "-"
_PROVIDED = "RecommendationProvided"
_PENDING = frozenset({ResizeVerdict.REQUESTED, ResizeVerdict.IN_PROGRESS, ResizeVerdict.DEFERRED})
_BLOCKED = frozenset({ResizeVerdict.INFEASIBLE, ResizeVerdict.ERROR, ResizeVerdict.UNKNOWN})


@dataclass(frozen=True, slots=True)
class ListedCondition:
    """A condition of a VPA, of whatever status."""

    type: str
    status: str
    reason: str
    message: str
    since: datetime | None


@dataclass(frozen=True, slots=True)
class ListedPods:
    """The live pods that a VPA controls.

    Args:
        live: All of them.
        pending: Those in the middle of a resize that may yet come about by itself.
        blocked: Those whose resize is infeasible or met an error.
    """

    live: int
    pending: int
    blocked: int


@dataclass(frozen=True, slots=True)
class ListedVpa:
    """One VPA; without a recommendation it has no containers."""

    namespace: str
    name: str
    target: TargetRef | None
    mode: str
    containers: tuple[ContainerRecommendation, ...]
    conditions: tuple[ListedCondition, ...]
    pods: ListedPods


def listed(vpas: Iterable[Vpa], controlled: Control, behaviour: Behaviour) -> tuple[ListedVpa, ...]:
    """Return the VPAs by namespace and name.

    Args:
        vpas: All that are listed.
        controlled: Their pods.
        behaviour: How a pod's resize is read.
    """
    ordered = sorted(vpas, key=lambda vpa: (vpa.namespace, vpa.name))
    return tuple(_listed(vpa, controlled.pods.get(vpa.ref, ()), behaviour) for vpa in ordered)


def _listed(vpa: Vpa, pods: tuple[Pod, ...], behaviour: Behaviour) -> ListedVpa:
    """Return one VPA."""
    verdicts = Counter(verdict_of(pod, behaviour) for pod in pods)
    return ListedVpa(
        namespace=vpa.namespace,
        name=vpa.name,
        target=vpa.target_ref,
        mode=vpa.update_mode.value,
        containers=vpa.recommendation.containers if vpa.recommendation else (),
        conditions=tuple(
            ListedCondition(c.type, c.status.value, c.reason, c.message, c.last_transition_time) for c in vpa.conditions
        ),
        pods=ListedPods(len(pods), sum(verdicts[v] for v in _PENDING), sum(verdicts[v] for v in _BLOCKED)),
    )


def vpa_table(vpas: Iterable[ListedVpa]) -> Table:
    """Return a row for each recommended container, and one for each VPA without any."""
    columns = (
        "NAMESPACE", "NAME", "TARGET", "MODE", "CONTAINER", "CPU", "MEMORY", "PODS", "PENDING", "BLOCKED", "CONDITIONS",
    )  # fmt: skip
    return Table("", columns, tuple(row for vpa in vpas for row in _rows(vpa)))


def _rows(vpa: ListedVpa) -> Iterator[tuple[str, ...]]:
    """Yield the rows of one VPA."""
    target = f"{vpa.target.kind}/{vpa.target.name}" if vpa.target else _NOTHING
    notable = (c for c in vpa.conditions if c.status == ConditionStatus.TRUE.value and c.type != _PROVIDED)
    conditions = ", ".join(f"{c.type}: {c.message}" if c.message else c.type for c in notable)
    counts = (str(vpa.pods.live), str(vpa.pods.pending), str(vpa.pods.blocked))
    entries: tuple[ContainerRecommendation | None, ...] = vpa.containers or (None,)
    for entry in entries:
        name = entry.container_name if entry else _NOTHING
        amounts = (name, _range(entry, CPU), _range(entry, MEMORY))
        yield (vpa.namespace, vpa.name, target, vpa.mode, *amounts, *counts, conditions or _NOTHING)


def _range(entry: ContainerRecommendation | None, resource: str) -> str:
    """Return a target with its bounds, such as ``400m (300m to 1)``."""
    if entry is None or resource not in entry.target:
        return _NOTHING
    lower, upper = (_text(bound, resource) for bound in (entry.lower_bound, entry.upper_bound))
    return f"{entry.target[resource]} ({lower} to {upper})"


def _text(bound: ResourceList | None, resource: str) -> str:
    amount = (bound or {}).get(resource)
    return _NOTHING if amount is None else str(amount)

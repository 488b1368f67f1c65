"""The pods a VPA's target stands for, and whether the target may be used at all (spec: recommender:11)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from autoscaling.matching import EVERYTHING, NOTHING, InvalidSelectorError, Selector, parse_selector
from autoscaling.ownership import ControllerKey, Controllers, OwnerLookupError, OwnerNotCachedError, ScaleAnswer
from autoscaling.pod import Owner
from autoscaling.vpa import Vpa
from autoscaling.workload import Workload

WorkloadKey = tuple[str, str, str]
"""Namespace, kind and name."""

RUN_KINDS: Final = frozenset({"CronJob", "Job"})
"""Controllers whose pods run to an end, and whose selectors name a single run or nothing at all."""

_CRON_JOB: Final = "CronJob"
_RUN_NAME: Final = re.compile(r"(?P<cron_job>.+)-[0-9]{8,10}")
"""Name of a Job that a CronJob has made: its own, and the minute that the run is for."""


@dataclass(frozen=True, slots=True)
class _Owners(Mapping[WorkloadKey, tuple[Owner, ...]]):
    """Owner references of the workloads of another mapping, without a copy.

    Args:
        infers_runs: Whether a Job that is not known is taken for a run of the CronJob that its name tells of.
    """

    workloads: Mapping[WorkloadKey, Workload]
    infers_runs: bool = False

    def __getitem__(self, key: WorkloadKey) -> tuple[Owner, ...]:
        try:
            return self.workloads[key].owners
        except KeyError:
            return (self._cron_job(key),)

    def _cron_job(self, key: WorkloadKey) -> Owner:
        """Return the CronJob of a run that is not known.

        Raises:
            KeyError: There is none.
        """
        namespace, kind, name = key
        match = _RUN_NAME.fullmatch(name) if self.infers_runs and kind == "Job" else None
        cron_job = self.workloads.get((namespace, _CRON_JOB, match["cron_job"])) if match else None
        if cron_job is None:
            raise KeyError(key)
        return Owner(cron_job.api_version, _CRON_JOB, cron_job.name, controller=True, uid=cron_job.uid)

    def __iter__(self) -> Iterator[WorkloadKey]:
        return iter(self.workloads)

    def __len__(self) -> int:
        return len(self.workloads)


@dataclass(frozen=True, slots=True)
class KnownControllers:
    """All that is known of controllers: cached workloads, and answers of scale subresources for other kinds.

    Args:
        runs_match_by_owner: Whether the pods of Jobs and CronJobs are told by their owners alone (beyond:B-19). A pod
            may then be ahead of its Job or outlive it: a Job that is not known counts as a run of the known CronJob
            whose name begins its own.
    """

    workloads: Mapping[WorkloadKey, Workload]
    scales: Mapping[ControllerKey, ScaleAnswer]
    runs_match_by_owner: bool = False
    _controllers: Controllers = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Lay the view of owners over both mappings, once for all pods."""
        owners = _Owners(self.workloads, self.runs_match_by_owner)
        object.__setattr__(self, "_controllers", Controllers(owners, self.scales))

    @classmethod
    def of(cls, workloads: Iterable[Workload], scales: Mapping[ControllerKey, ScaleAnswer]) -> KnownControllers:
        """Return the view over a list of workloads."""
        return cls({(w.namespace, w.kind, w.name): w for w in workloads}, scales)

    def topmost(self, start: ControllerKey) -> ControllerKey | None:
        """Climb to the topmost well-known or scalable controller; see ``Controllers.topmost``."""
        return self._controllers.topmost(start)

    def selector(self, key: ControllerKey) -> Selector:
        """Return the pod selector of a controller, everything where its owners alone tell a pod's controller.

        Whoever asks must compare topmost controllers, too. Spec: recommender:11.1, beyond:B-19.

        Raises:
            OwnerNotCachedError: Its scale has not been looked up yet.
            OwnerLookupError: It does not exist, has no scale, or its selector is empty or unreadable.
        """
        if key.is_well_known:
            workload = self.workloads.get((key.namespace, key.kind, key.name))
            if workload is None:
                raise OwnerLookupError(f"{key.kind} {key.namespace}/{key.name} does not exist")
            return EVERYTHING if self.runs_match_by_owner and key.kind in RUN_KINDS else workload.selector
        if key not in self.scales:
            raise OwnerNotCachedError(key)
        answer = self.scales[key]
        if not answer.is_found:
            raise _unhandled(key, answer.failure or "it has no scale subresource")
        if not answer.selector:
            raise _unhandled(key, "its scale names no selector")
        try:
            return parse_selector(answer.selector)
        except InvalidSelectorError as error:
            raise _unhandled(key, str(error)) from error


def _unhandled(key: ControllerKey, cause: str) -> OwnerLookupError:
    """Say that a target is of a kind whose pods cannot be found."""
    return OwnerLookupError(
        f"unhandled targetRef {key.api_version} / {key.kind} / {key.name}: {cause}; aim at a workload with a scale "
        "subresource",
    )


@dataclass(frozen=True, slots=True)
class ResolvedTarget:
    """What a VPA's target came to.

    Args:
        selector: Of the target's pods; it matches nothing where there is a problem.
        problem: Why the target cannot be used, empty where it can.
        controllers: The target and the topmost controller above it, as far as they are known; one where both are one.
        is_unresolved: Whether the problem is that target or controllers cannot be read, which may pass.
    """

    selector: Selector
    problem: str = ""
    controllers: tuple[ControllerKey, ...] = ()
    is_unresolved: bool = False


def target_key(vpa: Vpa) -> ControllerKey | None:
    """Return what a VPA aims at, None where it names nothing."""
    target = vpa.target_ref
    return ControllerKey(vpa.namespace, target.kind, target.name, target.api_version) if target else None


def target_selector(vpa: Vpa, known: KnownControllers) -> Selector:
    """Return the selector of a VPA's target, whether it is the topmost controller or not (updater M-8).

    Raises:
        OwnerNotCachedError: The target's scale has not been looked up yet.
        OwnerLookupError: There is no target or it cannot be read.
    """
    key = target_key(vpa)
    if key is None:
        raise OwnerLookupError(f"{vpa.ref} has no targetRef; name the workload in spec.targetRef")
    return known.selector(key)


def resolve_target(vpa: Vpa, known: KnownControllers) -> ResolvedTarget:
    """Return a VPA's pods, or why its target cannot be used (spec: recommender:11.3).

    Raises:
        OwnerNotCachedError: A scale on the way has not been looked up yet.
    """
    key = target_key(vpa)
    try:
        selector = target_selector(vpa, known)
    except OwnerNotCachedError:
        raise
    except OwnerLookupError as error:
        return ResolvedTarget(NOTHING, f"cannot read the target: {error}", (key,) if key else (), is_unresolved=True)
    assert key is not None
    try:
        top = known.topmost(key)
    except OwnerNotCachedError:
        raise
    except OwnerLookupError as error:
        problem = f"cannot tell whether {_named(key)} is the topmost controller: {error}"
        return ResolvedTarget(NOTHING, problem, (key,), is_unresolved=True)
    if top is None:
        return ResolvedTarget(NOTHING, f"{_named(key)} is neither a known kind of controller nor scalable", (key,))
    if top != key:
        problem = f"{_named(key)} has a parent, {_named(top)}; point targetRef at the topmost one"
        return ResolvedTarget(NOTHING, problem, (key, top))
    return ResolvedTarget(selector, "", (key,))


def _named(key: ControllerKey) -> str:
    """Return a controller as conditions name it."""
    return f"{key.api_version}.{key.kind}/{key.name}"

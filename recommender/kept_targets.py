"""What the targets of VPAs came to, kept from round to round (spec: recommender:11.3; performance R-4)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from autoscaling.targets import KnownControllers, ResolvedTarget, resolve_target
from autoscaling.vpa import TargetRef, Vpa
from recommender.cluster_model import NamespacedName
from recommender.noted_reads import NotedControllers, Reads


@dataclass(frozen=True, slots=True)
class _Kept:
    target_ref: TargetRef | None
    target: ResolvedTarget
    reads: Reads


class KeptTargets:
    """The targets of the VPAs that are served; mutable, owned by the task of the rounds."""

    def __init__(self) -> None:
        self._kept: dict[NamespacedName, _Kept] = {}

    def __len__(self) -> int:
        """Number of VPAs whose targets are kept."""
        return len(self._kept)

    def find(self, vpa: Vpa, known: KnownControllers, *, are_workloads_as_before: bool) -> ResolvedTarget | None:
        """Return what a VPA's target came to, None where it has to be resolved anew.

        Args:
            vpa: The object.
            known: What is known of controllers.
            are_workloads_as_before: Whether no workload came, changed or went since all targets were last found or
                resolved.
        """
        kept = self._kept.get((vpa.namespace, vpa.name))
        if kept is None or (kept.target_ref is not vpa.target_ref and kept.target_ref != vpa.target_ref):
            return None
        return kept.target if kept.reads.hold(known, are_workloads_as_before=are_workloads_as_before) else None

    def resolve(self, vpa: Vpa, known: KnownControllers) -> ResolvedTarget:
        """Resolve a VPA's target, and keep what it came to.

        Raises:
            OwnerNotCachedError: A scale on the way has not been looked up yet.
        """
        noted = NotedControllers(known)
        target = resolve_target(vpa, noted.known)
        self._kept[vpa.namespace, vpa.name] = _Kept(vpa.target_ref, target, noted.reads())
        return target

    def keep_only(self, served: Collection[NamespacedName]) -> None:
        """Drop what is kept of other VPAs than those whose targets were just found or resolved.

        A VPA that is back after a while must not meet a target that nobody has looked after meanwhile.
        """
        if len(self._kept) > len(served):
            self._kept = {key: kept for key, kept in self._kept.items() if key in served}

"""What else than VPAs, pods and controllers tells whether a change would do harm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from autoscaling.behaviour import Behaviour
from autoscaling.disruption_budget import DisruptionBudget
from autoscaling.node import Node
from autoscaling.objectref import ObjectRef
from autoscaling.quota import Quota


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Working set of one container, in bytes, when it was measured."""

    measured: datetime
    bytes: int


@dataclass(frozen=True, slots=True)
class Interest:
    """Which parts of the surroundings any rule asks for; the others are neither watched nor fetched.

    Args:
        placements: Whether pods are read with their placement, which quotas ask for, too.
    """

    nodes: bool
    budgets: bool
    quotas: bool
    memory: bool
    placements: bool

    @classmethod
    def of(cls, behaviour: Behaviour) -> Interest:
        """Return what the rules that are on ask for."""
        return cls(
            nodes=behaviour.free_room or behaviour.infeasible_memory,
            budgets=behaviour.pdbs_are_read_too,
            quotas=behaviour.limit_range_and_quota or behaviour.eviction_only_when_it_helps,
            memory=behaviour.memory_shrink_guard,
            placements=behaviour.free_room
            or behaviour.limit_range_and_quota
            or behaviour.eviction_only_when_it_helps
            or behaviour.only_what_is_accepted,
        )


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The cluster around the pods. What is None is not known: not looked at, denied or not served.

    Args:
        nodes: By name.
        budgets: Disruption budgets by namespace; a namespace without any is missing.
        quotas: Likewise.
        memory: Use by pod and container, of those pods that the metrics API told of.
        is_webhook_proven: Whether a pod that is created now would be admitted with its recommendation: the admission
            controller renews its status Lease only while its own trials of the webhook succeed (beyond:B-25).
    """

    nodes: Mapping[str, Node] | None = None
    budgets: Mapping[str, tuple[DisruptionBudget, ...]] | None = None
    quotas: Mapping[str, tuple[Quota, ...]] | None = None
    memory: Mapping[ObjectRef, Mapping[str, MemoryUse]] | None = None
    is_webhook_proven: bool | None = None
    sees_all_pods: bool = True


UNKNOWN = Surroundings()
"""Nothing is known but VPAs, pods and controllers; that is all that upstream looks at."""

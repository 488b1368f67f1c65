"""What the updater decides about a pod or a VPA, why, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Self

from autoscaling.objectref import ObjectRef
from autoscaling.vpa import UpdateMode
from updater.audit import Audit
from updater.ledger import NO_CLAIM, Amounts, Claim
from updater.patches import PodPatches

_LARGEST_SIZE_LOG2 = 20


class Action(Enum):
    """What is done about a pod; only the first three reach the rate limiter, only the first two the API server."""

    RESIZE = "resize"
    EVICT = "evict"
    FAIL = "fail"
    """An attempt that cannot even be sent: it takes a token and counts as failed, as a refused call does."""
    WAIT = "wait"
    SKIP = "skip"


class Reason(Enum):
    """Why a decision came out as it did: one closed list for logs, metric labels, events and documentation.

    What else there is to say of each, such as its rules and the way out, is in ``guidance.GUIDANCE``.
    """

    _value_: str
    meaning: str

    def __new__(cls, value: str, meaning: str) -> Self:
        """Make a member whose value is the label and which knows what the label means."""
        member = object.__new__(cls)
        member._value_ = value
        member.meaning = meaning
        return member

    OUTSIDE_BOUNDS = (
        "outside_bounds",
        "A container has no request for a recommended resource, or one below the lower or above the upper bound.",
    )
    QUICK_OOM = (
        "quick_oom",
        "A container was killed for lack of memory soon after its start, a short while ago.",
    )
    WORTHWHILE_CHANGE = (
        "worthwhile_change",
        "The requests are within bounds, but the pod is old enough and the change large enough.",
    )
    BOOST_OVER = (
        "boost_over",
        "The CPU startup boost of a container has lasted as long as it was meant to.",
    )
    RESIZE_FAILED = (
        "resize_failed",
        "The resize is more than the pod's node has, met an error there or is in an unknown state.",
    )
    RESIZE_TIMED_OUT = (
        "resize_timed_out",
        "The resize has been deferred or in progress for longer than it is waited for.",
    )
    RESIZE_REFUSED = (
        "resize_refused",
        "The resize just attempted was refused by the API server or could not be sent.",
    )
    RESIZE_PENDING = (
        "resize_pending",
        "A resize of the pod is under way and gets more time.",
    )
    ALREADY_REQUESTED = (
        "already_requested",
        "The pod's spec already asks for these resources; the node has not reported them yet.",
    )
    UPDATES_OFF = (
        "updates_off",
        "The VPA's update mode is Off.",
    )
    NEW_PODS_ONLY = (
        "new_pods_only",
        "The VPA's update mode is Initial, so pods get their resources at creation only.",
    )
    GATE_OFF = (
        "gate_off",
        "The VPA's update mode is InPlace and the feature gate InPlace is off.",
    )
    NAMESPACE_IGNORED = (
        "namespace_ignored",
        "The VPA's namespace is one of those to be ignored.",
    )
    TARGET_CONFLICT = (
        "target_conflict",
        "Other VPAs have the same target; the oldest of them counts.",
    )
    TARGET_UNRESOLVED = (
        "target_unresolved",
        "The pods of the VPA's target cannot be told: it has no target, or its target is missing or unreadable.",
    )
    BOOSTED = (
        "boosted",
        "The pod runs with a CPU startup boost and is left alone until that is taken back.",
    )
    BELOW_MIN_REPLICAS = (
        "below_min_replicas",
        "The pod's group has fewer live pods than minReplicas asks for.",
    )
    REPLICAS_UNKNOWN = (
        "replicas_unknown",
        "The pod's controller is not known or wants no pods, so the group has no budget to reckon with.",
    )
    TOO_FEW_RUNNING = (
        "too_few_running",
        "The pod's group is short of running pods already, so its budget allows no disruption.",
    )
    BUDGET_USED_UP = (
        "budget_used_up",
        "Other pods of the group were disrupted in this round, and its budget allows no more.",
    )
    POD_PENDING = (
        "pod_pending",
        "The pod has not started yet, so it is not resized.",
    )
    NO_RECOMMENDATION = (
        "no_recommendation",
        "The VPA has no recommendation for the pod.",
    )
    NO_START_TIME = (
        "no_start_time",
        "The requests are within bounds, and the pod does not say when it started.",
    )
    TOO_YOUNG = (
        "too_young",
        "The requests are within bounds, and the pod has not lived long enough to be updated for less.",
    )
    CHANGE_TOO_SMALL = (
        "change_too_small",
        "The requests are within bounds or just as recommended, and the change is below the update threshold.",
    )
    OOM_WITHOUT_CHANGE = (
        "oom_without_change",
        "A container was killed for lack of memory, but the recommendation asks for no other amounts.",
    )
    REQUIREMENTS_UNMET = (
        "requirements_unmet",
        "No container changes in the direction that the VPA's eviction requirements ask for.",
    )
    INFEASIBLE_REMEMBERED = (
        "infeasible_remembered",
        "An earlier resize was infeasible, and the recommendation asks for no less of anything.",
    )
    NO_LESS_FOR_THE_POD = (
        "no_less_for_the_pod",
        "An earlier resize was infeasible, and what policies and limits leave of the recommendation is no less.",
    )
    NOTHING_TO_APPLY = (
        "nothing_to_apply",
        "The recommendation sets no resource of any container.",
    )
    MEMORY_IN_USE = (
        "memory_in_use",
        "A memory limit is not lowered, as its container uses nearly as much as it has.",
    )
    MEMORY_USE_UNKNOWN = (
        "memory_use_unknown",
        "A memory limit is not lowered, as it is not known what its container uses now.",
    )
    DOWNSCALE_ONLY = (
        "downscale_only",
        "The pod would only get less, which is no cause to evict it where that cannot be done in place.",
    )
    QOS_WOULD_CHANGE = (
        "qos_would_change",
        "The resize would change the pod's QoS class, which the API server refuses.",
    )
    TRIED_IN_VAIN = (
        "tried_in_vain",
        "The API server was busy or the pod changed at the same moment, so the same is tried again a little later.",
    )
    FORBIDDEN_BY_POLICY = (
        "forbidden_by_policy",
        "A policy of the cluster refused the change, and may refuse the pod's replacement as well.",
    )
    NOT_PERMITTED = (
        "not_permitted",
        "The updater lacks the permission for such a call, or the API server does not serve it.",
    )
    LIMIT_RANGE_WOULD_BLOCK = (
        "limit_range_would_block",
        "A LimitRange of the namespace would refuse the resize, and a new pod of that size as well.",
    )
    QUOTA_WOULD_BLOCK = (
        "quota_would_block",
        "A ResourceQuota of the namespace has no room for the resize, and none for a new pod of that size.",
    )
    PDB_BLOCKS = (
        "pdb_blocks",
        "A PodDisruptionBudget does not allow the pod to be disrupted now.",
    )
    SEVERAL_PDBS = (
        "several_pdbs",
        "More than one PodDisruptionBudget protects the pod, and the eviction API refuses such pods.",
    )
    EVICTION_LOOP = (
        "eviction_loop",
        "Pods that replaced evicted ones of the same workload came up without what was wanted, so evictions pause.",
    )
    WEBHOOK_NOT_PROVEN = (
        "webhook_not_proven",
        "A trial has shown that new pods get by the admission webhook, so a replacement would be as the pod is.",
    )
    STILL_STARTING = (
        "still_starting",
        "The pod has not started yet and gets more time for it before it may be evicted.",
    )
    RESIZE_WITHOUT_EFFECT = (
        "resize_without_effect",
        "A container goes on being killed for lack of memory although its node reports the resize as done.",
    )
    CONTAINER_NOT_RUNNING = (
        "container_not_running",
        "A container that was killed for lack of memory does not run, and a resize would not help it before it does.",
    )
    INVALID_OBJECT = (
        "invalid_object",
        "The pod, its VPA or a LimitRange cannot be used as it is.",
    )
    NO_ROOM = (
        "no_room",
        "The pod's node does not have the room that the pod would grow by.",
    )
    NODE_NOT_READY = (
        "node_not_ready",
        "The pod's node is not Ready or not known, so nothing on it is made larger.",
    )
    STORM_BUDGET = (
        "storm_budget",
        "The node, the namespace or the cluster has seen so many changes a short while ago that this one waits.",
    )
    NO_OTHER_NODE = (
        "no_other_node",
        "No node is known to have room for the pod's replacement, so evicting the pod would not help.",
    )
    CLAIM_RELEASED = (
        "claim_released",
        "The resize cannot be had, nor can the pod move, so its spec goes back to what it has.",
    )
    NODE_KEEPS_IT = (
        "node_keeps_it",
        "The pod's node keeps cores or memory of guaranteed pods as they are, and only a new pod can have others.",
    )
    POD_HAS_RESOURCES = (
        "pod_has_resources",
        "The pod has resources of its own, and its containers cannot be resized in place while it does.",
    )
    REPLACED_BY_THE_SAME = (
        "replaced_by_the_same",
        "A new pod of the controller's template would ask for what this one has, so evicting it would not help.",
    )
    RESIZE_BLOCKED = (
        "resize_blocked",
        "The pod can neither grow on its node nor move to another one, and is tried again later.",
    )
    RESIZE_INFEASIBLE = (
        "resize_infeasible",
        "The resize was refused for good, and is tried again when the node changes, when less is asked for or later.",
    )
    ROUND_ENDED = (
        "round_ended",
        "The rate limiter ended the round before it was this pod's turn.",
    )


_WAITING = frozenset({Reason.RESIZE_PENDING, Reason.ALREADY_REQUESTED})


class Outcome(Enum):
    """What came of carrying out a decision; nothing can go wrong with a WAIT or a SKIP."""

    DONE = "done"
    FAILED = "failed"
    NO_NODE_CAPACITY = "no_node_capacity"
    """The API server refused a resize because the node is too small for it, ever (updater M-20)."""
    NOT_RESERVED = "not_reserved"
    """Nothing was attempted, as the levels of the storm budgets could not be written first (beyond:B-24)."""
    UNTIMELY = "untimely"
    """The API server was busy or out of reach, or somebody else wrote the pod first: the same may go through soon."""
    OVER_QUOTA = "over_quota"
    OUTSIDE_LIMIT_RANGE = "outside_limit_range"
    FORBIDDEN = "forbidden"
    """A policy of the cluster refused it, as it may refuse the pod's replacement."""
    NOT_PERMITTED = "not_permitted"
    """This process may not do it, or the API server does not serve it."""
    GONE = "gone"
    """The pod is no more, or another one has its name."""
    RATE_LIMITED = "rate_limited"
    """No token of the rate limiter could be had in this round (updater M-21)."""


@dataclass(frozen=True, slots=True)
class VpaScope:
    """The VPA on whose behalf pods are decided, as metrics label it (updater section 7).

    Args:
        vpa: The VPA.
        mode: Its update mode.
        pods: Live pods that it controls.
        evictable: Pods worth evicting, in modes Recreate and Auto; fallbacks do not count.
        updatable: Pods worth resizing, in the in-place modes; those that will be evicted instead count.
        uid: UID of the VPA, by which its events are found.
    """

    vpa: ObjectRef
    mode: UpdateMode
    pods: int
    evictable: int = 0
    updatable: int = 0
    uid: str = ""

    @property
    def size_log2(self) -> int:
        """The label ``vpa_size_log2``: the whole part of log2 of the number of pods, 0 to 20 (updater K-31 f)."""
        return min(max(self.pods.bit_length() - 1, 0), _LARGEST_SIZE_LOG2)


@dataclass(frozen=True, slots=True)
class Decision:
    """What is done about one pod, or said of one VPA.

    Args:
        ref: The pod; the VPA where all of it is left out of the round.
        action: What is done.
        reason: Why.
        scope: The VPA the pod is decided for; None for pods a round did not come to and for VPAs.
        detail: What no reason can say, such as the fault of an object.
        uid: UID of the pod, by which its events are found; empty for VPAs and for pods a round did not come to.
        is_guarded: Whether the call must name that UID.
        patches: What a RESIZE sends.
        claim: What a RESIZE or an EVICT takes up once it is accepted.
        restarts: With a RESIZE that is to be noted on the pod once it is accepted, the restart counts to note (see
            ``resize_request``); None where it is not noted.
        missing: What the pod's node lacks for all that the pod should get, in nano-units by resource.
        disrupts: Whether a RESIZE or an EVICT uses up the budget of the pod's group once it is accepted.
        audit: What a RESIZE or an EVICT changes, for those who are told of it.
    """

    ref: ObjectRef
    action: Action
    reason: Reason
    scope: VpaScope | None = None
    detail: str = ""
    uid: str = ""
    is_guarded: bool = False
    patches: PodPatches | None = None
    claim: Claim = NO_CLAIM
    restarts: Mapping[str, int] | None = None
    disrupts: bool = True
    missing: Amounts = field(default_factory=dict)
    audit: Audit | None = field(default=None, compare=False)


def left_alone(
    ref: ObjectRef, reason: Reason, scope: VpaScope | None = None, detail: str = "", uid: str = ""
) -> Decision:
    """Return the decision that calls nothing: WAIT where a resize is under way, else SKIP."""
    return Decision(ref, Action.WAIT if reason in _WAITING else Action.SKIP, reason, scope, detail, uid)

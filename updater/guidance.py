"""What there is to say of each reason: its rules, when it can occur, the way out (see ``docs/decisions.md``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from updater.decision import Action, Reason

_RESIZE, _EVICT, _FAIL, _WAIT, _SKIP = Action.RESIZE, Action.EVICT, Action.FAIL, Action.WAIT, Action.SKIP


@dataclass(frozen=True, slots=True)
class Guidance:
    """What there is to say about a reason besides its meaning.

    Args:
        rules: Ids of the rules that lead there, divided by commas.
        remedy: What the user can do, in whole sentences.
        actions: With which it can be given.
        switches: Names of ``Behaviour`` fields, of which one has to be on; where there are none, it can be given in
            every profile.
    """

    rules: str
    remedy: str
    actions: tuple[Action, ...] = (_SKIP,)
    switches: tuple[str, ...] = ()


GUIDANCE: Final[Mapping[Reason, Guidance]] = MappingProxyType(
    {
        Reason.OUTSIDE_BOUNDS: Guidance(
            "updater:P-7, updater:P-8",
            "Nothing. Who wants fewer updates sets minAllowed and maxAllowed, or mode Initial.",
            (_RESIZE, _EVICT),
        ),
        Reason.QUICK_OOM: Guidance(
            "updater:P-6, updater:P-7",
            "Look at maxAllowed if it happens again. --evict-after-oom-threshold says what counts as soon.",
            (_RESIZE, _EVICT),
        ),
        Reason.WORTHWHILE_CHANGE: Guidance(
            "updater:P-7, updater:P-8",
            "Nothing. --pod-update-threshold and --in-recommendation-bounds-eviction-lifetime-threshold say from when.",
            (_RESIZE, _EVICT),
        ),
        Reason.BOOST_OVER: Guidance(
            "updater:U-2, updater:U-5",
            "Nothing. Where it fails, the log says why; it is tried again.",
            (_RESIZE, _FAIL),
        ),
        Reason.RESIZE_FAILED: Guidance(
            "updater:C-5, updater:D-29",
            "Look at the pod's condition PodResizePending or PodResizeInProgress, or in the log for `resize failed` "
            "where the API server has refused it. Lower maxAllowed to what nodes have.",
            (_EVICT,),
        ),
        Reason.RESIZE_TIMED_OUT: Guidance(
            "updater:C-5, updater:D-26, beyond:B-20",
            "Give nodes more room. --in-place-deferred-timeout and --in-place-progress-timeout say how long is waited.",
            (_EVICT,),
        ),
        Reason.RESIZE_REFUSED: Guidance(
            "updater:D-25, beyond:B-21",
            "Look at the log line `resize failed` for what the API server said. Mode InPlace never evicts.",
            (_EVICT,),
        ),
        Reason.RESIZE_PENDING: Guidance(
            "updater:C-3, updater:C-5, updater:U-3, beyond:B-20",
            "Wait. The pod's conditions say what its node is waiting for.",
            (_WAIT,),
        ),
        Reason.ALREADY_REQUESTED: Guidance("beyond:B-31, updater:K-11", "Wait.", (_WAIT,), ("uid_preconditions",)),
        Reason.UPDATES_OFF: Guidance("updater:M-8, updater:M-15", "Set another spec.updatePolicy.updateMode."),
        Reason.NEW_PODS_ONLY: Guidance(
            "updater:M-8, updater:M-15", "Set another spec.updatePolicy.updateMode, or replace the pods."
        ),
        Reason.GATE_OFF: Guidance(
            "updater:M-15, updater:C-3", "Start the updater with --feature-gates=InPlace=true, or change the mode."
        ),
        Reason.NAMESPACE_IGNORED: Guidance(
            "updater:M-8", "Take the namespace out of --ignored-vpa-object-namespaces of the updater."
        ),
        Reason.TARGET_CONFLICT: Guidance(
            "beyond:B-30, case:23",
            "Delete the other VPAs, or give each a target of its own.",
            switches=("custom_controllers",),
        ),
        Reason.TARGET_UNRESOLVED: Guidance(
            "updater:M-8", "Correct spec.targetRef. The VPA's condition ConfigUnsupported says what is wrong."
        ),
        Reason.BOOSTED: Guidance("updater:M-14, updater:U-2", "Wait until the pod has been Ready for long enough."),
        Reason.BELOW_MIN_REPLICAS: Guidance(
            "updater:M-22, updater:R-3",
            "Set spec.updatePolicy.minReplicas, or --min-replicas, or run more replicas.",
            (_FAIL, _WAIT, _SKIP),
        ),
        Reason.REPLICAS_UNKNOWN: Guidance(
            "updater:R-4, updater:U-3",
            "Look whether the pod's controller exists and has replicas, and whether the updater may read it.",
            (_FAIL, _WAIT, _SKIP),
        ),
        Reason.TOO_FEW_RUNNING: Guidance(
            "updater:R-5, updater:R-6",
            "Wait until all replicas run, or set --eviction-tolerance.",
            (_WAIT, _SKIP),
        ),
        Reason.BUDGET_USED_UP: Guidance("updater:R-6", "Wait for further rounds, or set --eviction-tolerance."),
        Reason.POD_PENDING: Guidance("updater:C-3, updater:U-3", "Look at why the pod does not start.", (_WAIT, _SKIP)),
        Reason.NO_RECOMMENDATION: Guidance(
            "updater:C-3, updater:P-2", "Look at the VPA's conditions. The first recommendation needs metrics."
        ),
        Reason.NO_START_TIME: Guidance("updater:P-7", "Wait until the kubelet has reported status.startTime."),
        Reason.TOO_YOUNG: Guidance(
            "updater:P-7", "Wait, or set --in-recommendation-bounds-eviction-lifetime-threshold."
        ),
        Reason.CHANGE_TOO_SMALL: Guidance("updater:P-7, beyond:B-23", "Nothing, or set --pod-update-threshold."),
        Reason.OOM_WITHOUT_CHANGE: Guidance(
            "updater:P-7", "Look at maxAllowed, which may keep the recommendation from growing."
        ),
        Reason.REQUIREMENTS_UNMET: Guidance(
            "updater:P-9", "Change spec.updatePolicy.evictionRequirements if that is not what was meant."
        ),
        Reason.INFEASIBLE_REMEMBERED: Guidance(
            "updater:C-3",
            "Lower maxAllowed, replace the pod, use mode InPlaceOrRecreate, or --behaviour infeasible_memory=true.",
        ),
        Reason.NO_LESS_FOR_THE_POD: Guidance(
            "updater:P-7",
            "Lower maxAllowed, replace the pod, use mode InPlaceOrRecreate, or --behaviour infeasible_memory=true.",
        ),
        Reason.NOTHING_TO_APPLY: Guidance(
            "updater:X-4", "Look at the container policies: all may have mode Off.", (_FAIL,)
        ),
        Reason.MEMORY_IN_USE: Guidance(
            "beyond:B-22, updater:K-7",
            "Nothing. It is lowered once the container uses less. Replacing the pod lowers it at once.",
            switches=("memory_shrink_guard",),
        ),
        Reason.MEMORY_USE_UNKNOWN: Guidance(
            "beyond:B-22",
            "Look whether metrics-server answers and whether the updater may read pods of metrics.k8s.io.",
            switches=("memory_shrink_guard",),
        ),
        Reason.DOWNSCALE_ONLY: Guidance(
            "beyond:B-22, case:29",
            "Replace the pod, or use mode Recreate.",
            switches=("memory_shrink_guard",),
        ),
        Reason.QOS_WOULD_CHANGE: Guidance(
            "beyond:B-21, case:28",
            "Set controlledValues RequestsOnly, or other limits in the pod template.",
            (_EVICT, _SKIP),
            ("errors_are_classified",),
        ),
        Reason.TRIED_IN_VAIN: Guidance("beyond:B-21, updater:K-33", "Wait.", switches=("errors_are_classified",)),
        Reason.FORBIDDEN_BY_POLICY: Guidance(
            "beyond:B-21",
            "Correct the policy or the webhook that the log line `resize failed` names.",
            switches=("errors_are_classified",),
        ),
        Reason.NOT_PERMITTED: Guidance(
            "beyond:B-21",
            "Apply manifests/rbac of this version. In-place resize needs Kubernetes 1.33.",
            switches=("errors_are_classified",),
        ),
        Reason.LIMIT_RANGE_WOULD_BLOCK: Guidance(
            "beyond:B-12, beyond:B-21, updater:K-10",
            "Correct the LimitRange, or set minAllowed and maxAllowed to what it allows.",
            switches=("limit_range_and_quota", "errors_are_classified"),
        ),
        Reason.QUOTA_WOULD_BLOCK: Guidance(
            "beyond:B-12, beyond:B-21, case:4",
            "Raise the quota, or lower maxAllowed.",
            switches=("limit_range_and_quota", "errors_are_classified", "eviction_only_when_it_helps"),
        ),
        Reason.PDB_BLOCKS: Guidance(
            "beyond:B-43",
            "Wait until more of its pods are healthy, or let the PodDisruptionBudget allow one more disruption.",
            (_WAIT, _SKIP),
            switches=("pdbs_are_read_too",),
        ),
        Reason.SEVERAL_PDBS: Guidance(
            "beyond:B-43",
            "Change the selectors of the budgets named in the detail, so that one of them matches the pod.",
            (_WAIT, _SKIP),
            switches=("pdbs_are_read_too",),
        ),
        Reason.EVICTION_LOOP: Guidance(
            "beyond:B-25, case:35",
            "Look why the webhook does not set what it should: its failure policy, its scope, and webhooks after it.",
            switches=("eviction_only_when_it_helps",),
        ),
        Reason.WEBHOOK_NOT_PROVEN: Guidance(
            "beyond:B-25",
            "Look at the admission controller's log, its Service and its webhook configuration.",
            switches=("eviction_only_when_it_helps",),
        ),
        Reason.STILL_STARTING: Guidance(
            "beyond:B-25, updater:K-34",
            "Wait, or look at why the pod does not start.",
            switches=("eviction_only_when_it_helps",),
        ),
        Reason.RESIZE_WITHOUT_EFFECT: Guidance(
            "beyond:B-27, case:32",
            "In mode InPlace replace the pod; a newer kubelet may not have this fault.",
            (_EVICT, _SKIP),
            ("resize_without_effect",),
        ),
        Reason.CONTAINER_NOT_RUNNING: Guidance(
            "beyond:B-27, case:32",
            "Wait until the container runs. In mode InPlace replace the pod if it is killed too soon to be resized.",
            (_EVICT, _SKIP),
            ("resize_without_effect",),
        ),
        Reason.INVALID_OBJECT: Guidance(
            "beyond:B-32, updater:K-31", "Correct what the detail of the log line names.", (_FAIL, _SKIP)
        ),
        Reason.NO_ROOM: Guidance(
            "beyond:B-24, updater:K-9",
            "Give nodes more room, or lower maxAllowed. An event ResizeNeedsRoom says how much is missing.",
            (_EVICT, _SKIP),
            ("free_room",),
        ),
        Reason.NODE_NOT_READY: Guidance("beyond:B-24", "Look at the node.", switches=("free_room",)),
        Reason.STORM_BUDGET: Guidance(
            "beyond:B-24, updater:K-18",
            "Wait, or set --node-change-rate-burst and the flags like it.",
            switches=("free_room",),
        ),
        Reason.NO_OTHER_NODE: Guidance(
            "beyond:B-25", "Give nodes more room, or lower maxAllowed.", switches=("free_room",)
        ),
        Reason.CLAIM_RELEASED: Guidance(
            "beyond:B-24, beyond:B-28",
            "Give nodes more room, or lower maxAllowed.",
            (_RESIZE,),
            ("free_room", "infeasible_memory"),
        ),
        Reason.NODE_KEEPS_IT: Guidance(
            "case:34",
            "Use mode InPlaceOrRecreate, replace the pod, or run it on nodes without a static CPU or memory manager.",
            (_EVICT, _SKIP),
            ("node_policies_are_learnt",),
        ),
        Reason.POD_HAS_RESOURCES: Guidance(
            "beyond:B-17",
            "Replace the pod, use mode InPlaceOrRecreate, or take spec.resources out of the pod template.",
            (_EVICT, _WAIT, _SKIP),
            ("only_what_is_accepted",),
        ),
        Reason.REPLACED_BY_THE_SAME: Guidance(
            "beyond:B-25, updater:K-17",
            "Raise limits in the workload's template, or change what caps the recommendation for a new pod.",
            switches=("templates_are_read",),
        ),
        Reason.RESIZE_BLOCKED: Guidance(
            "beyond:B-24", "Give nodes more room, or lower maxAllowed.", switches=("free_room",)
        ),
        Reason.RESIZE_INFEASIBLE: Guidance(
            "beyond:B-28, updater:K-4",
            "Lower maxAllowed to what nodes have, replace the pod, or use mode InPlaceOrRecreate.",
            switches=("infeasible_memory",),
        ),
        Reason.ROUND_ENDED: Guidance("updater:M-21", "Wait, or raise --eviction-rate-limit and --eviction-rate-burst."),
    }
)
"""Every reason, in the order of the enumeration; a test says so if one is missing."""

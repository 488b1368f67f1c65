"""Where Evenkeel decides otherwise than upstream 1.8.1: one named switch for each difference.

The pure core takes a ``Behaviour`` as an argument. A field is true where Evenkeel's own way is taken and false where
upstream's is; where Evenkeel has more than one way of its own it is an enumeration, one of whose values is upstream's
way. Its metadata names the rule it answers and what a user sees, and is the source of the table in ``docs/parity.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from autoscaling.switches import described, in_spelling, overridden, switch


class Profile(Enum):
    """A named set of behaviours, chosen by ``--profile``."""

    EVENKEEL = "evenkeel"
    UPSTREAM = "upstream"


class HpaConflict(Enum):
    """What becomes of a resource by whose utilisation a horizontal autoscaler scales the same target."""

    OFF = "off"
    HOLD = "hold"
    DERIVE = "derive"


_HPA_WAYS = {"true": HpaConflict.HOLD, "false": HpaConflict.OFF} | {way.value: way for way in HpaConflict}


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Every wanted difference from upstream, each settable by ``--behaviour name=true|false``, or by a value's name."""

    uid_preconditions: bool = switch(
        "B-31, K-11, K-23",
        "A resize or an eviction names the pod's UID, so a replacement of the same name is never hit, and a resize "
        "whose values the pod already asks for is not sent again. Otherwise both go by name, and the same resize is "
        "sent every round until the pod's status has caught up.",
    )
    annotation_written_once: bool = switch(
        "updater X-5",
        "A pod that carries the annotation vpaInPlaceUpdated already does not get it again with its next resize, and "
        "where nothing else is to be noted on the pod (as timers does) the second request of that resize is left out. "
        "Otherwise each resize writes it.",
    )
    free_room: bool = switch(
        "B-24, K-9, K-18",
        "Before a resize that grows, the updater reckons what the pod's node has left: it sends what fits or waits, "
        "and makes no more changes at a time than the budgets of node, namespace and cluster hold. Where that takes "
        "too long, the pod is evicted only if another node can take it, else its claim is given back and it waits. "
        "Otherwise every resize is sent at once, and a deferred or infeasible one ends in an eviction, whether or not "
        "that helps.",
    )
    resource_claims_kept: bool = switch(
        "admission 13.5",
        "A new container without requests and limits keeps the resources object it has, and with it the device claims "
        "in it; a container for which there is nothing to set is not mentioned in the annotation vpaUpdates. "
        "Otherwise all of it is replaced by an empty object, and the claims are lost.",
    )
    submitted_status_ignored: bool = switch(
        "admission 7.1",
        "A status that somebody submits along with a new pod has no say in its resources; the API server drops it. "
        "Otherwise amounts in it count as those of the container's spec.",
    )
    only_what_is_accepted: bool = switch(
        "B-12, B-17, admission 13.11, cases 5, 46, 47",
        "A new pod never gets what the API server would refuse it for: only cpu and memory are set, a resource whose "
        "limit is zero stays, containers stay within the LimitRanges and the resources of the pod as a whole, and "
        "where the pod's sums would be too large all rises are cut by the same share. What is held back is named in "
        "the annotation vpaUpdates and in the log, and what a pod beyond its LimitRanges asked for in the annotation "
        "evenkeel.dev/asked. The updater wants no more than that, and does not resize pods with "
        "resources of their own in place. Otherwise such a pod cannot be created at all, and LimitRanges for pods "
        "change containers without a recommendation as well.",
    )
    limits_explained: bool = switch(
        "B-13, case 1",
        "A new pod with a limit above maxAllowed has the annotation evenkeel.dev/limits, which names the ratio that "
        "the limit has to its request, and says that maxAllowed bounds requests only. Otherwise nothing does.",
    )
    webhook_scope_narrowed: bool = switch(
        "admission 13.4",
        "With --vpa-object-namespace only pods and autoscalers of that namespace are sent to the webhook. Otherwise "
        "every new pod of the cluster is sent there, and for those of other namespaces an error is logged.",
    )
    authorities_overlap: bool = switch(
        "admission 13.9, case 36",
        "Where somebody else provides certificates, in files or in the Secret, and their authority changes with them, "
        "the new one is published beside the old one for ten minutes before anything that it signed is shown, and the "
        "old one stays published for an hour after that. Otherwise one takes the place of the other at once, and calls "
        "fail until every replica and every API server has followed.",
    )
    only_reviews_are_answered: bool = switch(
        "admission 4.1, admission 4.3",
        "What comes to the webhook and is no AdmissionReview of admission.k8s.io/v1 with a request in it is refused, "
        "with status 400, or 415 where its content type is not application/json, and a text that says why. Otherwise "
        "it is answered as if a review without a name had been allowed, or with nothing at all.",
    )
    reviews_from_caches: bool = switch(
        "admission 13.8, admission 13.20",
        "No review waits for the API server: a pod whose controller is of a custom kind and not in the cache yet is "
        "let in as it is (OwnerNotCached), and that is looked up for the next one. Otherwise the review waits while it "
        "is read, for no longer than half of what the API server gives the webhook.",
    )
    memory_bounded_by_workloads: bool = switch(
        "B-3, cases 23, 39",
        "The recommender keeps one history for each container of a workload, whatever the labels of its pods, so "
        "rollouts and runs of Jobs need no more memory, and a VPA learns from the pods of its own target only. "
        "Otherwise there is one for each set of labels, kept for eight days, and a VPA learns from all pods that its "
        "selector matches.",
    )
    jobs_and_cronjobs_match_by_owner: bool = switch(
        "B-19, case 22",
        "The pods of a Job or CronJob are told by their owners, labels or not, by all three processes; what a run has "
        "shown is kept for the next one, however long that takes, memory peaks and OOM kills of runs too short for a "
        "CPU sample included. Otherwise the labels in the CronJob's pod template count, and without any no pod is "
        "matched.",
    )
    history_in_pieces: bool = switch(
        "B-7",
        "History from Prometheus is asked for by namespace and time, so that no answer is refused as too large; a "
        "query that fails is asked again, and what has been loaded by then stays. Otherwise everything is asked for "
        "at once, and a failure leaves no history.",
    )
    history_labels_found: bool = switch(
        "B-7",
        "The query for the labels of pods needs no range of its own: it is asked over the whole of --history-length. "
        "Living pods keep their own labels, and those of pods that are gone get back the names that Prometheus cannot "
        "write, such as app.kubernetes.io/name. Otherwise the default query is refused, as it has no range, and no "
        "history is loaded.",
    )
    history_screened: bool = switch(
        "B-7",
        "Series of history that do not count are left out and counted by reason: without labels, of other clusters, of "
        "parent cgroups, of init containers, double, of containers that have ended, no numbers. Otherwise one without "
        "labels makes all of the history useless and the others count.",
    )

    running_window_saved: bool = switch(
        "B-2",
        "The memory window that runs is stored with the checkpoint, so a restart of the recommender loses no peak of "
        "the day and no OOM kill: in the status in the own group, in the annotation evenkeel.dev/state in upstream's. "
        "Otherwise it begins anew with every restart, and what it held is lost.",
    )
    checkpoint_names_kept_apart: bool = switch(
        "recommender 13 (10)",
        "A checkpoint whose name another container would have as well, as that of container b-c of VPA a and of "
        "container c of VPA a-b, or whose name would be too long for an object, gets a digest at the end of its name. "
        "Otherwise the two write over each other's history, and what is too long is never stored.",
    )
    first_round_at_once: bool = switch(
        "recommender 6.1",
        "The recommender's first round begins as soon as its history is loaded. Otherwise a whole interval passes "
        "before anything is recommended.",
    )
    small_status_changes_wait: bool = switch(
        "recommender 5",
        "A status is written when a target or a bound has moved by more than --status-change-threshold, a condition "
        "has changed or ten minutes have passed, the one written longest ago first and for no longer than one "
        "interval; otherwise whenever anything differs, which at 10,000 VPAs takes all the calls there are.",
    )
    no_recommendation_without_samples: bool = switch(
        "E4",
        "A resource of which no sample was seen is not recommended. Otherwise it gets the minimum, with bounds no "
        "wider, and running pods are shrunk to that at once, for example while the metrics API does not answer.",
    )
    no_usage_without_external_metric: bool = switch(
        "recommender 13 (14)",
        "With --use-external-metrics a container has no sample of a resource whose metric no flag names, or has no "
        "value for it. Otherwise that counts as a use of zero, which pulls the recommendation down.",
    )
    unaskable_pods_left_out: bool = switch(
        "recommender 8.2",
        "With --use-external-metrics a pod whose name is no value of a label, as it has more than 63 characters, is "
        "left out. Otherwise no usage at all is fetched as long as there is such a pod.",
    )
    hpa_conflict: HpaConflict = field(
        default=HpaConflict.HOLD,
        metadata=described(
            "B-14, case 43",
            "Where a HorizontalPodAutoscaler scales the same target on utilisation of cpu or memory, the VPA has the "
            "condition HPAConflict and that resource is held at the pods' request; otherwise a smaller request lets "
            "the horizontal autoscaler add pods, of which each uses less, and the request shrinks without end.",
            _HPA_WAYS,
        ),
    )
    capped_below_need: bool = switch(
        "B-15",
        "Where maxAllowed, or the maximum that flags set for all containers, is less than a container was seen to "
        "need, the VPA has the condition CappedBelowObservedNeed, which names both amounts. Otherwise nothing tells "
        "that a target was held below what is needed.",
    )
    node_fit: bool = switch(
        "B-11, case 45",
        "What is recommended for a pod's containers comes to no more than there is on the node that suits the pod "
        "best, of those that its node selector, required node affinity and tolerations let it run on, less what pods "
        "of DaemonSets take there. Each container gets the same share, but no less than its minAllowed where that is "
        "possible. The VPA then has the condition CappedToNode, and uncappedTarget stays as it was. Otherwise a pod "
        "may be told to ask for more than any node has, and cannot be scheduled.",
    )
    low_confidence_and_fetching_history_conditions: bool = switch(
        "B-8",
        "A VPA has the condition LowConfidence as long as it has a recommendation from less than the interval of "
        "confidence, and FetchingHistory while history is being loaded for it. Otherwise neither is ever set.",
    )
    a_zero_first_sample_does_not_freeze_the_window: bool = switch(
        "B-4",
        "A memory window that begins with a use of zero takes in what comes later, OOM kills included. Otherwise the "
        "zero stands for the whole window, and up to a day of memory is missing.",
    )
    oom_without_samples: bool = switch(
        "B-5, cases 11, 12, 15",
        "The need that an OOM kill shows counts at once and for three half lives: the memory target is no less, "
        "however many other pods there are, and whether or not the container had a sample. A kill of a pod that is "
        "not known yet is tried again in two more rounds, one that shows when a pod is first seen counts, even if no "
        "recommender ran at that time, and one that is told of late lets in nothing that is older still. Otherwise a "
        "kill is a sample like others, counts only after one of CPU, and not where its pod is not known yet.",
    )
    renamed_or_removed_containers: bool = switch(
        "B-6",
        "A container that no running pod has any more takes no share of the pod's minimum, and leaves the "
        "recommendation an hour after its last sample. Otherwise it stays for eight days, or until the next restart.",
    )
    targets_may_vanish: bool = switch(
        "B-1, cases 17, 18",
        "A VPA whose target cannot be resolved for a while, or whose target's selector changes, keeps its history and "
        "its recommendation, and ConfigUnsupported says what is wrong; one that another recommender has served takes "
        "over what that stored, and overwrites nothing written since. Otherwise history starts anew and replaces it.",
    )
    native_sidecars: bool = switch(
        "B-16, case 26",
        "Native sidecars (init containers with restartPolicy Always) are recommended, admitted, resized and judged as "
        "regular containers are, start-up boosts included, and count in the totals of LimitRanges for pods as they do "
        "in the API server. Otherwise they are left out, as plain init containers always are.",
    )

    strategies: bool = switch(
        "B-10",
        "In the own group spec.recommender.strategy names how use becomes a recommendation: by one of our strategies "
        "or by one that another distribution brings. Where it cannot be used vpa-default stands in, and the condition "
        "StrategyUnavailable says why. Otherwise the field is not heeded.",
    )
    timers: bool = switch(
        "B-20, K-1, K-19, K-32",
        "How long a resize has been waited for counts from when this one was accepted, noted on the pod, or from when "
        "its condition changed where somebody else asked for it or the updater ended before it had noted that, but "
        "never from before the API server took it, through restarts of the updater; conditions about an earlier spec "
        "are not believed, and a state that is not known is waited for as one in progress. A VPA of the own group may "
        "say how long by inPlaceDeferredTimeoutSeconds and inPlaceProgressTimeoutSeconds. Otherwise it counts from "
        "when an updater first saw a pod of that name in the middle of any resize, and flags alone say how long.",
    )
    infeasible_memory: bool = switch(
        "B-28, K-2, K-4",
        "An error of the node in the middle of a resize is waited for as one in progress. Mode InPlace sends nothing "
        "while a resize waits or the group's budget is used up; what its node has refused for good, a pod gives back, "
        "and it is tried again when the node has other amounts or labels, when less is asked for, or after a pause "
        "that grows. What the API server refuses as more than the node has (Kubernetes 1.36 and later) counts as "
        "refused by the node, in mode InPlaceOrRecreate, too. Otherwise an error leads to eviction at once, in mode "
        "InPlaceOrRecreate any refusal as well, and mode InPlace sends the same resize every round, but after a "
        "refusal only once more unless less is recommended.",
    )
    converged_means_compared: bool = switch(
        "B-45",
        "A resize is done once the amounts that the node reports are those of the spec, allowing for the runtime's "
        "rounding. Otherwise it is done as soon as no condition says that it is not, which is wrong for half a minute "
        "after a restart of the kubelet.",
    )
    calls_side_by_side: bool = switch(
        "performance U-2, U-3",
        "The updater has up to 16 resizes and evictions on their way at a time, sent in the order in which they were "
        "decided and counted on as if they succeeded; what a failed one had reserved is free again for what is decided "
        "after that. The annotations of pods that were resized are written once no resize of the round is left, as "
        "many at a time. Otherwise each call waits for the answer to the one before, so a slow API server or webhook "
        "makes a round as long as all of its answers together, and each resize is followed by its annotations, so "
        "limits of requests let half as many through.",
    )

    partial_resize: bool = switch(
        "B-23, K-16",
        "A resize in place touches only what is out of its bounds, or differs enough by itself in a pod that is old "
        "enough for that. Otherwise all containers get all of their recommendation as soon as one of them is due, and "
        "may restart for next to nothing.",
    )
    memory_shrink_guard: bool = switch(
        "B-22, K-7, case 29",
        "A memory limit is lowered in place to no less than a tenth, and 16Mi, above what its container uses now, to "
        "half of what it was at most, and not at all where that use is not known; a pod that would only get less is "
        "not evicted for it in mode InPlaceOrRecreate. Otherwise it is lowered at once, and a pod that uses more is "
        "evicted.",
    )
    errors_are_classified: bool = switch(
        "B-21, K-33, case 28",
        "A resize that would change a pod's QoS class is not sent: requests of containers that would no longer be "
        "guaranteed stay, a pod that would become guaranteed gets a byte or a thousandth of a core less, and one that "
        "has neither requests nor limits is evicted instead where the mode allows. Otherwise the API server refuses "
        "it every round, and mode InPlaceOrRecreate evicts.",
    )
    limit_range_and_quota: bool = switch(
        "B-12, K-3, K-10, cases 4, 47",
        "A resize that a LimitRange or a ResourceQuota would refuse is not sent, and the pod not evicted for it, as a "
        "new pod would be refused as well; and where a LimitRange for pods would have a container scaled for which "
        "nothing is recommended, that keeps what it has and the others fit beside it; limits that RequestsOnly leaves "
        "alone count as they are. Otherwise the refusal leads to eviction in mode InPlaceOrRecreate, a pod with such a "
        "container is left out, and requests stay as far below a LimitRange's maximum as if limits followed them.",
    )
    custom_controllers: bool = switch(
        "B-30, K-8, K-27, K-28, cases 23, 25",
        "Pods whose direct controller is of a custom kind have the budget that its scale gives them, or that of the "
        "pods there are; a target is told by its API group, too; and of several VPAs for one target the oldest counts, "
        "whatever its mode, unless that is Off, which the condition TargetConflict of all of them says. Otherwise "
        "custom kinds have no budget, so all of their pods may go at once, and VPAs that the mode rules out let others "
        "act.",
    )
    pdbs_are_read_too: bool = switch(
        "B-43, K-2, K-16",
        "A pod that a PodDisruptionBudget protects is not evicted, and not resized where a container would restart for "
        "it, and the budget is named; no call is made. What restarts is told from what changes, and a resize that "
        "restarts nothing needs no budget of its group either. Otherwise every resize needs that, and only the "
        "eviction API heeds a PodDisruptionBudget.",
    )
    single_replicas: bool = switch(
        "B-26, K-13, K-14, cases 27, 31",
        "A pod is resized in place however few pods its group has, if no container restarts for that; below "
        "minReplicas it is not evicted. Eviction requirements bind evictions only. Otherwise minReplicas and "
        "requirements hold back resizes as well.",
    )
    eviction_only_when_it_helps: bool = switch(
        "B-25, K-20, K-34, cases 4, 35",
        "A pod is not evicted while quotas have no room for its replacement, new pods are known to get by the webhook, "
        "or two replacements of the same workload came up without what was wanted; and not in its first ten minutes if "
        "it has not started. Pods that are not Ready count as disrupted already. Otherwise such pods are evicted every "
        "minute, and pods that fail count as running.",
    )
    resize_without_effect: bool = switch(
        "B-27, case 32",
        "A container that is killed for lack of memory three more times after its resize was done has got nothing of "
        "it: mode InPlaceOrRecreate evicts the pod, mode InPlace tells of it and sends no more. One that waits to be "
        "started after such a kill is given no memory before it runs. Otherwise resizes go on, and so do the kills.",
    )

    future_kills_wait: bool = switch(
        "case 14",
        "A kill for lack of memory that a node, its clock ahead of the updater's, dates more than ten seconds into the "
        "future counts as a quick one only when that time has come. Otherwise it does at once, and one dated far ahead "
        "for as long as the pod lives.",
    )
    node_policies_are_learnt: bool = switch(
        "case 34",
        "A node that has called a resize of a guaranteed pod infeasible for its static CPU or memory manager gets none "
        "more for a day: such pods are resized in their other resource only, evicted instead in mode "
        "InPlaceOrRecreate, and left alone in mode InPlace. Otherwise every pod there is tried again and again.",
    )
    templates_are_read: bool = switch(
        "K-17",
        "A limit keeps the ratio to its request that the template of the pod's controller has, however often a resize "
        "has rounded it down or whoever has changed it; and what a new pod would ask for is reckoned from there, so a "
        "pod whose replacement would ask for what it has is not evicted. Otherwise the running pod's amounts count.",
    )

    @classmethod
    def of(cls, profile: Profile) -> Behaviour:
        """Return the behaviour of a whole profile."""
        return in_spelling(cls(), "true" if profile is Profile.EVENKEEL else "false")

    def with_overrides(self, overrides: Mapping[str, str]) -> Behaviour:
        """Return a copy with single switches set.

        Args:
            overrides: Field name to ``true``, ``false`` or, where there are more ways than two, the name of one.

        Raises:
            ConfigurationError: A name is unknown or a value is none of the field's.
        """
        return overridden(self, overrides)


UPSTREAM = Behaviour.of(Profile.UPSTREAM)
"""Nothing decided otherwise than upstream decides it."""

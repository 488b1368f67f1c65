"""The schema of a VerticalPodAutoscaler, with upstream's rules or with the own group's stricter ones."""

from __future__ import annotations

from autoscaling.vpa import LONGEST_STRATEGY, STRATEGY_PATTERN
from evenkeel.crd.schema import Schema, array, integer, mapping, name, quantity, rule, structure, text, timestamp

_UPDATE_MODES = ("Off", "Initial", "Recreate", "InPlaceOrRecreate", "InPlace", "Auto")

_LONGEST_QUANTITY = 64
"""Characters of a bound in the own group; without a limit an API server refuses the rule that compares bounds."""

_MOST_RESOURCES = 32
"""Resource names in one minAllowed or maxAllowed of the own group, for the same reason."""

_MOST_CONTAINERS = 256
"""Container policies of one object of the own group, for the same reason."""

_BOUNDS_IN_ORDER = (
    "!has(self.minAllowed) || !has(self.maxAllowed) || "
    "self.minAllowed.all(name, !(name in self.maxAllowed) || "
    "quantity(string(self.minAllowed[name])).compareTo(quantity(string(self.maxAllowed[name]))) <= 0)"
)


def autoscaler_schema(*, strict: bool) -> Schema:
    """The whole object.

    Args:
        strict: True for the own group, which states in the schema what upstream leaves to its webhook, so that
            nothing invalid gets in while the webhook is away; False for upstream's rules exactly.

    Spec: api 1.1, 1.2, and 7.1 where strict.
    """
    description = "Keeps the resource requests of one workload's pods near what they use."
    return structure(
        description,
        {
            "apiVersion": text("Group and version of this object."),
            "kind": text("Kind of this object."),
            "metadata": {"type": "object"},
            "spec": _spec(strict=strict),
            "status": _status(),
        },
        required=("spec",),
    )


def _spec(*, strict: bool) -> Schema:
    recommenders = array(
        "Which recommender serves this object; the one called default when the list is empty.",
        structure("One recommender.", {"name": text("Name the recommender was started with.")}, required=("name",)),
    )
    if strict:
        recommenders["maxItems"] = 1
    return structure(
        "What to scale, and within which limits.",
        {
            "targetRef": _target(),
            "updatePolicy": _update_policy(strict=strict),
            "resourcePolicy": structure(
                "Rules for the amounts, container by container.",
                {"containerPolicies": _container_policies(strict=strict)},
            ),
            "recommenders": recommenders,
            **({"recommender": _recommender_settings()} if strict else {}),
            "startupBoost": _startup_boost("Extra CPU for every container while its pod starts.", strict=strict),
        },
        required=("targetRef",),
    )


def _recommender_settings() -> Schema:
    """What the own group lets an object say to its recommender (spec: beyond:B-10)."""
    strategy = name(
        "How use becomes a recommendation: vpa-default when absent, vpa-min0 for the same without the least amounts "
        "of a pod, krr-simple, autopilot-like, weekly-peak, seasonal-naive, adaptive, adaptive-calm, or one that was "
        "installed beside the recommender. Where the recommender does not know it, vpa-default stands in and the "
        "condition StrategyUnavailable says so.",
        pattern=STRATEGY_PATTERN,
        max_length=LONGEST_STRATEGY,
    )
    return structure("How the recommender works for this object.", {"strategy": strategy})


def _target() -> Schema:
    node = structure(
        "The controller whose pods are scaled: the topmost of its owners, such as a Deployment rather than "
        "its ReplicaSet. Any kind with a scale subresource will do.",
        {
            "apiVersion": text("Group and version of the controller."),
            "kind": text("Kind of the controller."),
            "name": text("Name of the controller, in this object's namespace."),
        },
        required=("kind", "name"),
    )
    node["x-kubernetes-map-type"] = "atomic"
    return node


def _update_policy(*, strict: bool) -> Schema:
    requirement = structure(
        "One direction a recommendation must take.",
        {
            "resources": array("Resources of which at least one must move that way.", text("cpu or memory.")),
            "changeRequirement": text(
                "Whether the target has to lie above or below the pod's present requests.",
                choices=("TargetHigherThanRequests", "TargetLowerThanRequests"),
            ),
        },
        required=("resources", "changeRequirement"),
    )
    return structure(
        "How recommendations reach running pods; Recreate when absent.",
        {
            "updateMode": text(
                "Off only recommends. Initial sets resources when a pod is created. Recreate also evicts pods to give "
                "them new resources. InPlaceOrRecreate resizes running pods and evicts when that does not work out. "
                "InPlace never evicts. Auto is an old name of Recreate.",
                choices=_UPDATE_MODES,
            ),
            "minReplicas": integer(
                "Fewest live pods the workload needs before any of them is evicted; the updater's own setting when "
                "absent. Has to be positive.",
                bits=32,
                minimum=1 if strict else None,
            ),
            "evictionRequirements": array("All of these have to hold before a pod is evicted.", requirement),
            "evictAfterOOMSeconds": integer(
                "A container killed for memory within this many seconds of its start makes its pod a candidate at "
                "once; the updater's own setting when absent.",
                bits=32,
                minimum=1,
            ),
            **(_timeouts() if strict else {}),
        },
    )


def _timeouts() -> dict[str, Schema]:
    """How long resizes of one object are waited for, in the own group only (spec: beyond:B-20)."""
    until = "before the pod is evicted in mode InPlaceOrRecreate; the updater's own setting when absent."
    return {
        "inPlaceDeferredTimeoutSeconds": integer(
            f"Seconds that a resize which the node has deferred, or has no room for, is waited for {until}",
            bits=32,
            minimum=1,
        ),
        "inPlaceProgressTimeoutSeconds": integer(
            f"Seconds that a resize in progress is waited for {until}", bits=32, minimum=1
        ),
    }


def _container_policies(*, strict: bool) -> Schema:
    policies = array(
        "At most one entry per container; the entry named * stands for all others.", _policy(strict=strict)
    )
    if strict:
        policies["maxItems"] = _MOST_CONTAINERS
        policies["x-kubernetes-list-type"] = "map"
        policies["x-kubernetes-list-map-keys"] = ["containerName"]
    return policies


def _policy(*, strict: bool) -> Schema:
    container = text("Name of the container, or * for every container without an entry of its own.")
    resource = text("cpu or memory.", choices=("cpu", "memory") if strict else ())
    if strict:
        container["minLength"] = 1
    node = structure(
        "Rules for one container.",
        {
            "containerName": container,
            "mode": text("Auto scales the container, Off leaves it alone; Auto when absent.", choices=("Auto", "Off")),
            "minAllowed": _bound("Smallest amounts to recommend.", strict=strict),
            "maxAllowed": _bound("Largest amounts to recommend.", strict=strict),
            "controlledResources": array("Resources to scale; cpu and memory when absent.", resource),
            "controlledValues": text(
                "Whether limits move along with requests in their present ratio, as they do when absent, or stay.",
                choices=("RequestsAndLimits", "RequestsOnly"),
            ),
            "oomBumpUpRatio": quantity("Factor, at least 1, by which a kill for memory raises the observed need."),
            "oomMinBumpUp": quantity("Bytes by which a kill for memory raises the observed need at least."),
            "memoryAggregationIntervalSeconds": integer(
                "Length of one window of which the memory peak is kept.", bits=32, minimum=1
            ),
            "memoryAggregationIntervalCount": integer("Windows that make up the history.", bits=64, minimum=1),
            "startupBoost": _startup_boost("Replaces the object's boost for this container.", strict=strict),
        },
        required=("containerName",) if strict else (),
    )
    if strict:
        message = "maxAllowed must not be below minAllowed for any resource that has both"
        node["x-kubernetes-validations"] = [rule(_BOUNDS_IN_ORDER, message)]
    return node


def _bound(description: str, *, strict: bool) -> Schema:
    if not strict:
        return mapping(description, quantity())
    node = mapping(description, quantity(max_length=_LONGEST_QUANTITY))
    node["maxProperties"] = _MOST_RESOURCES
    return node


def _startup_boost(description: str, *, strict: bool) -> Schema:
    cpu = structure(
        "How much CPU is added, and for how long.",
        {
            "type": text("Factor multiplies the request, Quantity adds to it.", choices=("Factor", "Quantity")),
            "factor": integer(
                "What the request is multiplied by, at least 1; only with type Factor.",
                bits=32,
                minimum=1 if strict else None,
            ),
            "quantity": quantity("What is added to the request; only with type Quantity."),
            "durationSeconds": integer(
                "How long the boost outlasts the moment the pod became ready; not at all when absent.", bits=32
            ),
        },
        required=("type",),
    )
    cpu["x-kubernetes-validations"] = [
        rule("(self.type == 'Factor') == has(self.factor)", "give factor with type Factor, and with no other type"),
        rule(
            "(self.type == 'Quantity') == has(self.quantity)",
            "give quantity with type Quantity, and with no other type",
        ),
    ]
    return structure(description, {"cpu": cpu})


def _status() -> Schema:
    def amounts(description: str) -> Schema:
        return mapping(description, quantity())

    recommendation = structure(
        "The amounts for one container.",
        {
            "containerName": text("Name of the container."),
            "target": amounts("What to request."),
            "lowerBound": amounts("A request below this is worth raising."),
            "upperBound": amounts("A request above this is worth lowering."),
            "uncappedTarget": amounts("The target before minAllowed and maxAllowed were applied."),
        },
        required=("target",),
    )
    return structure(
        "What was found and recommended.",
        {
            "recommendation": structure(
                "The latest recommendation.",
                {
                    "containerRecommendations": array(
                        "One entry per container that is scaled.",
                        recommendation,
                    )
                },
            ),
            "conditions": array("What holds for this object at present.", _condition()),
            "observedGeneration": integer("Generation of the spec this status is about.", bits=64, minimum=0),
        },
    )


def _condition() -> Schema:
    return structure(
        "One statement about the object.",
        {
            "type": text("What the statement is about, such as RecommendationProvided."),
            "status": text("True, False or Unknown."),
            "reason": text("One word saying why."),
            "message": text("The same for a reader."),
            "lastTransitionTime": timestamp("When status last changed."),
            "observedGeneration": integer("Generation of the spec the statement is about.", bits=64, minimum=0),
        },
        required=("type", "status"),
    )

"""VPAs as users submit them, made up by chance: good ones, and ones with every mistake that is looked for."""

from __future__ import annotations

from collections.abc import Callable

from e2e.parity.process.world.dice import Dice
from e2e.parity.process.world.scalers import ScalerMaker
from e2e.parity.process.world.workloads import Workload
from evenkeel.simulator.api.fields import JsonObject, copy_of, ensure, rows

Fault = Callable[[Dice, JsonObject], None]


def make_submission(dice: Dice, maker: ScalerMaker, workload: Workload) -> JsonObject:
    """Make up a VPA that somebody submits; in half of all cases something is wrong with it."""
    vpa = maker.make(f"submitted-{dice.between(0, 99)}", workload)
    if dice.chance(0.5):
        spoil(dice, vpa)
    return vpa


def spoil(dice: Dice, vpa: JsonObject) -> None:
    """Put one to three mistakes, or things that look like some, into a VPA."""
    for fault in dice.shuffled(_FAULTS)[: dice.between(1, 3)]:
        fault(dice, ensure(vpa, "spec"))


def changed(dice: Dice, maker: ScalerMaker, workload: Workload, vpa: JsonObject) -> JsonObject:
    """Make up what a VPA was before it was changed; it may have had the same mistakes."""
    old = copy_of(vpa) if dice.chance(0.5) else maker.make("old", workload)
    old["metadata"] = copy_of(ensure(vpa, "metadata"))
    if dice.chance(0.5):
        spoil(dice, old)
    return old


def _policy(dice: Dice, spec: JsonObject) -> JsonObject:
    """Return some container policy of a VPA, a new one where it has none."""
    policies = rows(spec, "resourcePolicy", "containerPolicies")
    if not policies:
        policies = [{"containerName": "*"}]
        spec["resourcePolicy"] = {"containerPolicies": policies}
    return dice.pick(policies)


def _mode(dice: Dice, spec: JsonObject) -> None:
    ensure(spec, "updatePolicy")["updateMode"] = dice.pick(("Sometimes", "Auto", "InPlace", "", "off"))


def _no_mode(_dice: Dice, spec: JsonObject) -> None:
    spec["updatePolicy"] = {"minReplicas": 2}


def _min_replicas(dice: Dice, spec: JsonObject) -> None:
    ensure(spec, "updatePolicy").setdefault("updateMode", "Recreate")
    ensure(spec, "updatePolicy")["minReplicas"] = dice.pick((0, -1, 1))


def _oom_seconds(dice: Dice, spec: JsonObject) -> None:
    ensure(spec, "updatePolicy").setdefault("updateMode", "Recreate")
    ensure(spec, "updatePolicy")["evictAfterOOMSeconds"] = dice.pick((0, 1, -5, 60))


def _no_name(dice: Dice, spec: JsonObject) -> None:
    _policy(dice, spec)["containerName"] = ""


def _odd_name(dice: Dice, spec: JsonObject) -> None:
    _policy(dice, spec)["containerName"] = dice.pick(("Not A Name", "*", "c0"))


def _policy_mode(dice: Dice, spec: JsonObject) -> None:
    _policy(dice, spec)["mode"] = dice.pick(("Nope", "Auto", "Off", ""))


def _fine_amounts(dice: Dice, spec: JsonObject) -> None:
    amounts = {
        "cpu": dice.pick(("100.5m", "1500u", "0.1", "-1", "0")),
        "memory": dice.pick(("1.5", "100m", "1Gi", "0")),
    }
    _policy(dice, spec)[dice.pick(("minAllowed", "maxAllowed"))] = amounts


def _crossed_amounts(dice: Dice, spec: JsonObject) -> None:
    policy = _policy(dice, spec)
    policy["minAllowed"] = {"cpu": "2", "memory": "2Gi", "example.org/gpu": "2"}
    policy["maxAllowed"] = {
        "cpu": dice.pick(("1", "2", "0")),
        "memory": "1Gi",
        "example.org/gpu": dice.pick(("1", "3")),
    }


def _unreadable_amount(dice: Dice, spec: JsonObject) -> None:
    _policy(dice, spec)["maxAllowed"] = {"cpu": dice.pick(("lots", "1 2", "", "1e"))}


def _values(dice: Dice, spec: JsonObject) -> None:
    policy = _policy(dice, spec)
    policy["controlledValues"] = dice.pick(("RequestsAndLimits", "RequestsOnly", "Other"))
    policy["mode"] = dice.pick(("Off", "Auto"))


def _resources(dice: Dice, spec: JsonObject) -> None:
    _policy(dice, spec)["controlledResources"] = dice.pick((["cpu", "gpu"], ["gpu"], [], ["memory", "memory"]))


def _oom_bumps(dice: Dice, spec: JsonObject) -> None:
    policy = _policy(dice, spec)
    policy["oomBumpUpRatio"] = dice.pick(("0.5", "0.9991", "0.999", "1", 2, "1.5"))
    policy["oomMinBumpUp"] = dice.pick(("-1", "0", "100Mi", 1000))


def _intervals(dice: Dice, spec: JsonObject) -> None:
    policy = _policy(dice, spec)
    policy["memoryAggregationIntervalSeconds"] = dice.pick((0, 1, -1, 3600))
    policy["memoryAggregationIntervalCount"] = dice.pick((0, 1, 8))


def _boost(dice: Dice, spec: JsonObject) -> None:
    where = spec if dice.chance(0.5) else _policy(dice, spec)
    cpu: JsonObject = {"type": dice.pick(("Factor", "Quantity", "Other")), "durationSeconds": dice.pick((0, 10, -1))}
    if dice.chance(0.7):
        cpu["factor"] = dice.pick((0, 1, 3))
    if dice.chance(0.7):
        cpu["quantity"] = dice.pick(("500m", "0.0001", "-1"))
    where["startupBoost"] = {"cpu": cpu}


def _recommenders(dice: Dice, spec: JsonObject) -> None:
    spec["recommenders"] = [{"name": name} for name in dice.pick((("a", "b"), ("",), ("a",)))]


def _no_target(_dice: Dice, spec: JsonObject) -> None:
    spec.pop("targetRef", None)


def _wrong_type(dice: Dice, spec: JsonObject) -> None:
    key, value = dice.pick((("updatePolicy", "x"), ("resourcePolicy", []), ("recommenders", {}), ("targetRef", 5)))
    spec[key] = value


_FAULTS: tuple[Fault, ...] = (
    _mode,
    _no_mode,
    _min_replicas,
    _oom_seconds,
    _no_name,
    _odd_name,
    _policy_mode,
    _fine_amounts,
    _crossed_amounts,
    _unreadable_amount,
    _values,
    _resources,
    _oom_bumps,
    _intervals,
    _boost,
    _recommenders,
    _no_target,
    _wrong_type,
)

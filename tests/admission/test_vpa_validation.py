"""Every rule for VPA objects, with gates off, on and grandfathered (spec: admission:5)."""

from __future__ import annotations

import pytest

from admission.field_errors import Fault
from admission.patch_operation import PatchOperation
from admission.submitted_vpa import SubmittedVpa, submitted_vpa
from admission.vpa_validation import Gates, default_patch, validate

OFF = Gates()
ON = Gates(cpu_startup_boost=True, in_place=True, per_vpa_config=True)
NEW = SubmittedVpa()
POLICY = "spec.resourcePolicy.containerPolicies[0]"

Fields = dict[str, object]
Found = list[tuple[str, Fault]]


def spec(**fields: object) -> SubmittedVpa:
    return submitted_vpa({"spec": fields})


def update(**fields: object) -> SubmittedVpa:
    return spec(updatePolicy=fields)


def policy(**fields: object) -> SubmittedVpa:
    return spec(resourcePolicy={"containerPolicies": [{"containerName": "*", **fields}]})


def boost(**cpu: object) -> SubmittedVpa:
    return spec(startupBoost={"cpu": cpu})


def found(vpa: SubmittedVpa, old: SubmittedVpa = NEW, gates: Gates = OFF) -> Found:
    return [(error.path, error.fault) for error in validate(vpa, old, gates).errors]


RULES: list[tuple[str, SubmittedVpa, Gates, Found]] = [
    ("admission:5.1 targetRef", spec(), OFF, []),
    ("admission:5.2 updateMode", spec(), OFF, []),
    ("beyond:B-10", spec(recommender={}), OFF, []),
    *(
        ("beyond:B-10", spec(recommender={"strategy": name}), OFF, [])
        for name in ("vpa-default", "vpa-min0", "somebodys-own", "a", "0", "a" * 63)
    ),
    *(
        ("beyond:B-10", spec(recommender={"strategy": name}), OFF, [("spec.recommender.strategy", Fault.INVALID)])
        for name in ("", "Peak", "-peak", "peak-", "a b", "a.b", "peak\n", "a" * 64)
    ),
    ("admission:5.2 updateMode", update(), OFF, [("spec.updatePolicy.updateMode", Fault.REQUIRED)]),
    ("admission:5.2 updateMode", update(updateMode=None), OFF, [("spec.updatePolicy.updateMode", Fault.REQUIRED)]),
    ("admission:5.3 updateMode", update(updateMode=""), OFF, [("spec.updatePolicy.updateMode", Fault.NOT_SUPPORTED)]),
    (
        "admission:5.3 updateMode",
        update(updateMode="off"),
        OFF,
        [("spec.updatePolicy.updateMode", Fault.NOT_SUPPORTED)],
    ),
    *(
        ("admission:5.3 updateMode", update(updateMode=mode), OFF, [])
        for mode in ("Off", "Initial", "Recreate", "Auto", "InPlaceOrRecreate")
    ),
    ("admission:5.4 InPlace", update(updateMode="InPlace"), OFF, [("spec.updatePolicy.updateMode", Fault.FORBIDDEN)]),
    ("admission:5.4 InPlace", update(updateMode="InPlace"), ON, []),
    (
        "admission:5.5 minReplicas",
        update(updateMode="Off", minReplicas=0),
        OFF,
        [("spec.updatePolicy.minReplicas", Fault.INVALID)],
    ),
    (
        "admission:5.5 minReplicas",
        update(updateMode="Off", minReplicas=-1),
        OFF,
        [("spec.updatePolicy.minReplicas", Fault.INVALID)],
    ),
    ("admission:5.5 minReplicas", update(updateMode="Off", minReplicas=1), OFF, []),
    (
        "admission:5.6 evictAfterOOMSeconds",
        update(updateMode="Off", evictAfterOOMSeconds=60),
        OFF,
        [("spec.updatePolicy.evictAfterOOMSeconds", Fault.FORBIDDEN)],
    ),
    (
        "admission:5.6 evictAfterOOMSeconds",
        update(updateMode="Off", evictAfterOOMSeconds=0),
        ON,
        [("spec.updatePolicy.evictAfterOOMSeconds", Fault.INVALID)],
    ),
    ("admission:5.6 evictAfterOOMSeconds", update(updateMode="Off", evictAfterOOMSeconds=1), ON, []),
    *(
        ("beyond:B-20", update(updateMode="Off", **{name: seconds}), OFF, found_there)
        for name in ("inPlaceDeferredTimeoutSeconds", "inPlaceProgressTimeoutSeconds")
        for seconds, found_there in (
            (1, []),
            (0, [(f"spec.updatePolicy.{name}", Fault.INVALID)]),
            (-5, [(f"spec.updatePolicy.{name}", Fault.INVALID)]),
        )
    ),
    (
        "admission:5.7 containerName",
        policy(containerName=""),
        OFF,
        [(f"{POLICY}.containerName", Fault.REQUIRED)],
    ),
    ("admission:5.7 containerName", policy(containerName="Not A Name"), OFF, []),
    (
        "admission:5.7 containerName",
        spec(resourcePolicy={"containerPolicies": [{"containerName": "a"}, {"containerName": "a"}]}),
        OFF,
        [],
    ),
    ("admission:5.8 mode", policy(mode="Initial"), OFF, [(f"{POLICY}.mode", Fault.NOT_SUPPORTED)]),
    ("admission:5.8 mode", policy(mode="Off"), OFF, []),
    ("admission:5.8 mode", policy(mode="Auto"), OFF, []),
    (
        "admission:5.9 minAllowed",
        policy(minAllowed={"cpu": "100.5m"}),
        OFF,
        [(f"{POLICY}.minAllowed[cpu]", Fault.INVALID)],
    ),
    ("admission:5.9 minAllowed", policy(minAllowed={"cpu": "1500m", "memory": "0.5Ki"}), OFF, []),
    (
        "admission:5.9 minAllowed",
        policy(minAllowed={"memory": "1500m"}),
        OFF,
        [(f"{POLICY}.minAllowed[memory]", Fault.INVALID)],
    ),
    ("admission:5.9 minAllowed", policy(minAllowed={"example.com/gpu": "1500u"}), OFF, []),
    ("admission:5.9 minAllowed", policy(minAllowed={"cpu": "-1"}), OFF, []),
    (
        "admission:5.10 maxAllowed",
        policy(minAllowed={"cpu": "2"}, maxAllowed={"cpu": "1"}),
        OFF,
        [(f"{POLICY}.maxAllowed[cpu]", Fault.INVALID)],
    ),
    ("admission:5.10 maxAllowed", policy(minAllowed={"cpu": "2"}, maxAllowed={"cpu": "2000m"}), OFF, []),
    (
        "admission:5.10 maxAllowed",
        policy(minAllowed={"cpu": "1"}, maxAllowed={"cpu": "0"}),
        OFF,
        [(f"{POLICY}.maxAllowed[cpu]", Fault.INVALID)],
    ),
    ("admission:5.10 maxAllowed", policy(minAllowed={"cpu": "1"}, maxAllowed={"memory": "1"}), OFF, []),
    *(
        (
            f"case:8 {name} {text}",
            policy(minAllowed={name: text}),
            OFF,
            [(f"{POLICY}.minAllowed[{name}]", Fault.INVALID)],
        )
        for name, text in (("cpu", "35714286n"), ("memory", "1.5"), ("memory", "100m"))
    ),
    ("case:8 cpu", policy(minAllowed={"cpu": "0.036"}, maxAllowed={"cpu": "36m"}), OFF, []),
    (
        "case:8 order",
        policy(minAllowed={"memory": "2Gi"}, maxAllowed={"memory": "2047Mi"}),
        OFF,
        [(f"{POLICY}.maxAllowed[memory]", Fault.INVALID)],
    ),
    (
        "admission:5.10 maxAllowed",
        policy(minAllowed={"example.com/gpu": "2"}, maxAllowed={"example.com/gpu": "1"}),
        OFF,
        [(f"{POLICY}.maxAllowed[example.com/gpu]", Fault.INVALID)],
    ),
    (
        "admission:5.10 maxAllowed",
        policy(maxAllowed={"cpu": "1500u", "memory": "0.1Mi"}),
        OFF,
        [(f"{POLICY}.maxAllowed[cpu]", Fault.INVALID), (f"{POLICY}.maxAllowed[memory]", Fault.INVALID)],
    ),
    (
        "admission:5.11 controlledValues",
        policy(mode="Off", controlledValues="RequestsAndLimits"),
        OFF,
        [(f"{POLICY}.controlledValues", Fault.FORBIDDEN)],
    ),
    ("admission:5.11 controlledValues", policy(mode="Off", controlledValues="RequestsOnly"), OFF, []),
    ("admission:5.11 controlledValues", policy(mode="Off"), OFF, []),
    ("admission:5.11 controlledValues", policy(controlledValues="RequestsAndLimits"), OFF, []),
    ("admission:5.11 controlledValues", policy(controlledValues="Everything"), OFF, []),
    ("admission:5.12 controlledResources", policy(controlledResources=[]), OFF, []),
    ("admission:5.12 controlledResources", policy(controlledResources=["cpu", "memory"]), OFF, []),
    (
        "admission:5.12 controlledResources",
        policy(controlledResources=["cpu", "gpu", "CPU"]),
        OFF,
        [
            (f"{POLICY}.controlledResources[1]", Fault.NOT_SUPPORTED),
            (f"{POLICY}.controlledResources[2]", Fault.NOT_SUPPORTED),
        ],
    ),
    ("admission:5.13 oomBumpUpRatio", policy(oomBumpUpRatio="2"), OFF, [(f"{POLICY}.oomBumpUpRatio", Fault.FORBIDDEN)]),
    ("admission:5.13 oomBumpUpRatio", policy(oomBumpUpRatio="0.9991"), ON, []),
    (
        "admission:5.13 oomBumpUpRatio",
        policy(oomBumpUpRatio="0.999"),
        ON,
        [(f"{POLICY}.oomBumpUpRatio", Fault.INVALID)],
    ),
    ("admission:5.14 oomMinBumpUp", policy(oomMinBumpUp="1Mi"), OFF, [(f"{POLICY}.oomMinBumpUp", Fault.FORBIDDEN)]),
    ("admission:5.14 oomMinBumpUp", policy(oomMinBumpUp="-1"), ON, [(f"{POLICY}.oomMinBumpUp", Fault.INVALID)]),
    ("admission:5.14 oomMinBumpUp", policy(oomMinBumpUp=0), ON, []),
    *(
        (f"admission:5.15 {name}", policy(**{name: value}), gates, [(f"{POLICY}.{name}", fault)] if fault else [])
        for name in ("memoryAggregationIntervalSeconds", "memoryAggregationIntervalCount")
        for value, gates, fault in ((1, OFF, Fault.FORBIDDEN), (0, ON, Fault.INVALID), (1, ON, None))
    ),
    (
        "admission:5.16 startupBoost",
        boost(type="Factor", factor=0),
        OFF,
        [("spec.startupBoost", Fault.FORBIDDEN)],
    ),
    (
        "admission:5.16 startupBoost",
        policy(startupBoost={}),
        OFF,
        [(f"{POLICY}.startupBoost", Fault.FORBIDDEN)],
    ),
    ("admission:5.16 startupBoost", spec(startupBoost={}), OFF, [("spec.startupBoost", Fault.FORBIDDEN)]),
    ("admission:5.17 startupBoost.cpu", spec(startupBoost={}), ON, []),
    ("admission:5.18 startupBoost.cpu.type", boost(factor=2), ON, [("spec.startupBoost.cpu.type", Fault.REQUIRED)]),
    (
        "admission:5.18 startupBoost.cpu.type",
        boost(type="Times"),
        ON,
        [("spec.startupBoost.cpu.type", Fault.NOT_SUPPORTED)],
    ),
    ("admission:5.19 factor", boost(type="Factor"), ON, [("spec.startupBoost.cpu.factor", Fault.REQUIRED)]),
    ("admission:5.19 factor", boost(type="Factor", factor=0), ON, [("spec.startupBoost.cpu.factor", Fault.INVALID)]),
    ("admission:5.19 factor", boost(type="Factor", factor=1), ON, []),
    ("admission:5.20 quantity", boost(type="Quantity"), ON, [("spec.startupBoost.cpu.quantity", Fault.REQUIRED)]),
    (
        "admission:5.20 quantity",
        boost(type="Quantity", quantity="1500u"),
        ON,
        [("spec.startupBoost.cpu.quantity", Fault.INVALID)],
    ),
    ("admission:5.20 quantity", boost(type="Quantity", quantity="-100m"), ON, []),
    ("admission:5.21 durationSeconds", boost(type="Factor", factor=2, durationSeconds=-5), ON, []),
    (
        "admission:5.16 startupBoost",
        policy(startupBoost={"cpu": {"type": "Factor"}}),
        ON,
        [(f"{POLICY}.startupBoost.cpu.factor", Fault.REQUIRED)],
    ),
    ("admission:5.22 recommenders", spec(recommenders=[]), OFF, []),
    ("admission:5.22 recommenders", spec(recommenders=[{"name": "a"}]), OFF, []),
    ("admission:5.22 recommenders", spec(recommenders=[{"name": ""}]), OFF, []),
    (
        "admission:5.22 recommenders",
        spec(recommenders=[{"name": "a"}, {"name": "b"}]),
        OFF,
        [("spec.recommenders", Fault.TOO_MANY)],
    ),
]


@pytest.mark.parametrize(("row", "vpa", "gates", "expected"), RULES)
def test_rule_on_creation(row: str, vpa: SubmittedVpa, gates: Gates, expected: Found) -> None:
    assert found(vpa, gates=gates) == expected, row


WITH_OOM = update(updateMode="Off", evictAfterOOMSeconds=60)
WITH_RATIO = policy(oomBumpUpRatio="2")
WITH_CPU_BOOST = boost(type="Factor", factor=2)
WITH_CONTAINER_BOOST = policy(startupBoost={})

GRANDFATHERED: list[tuple[str, SubmittedVpa, SubmittedVpa, Found]] = [
    ("admission:5.4 InPlace", update(updateMode="InPlace"), update(updateMode="InPlace"), []),
    (
        "admission:5.4 InPlace",
        update(updateMode="InPlace"),
        update(updateMode="Off"),
        [("spec.updatePolicy.updateMode", Fault.FORBIDDEN)],
    ),
    ("admission:5.25 PerVPAConfig", policy(oomMinBumpUp="1"), WITH_OOM, []),
    ("admission:5.25 PerVPAConfig", update(updateMode="Off", evictAfterOOMSeconds=5), WITH_RATIO, []),
    ("admission:5.25 PerVPAConfig", policy(oomMinBumpUp="-1"), WITH_RATIO, [(f"{POLICY}.oomMinBumpUp", Fault.INVALID)]),
    ("admission:5.16 startupBoost", boost(type="Quantity", quantity="-1"), WITH_CPU_BOOST, []),
    ("admission:5.16 startupBoost", policy(startupBoost={}), WITH_CPU_BOOST, []),
    ("admission:5.16 startupBoost", WITH_CPU_BOOST, WITH_CONTAINER_BOOST, []),
    (
        "admission:5.16 startupBoost",
        WITH_CPU_BOOST,
        spec(startupBoost={}),
        [("spec.startupBoost", Fault.FORBIDDEN)],
    ),
    (
        "admission:5.12 controlledResources",
        policy(controlledResources=["gpu", "disk"]),
        spec(
            resourcePolicy={
                "containerPolicies": [
                    {"containerName": "x"},
                    {"containerName": "y", "controlledResources": ["cpu", "gpu"]},
                ],
            },
        ),
        [(f"{POLICY}.controlledResources[1]", Fault.NOT_SUPPORTED)],
    ),
]


@pytest.mark.parametrize(("row", "vpa", "old", "expected"), GRANDFATHERED)
def test_what_the_old_object_used_stays_usable(
    row: str,
    vpa: SubmittedVpa,
    old: SubmittedVpa,
    expected: Found,
) -> None:
    assert found(vpa, old) == expected, row


def test_all_errors_come_at_once_in_the_order_of_the_rules() -> None:
    """Spec: admission:5.24, error order; controlledResources after controlledValues."""
    vpa = spec(
        updatePolicy={"updateMode": "Never", "minReplicas": 0, "evictAfterOOMSeconds": 1},
        resourcePolicy={
            "containerPolicies": [
                {
                    "mode": "Off",
                    "controlledValues": "RequestsAndLimits",
                    "controlledResources": ["gpu"],
                    "oomBumpUpRatio": "1",
                    "minAllowed": {"memory": "2", "cpu": "2"},
                    "maxAllowed": {"memory": "1", "cpu": "1"},
                    "startupBoost": {},
                },
                {"containerName": "b", "mode": "Maybe"},
            ],
        },
        startupBoost={},
        recommenders=[{"name": "a"}, {"name": "b"}, {"name": "c"}],
    )
    assert [path for path, _ in found(vpa)] == [
        "spec.updatePolicy.updateMode",
        "spec.updatePolicy.minReplicas",
        "spec.updatePolicy.evictAfterOOMSeconds",
        f"{POLICY}.containerName",
        f"{POLICY}.maxAllowed[cpu]",
        f"{POLICY}.maxAllowed[memory]",
        f"{POLICY}.controlledValues",
        f"{POLICY}.controlledResources[0]",
        f"{POLICY}.oomBumpUpRatio",
        f"{POLICY}.startupBoost",
        "spec.resourcePolicy.containerPolicies[1].mode",
        "spec.startupBoost",
        "spec.recommenders",
    ]


def test_errors_name_value_and_way_out() -> None:
    """Spec: admission:5.24, canonical quantities; case 8 of the public reports."""
    errors = validate(policy(minAllowed={"cpu": "100.5m"}), NEW, OFF).errors
    assert [str(error) for error in errors] == [
        f"{POLICY}.minAllowed[cpu]: 100500u is not valid: cpu is counted in whole millicores",
    ]
    modes = validate(update(updateMode="Never"), NEW, OFF).errors[0].explanation
    assert modes == '"Never" is not supported; use one of InPlace, InPlaceOrRecreate, Initial, Off, Recreate'


def test_warnings_come_in_order_and_also_with_a_refusal() -> None:
    """Spec: admission:4.3.7, warnings (a) before (b)."""
    old = policy(controlledResources=["gpu"])
    vpa = spec(
        updatePolicy={"updateMode": "Auto", "minReplicas": 0},
        resourcePolicy={"containerPolicies": [{"containerName": "a", "controlledResources": ["cpu", "gpu"]}]},
    )
    outcome = validate(vpa, old, OFF)
    assert [error.path for error in outcome.errors] == ["spec.updatePolicy.minReplicas"]
    deprecated, let_through = outcome.warnings
    assert deprecated.startswith("spec.updatePolicy")
    assert "[InPlace InPlaceOrRecreate Initial Off Recreate]" in deprecated
    assert "8424" in deprecated
    assert let_through.startswith(f"{POLICY}.controlledResources[1]: ")
    assert '"gpu"' in let_through
    assert "cpu, memory" in let_through


@pytest.mark.parametrize("mode", ["Off", "Initial", "Recreate", "InPlaceOrRecreate"])
def test_other_modes_warn_of_nothing(mode: str) -> None:
    assert validate(update(updateMode=mode), NEW, OFF).warnings == ()


def test_only_an_absent_update_policy_is_filled_in() -> None:
    """Spec: admission:5.23, defaulting."""
    assert default_patch(spec()) == (PatchOperation("/spec/updatePolicy", {"updateMode": "Recreate"}),)
    assert default_patch(spec(updatePolicy=None)) != ()
    assert default_patch(update(updateMode="Off")) == ()

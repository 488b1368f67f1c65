"""VPA and LimitRange objects as JSON."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from autoscaling.errors import InvalidObjectError
from autoscaling.limitrange import LimitType
from autoscaling.pod import ConditionStatus
from autoscaling.vpa import (
    BoostType,
    ChangeRequirement,
    ContainerRecommendation,
    ControlledValues,
    Recommendation,
    ScalingMode,
    UpdateMode,
    VpaCondition,
)
from autoscaling.wire.objects import decode_limit_range, decode_vpa, vpa_status_json
from tests.builders import T0, amounts, printed, recommended

VPA: dict[str, object] = {
    "apiVersion": "autoscaling.evenkeel.dev/v1",
    "metadata": {
        "name": "v",
        "namespace": "ns",
        "uid": "u",
        "generation": 4,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "annotations": {"a": "b"},
    },
    "spec": {
        "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
        "recommenders": [{"name": "other"}],
        "recommender": {"strategy": "vpa-min0"},
        "updatePolicy": {
            "updateMode": "InPlaceOrRecreate",
            "minReplicas": 1,
            "evictAfterOOMSeconds": 60,
            "inPlaceProgressTimeoutSeconds": 90,
            "evictionRequirements": [{"resources": ["cpu"], "changeRequirement": "TargetHigherThanRequests"}],
        },
        "startupBoost": {"cpu": {"type": "Factor", "factor": 2, "durationSeconds": 10}},
        "resourcePolicy": {
            "containerPolicies": [
                {
                    "containerName": "*",
                    "mode": "Off",
                    "minAllowed": {"cpu": "10m"},
                    "maxAllowed": {"memory": "1Gi"},
                    "controlledResources": ["cpu"],
                    "controlledValues": "RequestsOnly",
                    "oomBumpUpRatio": "1.5",
                    "oomMinBumpUp": 1048576,
                    "memoryAggregationIntervalSeconds": 3600,
                    "memoryAggregationIntervalCount": 4,
                    "startupBoost": {"cpu": {"type": "Quantity", "quantity": "1"}},
                },
            ],
        },
    },
    "status": {
        "observedGeneration": 3,
        "recommendation": {
            "containerRecommendations": [
                {"containerName": "c", "target": {"cpu": "1"}, "lowerBound": {"cpu": "500m"}},
            ],
        },
        "conditions": [
            {"type": "RecommendationProvided", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        ],
    },
}


def test_every_field_that_is_used() -> None:
    vpa = decode_vpa(json.dumps(VPA).encode())
    assert str(vpa.ref) == "VerticalPodAutoscaler ns/v"
    assert (vpa.generation, vpa.observed_generation, vpa.created) == (4, 3, T0)
    assert vpa.target_ref is not None
    assert (vpa.target_ref.api_version, vpa.target_ref.kind, vpa.target_ref.name) == ("apps/v1", "Deployment", "d")
    assert vpa.update_policy is not None
    assert vpa.update_mode is UpdateMode.IN_PLACE_OR_RECREATE
    assert (vpa.update_policy.min_replicas, vpa.update_policy.evict_after_oom_seconds) == (1, 60)
    assert (vpa.update_policy.deferred_timeout_seconds, vpa.update_policy.progress_timeout_seconds) == (None, 90)
    assert vpa.update_policy.eviction_requirements[0].change is ChangeRequirement.TARGET_HIGHER
    assert vpa.recommenders == ("other",)
    assert vpa.strategy == "vpa-min0"
    assert vpa.has_startup_boost
    assert vpa.startup_boost is not None
    assert vpa.startup_boost.cpu is not None
    assert (vpa.startup_boost.cpu.type, vpa.startup_boost.cpu.factor) == (BoostType.FACTOR, 2)
    assert vpa.container_policies is not None
    policy = vpa.container_policies[0]
    assert (policy.mode, policy.controlled_values) == (ScalingMode.OFF, ControlledValues.REQUESTS_ONLY)
    assert (printed(policy.min_allowed), printed(policy.max_allowed)) == ({"cpu": "10m"}, {"memory": "1Gi"})
    assert policy.controlled_resources == ("cpu",)
    assert (str(policy.oom_bump_up_ratio), str(policy.oom_min_bump_up)) == ("1500m", "1048576")
    assert (policy.memory_aggregation_interval_seconds, policy.memory_aggregation_interval_count) == (3600, 4)
    assert vpa.recommendation is not None
    recommendation = vpa.recommendation.of("c")
    assert recommendation is not None
    assert printed(recommendation.lower_bound or {}) == {"cpu": "500m"}
    assert recommendation.upper_bound is None
    assert vpa.conditions[0].status is ConditionStatus.TRUE


def test_what_is_absent_stays_absent() -> None:
    vpa = decode_vpa(b'{"metadata": {"name": "v"}, "spec": {}}')
    assert (vpa.update_policy, vpa.container_policies, vpa.recommendation, vpa.target_ref) == (None, None, None, None)
    assert vpa.update_mode is UpdateMode.RECREATE, "updater:M-8"
    assert not vpa.has_startup_boost
    empty = decode_vpa(b'{"metadata": {"name": "v"}, "spec": {"resourcePolicy": {}}, "status": {"recommendation": {}}}')
    assert (empty.container_policies, empty.recommendation) == ((), Recommendation())


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"updatePolicy": {"updateMode": "Sometimes"}},
            r"VerticalPodAutoscaler ns/v: field spec\.updatePolicy\.updateMode",
        ),
        ({"targetRef": {"kind": "Deployment"}}, r"field spec\.targetRef\.name"),
        (
            {"resourcePolicy": {"containerPolicies": [{"containerName": "c", "minAllowed": {"cpu": "much"}}]}},
            r"VerticalPodAutoscaler ns/v: quantity 'much'",
        ),
        ({"updatePolicy": {"minReplicas": "x"}, "recommenders": 1}, r"\(and 1 more\)"),
    ],
)
def test_a_bad_vpa_is_named_with_the_field(spec: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidObjectError, match=message):
        decode_vpa(json.dumps({**VPA, "spec": spec}).encode())


def test_unreadable_json_is_an_error_too() -> None:
    with pytest.raises(InvalidObjectError, match="unreadable"):
        decode_vpa(b"[]")


def test_limit_range() -> None:
    limit_range = decode_limit_range(
        json.dumps(
            {
                "metadata": {"name": "lr", "namespace": "ns"},
                "spec": {
                    "limits": [
                        {"type": "Container", "max": {"cpu": "2"}, "default": {"memory": "1Gi"}},
                        {"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}},
                        {"type": "Pod", "min": {"cpu": "1"}},
                        {
                            "type": "Container",
                            "defaultRequest": {"cpu": "1"},
                            "maxLimitRequestRatio": {"cpu": "3"},
                        },
                    ],
                },
            },
        ).encode(),
    )
    container, pod, other = limit_range.items
    assert (container.type, pod.type) == (LimitType.CONTAINER, LimitType.POD)
    assert printed(container.maximum or {}) == {"cpu": "2"}
    assert container.minimum is None
    assert container.ratio is None
    assert (printed(other.default_request or {}), printed(other.ratio or {})) == ({"cpu": "1"}, {"cpu": "3"})
    with pytest.raises(InvalidObjectError, match="LimitRange ns/lr: quantity 'x'"):
        decode_limit_range(
            b'{"metadata": {"name": "lr", "namespace": "ns"}, '
            b'"spec": {"limits": [{"type": "Pod", "max": {"cpu": "x"}}]}}',
        )


def test_status_as_it_is_written() -> None:
    conditions = (VpaCondition("LowConfidence", ConditionStatus.FALSE, "r", "m", T0 + timedelta(microseconds=5)),)
    body = vpa_status_json(conditions, Recommendation((recommended("c", "250m/250Mi"),)), 2)
    vectors = {"cpu": "250m", "memory": "250Mi"}
    assert body == {
        "recommendation": {
            "containerRecommendations": [
                {
                    "containerName": "c",
                    "target": vectors,
                    "lowerBound": vectors,
                    "upperBound": vectors,
                    "uncappedTarget": vectors,
                },
            ],
        },
        "conditions": [
            {
                "type": "LowConfidence",
                "status": "False",
                "reason": "r",
                "message": "m",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            },
        ],
        "observedGeneration": 2,
    }, "recommender:5"


def test_empty_recommendations_and_containers() -> None:
    assert vpa_status_json((), Recommendation(), 0) == {"recommendation": {}}, "recommender:5"
    assert vpa_status_json((), None, 0) == {}
    only_target = vpa_status_json((), Recommendation((ContainerRecommendation("c", amounts("-")),)), 0)
    assert only_target == {
        "recommendation": {"containerRecommendations": [{"containerName": "c", "target": {}}]},
    }, "recommender:4.1"


def test_what_is_written_reads_back() -> None:
    written = vpa_status_json((), Recommendation((recommended("c", "250m/250Mi"),)), 2)
    again = decode_vpa(json.dumps({**VPA, "status": written}).encode())
    assert again.recommendation == Recommendation((recommended("c", "250m/250Mi"),))


@pytest.mark.parametrize(
    ("row", "group", "given", "strategy"),
    [
        ("beyond:B-10", "autoscaling.evenkeel.dev", {"strategy": "peak"}, "peak"),
        ("beyond:B-10", "autoscaling.evenkeel.dev", {}, None),
        ("beyond:B-10", "autoscaling.evenkeel.dev", None, None),
        ("beyond:B-10 upstream", "autoscaling.k8s.io", {"strategy": "peak"}, None),
        ("beyond:B-10 upstream", "autoscaling.k8s.io", 7, None),
    ],
)
def test_only_the_own_group_names_strategies(row: str, group: str, given: object, strategy: str | None) -> None:
    body = {"apiVersion": f"{group}/v1", "metadata": {"name": "v"}, "spec": {"recommender": given}}
    assert decode_vpa(json.dumps(body).encode()).strategy == strategy, row


def test_a_strategy_that_is_no_text_is_an_error_of_its_object() -> None:
    body = {"metadata": {"name": "v", "namespace": "ns"}, "spec": {"recommender": {"strategy": 7}}}
    with pytest.raises(InvalidObjectError, match=r"ns/v: field strategy"):
        decode_vpa(json.dumps(body).encode())


@pytest.mark.parametrize(
    ("row", "group", "given", "seconds"),
    [
        ("beyond:B-20", "autoscaling.evenkeel.dev", 1, 1),
        ("beyond:B-20", "autoscaling.evenkeel.dev", None, None),
        ("beyond:B-20 upstream", "autoscaling.k8s.io", 1, None),
        ("beyond:B-20 upstream", "autoscaling.k8s.io", "soon", None),
    ],
)
def test_only_the_own_group_has_times_to_wait(row: str, group: str, given: object, seconds: int | None) -> None:
    update = {"inPlaceDeferredTimeoutSeconds": given, "inPlaceProgressTimeoutSeconds": given}
    body = {"apiVersion": f"{group}/v1", "metadata": {"name": "v"}, "spec": {"updatePolicy": update}}
    policy = decode_vpa(json.dumps(body).encode()).update_policy
    assert policy is not None
    assert (policy.deferred_timeout_seconds, policy.progress_timeout_seconds) == (seconds, seconds), row


@pytest.mark.parametrize("given", [0, -1, "soon", 1.5])
def test_a_time_to_wait_is_a_second_at_least(given: object) -> None:
    """Spec: beyond:B-20."""
    update = {"inPlaceDeferredTimeoutSeconds": given}
    body = {"metadata": {"name": "v", "namespace": "ns"}, "spec": {"updatePolicy": update}}
    with pytest.raises(InvalidObjectError, match=r"ns/v: field inPlaceDeferredTimeoutSeconds"):
        decode_vpa(json.dumps(body).encode())

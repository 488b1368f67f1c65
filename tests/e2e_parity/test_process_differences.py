"""Planted differences between whole processes: each is found, with the step and the rule at which the sides part."""

from __future__ import annotations

from collections import Counter

import pytest

from e2e.parity.process.admission.partings import amounts_rule
from e2e.parity.process.calls import Step
from e2e.parity.process.client import Reply
from e2e.parity.process.differences import Difference
from e2e.parity.process.recommender.cluster import RecommenderCluster
from e2e.parity.process.recommender.comparison import Comparison
from e2e.parity.process.recommender.rounds import State
from e2e.parity.process.updater.partings import RULES, decision_rule, write_rule
from e2e.parity.process.updater.rounds import Answered
from e2e.parity.process.whole.verdicts import verdict_of
from evenkeel.simulator.api.fields import JsonObject, copy_of, ensure, rows
from updater.decision import Reason

KEY = ("free", "w")
AMOUNTS: JsonObject = {"cpu": "587m", "memory": "262144k"}


def status(container: str = "c0") -> JsonObject:
    entry: JsonObject = {"containerName": container}
    entry |= {vector: dict(AMOUNTS) for vector in ("target", "lowerBound", "upperBound", "uncappedTarget")}
    provided: JsonObject = {"type": "RecommendationProvided", "status": "True", "lastTransitionTime": "x"}
    return {"conditions": [provided], "recommendation": {"containerRecommendations": [entry]}}


def checkpoint() -> JsonObject:
    histogram = {"referenceTimestamp": "2026-01-01T00:00:00Z", "bucketWeights": {"30": 10000}, "totalWeight": 5.0}
    stored: JsonObject = {
        "version": "v3",
        "firstSampleStart": "2026-01-01T00:00:00Z",
        "lastSampleStart": "2026-01-01T08:00:00Z",
        "totalSamplesCount": 480,
        "cpuHistogram": {**histogram},
        "memoryHistogram": {**histogram},
    }
    return {"spec": {"vpaObjectName": "w", "containerName": "c0"}, "status": stored}


def differences(ours: JsonObject, stored: JsonObject, *flags: str) -> list[Difference]:
    """Return where recommenders part of which upstream's left a status and a checkpoint as they are made here."""
    cluster = RecommenderCluster("s", flags, (), ((),), ())
    sides = ((status(), checkpoint()), (ours, stored))
    states = [State({KEY: one}, {("free", "w-c0"): other}, Counter()) for one, other in sides]
    return list(Comparison(cluster, (states[0],), (states[1],)).differences())


def with_amount(vector: str, resource: str, amount: str) -> JsonObject:
    changed = status()
    (entry,) = rows(changed, "recommendation", "containerRecommendations")
    ensure(entry, vector)[resource] = amount
    return changed


def test_equal_sides_do_not_part() -> None:
    assert differences(status(), checkpoint()) == []


@pytest.mark.parametrize(
    ("spec_id", "member", "value", "named"),
    [
        ("recommender:2.1", "totalSamplesCount", 481, "aggregation, recommender 2.1"),
        ("recommender:2.1", "lastSampleStart", "2026-01-01T08:01:00Z", "aggregation, recommender 2.1"),
        ("recommender:1.3", "cpuHistogram", {"bucketWeights": {"31": 10000}}, "aggregation, recommender 1.3"),
        ("recommender:2.2", "memoryHistogram", {"bucketWeights": {"31": 10000}}, "aggregation, recommender 2.2"),
        ("recommender:6.3", "version", "v2", "recommender 6.3"),
    ],
)
def test_checkpoints_part_at_aggregation(spec_id: str, member: str, value: object, named: str) -> None:
    stored = copy_of(checkpoint())
    ensure(stored, "status")[member] = value
    (found,) = differences(status(), stored)
    assert found.rule.startswith(named), spec_id


@pytest.mark.parametrize(
    ("spec_id", "ours", "flags", "named"),
    [
        ("recommender:4.1", status("c1"), (), "recommender 4.1 (which containers)"),
        ("recommender:4.2", with_amount("uncappedTarget", "cpu", "627m"), (), "percentile, recommender 4.2 (1)"),
        ("recommender:4.2", with_amount("uncappedTarget", "cpu", "664m"), (), "margin, recommender 4.2 (2)"),
        ("recommender:4.2", with_amount("uncappedTarget", "memory", "1k"), (), "minimum, recommender 4.2 (4)"),
        ("recommender:4.4", with_amount("target", "cpu", "500m"), (), "policy caps, recommender 4.4"),
        ("recommender:4.4", with_amount("upperBound", "cpu", "500m"), (), "policy caps, recommender 4.4"),
    ],
)
def test_statuses_part_at_a_step_of_the_estimation(
    spec_id: str, ours: JsonObject, flags: tuple[str, ...], named: str
) -> None:
    (found,) = differences(ours, checkpoint(), *flags)
    assert found.rule.startswith(named), (spec_id, found.rule)


def test_statuses_part_at_conditions() -> None:
    """Spec: recommender:5."""
    changed = status()
    rows(changed, "conditions")[0]["status"] = "False"
    (found,) = differences(changed, checkpoint())
    assert found.rule.startswith("recommender 5 (conditions)")
    assert "Provided" not in found.upstream


@pytest.mark.parametrize(
    ("spec_id", "reason", "named"),
    [
        ("updater:M-15", "updates_off", "filter, updater M-15"),
        ("updater:P-5", "outside_bounds", "priority, updater P-5"),
        ("updater:P-7", "too_young", "acceptance, updater P-7"),
        ("updater:P-9", "requirements_unmet", "acceptance, updater P-9"),
        ("updater:R-6", "budget_used_up", "group budget, updater R-6"),
        ("updater:C-5", "resize_pending", "in-place decision, updater C-5"),
        ("updater:X-4", "nothing_to_apply", "the call, updater X-4"),
        ("updater:M-9", "", "filter, updater M-9"),
    ],
)
def test_decisions_part_at_the_step_of_our_reason(spec_id: str, reason: str, named: str) -> None:
    assert decision_rule(reason) == named, spec_id


def test_only_reasons_that_ours_gives_have_rules() -> None:
    assert set(RULES) <= {reason.value for reason in Reason}


def written(what: str, body: object, code: int = 200) -> Answered:
    return Step(what, ("free", "p"), body), code


@pytest.mark.parametrize(
    ("spec_id", "theirs", "ours", "is_alike", "named"),
    [
        ("updater:P-8", written("patch pods", [1]), written("patch pods", [2]), False, "priority, updater P-8"),
        (
            "updater:X-2",
            written("patch pods/resize", [{"value": "1"}]),
            written("patch pods/resize", [{"value": "2"}]),
            True,
            "the call, updater X-2 or X-3, at 0.value",
        ),
        ("updater:X-5", written("patch pods", [1]), written("patch pods", [2]), True, "the call, updater X-5, at 0"),
        (
            "updater:X-10",
            written("create pods/eviction", {"a": 1}),
            written("create pods/eviction", {}),
            True,
            "the call, updater X-10, at a",
        ),
        ("updater:X-9", written("patch pods", []), written("patch pods", [], 422), True, "the API server: 200 and 422"),
    ],
)
def test_writes_part_at_their_order_or_their_content(
    spec_id: str, theirs: Answered, ours: Answered, is_alike: bool, named: str
) -> None:
    assert write_rule(theirs, ours, is_alike=is_alike).startswith(named), spec_id


@pytest.mark.parametrize(
    ("spec_id", "theirs", "ours", "paths", "named"),
    [
        ("admission:7.1", "c0: cpu capped to maxAllowed", "c0: ", ["spec.containers.0"], "policy caps"),
        ("admission:7.1", "", "memory capped to container limit", [], "container limit"),
        ("limits:34", "capped to fit Min in container LimitRange", "", [], "LimitRange for containers"),
        ("limits:34", "", "memory capped to fit Max in container LimitRange", [], "LimitRange for containers"),
        ("admission:7.1", "same", "same", ["/spec/containers/0/resources/requests/cpu"], "recommendation"),
        ("limits:1", "same", "same", ["containers.0.resources.limits.cpu"], "limits in proportion"),
    ],
)
def test_amounts_of_new_pods_part_at_what_bounds_them(
    spec_id: str, theirs: str, ours: str, paths: list[str], named: str
) -> None:
    assert amounts_rule(theirs, ours, paths).startswith(named), spec_id


def test_a_verdict_is_free_of_what_is_made_up_each_time() -> None:
    def pod(suffix: str) -> Reply:
        container = {"name": "c0", "volumeMounts": [{"name": f"token-{suffix}"}], "resources": {"limits": {"cpu": "1"}}}
        metadata = {"name": f"p-{suffix}", "uid": suffix, "annotations": {"vpaUpdates": "v: container 0: b, a"}}
        return Reply(201, {"metadata": metadata, "spec": {"volumes": [suffix], "containers": [container]}})

    assert verdict_of(pod("a")).object == verdict_of(pod("b")).object
    assert verdict_of(pod("a")).object["annotations"] == {"vpaUpdates": "v: container 0: a, b"}


def test_a_refusal_of_a_webhook_is_told_by_its_causes_only() -> None:
    def refusal(words: str, code: int = 400) -> Reply:
        return Reply(code, {"reason": "BadRequest", "message": f'admission webhook "v" denied the request: {words}'})

    assert verdict_of(refusal("one")).object == verdict_of(refusal("another")).object
    other = Reply(403, {"reason": "Forbidden", "message": 'pods "p-x" is forbidden: [maximum is 2, minimum is 1]'})
    same = Reply(403, {"reason": "Forbidden", "message": 'pods "p-y" is forbidden: [maximum is 2, minimum is 1]'})
    less = Reply(403, {"reason": "Forbidden", "message": 'pods "p-y" is forbidden: [maximum is 3, minimum is 1]'})
    assert verdict_of(other).object == verdict_of(same).object != verdict_of(less).object


@pytest.mark.parametrize("words", ['failed calling webhook "v": EOF', 'webhook "v" could not be asked: EOF'])
def test_a_webhook_that_does_not_answer_is_seen(words: str) -> None:
    assert verdict_of(Reply(500, {"message": f"Internal error occurred: {words}"})).is_unreached
    assert not verdict_of(Reply(500, {"message": "something else"})).is_unreached


def test_reasons_of_a_refusal_are_in_no_order() -> None:
    def refusal(name: str, *reasons: str) -> Reply:
        return Reply(422, {"reason": "Invalid", "message": f'Pod "{name}" is invalid: [{", ".join(reasons)}]'})

    one, other = refusal("a", "x[0].cpu: too much", "x[0].memory: too much"), refusal("b", "x[0].memory: too much")
    turned = refusal("c", "x[0].memory: too much", "x[0].cpu: too much")
    assert verdict_of(one).object == verdict_of(turned).object != verdict_of(other).object

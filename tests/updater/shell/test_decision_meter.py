"""What the updater's metrics tell of the decisions of a round (spec: product:9, product:10)."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, Gauge

from autoscaling.objectref import ObjectRef
from autoscaling.vpa import UpdateMode
from evenkeel.simulator.api.server import ApiServer
from tests.updater.shell.stage import served_web, updater
from updater.conditions import is_noteworthy
from updater.decision import Action, Decision, Reason, VpaScope
from updater.shell.decision_meter import DecisionMeter, DecisionMetrics

pytestmark = pytest.mark.anyio
WEB = VpaScope(ObjectRef("VerticalPodAutoscaler", "shop", "web"), UpdateMode.RECREATE, 3)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def decided(number: int, action: Action, reason: Reason, scope: VpaScope | None = WEB) -> Decision:
    return Decision(ObjectRef("Pod", "shop", f"web-{number}"), action, reason, scope)


def shown(gauge: Gauge) -> dict[tuple[str, ...], float]:
    """Values by those of the labels, in the order of their names."""
    (family,) = gauge.collect()
    return {tuple(value for _, value in sorted(s.labels.items())): s.value for s in family.samples}


def publish(metrics: DecisionMetrics, decisions: list[Decision]) -> None:
    meter = DecisionMeter(metrics)
    for decision in decisions:
        meter.note(decision)
    meter.publish([decision for decision in decisions if is_noteworthy(decision)])


def test_each_round_takes_the_place_of_the_last_one() -> None:
    metrics = DecisionMetrics.register(CollectorRegistry())
    loop = [decided(number, Action.SKIP, Reason.EVICTION_LOOP) for number in range(2)]
    publish(metrics, [*loop, decided(2, Action.RESIZE, Reason.OUTSIDE_BOUNDS)])
    assert shown(metrics.decisions) == {("skip", "eviction_loop"): 2, ("resize", "outside_bounds"): 1}
    assert shown(metrics.held_back) == {("eviction_loop", "web", "shop"): 2}
    publish(metrics, [decided(2, Action.SKIP, Reason.TOO_YOUNG)])
    assert shown(metrics.decisions) == {("skip", "too_young"): 1}
    assert shown(metrics.held_back) == {}


@pytest.mark.parametrize(
    ("row", "reason", "scope", "expected"),
    [
        ("beyond:B-25 a reason that a condition tells", Reason.EVICTION_LOOP, WEB, 1),
        ("beyond:B-24 so is that there is no room", Reason.NO_ROOM, WEB, 1),
        ("beyond:B-24 what only waits is not held back", Reason.STORM_BUDGET, WEB, 0),
        ("updater:P-7 nor what needs nothing", Reason.CHANGE_TOO_SMALL, WEB, 0),
        ("updater:M-21 a pod the round did not come to", Reason.ROUND_ENDED, None, 0),
    ],
)
def test_held_back_is_what_a_condition_tells_of(
    row: str, reason: Reason, scope: VpaScope | None, expected: int
) -> None:
    metrics = DecisionMetrics.register(CollectorRegistry())
    publish(metrics, [decided(0, Action.SKIP, reason, scope)])
    assert sum(shown(metrics.held_back).values()) == expected, row
    assert shown(metrics.decisions) == {("skip", reason.value): 1}, row


async def test_a_round_shows_its_decisions() -> None:
    server: ApiServer = served_web()
    async with updater(server) as loop:
        await loop.run_round()
        found = shown(loop.metrics.decided.decisions)
    assert found, "product:10"
    assert sum(found.values()) == len(server.store.list("v1", "Pod", "default"))
    assert {action for action, _ in found} <= {action.value for action in Action}
    assert {reason for _, reason in found} <= {reason.value for reason in Reason}

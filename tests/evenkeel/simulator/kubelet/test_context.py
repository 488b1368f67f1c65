"""What the parts of a kubelet process share."""

from __future__ import annotations

from datetime import timedelta

from evenkeel.simulator.clock import ManualClock
from evenkeel.simulator.kubelet.context import Context, Lifetime
from evenkeel.simulator.kubelet.settings import Amounts
from tests.evenkeel.simulator.kubelet.pods import container, resources
from tests.evenkeel.simulator.kubelet.stage import SECOND, Stage


def context_of(stage: Stage) -> Context:
    assert stage.kubelet.process is not None
    return stage.kubelet.process.context


def test_timers_die_with_their_process() -> None:
    clock, notes = ManualClock(), []
    lifetime = Lifetime(clock)
    lifetime.later(SECOND, lambda: notes.append("one"))
    lifetime.later(3 * SECOND, lambda: notes.append("two"))
    clock.advance(2 * SECOND)
    lifetime.over = True
    clock.advance(2 * SECOND)
    assert notes == ["one"]


def test_containers_are_looked_at_once_a_second_at_a_phase_of_the_node() -> None:
    context = context_of(Stage())
    first = context.relist_after(context.now())
    assert context.now() < first <= context.now() + SECOND
    assert context.relist_after(first) == first + SECOND
    assert context.relist_after(first - timedelta(microseconds=1)) == first


def test_delays_are_stretched_by_up_to_half() -> None:
    context = context_of(Stage())
    stretched = [context.stretched(10 * SECOND) for _ in range(100)]
    assert all(10 * SECOND <= delay <= 15 * SECOND for delay in stretched)
    assert len(set(stretched)) == 100


def test_a_pod_sees_the_others_and_what_they_hold() -> None:
    stage = Stage()
    stage.run("x", container("app", resources("1500m", "1Mi")))
    stage.run("a")
    context = context_of(stage)
    (record,) = [r for r in context.pods.values() if r.view.name == "a"]
    state = context.node_without(record)
    assert (state.occupied, state.pods) == (Amounts(1500, 2**20), 1)

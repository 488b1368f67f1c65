"""Strategies at work for the VPAs that ask for them (beyond:B-10)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.behaviour import Behaviour
from autoscaling.matching import parse_selector
from autoscaling.quantity import Quantity
from autoscaling.resources import CPU, MEMORY
from autoscaling.vpa import ContainerPolicy, ScalingMode, Vpa
from recommender.checkpoint import ContainerCheckpoint, StrategyRecord
from recommender.recommending import Recommended, recommend
from recommender.settings import EstimatorSettings, RenderingSettings
from recommender.strategies.faults import FaultReason
from recommender.strategies.interface import Bounds, JsonObject, ResourceBounds
from recommender.strategies.known import KnownStrategies, known_strategies
from recommender.strategies.running import StrategyRuns
from tests.builders import T0, printed
from tests.recommender.scene import MINUTE, Scene, columns, pod, vpa
from tests.recommender.strategies.plugins import Failing, Peak, plugin

MI = 1024 * 1024
EVENKEEL = Behaviour()
Figures = dict[str, dict[str, str]]


def knowing(*strategies: Peak | Failing) -> KnownStrategies:
    return known_strategies([plugin(each) for each in strategies])[0]


def scene(*strategies: Peak | Failing) -> Scene:
    """Return a scene in which these strategies are installed."""
    found = Scene()
    found.model.strategies = StrategyRuns(knowing(*strategies))
    return found


def asking(name: str, strategy: str | None, *policies: ContainerPolicy) -> Vpa:
    return replace(vpa(name, *policies), strategy=strategy)


def follow(one: Scene, *vpas: Vpa) -> None:
    """Let each VPA select the pods with its own name as the label ``app``."""
    for each in vpas:
        one.follow(each, selector=parse_selector(f"app={each.name}"))


def observe(one: Scene, *names: str) -> None:
    one.observe(*(pod(name, labels={"app": name.partition("-")[0]}) for name in names))


def round_at(one: Scene, now: datetime, **settings: float) -> Recommended:
    groups = one.model.strategies.applied(one.model.groups(), now)
    return recommend(one.model, groups, EstimatorSettings(**settings), RenderingSettings(), EVENKEEL)  # type: ignore[arg-type]


def targets(one: Scene, now: datetime = T0 + MINUTE) -> dict[str, dict[str, str]]:
    """Return the target of the container main of each VPA."""
    found = round_at(one, now)
    pairs = zip(one.model.groups().vpas, found.recommendations, strict=True)
    return {t.vpa.name: {n: str(q) for e in r.containers for n, q in e.target.items()} for t, r in pairs}


def reasons(one: Scene, now: datetime = T0 + MINUTE) -> dict[str, str]:
    """Return the reason for which the strategy of a VPA cannot be used, of those that have one."""
    found = round_at(one, now).cautions
    pairs = ((t.vpa.name, c.reason) for t, each in found.items() for c in each if c.type == "StrategyUnavailable")
    return dict(pairs)


def used(one: Scene, name: str, at: datetime, millicores: int, mebibytes: int) -> None:
    one.cpu(at, millicores, pod=name)
    one.memory(at, mebibytes * MI, pod=name)


VPA_DEFAULT = {"cpu": "126m", "memory": "250Mi"}
"""Of 100m and 40Mi: the bucket's end and the margin; of memory the least amount."""


def test_each_vpa_gets_what_its_strategy_says() -> None:
    one = scene(Peak())
    follow(one, asking("a", None), asking("b", "vpa-default"), asking("c", "vpa-min0"), asking("d", "peak"))
    observe(one, "a", "b", "c", "d")
    for name in "abcd":
        used(one, name, T0, 100, 40)
    assert targets(one) == {
        "a": VPA_DEFAULT,
        "b": VPA_DEFAULT,
        "c": {"cpu": "126m", "memory": "49566436"},
        "d": {"cpu": "100m", "memory": "40Mi"},
    }, "beyond:B-10"
    assert reasons(one) == {}
    assert one.model.strategies.take_faults() == ()


@given(
    use=st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 2000)), min_size=1, max_size=8),
    minimum=st.tuples(st.integers(0, 400), st.integers(0, 900)),
)
def test_vpa_min0_is_vpa_default_with_the_flags_for_the_minimum_at_zero(
    use: list[tuple[int, int]], minimum: tuple[int, int]
) -> None:
    """Law: for whatever flags and use; the other VPAs keep their minimum."""
    one = scene()
    follow(one, asking("a", None), asking("b", "vpa-min0"))
    observe(one, "a", "b")
    for minute, (millicores, mebibytes) in enumerate(use):
        for name in "ab":
            used(one, name, T0 + minute * MINUTE, millicores, mebibytes)
    flags = {"pod_minimum_cpu_millicores": float(minimum[0]), "pod_minimum_memory_mib": float(minimum[1])}
    first, second = round_at(one, T0, **flags).recommendations
    zero, _ = round_at(one, T0, pod_minimum_cpu_millicores=0.0, pod_minimum_memory_mib=0.0).recommendations
    assert second == zero
    assert first.containers[0].target[CPU].milli_value() >= minimum[0]
    assert first.containers[0].target[MEMORY].value() >= minimum[1] * MI


def test_a_strategy_recommends_through_the_same_rounding_caps_and_bounds() -> None:
    policy = ContainerPolicy(
        "main", max_allowed={CPU: Quantity.parse("300m")}, min_allowed={MEMORY: Quantity.parse("100Mi")}
    )
    one = scene(Peak())
    follow(one, asking("a", "peak", policy))
    observe(one, "a")
    used(one, "a", T0, 400, 40)
    (entry,) = round_at(one, T0 + MINUTE).recommendations[0].containers
    assert printed(entry.target) == {"cpu": "300m", "memory": "100Mi"}
    assert printed(entry.lower_bound or {}) == {"cpu": "300m", "memory": "100Mi"}
    assert printed(entry.upper_bound or {}) == {"cpu": "300m", "memory": "100Mi"}
    assert printed(entry.uncapped_target or {}) == {"cpu": "400m", "memory": "40Mi"}


def test_bounds_that_a_strategy_leaves_out_are_set_by_its_target() -> None:
    one = scene(Peak())
    follow(one, asking("a", "peak"))
    observe(one, "a")
    used(one, "a", T0, 990, 99)
    (entry,) = round_at(one, T0 + MINUTE).recommendations[0].containers
    assert printed(entry.lower_bound or {}) == {"cpu": "900m", "memory": "90Mi"}, "Q-6"
    assert printed(entry.upper_bound or {}) == {"cpu": "1100m", "memory": "110Mi"}, "Q-6"


@pytest.mark.parametrize(
    ("row", "policy", "expected"),
    [
        ("beyond:B-10 off", ContainerPolicy("*", mode=ScalingMode.OFF), {}),
        ("beyond:B-10 CPU only", ContainerPolicy("*", controlled_resources=(CPU,)), {"cpu": "400m"}),
        ("beyond:B-10 memory only", ContainerPolicy("*", controlled_resources=(MEMORY,)), {"memory": "40Mi"}),
    ],
)
def test_container_policies_have_their_say(row: str, policy: ContainerPolicy, expected: dict[str, str]) -> None:
    one = scene(Peak())
    follow(one, asking("a", "peak", policy))
    observe(one, "a")
    used(one, "a", T0, 400, 40)
    assert targets(one)["a"] == expected, row


def test_what_a_strategy_does_not_recommend_is_left_out() -> None:
    one = scene(Peak())
    follow(one, asking("a", "peak"))
    observe(one, "a")
    assert targets(one)["a"] == {}
    one.cpu(T0, 400, pod="a")
    assert targets(one)["a"] == {"cpu": "400m"}
    assert reasons(one) == {}


def test_no_amount_is_less_than_what_a_strategy_says() -> None:
    """Products of floats are rounded up, but not for the sake of their last digit."""
    target = np.full(16, 1.001)
    amounts = Bounds(ResourceBounds(target), ResourceBounds(target + 10.0))
    one = scene(Failing("recommend", amounts))
    follow(one, asking("a", "failing"))
    observe(one, "a")
    assert targets(one)["a"] == {"cpu": "1001m", "memory": "12"}


def test_a_change_takes_effect_in_the_next_round_and_the_former_state_is_forgotten() -> None:
    strategy = Peak()
    one = scene(strategy)
    follow(one, replace(asking("a", None), generation=1))
    observe(one, "a")
    used(one, "a", T0, 400, 40)
    assert targets(one)["a"]["cpu"] == "476m"
    follow(one, replace(asking("a", "peak"), generation=2))
    assert targets(one)["a"] == {}, "what was seen before was not for it"
    used(one, "a", T0 + MINUTE, 100, 40)
    assert targets(one)["a"]["cpu"] == "100m"
    follow(one, replace(asking("a", "vpa-min0"), generation=3))
    assert targets(one)["a"]["cpu"] == "476m"
    follow(one, replace(asking("a", "peak"), generation=4))
    assert targets(one)["a"] == {}
    assert len(strategy.states) == 2


def test_a_row_goes_to_another_container_with_nothing_in_it() -> None:
    strategy = Peak()
    one = scene(strategy)
    follow(one, asking("a", "peak"), asking("b", "peak"))
    observe(one, "a", "b")
    used(one, "a", T0, 400, 40)
    used(one, "b", T0, 500, 50)
    targets(one)
    one.model.forget_vpa("default", "a")
    follow(one, asking("c", "peak"))
    observe(one, "c")
    assert targets(one) == {"b": {"cpu": "500m", "memory": "50Mi"}, "c": {}}
    used(one, "c", T0, 100, 10)
    assert targets(one)["c"] == {"cpu": "100m", "memory": "10Mi"}
    assert np.nanmax(strategy.states[0].cpu) == 0.5
    assert np.count_nonzero(~np.isnan(strategy.states[0].cpu)) == 2


def test_a_state_grows_with_the_vpas() -> None:
    strategy = Peak()
    one = scene(strategy)
    names = [f"v{number}" for number in range(40)]
    follow(one, asking(names[0], "peak"))
    observe(one, names[0])
    used(one, names[0], T0, 7, 7)
    follow(one, *(asking(name, "peak") for name in names[1:]))
    observe(one, *names[1:])
    for number, name in enumerate(names[1:], start=1):
        used(one, name, T0, 100 + number, 10 + number)
    found = targets(one)
    assert found["v0"] == {"cpu": "7m", "memory": "7Mi"}
    assert all(found[f"v{n}"] == {"cpu": f"{100 + n}m", "memory": f"{10 + n}Mi"} for n in range(1, 40))
    assert len(strategy.states) == 1
    assert len(strategy.states[0].cpu) == 64


def test_all_pods_of_a_container_feed_its_row_and_a_pod_of_two_vpas_feeds_two() -> None:
    strategy = Peak()
    one = scene(strategy)
    one.follow(asking("a", "peak"), selector=parse_selector("app=a"))
    one.follow(asking("b", "peak"), selector=parse_selector("app"))
    observe(one, "a-0", "a-1")
    rows = [one.row(pod="a-0"), one.row(pod="a-1")]
    one.model.take_cpu(columns([rows[1], rows[0]], [T0 + MINUTE, T0], [200, 300]), T0)
    assert targets(one) == {"a": {"cpu": "300m"}, "b": {"cpu": "300m"}}
    (heard,) = strategy.states[0].heard
    assert len(set(heard.rows.tolist())) == 2
    assert heard.cpu_cores.tolist() == [0.3, 0.3, 0.2, 0.2], "in the order of time"
    assert heard.ends_seconds.tolist() == [T0.timestamp()] * 2 + [T0.timestamp() + 60.0] * 2
    assert heard.durations_seconds.tolist() == [60.0] * 4
    assert np.isnan(heard.memory_bytes).all()


def test_what_is_told_is_read_only_and_nothing_is_told_twice() -> None:
    strategy = Peak()
    one = scene(strategy)
    follow(one, asking("a", "peak"))
    observe(one, "a")
    for _ in range(2):
        used(one, "a", T0, 400, 40)
    (state,) = strategy.states
    cpu = [value for usage in state.heard for value in usage.cpu_cores.tolist() if not np.isnan(value)]
    assert cpu == [0.4], "the second sample of one instant is none"
    for usage in state.heard:
        with pytest.raises(ValueError, match="read-only"):
            usage.cpu_cores[0] = 7.0


def test_oom_kills_are_told_with_the_request() -> None:
    strategy = Peak()
    one = scene(strategy)
    follow(one, asking("a", "peak"))
    observe(one, "a")
    used(one, "a", T0, 400, 40)
    one.oom(T0 + MINUTE, 300 * MI, pod="a")
    (kills,) = strategy.states[0].kills
    assert (kills.memory_bytes.tolist(), kills.times_seconds.tolist()) == ([300.0 * MI], [T0.timestamp() + 60.0])
    assert targets(one)["a"]["memory"] == "600Mi"


@pytest.mark.parametrize(
    ("row", "installed", "asked", "reason"),
    [
        ("beyond:B-10 unknown", [Peak()], "fast", "UnknownStrategy"),
        ("beyond:B-10 nothing installed", [], "fast", "UnknownStrategy"),
        ("beyond:B-10 raises", [Failing("observe", KeyError("x")), Peak()], "failing", "StrategyFailed"),
        ("beyond:B-10 starts not", [Failing("start", KeyError("x")), Peak()], "failing", "StrategyFailed"),
        ("beyond:B-10 answers not", [Failing("recommend", None), Peak()], "failing", "StrategyFailed"),
    ],
)
def test_vpa_default_stands_in_and_no_other_vpa_sees_anything(
    row: str, installed: list[Peak | Failing], asked: str, reason: str
) -> None:
    one = scene(*installed)
    follow(one, asking("a", asked), asking("b", "peak" if len(installed) > 1 else None), asking("c", "vpa-min0"))
    observe(one, "a", "b", "c")
    for name in "abc":
        used(one, name, T0, 100, 40)
    found = targets(one)
    assert found["a"] == VPA_DEFAULT, row
    assert found["b"] == ({"cpu": "100m", "memory": "40Mi"} if len(installed) > 1 else VPA_DEFAULT), row
    assert found["c"]["memory"] == "49566436", row
    assert reasons(one) == {"a": reason}, row
    lasting = [fault.is_lasting for fault in one.model.strategies.take_faults()]
    assert lasting == ([True] if reason == "StrategyFailed" else []), "told once, however many rounds"
    targets(one)
    assert one.model.strategies.take_faults() == ()


def test_the_condition_goes_with_its_cause() -> None:
    one = scene(Failing("observe", KeyError("x")))
    follow(one, replace(asking("a", "failing"), generation=1))
    observe(one, "a")
    used(one, "a", T0, 100, 40)
    assert reasons(one) == {"a": "StrategyFailed"}
    follow(one, replace(asking("a", "vpa-min0"), generation=2))
    assert reasons(one) == {}
    follow(one, replace(asking("a", "failing"), generation=3))
    assert reasons(one) == {"a": "StrategyFailed"}, "it stays out of service"


@pytest.mark.parametrize("bad", [-1.0, float("inf")])
def test_impossible_amounts_of_one_vpa_concern_no_other(bad: float) -> None:
    """Row beyond:B-10: all containers of that VPA, in that round."""
    strategy = Peak()
    one = scene(strategy)
    follow(one, asking("a", "peak"), asking("b", "peak"))
    one.observe(pod("a", "main", "side", labels={"app": "a"}))
    observe(one, "b")
    for container in ("main", "side"):
        one.cpu(T0, 100, container, "a")
    used(one, "b", T0, 100, 40)
    row = int(strategy.states[0].heard[0].rows[0])
    strategy.states[0].cpu[row] = bad
    assert targets(one) == {"a": {"cpu": "126m"}, "b": {"cpu": "100m", "memory": "40Mi"}}
    assert reasons(one) == {"a": "StrategyFailed"}
    assert {f.reason for f in one.model.strategies.take_faults()} == {FaultReason.OUTPUT}
    strategy.states[0].cpu[row] = 0.1
    assert reasons(one) == {}
    assert one.model.strategies.take_faults() == ()


def checkpoint(strategy: StrategyRecord | None = None) -> ContainerCheckpoint:
    return ContainerCheckpoint("default", "a", "main", None, None, strategy=strategy)


def test_what_is_recorded_is_taken_up_after_a_restart() -> None:
    one = scene(Peak())
    follow(one, asking("a", "peak"))
    observe(one, "a")
    used(one, "a", T0, 400, 40)
    recorded = one.model.strategies.recorded(checkpoint(), one.tracked("a"), None)
    assert recorded.strategy == StrategyRecord("peak", {"cpu": 0.4, "memory": 40.0 * MI})
    other = scene(Peak())
    follow(other, asking("a", "peak"))
    observe(other, "a")
    other.model.strategies.take_up(other.model.groups(), [recorded, replace(recorded, container_name="gone")])
    used(other, "a", T0 + MINUTE, 100, 90)
    assert targets(other)["a"] == {"cpu": "400m", "memory": "90Mi"}


SEEN: JsonObject = {"cpu": 0.4, "memory": 40.0}


@pytest.mark.parametrize(
    ("row", "asked", "installed", "stored", "kept"),
    [
        ("beyond:B-10 broken", "failing", [Failing("save", KeyError("x"))], "failing", True),
        ("beyond:B-10 not installed", "peak", [], "peak", True),
        ("beyond:B-10 another one's", "failing", [Failing("save", KeyError("x"))], "peak", False),
        ("beyond:B-10 no longer asked for", "vpa-min0", [Peak()], "peak", False),
        ("beyond:B-10 no longer asked for", None, [Peak()], "peak", False),
    ],
)
def test_what_is_stored_stays_as_long_as_its_strategy_cannot_be_used(
    row: str, asked: str | None, installed: list[Peak | Failing], stored: str, kept: bool
) -> None:
    one = scene(*installed)
    follow(one, asking("a", asked))
    observe(one, "a")
    used(one, "a", T0, 100, 40)
    record = StrategyRecord(stored, SEEN)
    found = one.model.strategies.recorded(checkpoint(), one.tracked("a"), checkpoint(record))
    assert found.strategy == (record if kept else None), row


def test_a_record_of_another_strategy_is_not_taken_up() -> None:
    strategy = Peak()
    one = scene(strategy)
    follow(one, asking("a", "peak"))
    observe(one, "a")
    one.model.strategies.take_up(one.model.groups(), [checkpoint(StrategyRecord("other", SEEN)), checkpoint()])
    assert np.isnan(strategy.states[0].cpu).all()


def test_where_strategies_are_switched_off_nothing_is_heeded() -> None:
    one = Scene()
    follow(one, asking("a", "fast"), asking("b", "vpa-min0"))
    observe(one, "a", "b")
    for name in "ab":
        used(one, name, T0, 100, 40)
    assert targets(one) == {"a": VPA_DEFAULT, "b": VPA_DEFAULT}, "beyond:B-10 off"
    assert reasons(one) == {}
    assert one.model.strategies.applied(one.model.groups(), T0) is one.model.groups()
    assert one.model.strategies.recorded(checkpoint(), one.tracked("a"), checkpoint(StrategyRecord("fast", {}))) == (
        checkpoint()
    )


def test_a_strategy_that_nobody_asks_for_is_not_started() -> None:
    strategy = Peak()
    one = scene(strategy)
    follow(one, asking("a", None))
    observe(one, "a")
    used(one, "a", T0, 100, 40)
    assert one.model.strategies.applied(one.model.groups(), T0) is one.model.groups()
    assert strategy.states == []

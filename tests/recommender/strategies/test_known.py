"""Which strategies there are (beyond:B-10)."""

from __future__ import annotations

import pytest

from recommender.strategies.faults import Fault, FaultReason, error_text, unknown_condition
from recommender.strategies.known import OWN_NAMES, Plugin, as_plugin, known_strategies
from tests.recommender.strategies.plugins import DISTRIBUTION, Peak, plugin


class WithoutStart:
    name = "peak"


@pytest.mark.parametrize(
    ("row", "name", "loaded", "problem"),
    [
        ("beyond:B-10", "Peak", Peak("Peak"), "its entry point is called 'Peak', which is no name of a strategy"),
        ("beyond:B-10", "peak", Peak, "its entry point stands for the class Peak, not for an object of it"),
        (
            "beyond:B-10",
            "peak",
            Peak("other"),
            "its attribute name is 'other', not 'peak' as its entry point is called",
        ),
        ("beyond:B-10", "peak", None, "its attribute name is None, not 'peak' as its entry point is called"),
        ("beyond:B-10", "peak", WithoutStart(), "it has no method start"),
    ],
)
def test_what_does_not_look_like_a_strategy(row: str, name: str, loaded: object, problem: str) -> None:
    assert as_plugin(name, DISTRIBUTION, loaded) == Fault(name, DISTRIBUTION, FaultReason.SHAPE, problem), row


def test_what_looks_like_one() -> None:
    strategy = Peak()
    assert as_plugin("peak", DISTRIBUTION, strategy) == Plugin("peak", DISTRIBUTION, strategy)


def test_no_strategy_takes_the_place_of_another() -> None:
    first, second, own = plugin(Peak()), Plugin("peak", "others 2.0", Peak()), plugin(Peak("vpa-default"))
    bad = Fault("broken", DISTRIBUTION, FaultReason.IMPORT, "no")
    late = Fault("peak", "third 1", FaultReason.IMPORT, "no")
    known, faults = known_strategies([bad, first, second, own, late])
    assert known.plugins == {"peak": first}
    assert known.broken == {"broken": bad}, "a name that is usable is not broken"
    assert known.names == OWN_NAMES | {"peak"}
    taken = FaultReason.NAME_TAKEN
    assert faults == (
        bad,
        Fault("peak", "others 2.0", taken, f"the name peak is taken by {DISTRIBUTION}"),
        Fault("vpa-default", DISTRIBUTION, taken, "the name vpa-default is built in"),
        late,
    )


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ("beyond:B-10", "vpa-default"),
        ("beyond:B-10", "vpa-min0"),
        ("beyond:B-10", "krr-simple"),
        ("beyond:B-10", "autopilot-like"),
        ("beyond:B-10", "weekly-peak"),
        ("beyond:B-10", "seasonal-naive"),
        ("beyond:B-10", "adaptive"),
        ("beyond:B-10", "adaptive-calm"),
    ],
)
def test_what_this_distribution_brings_is_always_known(row: str, name: str) -> None:
    known, faults = known_strategies([Plugin(name, DISTRIBUTION, Peak(name))])
    assert name in known.names, row
    assert known.plugins == {}, row
    assert [fault.problem for fault in faults] == [f"the name {name} is built in"], row


def test_the_condition_of_an_unknown_name_tells_the_known_ones() -> None:
    condition = unknown_condition("fast", {"vpa-min0", "vpa-default"})
    assert (condition.type, condition.reason) == ("StrategyUnavailable", "UnknownStrategy")
    assert "spec.recommender.strategy is fast" in condition.message
    assert "one of vpa-default, vpa-min0, or install" in condition.message


@pytest.mark.parametrize(
    ("row", "is_lasting", "way_out"),
    [("beyond:B-10", True, "restart the recommender, or choose another"), ("beyond:B-10", False, "distribution, or")],
)
def test_the_condition_of_a_failure_names_the_distribution_and_the_way_out(
    row: str, is_lasting: bool, way_out: str
) -> None:
    fault = Fault("peak", DISTRIBUTION, FaultReason.EXCEPTION, "observe raised KeyError: 7", is_lasting)
    condition = fault.condition()
    assert (condition.type, condition.reason) == ("StrategyUnavailable", "StrategyFailed"), row
    assert (
        f"Strategy peak of distribution {DISTRIBUTION} cannot be used: observe raised KeyError: 7" in condition.message
    )
    assert "vpa-default stands in" in condition.message
    assert way_out in condition.message


def test_the_text_of_an_error_is_one_short_line() -> None:
    assert error_text(ValueError("a\n  b")) == "ValueError: a b"
    assert len(error_text(ValueError("x" * 5000))) == 200

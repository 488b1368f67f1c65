"""Why two targets differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from autoscaling.pod import ConditionStatus
from autoscaling.resources import CPU, MEMORY
from autoscaling.vpa import ContainerPolicy, ScalingMode, Vpa, VpaCondition
from evenkeel.comparison.comparing import Row, compare
from evenkeel.comparison.reasons import OLD
from evenkeel.comparison.retracing import SideSettings, State, Step
from evenkeel.comparison.use import ObservedUse
from recommender.checkpoint import ContainerCheckpoint
from recommender.settings import EstimatorSettings, Percentiles, RenderingSettings
from tests.builders import amounts, recommended
from tests.evenkeel.comparison.states import NOW, autoscaler, checkpoint, histogram, sides, state, uncapped

SECOND = timedelta(seconds=1)
OURS, THEIRS = recommended("main", "115m/300Mi"), recommended("main", "230m/600Mi")
USE, MORE_USE = checkpoint(100, 250), checkpoint(200, 250)
SPREAD = replace(USE, cpu=histogram(8, 9, 10))
LOW, HIGH = ContainerPolicy("*", max_allowed=amounts("115m/-")), ContainerPolicy("*", max_allowed=amounts("230m/-"))


def settings(estimator: EstimatorSettings | None = None, rendering: RenderingSettings | None = None) -> SideSettings:
    return SideSettings(estimator or EstimatorSettings(), rendering or RenderingSettings())


def side(
    stored: Sequence[ContainerCheckpoint], flags: SideSettings | None = None, policy: ContainerPolicy | None = None
) -> State:
    """Return a side whose recommendation is left to be filled in."""
    return state([autoscaler(policies=[policy] if policy else None)], stored, flags)


def row(ours: State, theirs: State, resource: str = CPU, *, said: bool = True) -> Row:
    """Return the row of a resource; where nothing is said, both sides recommend what they have to."""
    if said:
        ours, theirs = (
            replace(each, vpas=[replace(vpa, recommendation=autoscaler(entry).recommendation) for vpa in each.vpas])
            for each, entry in ((ours, OURS), (theirs, THEIRS))
        )
    rows = compare(sides(ours, theirs), ObservedUse({}), 0.9).rows
    return next(each for each in rows if each.resource == resource)


def earlier(by: timedelta) -> ContainerCheckpoint:
    return replace(MORE_USE, last_sample=NOW - by)


ROWS: list[tuple[str, State, State, Step, str]] = [
    ("beyond:B-35", side([USE]), side([MORE_USE]), Step.SAMPLES, "both 2880 CPU samples"),
    ("beyond:B-35", side([USE]), side([earlier(OLD)]), Step.SAMPLES, "theirs 2880 CPU samples from 2026-01-01T00"),
    (
        "beyond:B-35 checkpoint age",
        side([USE]),
        side([earlier(OLD + SECOND)]),
        Step.CHECKPOINT_AGE,
        "theirs ends 0:10:01 before the other",
    ),
    (
        "beyond:B-35 checkpoint age",
        side([earlier(OLD + SECOND)]),
        side([USE]),
        Step.CHECKPOINT_AGE,
        "ours ends 0:10:01 before the other",
    ),
    (
        "beyond:B-35",
        side([SPREAD], settings(EstimatorSettings(cpu=Percentiles(target=0.3)))),
        side([SPREAD]),
        Step.PERCENTILE,
        "ours 0.3, theirs 0.9",
    ),
    (
        "beyond:B-35",
        side([USE]),
        side([USE], settings(EstimatorSettings(margin_fraction=0.3))),
        Step.MARGIN,
        "ours 0.15, theirs 0.3",
    ),
    (
        "beyond:B-35",
        side([USE]),
        side([USE], settings(EstimatorSettings(pod_minimum_cpu_millicores=230.0))),
        Step.MINIMUM,
        "ours of 25m, theirs of 230m",
    ),
    (
        "beyond:B-35",
        side([USE]),
        side([USE], settings(None, RenderingSettings(round_cpu_millicores=50, integer_cpu=True))),
        Step.ROUNDING,
        "ours to 1m, theirs to 50m (whole cores where annotated)",
    ),
    ("beyond:B-35", side([USE], None, LOW), side([USE]), Step.CAPS, "ours maxAllowed 115m, theirs no bounds"),
    (
        "beyond:B-35",
        side([USE]),
        side([USE], settings(None, RenderingSettings(maximum=amounts("50m/-")))),
        Step.CAPS,
        "ours no bounds, theirs maxAllowed 50m",
    ),
    ("beyond:B-35", side([USE]), side([USE]), Step.LATER, "the checkpoints come to the same"),
    ("beyond:B-35", side([]), side([USE]), Step.NO_CHECKPOINT, "no checkpoint to look into: ours"),
    ("beyond:B-35", side([]), side([]), Step.NO_CHECKPOINT, "no checkpoint to look into: ours and theirs"),
]


@pytest.mark.parametrize(("spec_id", "ours", "theirs", "step", "words"), ROWS)
def test_the_first_step_at_which_two_targets_part(
    spec_id: str, ours: State, theirs: State, step: Step, words: str
) -> None:
    told = row(ours, theirs)
    assert told.step is step, spec_id
    assert words in told.detail, spec_id


def test_memory_has_settings_of_its_own() -> None:
    flags = settings(
        EstimatorSettings(memory=Percentiles(target=0.5), pod_minimum_memory_mib=100.0),
        RenderingSettings(round_memory_bytes=4096),
    )
    spread = replace(USE, memory=histogram(20, 21, 22))
    percentile = row(side([spread]), side([spread], flags), MEMORY)
    assert (percentile.step, percentile.detail) == (Step.PERCENTILE, "ours 0.9, theirs 0.5"), "beyond:B-35"
    low = EstimatorSettings(pod_minimum_memory_mib=100.0)
    small = checkpoint(100, 20)
    minimum = row(side([small]), side([small], settings(low)), MEMORY)
    assert minimum.step is Step.MINIMUM
    assert minimum.detail == "share of the least amounts of a pod: ours of 250Mi, theirs of 100Mi"
    assert (str(minimum.ours_at_step), str(minimum.theirs_at_step)) == ("250Mi", "100Mi")
    rounding = settings(None, RenderingSettings(round_memory_bytes=2**20))
    whole = row(side([USE]), side([USE], rounding), MEMORY)
    assert (whole.step, whole.detail) == (Step.ROUNDING, "ours to 1 bytes, theirs to 1048576 bytes")


def test_amounts_at_the_step_are_told() -> None:
    told = row(side([USE]), side([USE], settings(EstimatorSettings(margin_fraction=1.0))))
    assert told.ours_at_step is not None
    assert told.theirs_at_step is not None
    assert told.theirs_at_step.milli_value() > 1.7 * told.ours_at_step.milli_value(), "beyond:B-35"


def test_a_difference_that_a_later_step_undoes_is_no_reason() -> None:
    """Both histograms end at the minimum, and only the caps tell the sides apart."""
    least = settings(EstimatorSettings(pod_minimum_cpu_millicores=1000.0))
    told = row(side([USE], least, LOW), side([MORE_USE], least, HIGH))
    assert told.step is Step.CAPS, "beyond:B-35"
    assert told.detail == "ours maxAllowed 115m, theirs maxAllowed 230m"


def test_equal_targets_before_caps_outweigh_what_was_stored() -> None:
    ours = autoscaler(uncapped("115m/300Mi", "1/300Mi"), policies=[LOW])
    theirs = autoscaler(uncapped("230m/300Mi", "1000m/300Mi"), policies=[HIGH])
    told = row(state([ours], [USE]), state([theirs], [MORE_USE]), said=False)
    assert told.step is Step.CAPS, "beyond:B-35"


@pytest.mark.parametrize("kind", ["HPAConflict", "CappedToNode"])
def test_what_our_recommender_holds_back_by_itself_is_named(kind: str) -> None:
    condition = VpaCondition(kind, ConditionStatus.TRUE, message="words")
    ours = replace(side([USE]), vpas=[replace(autoscaler(), conditions=(condition,))])
    assert f"ours has ({kind})" in row(ours, side([USE])).detail, "beyond:B-35"
    over = replace(ours, vpas=[replace(autoscaler(), conditions=(replace(condition, status=ConditionStatus.FALSE),))])
    assert kind not in row(over, side([USE])).detail


ABSENT: list[tuple[str, list[Vpa], list[Vpa], str]] = [
    ("beyond:B-35", [], [autoscaler(THEIRS)], "no object of our own group; run `evenkeel shadow sync`"),
    ("beyond:B-35", [autoscaler()], [autoscaler(THEIRS)], "ours: nothing recommended yet"),
    ("beyond:B-35", [autoscaler(OURS)], [autoscaler()], "theirs: nothing recommended yet"),
    (
        "beyond:B-35",
        [autoscaler(policies=[ContainerPolicy("main", mode=ScalingMode.OFF)])],
        [autoscaler(THEIRS)],
        "ours: mode of the container's policy is Off",
    ),
    (
        "beyond:B-35",
        [autoscaler(recommended("main", "-/1Gi"), policies=[ContainerPolicy("*", controlled_resources=("memory",))])],
        [autoscaler(THEIRS)],
        "ours: not among controlledResources",
    ),
    (
        "beyond:B-35",
        [replace(autoscaler(), conditions=(VpaCondition("NoPodsMatched", ConditionStatus.TRUE, message="none"),))],
        [autoscaler(THEIRS)],
        "ours: NoPodsMatched: none",
    ),
]


@pytest.mark.parametrize(("spec_id", "ours", "theirs", "words"), ABSENT)
def test_why_one_side_recommends_nothing(spec_id: str, ours: list[Vpa], theirs: list[Vpa], words: str) -> None:
    told = row(state(ours), state(theirs), said=False)
    assert told.step is Step.PRESENCE, spec_id
    assert words in told.detail


def test_equal_targets_need_no_reason() -> None:
    told = row(state([autoscaler(OURS)], [USE]), state([autoscaler(OURS)], [MORE_USE]), said=False)
    assert (told.step, told.detail) == (None, ""), "beyond:B-35"

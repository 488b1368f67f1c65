"""Why two targets differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from autoscaling.pod import ConditionStatus
from autoscaling.resources import CPU, MEMORY
from autoscaling.vpa import ContainerPolicy, Recommendation, ScalingMode, Vpa, VpaCondition
from evenkeel.comparison.comparing import Row, compare
from evenkeel.comparison.reasons import OLD
from evenkeel.comparison.retracing import SideSettings, State, Step, retrace
from evenkeel.comparison.use import ObservedUse
from recommender.checkpoint import ContainerCheckpoint, HistogramCheckpoint
from recommender.settings import EstimatorSettings, Percentiles, RenderingSettings
from tests.builders import amounts, recommended
from tests.evenkeel.comparison.states import NOW, autoscaler, checkpoint, histogram, sides, state, uncapped

SECOND = timedelta(seconds=1)
OURS, THEIRS = recommended("main", "115m/300Mi"), recommended("main", "230m/600Mi")
USE, MORE_USE = checkpoint(100, 500), checkpoint(200, 500)
SPREAD = replace(USE, cpu=histogram(8, 9, 10), memory=histogram(20, 21, 22))
LOW, HIGH = ContainerPolicy("*", max_allowed=amounts("115m/-")), ContainerPolicy("*", max_allowed=amounts("230m/-"))
PLAIN = SideSettings()
MARGIN = SideSettings(EstimatorSettings(margin_fraction=0.2))
MINIMUM = SideSettings(EstimatorSettings(pod_minimum_cpu_millicores=250.0, pod_minimum_memory_mib=1000.0))
ROUNDED = SideSettings(rendering=RenderingSettings(50, 2**20, integer_cpu=True))
MEDIAN = SideSettings(EstimatorSettings(cpu=Percentiles(target=0.5), memory=Percentiles(target=0.5)))
MAXIMUM = SideSettings(rendering=RenderingSettings(maximum=amounts("50m/-")))


def side(
    use: ContainerCheckpoint,
    flags: SideSettings = PLAIN,
    policy: ContainerPolicy | None = None,
    *,
    stored: Sequence[ContainerCheckpoint] | None = None,
    known: SideSettings | None = None,
) -> State:
    """Return a side that recommends what the recommender makes of some use.

    Args:
        use: The use.
        flags: Of the recommender.
        policy: Of the container.
        stored: What is stored; by default that use.
        known: The flags that are told; by default the true ones.
    """
    vpa = autoscaler(policies=[policy] if policy else None)
    (trace,) = retrace(state([vpa], [use], flags), NOW).traces.values()
    before, after = (
        {resource: steps[step] for resource, steps in trace.targets.items()} for step in (Step.ROUNDING, Step.CAPS)
    )
    entry = replace(recommended("main", "-"), target=after, uncapped_target=before)
    vpa = replace(vpa, recommendation=Recommendation((entry,)))
    return state([vpa], [use] if stored is None else stored, known or flags)


def row(ours: State, theirs: State, resource: str = CPU) -> Row:
    rows = compare(sides(ours, theirs), ObservedUse({}), 0.9).rows
    return next(each for each in rows if each.resource == resource)


def earlier(by: timedelta) -> ContainerCheckpoint:
    return replace(MORE_USE, last_sample=NOW - by)


STORED: list[tuple[str, State, State, Step, str]] = [
    ("beyond:B-35", side(USE), side(MORE_USE), Step.SAMPLES, "both 2880 CPU samples"),
    ("beyond:B-35", side(USE), side(earlier(OLD)), Step.SAMPLES, "theirs 2880 CPU samples from 2026-01-01T00"),
    (
        "beyond:B-35 checkpoint age",
        side(USE),
        side(earlier(OLD + SECOND)),
        Step.CHECKPOINT_AGE,
        "theirs ends 0:10:01 before the other",
    ),
    (
        "beyond:B-35 checkpoint age",
        side(earlier(OLD + SECOND)),
        side(USE),
        Step.CHECKPOINT_AGE,
        "ours ends 0:10:01 before the other",
    ),
    ("beyond:B-35", side(SPREAD, MEDIAN), side(SPREAD), Step.PERCENTILE, "ours 0.5, theirs 0.9"),
    ("beyond:B-35", side(USE), side(USE, MARGIN), Step.MARGIN, "ours 0.15, theirs 0.2"),
    ("beyond:B-35", side(USE), side(USE, MINIMUM), Step.MINIMUM, "pod: ours of 25m, theirs of 250m"),
    (
        "beyond:B-35",
        side(USE),
        side(USE, ROUNDED),
        Step.ROUNDING,
        "ours to 1m, theirs to 50m (whole cores where annotated)",
    ),
    ("beyond:B-35", side(USE, PLAIN, LOW), side(USE), Step.CAPS, "ours maxAllowed 115m, theirs no bounds"),
    ("beyond:B-35", side(USE), side(USE, MAXIMUM), Step.CAPS, "ours no bounds, theirs maxAllowed 50m"),
]


@pytest.mark.parametrize(("spec_id", "ours", "theirs", "step", "words"), STORED)
def test_the_first_step_at_which_two_targets_part(
    spec_id: str, ours: State, theirs: State, step: Step, words: str
) -> None:
    told = row(ours, theirs)
    assert told.step is step, spec_id
    assert words in told.detail, spec_id


@pytest.mark.parametrize(
    ("spec_id", "flags", "step", "words"),
    [
        ("beyond:B-35", MEDIAN, Step.PERCENTILE, "ours 0.9, theirs 0.5"),
        ("beyond:B-35", MINIMUM, Step.MINIMUM, "pod: ours of 250Mi, theirs of 1000Mi"),
        ("beyond:B-35", ROUNDED, Step.ROUNDING, "ours to 1 bytes, theirs to 1048576 bytes"),
    ],
)
def test_memory_has_settings_of_its_own(spec_id: str, flags: SideSettings, step: Step, words: str) -> None:
    told = row(side(SPREAD), side(SPREAD, flags), MEMORY)
    assert (told.step, words in told.detail) == (step, True), (spec_id, told.detail)


NOT_STORED: list[tuple[str, State, State, Step, str]] = [
    ("beyond:B-35", side(USE, stored=[]), side(MORE_USE), Step.SAMPLES, "ours nothing stored, theirs 2880"),
    ("beyond:B-35", side(USE, stored=[]), side(MORE_USE, stored=[]), Step.SAMPLES, "both nothing stored"),
    ("beyond:B-35", side(USE, stored=[]), side(USE, MARGIN, stored=[]), Step.MARGIN, "ours 0.15, theirs 0.2"),
    ("beyond:B-35", side(USE, stored=[]), side(USE, MINIMUM, stored=[]), Step.MINIMUM, "theirs of 250m"),
    (
        "beyond:B-35",
        side(USE, stored=[]),
        side(USE, replace(ROUNDED, rendering=RenderingSettings(50)), stored=[]),
        Step.ROUNDING,
        "ours to 1m, theirs to 50m",
    ),
    # What is stored is alike, and is not what either side goes by any more.
    ("beyond:B-35", side(USE, stored=[USE]), side(MORE_USE, stored=[USE]), Step.SAMPLES, "both 2880"),
    (
        "beyond:B-35 checkpoint age",
        side(USE, stored=[USE]),
        side(MORE_USE, stored=[replace(MORE_USE, last_sample=NOW - 2 * OLD)]),
        Step.CHECKPOINT_AGE,
        "theirs ends 0:20:00 before the other",
    ),
    (
        "beyond:B-35",
        side(replace(USE, cpu=histogram(30, 31, 32)), MEDIAN, stored=[SPREAD]),
        side(replace(USE, cpu=histogram(30, 31, 32)), stored=[SPREAD]),
        Step.PERCENTILE,
        "ours 0.5, theirs 0.9",
    ),
    (
        "beyond:B-35",
        side(USE),
        side(USE, MARGIN, known=PLAIN),
        Step.UNKNOWN,
        "no use leads to theirs (132m) by the flags known of its recommender; give them with --their-flags",
    ),
    (
        "beyond:B-35",
        side(USE, MARGIN, known=PLAIN, stored=[]),
        side(USE),
        Step.UNKNOWN,
        "no use leads to ours (132m) by the flags known of its recommender; give them with --our-flags",
    ),
]


@pytest.mark.parametrize(("spec_id", "ours", "theirs", "step", "words"), NOT_STORED)
def test_where_checkpoints_do_not_tell_the_targets_do(
    spec_id: str, ours: State, theirs: State, step: Step, words: str
) -> None:
    told = row(ours, theirs)
    assert told.step is step, (spec_id, told.detail)
    assert words in told.detail, (spec_id, told.detail)


def test_histograms_without_samples_are_told_by_their_number() -> None:
    empty = replace(USE, first_sample=None, last_sample=None, sample_count=0, cpu=HistogramCheckpoint())
    told = row(side(empty), side(MORE_USE))
    assert told.step is Step.SAMPLES, "beyond:B-35"
    assert told.detail.startswith("ours 0 CPU samples, theirs 2880 CPU samples from")


def test_amounts_at_the_step_are_told() -> None:
    told = row(side(USE), side(USE, MARGIN))
    assert (str(told.ours_at_step), str(told.theirs_at_step)) == ("126m", "132m"), "beyond:B-35"


def test_a_difference_that_a_later_step_undoes_is_no_reason() -> None:
    """Both ways meet at the minimum, and only the caps tell the sides apart."""
    told = row(side(USE, MINIMUM, LOW), side(MORE_USE, MINIMUM, HIGH))
    assert told.step is Step.CAPS, "beyond:B-35"
    assert told.detail == "ours maxAllowed 115m, theirs maxAllowed 230m"


def test_equal_targets_before_caps_outweigh_what_was_stored() -> None:
    ours = autoscaler(uncapped("115m/300Mi", "1/300Mi"), policies=[LOW])
    theirs = autoscaler(uncapped("230m/300Mi", "1000m/300Mi"), policies=[HIGH])
    told = row(state([ours], [USE]), state([theirs], [MORE_USE]))
    assert told.step is Step.CAPS, "beyond:B-35"


def test_without_targets_before_caps_and_without_checkpoints_nothing_can_be_told() -> None:
    bare = [replace(entry, uncapped_target=None) for entry in (OURS, THEIRS)]
    told = row(state([autoscaler(bare[0])]), state([autoscaler(bare[1])]))
    assert told.step is Step.UNKNOWN, "beyond:B-35"
    assert "ours (115m)" in told.detail
    assert "theirs (230m)" in told.detail


def test_checkpoints_tell_even_if_targets_before_caps_are_not_told() -> None:
    capped, plain = (_without_uncapped(each) for each in (side(USE, PLAIN, LOW), side(USE)))
    assert row(capped, plain).step is Step.CAPS, "beyond:B-35"
    assert row(plain, _without_uncapped(side(MORE_USE))).step is Step.SAMPLES


def _without_uncapped(given: State) -> State:
    """Return a side whose recommendations do not tell targets before caps."""
    (vpa,) = given.vpas
    assert vpa.recommendation is not None
    entries = tuple(replace(entry, uncapped_target=None) for entry in vpa.recommendation.containers)
    return replace(given, vpas=[replace(vpa, recommendation=Recommendation(entries))])


@pytest.mark.parametrize("kind", ["HPAConflict", "CappedToNode"])
def test_what_our_recommender_holds_back_by_itself_is_named(kind: str) -> None:
    held = autoscaler(recommended("main", "77m/300Mi"))
    condition = VpaCondition(kind, ConditionStatus.TRUE, message="words")
    told = row(state([replace(held, conditions=(condition,))], [USE]), side(USE))
    assert told.detail.endswith(f"ours has ({kind})"), "beyond:B-35"
    over = replace(condition, status=ConditionStatus.FALSE)
    assert kind not in row(state([replace(held, conditions=(over,))], [USE]), side(USE)).detail


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
    told = row(state(ours), state(theirs))
    assert told.step is Step.PRESENCE, spec_id
    assert words in told.detail


def test_equal_targets_need_no_reason() -> None:
    told = row(state([autoscaler(OURS)], [USE]), state([autoscaler(OURS)], [MORE_USE]))
    assert (told.step, told.detail) == (None, ""), "beyond:B-35"

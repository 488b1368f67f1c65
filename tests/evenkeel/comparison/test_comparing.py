"""Rows of a comparison."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaling.resources import CPU, MEMORY
from autoscaling.vpa import ContainerRecommendation, Vpa
from evenkeel.comparison.comparing import Comparison, Verdict, compare, pairs
from evenkeel.comparison.distance import Nearer
from evenkeel.comparison.use import ObservedUse, UseSample
from tests.builders import recommended
from tests.evenkeel.comparison.states import autoscaler, checkpoint, sides, state

MIRRORED = {
    Verdict.SAME: Verdict.SAME,
    Verdict.HIGHER: Verdict.LOWER,
    Verdict.LOWER: Verdict.HIGHER,
    Verdict.ONLY_OURS: Verdict.ONLY_THEIRS,
    Verdict.ONLY_THEIRS: Verdict.ONLY_OURS,
}


def compared(ours: list[Vpa], theirs: list[Vpa], use: ObservedUse | None = None) -> Comparison:
    return compare(sides(state(ours), state(theirs)), use or ObservedUse({}), 0.9)


@pytest.mark.parametrize(
    ("spec_id", "ours", "theirs", "cpu", "memory"),
    [
        ("beyond:B-35", "100m/1Gi", "0.1/1024Mi", Verdict.SAME, Verdict.SAME),
        ("beyond:B-35", "101m/1Gi", "100m/2Gi", Verdict.HIGHER, Verdict.LOWER),
        ("beyond:B-35", "100m/-", "-/1Gi", Verdict.ONLY_OURS, Verdict.ONLY_THEIRS),
    ],
)
def test_verdicts(spec_id: str, ours: str, theirs: str, cpu: Verdict, memory: Verdict) -> None:
    rows = compared([autoscaler(recommended("main", ours))], [autoscaler(recommended("main", theirs))]).rows
    assert [(row.resource, row.verdict) for row in rows] == [(CPU, cpu), (MEMORY, memory)], spec_id


@pytest.mark.parametrize(
    ("spec_id", "ours", "threshold", "is_beyond"),
    [
        ("beyond:B-35", "100m/-", 0.0, False),
        ("beyond:B-35", "90m/-", 10.0, False),
        ("beyond:B-35", "89m/-", 10.0, True),
        ("beyond:B-35", "-", 100.0, True),
    ],
)
def test_what_is_beyond_a_threshold(spec_id: str, ours: str, threshold: float, is_beyond: bool) -> None:
    entries = [recommended("main", ours)] if ours != "-" else []
    (row,) = compared([autoscaler(*entries)], [autoscaler(recommended("main", "100m/-"))]).rows
    assert row.is_beyond(threshold) is is_beyond, spec_id


@pytest.mark.parametrize(
    ("spec_id", "ours", "theirs", "expected"),
    [
        ("beyond:B-35", [], [autoscaler()], [("web", None)]),
        ("beyond:B-35", [autoscaler()], [autoscaler()], [("web", "web")]),
        ("beyond:B-35", [autoscaler()], [], []),
        ("beyond:B-35", [autoscaler(name="other", target="web")], [autoscaler()], [("web", "other")]),
        ("beyond:B-35", [autoscaler(name="a", target="web"), autoscaler()], [autoscaler()], [("web", "web")]),
        ("beyond:B-35", [autoscaler(target="db")], [autoscaler()], [("web", None)]),
        ("beyond:B-35", [replace(autoscaler(), namespace="x")], [autoscaler()], [("web", None)]),
        ("beyond:B-35", [autoscaler()], [replace(autoscaler(), target_ref=None)], [("web", None)]),
        ("beyond:B-35", [replace(autoscaler(), target_ref=None)], [autoscaler()], [("web", None)]),
    ],
)
def test_ours_is_found_by_its_workload_and_by_its_name_among_several(
    spec_id: str, ours: list[Vpa], theirs: list[Vpa], expected: list[tuple[str, str | None]]
) -> None:
    found = [(pair.theirs.name, pair.ours.name if pair.ours else None) for pair in pairs(ours, theirs)]
    assert found == expected, spec_id


def test_what_cannot_be_compared_is_noted() -> None:
    broken = replace(checkpoint(100, 100), cpu=None)
    theirs = state([autoscaler(), autoscaler(name="new")], [broken])
    notes = compare(sides(state([autoscaler()]), theirs), ObservedUse({}), 0.9).notes
    assert notes == (
        "VerticalPodAutoscalerCheckpoint default/web-main: histogram is absent; delete the checkpoint to start anew",
        "VerticalPodAutoscaler default/new: nothing is recommended yet",
        "VerticalPodAutoscaler default/new: has no twin in our own group; run `evenkeel shadow sync`",
        "VerticalPodAutoscaler default/web: neither side recommends anything yet",
    ), "beyond:B-35"


def test_rows_are_held_against_what_the_pods_of_upstreams_object_use() -> None:
    use = ObservedUse({("default", "web-0"): (("default", "web"),)})
    use.note(("default", "web-0"), "main", CPU, UseSample(0, 120))
    ours = [autoscaler(recommended("main", "100m/1Gi"), name="ours", target="web")]
    cpu, memory = compared(ours, [autoscaler(recommended("main", "200m/1Gi"))], use).rows
    assert (str(cpu.used), cpu.nearer, cpu.distance_percent) == ("120m", Nearer.OURS, 50.0), "beyond:B-35"
    assert (memory.used, memory.nearer) == (None, None)


_texts = st.sampled_from(["100m/1Gi", "200m/1Gi", "100m/-", "-/2Gi"])
_entries = st.dictionaries(st.sampled_from("ab"), _texts).map(
    lambda given: [recommended(name, text) for name, text in given.items()]
)


@settings(max_examples=15)
@given(_entries, _entries)
def test_swapping_the_sides_swaps_their_names_and_nothing_else(
    ours: list[ContainerRecommendation], theirs: list[ContainerRecommendation]
) -> None:
    """Spec: beyond:B-35."""
    there = compared([autoscaler(*ours)], [autoscaler(*theirs)]).rows
    back = compared([autoscaler(*theirs)], [autoscaler(*ours)]).rows
    assert len(there) == len(back)
    for one, other in zip(there, back, strict=True):
        assert (one.key, one.resource, one.distance_percent) == (other.key, other.resource, other.distance_percent)
        assert (one.ours, one.theirs) == (other.theirs, other.ours)
        assert one.verdict is MIRRORED[other.verdict]

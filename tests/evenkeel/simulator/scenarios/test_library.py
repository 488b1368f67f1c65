"""Every built-in scenario comes to its expected end state."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest

from autoscaling.behaviour import Profile
from autoscaling.quantity import Quantity
from evenkeel.simulator.scenarios import library
from evenkeel.simulator.scenarios.happenings import Complained, Recommended, Told
from evenkeel.simulator.scenarios.reading import ScenarioError
from evenkeel.simulator.scenarios.running import Result, Run
from evenkeel.simulator.scenarios.stage import StageSettings
from tests.evenkeel.simulator.scenarios.spiral import Spiral
from tests.forking import start_forked

pytestmark = pytest.mark.lengthy

_AT_ONCE = 2

Case = tuple[str, Profile]

CASES: list[Case] = [(name, profile) for name in library.names() if not library.load(name).peer for profile in Profile]
"""Upstream's own programs need Go, see e2e."""


def play(case: Case) -> Result:
    name, profile = case

    async def run() -> Result:
        with tempfile.TemporaryDirectory() as folder:
            settings = StageSettings(profile, Path(folder), starter=start_forked)
            async with Run(library.load(name), settings, folder=library.FOLDER) as playing:
                return await playing.play()

    return asyncio.run(run())


@pytest.fixture(scope="module")
def results() -> Iterator[dict[Case, Future[Result]]]:
    """All runs, two at a time, begun with the first test that asks for one."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        yield {case: pool.submit(play, case) for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1].value}")
def test_the_expected_end_state_is_reached(case: Case, results: dict[Case, Future[Result]]) -> None:
    result = results[case].result()
    assert not {outcome.text: outcome.problems for outcome in result.outcomes if not outcome.holds}
    errors = [one.text for one in result.happenings if isinstance(one, Complained) and one.level != "warning"]
    assert not errors


def test_the_spiral_of_two_autoscalers_keeps_to_its_law(results: dict[Case, Future[Result]]) -> None:
    """Spec: case:43. Step by step pods are added and requests shrink to what follows from their number."""
    happenings = results["hpa-conflict", Profile.UPSTREAM].result().happenings
    law = Spiral(load_milli=1200, share=60)
    told = [one.message for one in happenings if isinstance(one, Told) and one.reason == "SuccessfulRescale"]
    sizes = [2, *(int(message.split()[3]) for message in told)]
    assert [int(message.split()[1]) for message in told] == sizes[:-1]
    for before, after in pairwise(sizes):
        assert before < after <= law.calls_for(before, law.target_milli(before))
    wanted = [Quantity.parse(one.target.partition("/")[0]) for one in happenings if isinstance(one, Recommended)]
    millis = list(dict.fromkeys(amount.milli_value() for amount in wanted))
    assert millis == sorted(millis, reverse=True), "requests only ever shrink"
    assert {law.target_milli(pods) for pods in (sizes[0], sizes[-1])} <= set(millis)


def test_the_scenarios_that_are_promised_are_there() -> None:
    assert set(library.names()) >= {
        "burn", "deferred-then-evicted", "in-progress-then-evicted", "infeasible", "pdb-blocks", "single-replica",
        "oom", "memory-shrink", "hpa-conflict", "quota", "limitrange", "node-pressure", "rollout", "startup-boost",
        "upstream-side-by-side", "sidecar", "resize-blocked", "storm", "target-conflict", "updater-restart",
        "larger-than-any-node",
    }  # fmt: skip


@pytest.mark.parametrize("name", library.names())
def test_every_scenario_says_what_it_is_about(name: str) -> None:
    scenario = library.load(name)
    assert scenario.about
    assert len(scenario.title) <= 110


def test_the_documentation_has_what_each_scenario_shows() -> None:
    page = (Path(__file__).parents[4] / "docs" / "scenarios.md").read_text()
    assert re.findall(r"^\| `([a-z-]+)` \| .+ \| .+ \|$", page.split("\n## ")[1], re.MULTILINE) == list(library.names())


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(ScenarioError, match="did you mean rollout"):
        library.load("roll-out")
    with pytest.raises(ScenarioError, match="--list` names those"):
        library.load("qqq")

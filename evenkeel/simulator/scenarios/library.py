"""The scenarios that are built in."""

from __future__ import annotations

import difflib
from pathlib import Path

from evenkeel.simulator.scenarios.document import Scenario
from evenkeel.simulator.scenarios.reading import ScenarioError, read_scenario

FOLDER = Path(__file__).parent / "builtin"


def names() -> tuple[str, ...]:
    """Return the names of the scenarios, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def load(name: str) -> Scenario:
    """Return a scenario by its name.

    Raises:
        ScenarioError: There is none of that name.
    """
    if name not in names():
        near = difflib.get_close_matches(name, names(), n=1)
        hint = f"did you mean {near[0]}?" if near else "`evenkeel demo --list` names those that are."
        raise ScenarioError(f"scenario {name!r} is not built in; {hint} A file of your own goes with --file.")
    return read_scenario(FOLDER / f"{name}.yaml")

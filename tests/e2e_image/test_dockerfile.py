"""The Dockerfile makes what ``make image`` makes: the same trees in the same order, the same settings."""

from __future__ import annotations

import shlex
from pathlib import Path

from e2e.image.oci import settings
from e2e.image.trees import LAYERS

_ROOT = Path(__file__).parents[2]


def _instructions(stage: int) -> list[tuple[str, str]]:
    """Name and rest of each instruction of a stage, its FROM first."""
    lines = [line for line in (_ROOT / "Dockerfile").read_text().splitlines() if line and not line.startswith("#")]
    begins = [number for number, line in enumerate(lines) if line.startswith("FROM ")] + [len(lines)]
    split = (line.split(maxsplit=1) for line in lines[begins[stage] : begins[stage + 1]])
    return [(name, rest) for name, rest in split]


def _named(stage: int, wanted: str) -> list[str]:
    return [rest for name, rest in _instructions(stage) if name == wanted]


def _variables(stage: int, instruction: str) -> dict[str, str]:
    pairs = (shlex.split(rest)[0].split("=", 1) for rest in _named(stage, instruction))
    return dict(pairs)


def test_the_image_is_the_three_trees_alone() -> None:
    """Spec: product:9."""
    assert _named(1, "FROM") == ["scratch"]
    assert _named(1, "COPY") == [f"--from=build /trees/{layer}/ /" for layer in LAYERS]
    assert {name for name, _ in _instructions(1)} == {"FROM", "COPY", "ENV", "LABEL", "USER", "WORKDIR"}


def test_its_settings_are_those_of_make_image() -> None:
    stated = settings()
    assert _variables(1, "ENV") == stated.environment
    assert _variables(1, "LABEL") == stated.labels
    assert _named(1, "USER") == [stated.user]
    assert _named(1, "WORKDIR") == ["/"]


def test_the_trees_are_made_by_the_same_program_from_files_that_are_there() -> None:
    assert _named(0, "RUN")[-1] == "python3 -B -m e2e.image.trees /trees"
    for copied in _named(0, "COPY"):
        *sources, _ = copied.split()
        assert all((_ROOT / source).exists() for source in sources), copied

"""Every target by its name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.fuzz.configuration import CONFIGURATION
from tests.fuzz.decoders import DECODERS
from tests.fuzz.neighbours import NEIGHBOURS
from tests.fuzz.target import Target
from tests.fuzz.webhook import WEBHOOK

TARGETS: Final[dict[str, Target]] = {
    target.name: target for target in (*WEBHOOK, *DECODERS, *NEIGHBOURS, *CONFIGURATION)
}
CASES: Final = Path(__file__).parents[1] / "data" / "fuzz"
"""Input that once broke a law, in a folder for each target; ``test_targets`` holds the targets to it for ever."""


def cases_of(name: str) -> list[Path]:
    """Return the kept cases of a target."""
    return sorted((CASES / name).glob("*")) if (CASES / name).is_dir() else []

"""What a check has found, how bad it is, and the way out (beyond:B-39)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Self

from evenkeel.inspection.documents import Block, Table


class Level(Enum):
    """How bad a finding is, with the exit status of a command whose worst one it is."""

    _value_: str
    exit_code: int

    def __new__(cls, value: str, exit_code: int) -> Self:
        """Make a member whose value is its name in JSON."""
        member = object.__new__(cls)
        member._value_ = value
        member.exit_code = exit_code
        return member

    OK = ("ok", 0)
    NOTE = ("note", 0)
    """Nothing is wrong, or it could not be looked at."""
    WARNING = ("warning", 3)
    """It works, but not as somebody may expect."""
    PROBLEM = ("problem", 4)
    """Something does not work."""


class Area(Enum):
    """What checks are about, in the order in which they are shown."""

    SERVER = "server"
    NODES = "nodes"
    METRICS = "metrics"
    DEFINITIONS = "definitions"
    PROCESSES = "processes"
    RIGHTS = "rights"
    WEBHOOK = "webhook"
    CONFLICTS = "conflicts"
    OBJECTS = "objects"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding.

    Args:
        area: What it is about.
        level: How bad it is.
        message: What was found, naming the object.
        remedy: The way out; empty where none is needed.
    """

    area: Area
    level: Level
    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All findings, and the worst of their levels."""

    verdict: Level
    findings: tuple[Finding, ...]


def diagnosis(findings: Iterable[Finding]) -> Diagnosis:
    """Return findings in the order of areas, within one of them the worst first."""
    areas, levels = list(Area), list(Level)
    ordered = sorted(findings, key=lambda each: (areas.index(each.area), -levels.index(each.level), each.message))
    worst = max((each.level for each in ordered), key=levels.index, default=Level.OK)
    return Diagnosis(worst, tuple(ordered))


def diagnosis_blocks(found: Diagnosis) -> Iterator[Block]:
    """Yield what a terminal shows."""
    rows = tuple((each.level.value, each.area.value, each.message) for each in found.findings)
    yield Table("", ("LEVEL", "AREA", "FINDING"), rows)
    remedies = [each for each in found.findings if each.remedy and each.level is not Level.OK]
    if remedies:
        yield "What to do\n" + "\n".join(f"  {each.message}\n    {each.remedy}" for each in remedies)
    yield _summary(found.findings)


def _summary(findings: Sequence[Finding]) -> str:
    """Return one line that counts."""
    counts = [(level, sum(each.level is level for each in findings)) for level in reversed(Level)]
    return ", ".join(f"{count} {_counted(level, count)}" for level, count in counts)


def _counted(level: Level, count: int) -> str:
    """Return the word for so many findings of a level."""
    return level.value if count == 1 or level is Level.OK else f"{level.value}s"

"""Options of ``evenkeel replay``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from evenkeel.replay.autoscalers import WorkloadKind

STANDARD_OUTPUT: Final = Path("-")

StrategiesOption = Annotated[
    list[str] | None, typer.Option("--strategy", "-s", metavar="NAME", help="What is played; all by default.")
]
AgainstOption = Annotated[
    str,
    typer.Option("--against", metavar="NAME", help="Strategy that the others are held against, series by series."),
]
CompareOption = Annotated[
    Path | None, typer.Option("--compare", metavar="FILE", help="Figures of another run to be compared with.")
]
HtmlOption = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Write a report with plots there, one page that needs nothing else."),
]
PicturesOption = Annotated[
    int,
    typer.Option(
        "--pictures", min=0, max=24, metavar="N", help="Series that the report draws: where strategies differ most."
    ),
]
CsvOption = Annotated[
    Path | None,
    typer.Option("--csv", metavar="FILE", help="Write a row for each figure of each series and strategy there."),
]
PricesOption = Annotated[
    Path | None,
    typer.Option(
        "--prices",
        metavar="FILE",
        help="YAML or JSON with currency, coreHour and gibHour; by default a core costs as much as 7 GiB.",
    ),
]
SettingsOption = Annotated[
    Path | None,
    typer.Option("--settings", metavar="FILE", help="YAML or JSON with variants of vpa-default to be played as well."),
]
EmitOption = Annotated[
    str,
    typer.Option("--emit", metavar="NAME", help="Variant or strategy that VerticalPodAutoscalers are written for."),
]
EmitToOption = Annotated[
    Path | None,
    typer.Option("--emit-to", metavar="FOLDER|-", help="Where they are written; - prints them and nothing else."),
]
EmitKindOption = Annotated[
    WorkloadKind, typer.Option("--emit-kind", help="What controls the workloads; recordings do not tell.")
]


@dataclass(frozen=True, slots=True)
class Emission:
    """Which objects are written.

    Args:
        name: Variant or strategy; empty for no objects.
        to: Folder, or ``STANDARD_OUTPUT``.
        kind: What controls the workloads.
    """

    name: str = ""
    to: Path | None = None
    kind: WorkloadKind = WorkloadKind.DEPLOYMENT

    @property
    def takes_output(self) -> bool:
        """Whether objects are all that is printed."""
        return bool(self.name) and self.to == STANDARD_OUTPUT


@dataclass(frozen=True, slots=True)
class Written:
    """Which files are written beside what is printed.

    Args:
        html: Report as a page; None for none.
        pictures: Series that it draws.
        csv: Figures of each series; None for none.
    """

    html: Path | None = None
    pictures: int = 0
    csv: Path | None = None

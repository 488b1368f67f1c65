"""What ``evenkeel replay`` writes beside what it prints: the report, figures as CSV, objects for chosen settings."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import typer

from autoscaling.errors import ConfigurationError
from evenkeel.cli.printing import warn
from evenkeel.cli.replay_options import Emission, Written
from evenkeel.cli.wrong_usage import WrongUsageError
from evenkeel.replay.autoscalers import Setting, Workload, file_name, needs, setting_of, text_of, workloads
from evenkeel.replay.beginnings import Beginnings
from evenkeel.replay.contest import IN_HINDSIGHT
from evenkeel.replay.outcome import TIDY_COLUMNS, Outcome, tidy_rows
from evenkeel.replay.page import Origin, Portrait, replay_page
from evenkeel.replay.pictures import Run, Subject, runs, subjects
from evenkeel.replay.shell.contest import course_of, installed_names
from evenkeel.replay.shell.playing import Results
from evenkeel.replay.variants import Variant


@dataclass(frozen=True, slots=True)
class Rerun:
    """What can be played once more, for pictures.

    Args:
        results: The series, by what they came to.
        beginnings: What strategies by histograms began with.
    """

    results: Results
    beginnings: Beginnings


def write_files(
    wanted: Written, outcome: Outcome, played: Rerun, variants: Mapping[str, Variant], command: str
) -> None:
    """Write the report and the figures, as far as they are asked for.

    Args:
        wanted: Which files.
        outcome: What the strategies came to.
        played: What can be played once more.
        variants: What was played beside what is installed.
        command: What makes the files again.

    Raises:
        ConfigurationError: A file cannot be written.
    """
    if wanted.csv is not None:
        write_csv(wanted.csv, outcome)
    if wanted.html is not None:
        portraits = _portraits(outcome, subjects(outcome, wanted.pictures), played, variants)
        origin = Origin(command, version("evenkeel"), played.results.rows, tuple(variants.values()))
        write_text("--html", wanted.html, replay_page(outcome, portraits, origin))


def _portraits(
    outcome: Outcome, chosen: Sequence[Subject], again: Rerun, variants: Mapping[str, Variant]
) -> Sequence[Portrait]:
    """Play again the series that are drawn, with the strategies that are."""
    found: dict[tuple[int, str], Run] = {}
    traces = again.results.traces(each.number for each in chosen)
    for name in outcome.scores:
        numbers = [each.number for each in chosen if name in each.strategies]
        if numbers:
            played = course_of(variants.get(name, name), [traces[number] for number in numbers], again.beginnings)
            found |= {(number, name): each for number, each in zip(numbers, runs(*played), strict=True)}
    return [Portrait(each, {name: found[each.number, name] for name in each.strategies}) for each in chosen]


def write_csv(file: Path, outcome: Outcome) -> None:
    """Write the figures of each series.

    Raises:
        ConfigurationError: The file cannot be written.
    """
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(TIDY_COLUMNS)
    rows.writerows((*cells, repr(value)) for *cells, value in tidy_rows(outcome))
    write_text("--csv", file, text.getvalue())


def write_text(option: str, file: Path, text: str) -> None:
    """Write a file.

    Raises:
        ConfigurationError: It cannot be written.
    """
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"{option} {file}: cannot be written: {error.strerror}; name another file in a folder that exists"
        ) from error


def chosen_setting(emission: Emission, variants: Mapping[str, Variant]) -> Setting | None:
    """Return what objects are written for; None where none are.

    Args:
        emission: Which objects are asked for.
        variants: By their names.

    Raises:
        WrongUsageError: There is no such setting, no place for the objects, or only a place.
    """
    if not emission.name:
        if emission.to is not None:
            raise WrongUsageError(f"--emit-to {emission.to}: of which setting? Name it with --emit")
        return None
    if emission.to is None:
        raise WrongUsageError(f"--emit {emission.name}: where to? Name a folder with --emit-to, or - to print objects")
    if emission.name in variants:
        return setting_of(variants[emission.name])
    strategies = [name for name in installed_names() if name not in IN_HINDSIGHT]
    if emission.name in strategies:
        return Setting(emission.name, emission.name)
    raise WrongUsageError(
        f"--emit {emission.name}: neither a variant of --settings nor a strategy that objects can ask for; choose from "
        f"{', '.join((*variants, *strategies))}"
    )


def emit_objects(setting: Setting, emission: Emission, series: Iterable[str]) -> bool:
    """Write a VerticalPodAutoscaler for each workload that was replayed, and say what else is needed.

    Args:
        setting: What they ask for.
        emission: Where they go.
        series: Names of the series.

    Returns:
        Whether every series has its object.

    Raises:
        ConfigurationError: They cannot be written.
    """
    found, problems = workloads(series)
    texts = {each: text_of(each, setting, emission.kind) for each in found}
    if emission.to is None or emission.takes_output:
        typer.echo("---\n".join(texts.values()), nl=False)
    else:
        _write_objects(emission.to, texts)
    warn((*problems, *_notes(found, setting, emission)))
    return not problems


def _write_objects(folder: Path, texts: Mapping[Workload, str]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for workload, text in texts.items():
            (folder / file_name(workload)).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"--emit-to {folder}: cannot be written: {error}; name another folder") from error


def _notes(found: Sequence[Workload], setting: Setting, emission: Emission) -> Sequence[str]:
    """Return what whoever applies the objects has to know."""
    if not found:
        return ()
    count = f"{len(found)} objects" if len(found) > 1 else "1 object"
    place = "printed" if emission.takes_output else f"in {emission.to}"
    return (
        f"{count} {place} for workloads of kind {emission.kind}; name another one with --emit-kind",
        *needs(setting),
    )

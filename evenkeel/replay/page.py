"""A replay as one page of HTML that needs nothing beside it (spec: beyond B-36; quality Q-22)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar
from xml.etree.ElementTree import Element, SubElement

from evenkeel.inspection.documents import Table
from evenkeel.pages.document import Page, add_table
from evenkeel.replay.autoscalers import policy_fields
from evenkeel.replay.course import CPU_PLACE
from evenkeel.replay.figures import ALL
from evenkeel.replay.frontier import CPU_AXES, MEMORY_AXES, frontier_drawing, places
from evenkeel.replay.intervals import SEED
from evenkeel.replay.money import HOURS_PER_MONTH, money_table
from evenkeel.replay.outcome import Outcome
from evenkeel.replay.pictures import Run, Subject, texts
from evenkeel.replay.report import LIMITS, difference_table, figure_tables
from evenkeel.replay.run_drawing import run_drawing
from evenkeel.replay.variants import Variant

T = TypeVar("T")

MOST_SOURCES: Final = 20
"""Sources with tables of their own, those with the most series; CSV and JSON have all."""

_TITLE: Final = "How recommendations would have done"
_STYLE: Final = """
:root { --used: #4b6a88; --request: #b3471b; --limit: #6b5b00; --best: #0b6e4f; --kill: #b00020; --faint: #8882; }
@media (prefers-color-scheme: dark) {
  :root { --used: #9fc0de; --request: #f09a6a; --limit: #d9c65a; --best: #58c99b; --kill: #ff7b8a; }
}
body { margin: 0 auto; padding: 1rem; max-width: 76rem; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.2; }
h2 { margin-top: 2.5rem; }
p, dl, ul { max-width: 46rem; }
.limits { border-left: 4px solid var(--limit); padding-left: .8rem; }
.wide { overflow-x: auto; margin: 1.2rem 0; }
.wide table { min-width: 100%; }
.wide th, .wide td { overflow-wrap: normal; white-space: nowrap; }
.wide td.words:last-child { white-space: normal; min-width: 14rem; }
.wide thead th { vertical-align: bottom; white-space: normal; text-align: right; }
.wide thead th.words, .wide thead th:first-child { text-align: left; }
.wide tbody th { position: sticky; left: 0; background: Canvas; }
caption { text-align: left; font-weight: 600; padding-bottom: .3rem; max-width: min(74rem, 100vw - 2rem); }
figure { margin: 0; }
figcaption { font-size: .85rem; }
.pair, .panels { display: grid; gap: 1.2rem; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); }
figure svg { width: 100%; height: auto; }
svg text { font-size: 11.5px; fill: CanvasText; }
svg text.mark { font-size: 10.5px; }
svg .lead { stroke: var(--line); stroke-width: 1; }
svg .best { stroke: var(--best); }
svg .unbeaten { fill: var(--best); }
svg .beaten { fill: Canvas; stroke: CanvasText; stroke-width: 1.5; }
svg .hindsight { fill: Canvas; stroke: var(--request); stroke-width: 1.5; }
svg polyline.used { stroke: var(--used); stroke-width: 1; }
svg polyline.request { stroke: var(--request); }
svg polyline.limit { stroke: var(--limit); stroke-width: 1.5; stroke-dasharray: 5 3; }
svg .resizes { stroke: CanvasText; }
svg .kills { fill: var(--kill); }
ul.key { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .4rem 1.4rem; }
ul.key li { display: flex; align-items: center; gap: .5rem; }
code { font-size: .9rem; }
"""
_FRONTIER_KEY: Final = (
    "A full circle is a strategy that no other one beats in both, and the line joins these; a hollow circle is beaten; "
    "a diamond is what no recommender does: to know what comes, or never to look again. Nearer to the lower left is "
    "better."
)
_FIGURES_KEY: Final = (
    "Slack is what is requested and not used, overrun what is used above the request, both in shares of the use; time "
    "over is the share of the time with use above the request. OOM kills and resizes are those of a container and day, "
    "with a memory limit of 1.0 and of 1.5 times the request; pooled are all kills over all days. J is slack plus "
    "overrun times 3, 10 or 30."
)
_SUBJECTS_KEY: Final = (
    "These are the series in which strategies differ most, of each source in turn. The lines begin behind the warm-up; "
    "the memory limit is 1.5 times the request, or stays where limits do not move."
)
_MONEY_KEY: Final = (
    f"What the series together would cost in a month of {HOURS_PER_MONTH:g} hours like the time that was scored. Waste "
    "is the price of what is requested and not used; use above a request costs nothing. J goes by the relative price "
    "of a core and 7 GiB, whatever the price list says."
)
_SPELLED: Final = {"Cpu": "CPU", "Ooms": "OOM kills", "/": " / "}


@dataclass(frozen=True, slots=True)
class Origin:
    """How a report came about.

    Args:
        command: What makes it again.
        version: Of the program.
        rows: Rows that were played.
        variants: What was played beside what is installed.
    """

    command: str
    version: str
    rows: int
    variants: Sequence[Variant] = ()


@dataclass(frozen=True, slots=True)
class Portrait:
    """A series that is drawn, with what each of its strategies did."""

    subject: Subject
    runs: Mapping[str, Run]


def replay_page(outcome: Outcome, portraits: Sequence[Portrait], origin: Origin) -> str:
    """Return a report.

    Args:
        outcome: What the strategies came to.
        portraits: Series that are drawn.
        origin: How it came about.
    """
    page = Page.begun(_TITLE, _STYLE)
    body = page.body
    size = f"{len(outcome.names)} series with {origin.rows} rows, {outcome.days:.0f} container-days behind the warm-up"
    _add(body, "p", f"{_counted(len(outcome.scores))} on {size}.")
    _add(body, "p", LIMITS, "limits")
    _add_frontiers(body, outcome)
    if portraits:
        _add_portraits(body, outcome, portraits)
    _add_scores(body, outcome)
    _add(body, "h2", "Money")
    _add(body, "p", _MONEY_KEY)
    _add_tables(body, [money_table({k: _main(v, outcome) for k, v in outcome.bills().items()}, outcome.prices)])
    _add_origin(body, origin)
    return page.text()


def _counted(strategies: int) -> str:
    return "1 strategy" if strategies == 1 else f"{strategies} strategies"


def _add(parent: Element, tag: str, text: str, css: str = "") -> Element:
    element = SubElement(parent, tag, {"class": css} if css else {})
    element.text = text
    return element


def _add_frontiers(body: Element, outcome: Outcome) -> None:
    """Add what is unused against what is lacking, of both resources."""
    _add(body, "h2", "Slack against shortage")
    _add(body, "p", _FRONTIER_KEY)
    pair = SubElement(body, "div", {"class": "pair"})
    for axes in (CPU_AXES, MEMORY_AXES):
        found = places(outcome.figures, axes)
        figure = SubElement(pair, "figure")
        _add(figure, "h3", axes.title)
        if not found:
            _add(figure, "p", f"No series has enough {axes.title} to be scored.")
            continue
        _add(figure, "figcaption", f"↑ {axes.shortage_label}")
        figure.append(frontier_drawing(found, axes))
        unbeaten = [each.name for each in found if not (each.is_beaten or each.is_hindsight)]
        if unbeaten:
            _add(figure, "figcaption", f"Not beaten in both at once: {', '.join(unbeaten)}.")


def _add_portraits(body: Element, outcome: Outcome, portraits: Iterable[Portrait]) -> None:
    """Add the series that are drawn."""
    _add(body, "h2", "Series")
    _add(body, "p", _SUBJECTS_KEY)
    _add_key(body)
    _add(body, "p", LIMITS, "limits")
    for portrait in portraits:
        subject = portrait.subject
        _add(body, "h3", f"{subject.name} ({subject.source})")
        panels = SubElement(body, "div", {"class": "panels"})
        said = {strategy: texts(outcome, subject, strategy) for strategy in portrait.runs}
        for place in sorted({place for each in said.values() for place in each}):
            for strategy, run in portrait.runs.items():
                figure = SubElement(panels, "figure")
                resource = "CPU" if place == CPU_PLACE else "memory"
                text = f"{strategy}, {resource}: {said[strategy][place]}"
                figure.append(run_drawing(f"{subject.name}, {text}", run, place))
                _add(figure, "figcaption", text)


def _add_key(body: Element) -> None:
    """Say which line and which mark means what."""
    key = SubElement(body, "ul", {"class": "key"})
    for name, shape, meaning in (
        ("used", "0,8 6,3 12,9 18,5 24,9 40,6", "use, thin"),
        ("request", "0,6 40,6", "request, thick"),
        ("limit", "0,6 40,6", "memory limit, dashed"),
        ("kills", "M20 1l4 7h-8z", "OOM kill"),
        ("resizes", "M20 2v8", "resize, below the axis"),
    ):
        item = SubElement(key, "li")
        sample = SubElement(item, "svg", {"width": "40", "height": "12", "aria-hidden": "true"})
        if shape.startswith("M"):
            SubElement(sample, "path", {"class": name, "d": shape})
        else:
            SubElement(sample, "polyline", {"class": name, "points": shape})
        _add(item, "span", meaning)


def _add_scores(body: Element, outcome: Outcome) -> None:
    """Add the figures of all series and of each source, and what strategies are apart."""
    _add(body, "h2", "Scores")
    _add(body, "p", _FIGURES_KEY)
    _add(body, "p", LIMITS, "limits")
    left_out = len(set(outcome.sources)) - MOST_SOURCES
    if left_out > 0:
        _add(
            body, "p", f"Of {left_out} sources with fewer series there are figures in the output of --csv and -o json."
        )
    _add_tables(body, figure_tables({name: _main(each, outcome) for name, each in outcome.figures.items()}))
    if outcome.apart:
        _add_tables(body, [difference_table(outcome.against, outcome.apart)])


def _main(by_source: Mapping[str, T], outcome: Outcome) -> Mapping[str, T]:
    """Return what there is over all series and over those of the largest sources."""
    largest = {ALL, *(name for name, _ in Counter(outcome.sources).most_common(MOST_SOURCES))}
    return {name: each for name, each in by_source.items() if name in largest}


def _add_tables(body: Element, tables: Iterable[Table]) -> None:
    for table in tables:
        add_table(body, table.title, [_heading(each) for each in table.columns], table.rows)


def _heading(column: str) -> str:
    """Return a heading of a terminal as a page spells it."""
    words = column.capitalize()
    for word, spelled in _SPELLED.items():
        words = words.replace(word, spelled)
    return words


def _add_origin(body: Element, origin: Origin) -> None:
    """Say how the report came about."""
    _add(body, "h2", "How to repeat it")
    _add(_add(body, "p", "Command: "), "code", origin.command)
    if origin.variants:
        rows = [(each.name, _wording(each)) for each in origin.variants]
        add_table(body, "Variants of vpa-default", ("Variant", "What it sets"), rows)
    text = (
        f"Evenkeel {origin.version}. Series are drawn for intervals with seed {SEED}; nothing else is left to chance."
    )
    _add(body, "p", text)


def _wording(variant: Variant) -> str:
    """Return what a variant sets, as flags and fields spell it."""
    fields = (f"{name} {json.dumps(value)}" for name, value in policy_fields(variant.policy).items())
    return ", ".join((*(flag.removeprefix("--") for flag in variant.flags), *fields)) or "nothing"

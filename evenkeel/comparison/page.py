"""A comparison as one page of HTML that needs nothing beside it: no script, no style sheet, no picture elsewhere.

Spec: beyond:B-35.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final
from xml.etree.ElementTree import Element, SubElement

from evenkeel.comparison.comparing import Row
from evenkeel.comparison.plot import Drawing, draw
from evenkeel.comparison.report import Report, amount, measured, percent, why
from evenkeel.comparison.use import ObservedUse
from evenkeel.pages.document import Page, add_heading

_STYLE: Final = """
:root { --ours: #0b6e4f; --theirs: #b3471b; --used: #5b5b8c; }
@media (prefers-color-scheme: dark) { :root { --ours: #58c99b; --theirs: #f09a6a; --used: #a9a9e0; } }
tr.beyond td.distance { font-weight: 700; }
td.why { max-width: 34rem; }
svg .ours { stroke: var(--ours); }
svg .theirs { stroke: var(--theirs); stroke-dasharray: 8 4; }
svg .used { stroke: var(--used); stroke-dasharray: 2 3; }
svg polyline.samples { stroke: var(--used); stroke-width: 1; }
svg circle.samples { fill: var(--used); }
ul.key { list-style: none; padding: 0; display: flex; gap: 2rem; }
ul.key li { display: flex; align-items: center; gap: .5rem; }
"""
_TITLE: Final = "Evenkeel beside upstream's vertical pod autoscaler"
_HEADINGS: Final = (
    "Object",
    "Container",
    "Resource",
    "Ours",
    "Theirs",
    "Distance",
    "Verdict",
    "Used",
    "Nearer",
    "Use and targets",
    "First difference",
)
_KEY: Final = (
    ("ours", "our target"),
    ("theirs", "upstream's target"),
    ("used", "percentile of use"),
)


def page(made: Report, use: ObservedUse, now: datetime) -> str:
    """Return a report as a page.

    Args:
        made: The report.
        use: The samples that are drawn.
        now: When the report was made.
    """
    made_page = Page.begun(_TITLE, _STYLE)
    body = made_page.body
    SubElement(body, "p").text = f"{made.verdict} Made at {now.strftime('%Y-%m-%dT%H:%M:%SZ')}."
    SubElement(body, "p").text = measured(made.measure) if made.measure.source else "No use was looked at."
    if made.rows:
        _add_key(body)
        _add_table(body, made, use)
    if made.notes:
        SubElement(body, "h2").text = "Not compared"
        notes = SubElement(body, "ul", {"class": "notes"})
        for note in made.notes:
            SubElement(notes, "li").text = note
    return made_page.text()


def _add_key(body: Element) -> None:
    """Say which line means what."""
    key = SubElement(body, "ul", {"class": "key"})
    for name, meaning in _KEY:
        item = SubElement(key, "li")
        sample = SubElement(item, "svg", {"width": "40", "height": "8", "aria-hidden": "true"})
        SubElement(sample, "line", {"class": name, "x1": "0", "x2": "40", "y1": "4", "y2": "4"})
        SubElement(item, "span").text = meaning


def _add_table(body: Element, made: Report, use: ObservedUse) -> None:
    """Add the rows."""
    table = SubElement(body, "table")
    add_heading(table, _HEADINGS)
    rows = SubElement(table, "tbody")
    threshold = made.measure.threshold_percent
    for row in made.rows:
        is_beyond = threshold is not None and row.is_beyond(threshold)
        _add_row(SubElement(rows, "tr", {"class": "beyond"} if is_beyond else {}), row, use)


def _add_row(line: Element, row: Row, use: ObservedUse) -> None:
    """Add one row."""
    SubElement(line, "th", {"scope": "row"}).text = f"{row.namespace}/{row.name}"
    SubElement(line, "td").text = row.container
    SubElement(line, "td").text = row.resource
    SubElement(line, "td", {"class": "number"}).text = amount(row.ours)
    SubElement(line, "td", {"class": "number"}).text = amount(row.theirs)
    SubElement(line, "td", {"class": "number distance"}).text = percent(row.distance_percent)
    SubElement(line, "td").text = row.verdict.value
    SubElement(line, "td", {"class": "number"}).text = amount(row.used)
    SubElement(line, "td").text = row.nearer.value if row.nearer else "-"
    title = f"{row.resource} of container {row.container}: ours {amount(row.ours)}, theirs {amount(row.theirs)}, "
    title += f"used {amount(row.used)}"
    samples = use.peaks_over_time(row.key, row.resource)
    drawing = Drawing(title, row.resource, row.ours, row.theirs, row.used, samples)
    SubElement(line, "td").append(draw(drawing))
    SubElement(line, "td", {"class": "why"}).text = why(row)

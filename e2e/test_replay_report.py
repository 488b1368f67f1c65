"""The report of a replay in a real browser (beyond:B-36)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from e2e.browser import tab

_ROOT = Path(__file__).parents[1]
_TRACES = _ROOT / "tests" / "data" / "traces"
_RESULTS = _ROOT / "results" / "replay-report"
_STRATEGIES = ("vpa-default", "vpa-min0", "krr-simple", "static", "oracle")
_SERIES = ("nezha/2022-08-22/*", "bitbrains-*/1*", "nab/*", "cloudcluster/cluster1*")

_OVERLAPS = """
[...document.querySelectorAll("svg[role=img]")].flatMap(svg => {
  const texts = [...svg.querySelectorAll("text")].map(each => [each.textContent, each.getBoundingClientRect()]);
  return texts.flatMap(([a, p], i) => texts.slice(i + 1).filter(([b, q]) =>
    Math.min(p.right, q.right) - Math.max(p.left, q.left) > 1 &&
    Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 4).map(([b, q]) => `${a} and ${b}`));
})
"""
"""Texts of drawings that lie on each other."""

_BEYOND = """
[...document.querySelectorAll("svg[role=img]")].flatMap(svg => {
  const box = svg.getBoundingClientRect();
  return [...svg.querySelectorAll("*")].map(each => [each, each.getBoundingClientRect()])
    .filter(([each, own]) => own.width > 0 && (own.right > box.right + 1 || own.left < box.left - 1))
    .map(([each, own]) => each.outerHTML.slice(0, 120));
})
"""
"""What of drawings lies outside of them, where it is cut off."""

_SMALLEST = """Math.min(...[...document.querySelectorAll("svg[role=img] text")].map(each =>
  each.getBoundingClientRect().height))"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a few strategies on some series of every source."""
    folder = tmp_path_factory.mktemp("report")
    settings = folder / "variants.yaml"
    settings.write_text("variants:\n  a-variant-with-a-long-name: {percentiles: {cpu: {target: 0.7}}}\n")
    command = [
        str(Path(sys.executable).with_name("evenkeel")),
        "replay",
        str(_TRACES),
        "--html",
        str(folder / "r.html"),
    ]
    command += [word for name in _STRATEGIES for word in ("--strategy", name)]
    command += [word for pattern in _SERIES for word in ("--only", pattern)]
    command += ["--settings", str(settings), "--against", "vpa-default", "--pictures", "6", "--jobs", "1"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=900)
    return folder / "r.html"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_it_is_shown_as_it_should_be(report: Path, width: int, scheme: str) -> None:
    """beyond:B-36: nothing wrong, nothing loaded, nothing wider than the page, nothing on top of something else."""
    with tab() as page:
        page.show(report, width, scheme)
        page.picture(_RESULTS / f"{width}-{scheme}.png")
        assert page.said == []
        assert page.requested == [report.as_uri()]
        assert page.found(f"document.documentElement.scrollWidth <= {width}")
        assert page.found(_OVERLAPS) == []
        assert page.found(_BEYOND) == []
        smallest = page.found(_SMALLEST)
        assert isinstance(smallest, int | float)
        assert smallest >= 10

"""Reading the names of series out of expressions."""

from __future__ import annotations

import pytest

from tests.manifests.promql import Selector, names, selectors


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("up", {"up"}),
        ('sum by (job, le) (rate(a_bucket{x="b", y=~"c|d"}[5m] offset 1h)) > 2 * b_total', {"a_bucket", "b_total"}),
        ("time() - max(a) > 1e3 and on (job) absent(b) unless c", {"a", "b", "c"}),
        ("histogram_quantile(0.95, sum by (le) (rate(a_bucket[$__rate_interval])))", {"a_bucket"}),
        ('count(a{pod=~"$pod"}) or vector(0)', {"a"}),
    ],
)
def test_names(expression: str, expected: set[str]) -> None:
    assert names(expression) == expected


def test_selectors() -> None:
    assert selectors('a{x="1", y!~"2"} / b + c{z="3"}') == [
        Selector("a", frozenset({"x", "y"})),
        Selector("c", frozenset({"z"})),
    ]

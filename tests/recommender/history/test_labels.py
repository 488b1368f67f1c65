"""Labels of pods that may be gone: which were seen last, and what they are really called."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.history.errors import HistoryError
from recommender.history.labels import (
    FoundLabels,
    LastLabels,
    home_cluster,
    own_labels,
    real_names,
    with_real_names,
)
from recommender.history.queries import HistoryRequest
from recommender.history.series import Flaw, FlawRecord, Series
from tests.recommender.history.builders import HOUR, T0_NS, of, series

REQUEST = HistoryRequest()


def labelled(version: str, hours: int, *, first: int = 0, pod: str = "web-0") -> Series:
    labels = {"kubernetes_namespace": "default", "kubernetes_pod_name": pod, "pod_label_version": version, "job": "x"}
    return series(labels, [1.0] * hours, first=first)


def test_labels_are_those_that_were_seen_last() -> None:
    last = LastLabels(REQUEST)
    last.take([labelled("old", 3), labelled("new", 2, first=4), labelled("middle", 4)], None)
    assert last.labels == {("default", "web-0"): {"version": "new"}}, "recommender:7"
    last.take([labelled("newest", 1, first=9), labelled("older", 1)], None)
    assert last.labels == {("default", "web-0"): {"version": "newest"}}
    assert last.seen == {("default", "web-0"): T0_NS + 9 * HOUR}


def test_of_labels_seen_at_the_same_time_the_first_count() -> None:
    last = LastLabels(REQUEST)
    last.take([labelled("first", 2), labelled("second", 2)], None)
    assert last.labels == {("default", "web-0"): {"version": "first"}}, "recommender:7"


def test_a_series_without_a_pod_is_left_out_or_makes_all_useless() -> None:
    bad = series({"kubernetes_namespace": "default"}, [1.0])
    flaws = FlawRecord()
    last = LastLabels(REQUEST)
    last.take([bad, labelled("a", 1)], flaws)
    assert (list(last.labels), flaws.counts) == ([("default", "web-0")], {Flaw.MISSING_LABEL: 1}), "beyond:B-7"
    with pytest.raises(HistoryError, match="has no label kubernetes_pod_name"):
        LastLabels(REQUEST).take([bad], None)


@pytest.mark.parametrize(
    ("row", "prefix", "expected"),
    [
        ("recommender:7", "pod_label_", {"a": "1", "b_c": "2"}),
        ("recommender:7", "pod_label_b", {"_c": "2"}),
        ("recommender:7", "", {}),
    ],
)
def test_own_labels_have_a_prefix_that_is_cut_off(row: str, prefix: str, expected: dict[str, str]) -> None:
    assert own_labels({"pod_label_a": "1", "pod_label_b_c": "2", "job": "x"}, prefix) == expected, row


def test_most_pods_have_always_had_the_same_labels() -> None:
    found = FoundLabels(REQUEST)
    found.take([labelled("a", 1, pod="same"), labelled("a", 1, pod="new"), labelled("b", 1, pod="new")], None)
    found.take(
        [labelled("a", 1, first=4, pod="same"), labelled("c", 1, pod="third"), labelled("d", 1, pod="third")], None
    )
    assert found.sure() == {("default", "same"): {"version": "a"}}
    assert list(found.unsure(1)) == [(("default", "new"),), (("default", "third"),)]
    assert list(found.unsure(5)) == [(("default", "new"), ("default", "third"))], "beyond:B-7"
    flaws = FlawRecord()
    found.take([series({"kubernetes_namespace": "default"}, [1.0])], flaws)
    assert flaws.counts == {Flaw.MISSING_LABEL: 1}


def test_names_get_back_what_prometheus_cannot_write() -> None:
    names = real_names(["app.kubernetes.io/name", "pod-template-hash", "app", "a.b", "a/b"])
    found = {"app_kubernetes_io_name": "web", "pod_template_hash": "1", "app": "web", "a_b": "x", "other_y": "z"}
    assert with_real_names(found, names) == {
        "app.kubernetes.io/name": "web",
        "pod-template-hash": "1",
        "app": "web",
        "a_b": "x",
        "other_y": "z",
    }, "beyond:B-7"


@given(st.sets(st.text("ab._/-", min_size=1)))
def test_a_name_is_only_given_back_where_one_is_known(known: set[str]) -> None:
    names = real_names(known)
    for written, real in names.items():
        others = [name for name in known if "".join(c if c.isalnum() else "_" for c in name) == written]
        assert others == [real]


@pytest.mark.parametrize(
    ("case", "clusters", "expected"),
    [
        ("most of our pods", [("a", "web-0"), ("a", "gone"), ("b", "web-0"), ("b", "web-1")], "b"),
        ("our series have no such label", [("", "web-0"), ("b", "elsewhere")], ""),
        ("none has any of our pods", [("a", "x"), ("b", "y")], None),
        ("nothing at all", [], None),
    ],
)
def test_the_cluster_that_has_our_pods_is_ours(
    case: str, clusters: list[tuple[str, str]], expected: str | None
) -> None:
    found = [
        Series(of(pod=pod, **({"cluster": cluster} if cluster else {})), np.array([T0_NS]), np.ones(1))
        for cluster, pod in clusters
    ]
    living = frozenset({("default", "web-0"), ("default", "web-1")})
    assert home_cluster(found, "cluster", REQUEST, living) == expected, f"beyond:B-7 {case}"

"""The server of history: its parts are the same as the whole, and both sides can read it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import chain

import numpy as np
import pytest

from bench.cluster import CONTAINERS, Shape
from bench.prometheus_host import Past
from recommender.history.queries import HistoryRequest, matches_any
from recommender.history.series import Series
from recommender.wire.prometheus import decode_answer, decode_names

SHAPE = Shape(120, 2)
NOW = datetime(2026, 1, 9, tzinfo=UTC)
AT = int(NOW.timestamp())
REQUEST = HistoryRequest()


def asked(past: Past, query: str, **form: object) -> tuple[Series, ...]:
    """Return the series of an answer."""
    question = past.question({"query": query, **{name: str(value) for name, value in form.items()}})
    return decode_answer(b"".join(past.answer(question)), query).series


def by_name(series: tuple[Series, ...]) -> dict[tuple[str, str], Series]:
    return {(each.labels["pod_name"], each.labels["name"]): each for each in series}


@pytest.mark.parametrize("query", [REQUEST.cpu_query(), REQUEST.memory_query()])
@pytest.mark.parametrize("step", [60, 3600])
def test_parts_of_a_time_are_the_same_as_the_whole(query: str, step: int) -> None:
    past = Past(SHAPE, AT)
    whole = by_name(asked(past, query, start=AT - 99 * step, end=AT, step=step))
    older = by_name(asked(past, query, start=AT - 99 * step, end=AT - 50 * step, step=step))
    newer = by_name(asked(past, query, start=AT - 49 * step, end=AT, step=step))
    assert len(whole) == SHAPE.containers
    for name, series in whole.items():
        assert np.array_equal(series.values, np.concatenate((older[name].values, newer[name].values)))
        assert series.instants.tolist() == [(AT - place * step) * 10**9 for place in range(99, -1, -1)]
        assert (series.values > 0).all()


def test_some_namespaces_can_be_asked_for() -> None:
    past = Past(SHAPE, AT)
    query = REQUEST.memory_query(matches_any("namespace", ("team-03", "team-04")))
    found = asked(past, query, start=AT, end=AT, step=60)
    assert {each.labels["namespace"] for each in found} == {"team-03", "team-04"}
    assert len(found) == 2 * 2 * SHAPE.pods_per_vpa * len(CONTAINERS)


def test_what_lies_beyond_the_present_is_moved_back_to_it() -> None:
    past, late = Past(SHAPE, AT), AT + 977.25
    at_present = asked(past, REQUEST.cpu_query(), start=AT - 7200, end=AT, step=3600)
    moved = asked(past, REQUEST.cpu_query(), start=late - 7200, end=late, step=3600)
    assert [each.instants.tolist() for each in moved] == [each.instants.tolist() for each in at_present]


def test_sizes_namespaces_and_labels() -> None:
    past = Past(SHAPE, AT)
    names = decode_names(past.label_values("namespace"), "namespaces")
    assert (len(names), decode_names(past.label_values("cluster"), "clusters")) == (100, ())
    sizes = asked(past, REQUEST.sizes_query(), start=AT - 60, end=AT, step=60)
    assert {each.labels["namespace"]: each.values.tolist() for each in sizes}["team-00"] == [8.0, 8.0]
    over = asked(past, 'up{job="kubernetes-pods"}[8d]', time=AT)
    at_once = asked(past, 'last_over_time(up{job="kubernetes-pods"}[8d])', time=AT)
    for each in chain(over, at_once):
        assert each.labels["pod_label_app"] in each.labels["kubernetes_pod_name"]
    assert len(over) == len(at_once) == SHAPE.pods
    hours = int(timedelta(days=8) / timedelta(hours=1))
    assert {len(each.instants) for each in over} == {hours}


def test_a_question_without_an_answer_says_so() -> None:
    with pytest.raises(ValueError, match="there is no answer to this"):
        asked(Past(SHAPE, AT), "sum(up)", time=AT)

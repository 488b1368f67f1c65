"""Answers of Prometheus, as bytes."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.history.errors import HistoryError, Trouble
from recommender.history.series import Shape
from recommender.wire.prometheus import Refusal, decode_answer, decode_names, decode_refusal


def success(data: object) -> bytes:
    return json.dumps({"status": "success", "data": data}).encode()


def test_a_matrix_becomes_arrays() -> None:
    values = [[1767225600, "0.25"], [1767229200.123, "1e-05"], [1767232800.5, "+Inf"], [1767236400, "NaN"]]
    raw = success({"resultType": "matrix", "result": [{"metric": {"a": "b"}, "values": values}]})
    answer = decode_answer(raw, "q")
    (series,) = answer.series
    assert (answer.shape, series.labels) == (Shape.MATRIX, {"a": "b"})
    milliseconds = [1767225600000, 1767229200123, 1767232800500, 1767236400000]
    assert series.instants.tolist() == [at * 10**6 for at in milliseconds], "recommender:7"
    assert series.values[:3].tolist() == [0.25, 1e-05, math.inf]
    assert math.isnan(series.values[3])


def test_a_vector_has_one_point_a_series() -> None:
    raw = success({"resultType": "vector", "result": [{"metric": {}, "value": [1767225600.25, "3"]}]})
    (series,) = decode_answer(raw, "q").series
    assert (series.instants.tolist(), series.values.tolist()) == ([1767225600250 * 10**6], [3.0])


@pytest.mark.parametrize(("kind", "result"), [("scalar", [1, "2"]), ("string", [1, "x"])])
def test_other_kinds_have_no_series(kind: str, result: list[object]) -> None:
    answer = decode_answer(success({"resultType": kind, "result": result}), "q")
    assert (answer.shape.value, answer.series) == (kind, ())


def test_white_space_means_nothing() -> None:
    raw = (
        b'{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[ [1 , "2"],\n[3,"4"] ]}]}}'
    )
    (series,) = decode_answer(raw, "q").series
    assert series.values.tolist() == [2.0, 4.0]


FLOATS = b'{"metric":{"a":"1"},"values":[[1,"2"],[3,"4"]]}'
BUCKETS = b'[[1,{"count":"5","sum":"6","buckets":[[0,"1","2","5"]]}]]'


@pytest.mark.parametrize(
    ("case", "series", "values"),
    [
        ("one", FLOATS, [[2.0, 4.0]]),
        ("several", FLOATS + b"," + FLOATS, [[2.0, 4.0], [2.0, 4.0]]),
        ("none", b"", []),
        ("a label with braces", FLOATS.replace(b'"1"', b'"{}},{"'), [[2.0, 4.0]]),
        ("a label with quotes", FLOATS.replace(b'"1"', b'"}\\",\\"values\\":[[7"'), [[2.0, 4.0]]),
        ("points before labels", b'{"values":[[1,"2"]],"metric":{}}', [[2.0]]),
        ("points before and after labels", FLOATS + b',{"values":[[1,"7"]],"metric":{}}', [[2.0, 4.0], [7.0]]),
        ("points before histograms", b'{"metric":{},"values":[[3,"4"]],"histograms":%b}' % BUCKETS, [[4.0]]),
        ("histograms alone", b'{"metric":{},"histograms":%b},%b' % (BUCKETS, FLOATS), [[], [2.0, 4.0]]),
        ("nothing", b'{"metric":{},"values":[]},%b' % FLOATS, [[], [2.0, 4.0]]),
        ("a field behind", b'{"metric":{},"values":[[1,"2"]],"more":[]}', [[2.0]]),
    ],
)
def test_points_are_those_of_their_series_however_it_is_written(
    case: str, series: bytes, values: list[list[float]]
) -> None:
    raw = b'{"status":"success","data":{"resultType":"matrix","result":[%b]}}' % series
    found = decode_answer(raw, "q").series
    assert [each.values.tolist() for each in found] == values, f"performance R-7 {case}"
    assert [dict(each.labels) for each in found] == [each["metric"] for each in json.loads(raw)["data"]["result"]]


@given(st.lists(st.tuples(st.integers(0, 2**41), st.floats(allow_nan=False)), min_size=1))
def test_every_number_is_read_to_the_last_bit(points: list[tuple[int, float]]) -> None:
    values = [[at / 1000, repr(value)] for at, value in points]
    raw = success({"resultType": "matrix", "result": [{"metric": {}, "values": values}]})
    (series,) = decode_answer(raw, "q").series
    assert series.instants.tolist() == [at * 10**6 for at, _ in points]
    assert series.values.tolist() == [value for _, value in points]


@pytest.mark.parametrize(
    ("case", "raw", "said"),
    [
        ("no JSON", b"<html>", "unreadable answer"),
        ("no data", b'{"status":"success"}', "it holds no data"),
        (
            "cut off",
            b'{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"2"]]',
            "unreadable answer",
        ),
        ("no result", success({"resultType": "matrix"}), "unreadable answer"),
        ("unknown kind", success({"resultType": "graph", "result": []}), "unreadable answer"),
        (
            "no number",
            success({"resultType": "matrix", "result": [{"metric": {}, "values": [[1, "x"]]}]}),
            "unreadable answer",
        ),
        (
            "no pairs",
            success({"resultType": "matrix", "result": [{"metric": {}, "values": [[1, "2"], [3]]}]}),
            "a point is no pair",
        ),
        ("an error with a status of success", b'{"status":"error","error":"bad"}', "bad"),
    ],
)
def test_an_answer_that_is_none_says_what_was_asked(case: str, raw: bytes, said: str) -> None:
    with pytest.raises(HistoryError, match=rf"^my query: .*{said}") as told:
        decode_answer(raw, "my query")
    assert told.value.trouble is Trouble.FINAL, case
    assert "--prometheus-address" in told.value.remedy


def test_values_of_a_label() -> None:
    assert decode_names(success(["a", "b"]), "q") == ("a", "b")
    with pytest.raises(HistoryError, match="unreadable answer"):
        decode_names(success({"a": 1}), "q")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b'{"status":"error","errorType":"execution","error":"too many"}', Refusal("execution", "too many")),
        (b"Bad Gateway\n", Refusal("", "Bad Gateway")),
        (b"", Refusal("", "")),
    ],
)
def test_refusals_keep_their_words(raw: bytes, expected: Refusal) -> None:
    assert decode_refusal(raw) == expected

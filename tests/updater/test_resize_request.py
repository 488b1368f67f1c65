"""What is noted on a pod when a resize of it was accepted."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.pod import ContainerStatus, Pod, Termination
from tests.updater.situations import MINUTE, NOW, annotated, small
from updater.resize_request import (
    REQUESTED_ANNOTATION,
    ResizeRequest,
    read_request,
    request_operation,
    restarts_to_note,
    was_killed_since,
)


def noted(subject: Pod, request: ResizeRequest) -> Pod:
    """Return a pod with the annotation, as a patch leaves it."""
    document = {"metadata": {"annotations": dict(subject.annotations or {})}}
    after = jsonpatch.apply_patch(document, [request_operation(request).as_json()])
    return replace(subject, annotations=after["metadata"]["annotations"])


@given(
    st.integers(1, 10**9),
    st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=9999)),
    st.dictionaries(st.text(st.sampled_from("abc-"), min_size=1), st.integers(0, 10**6)),
)
def test_what_is_noted_is_read_again(generation: int, later: timedelta, restarts: dict[str, int]) -> None:
    request = ResizeRequest(generation, NOW + later, restarts)
    assert read_request(noted(annotated(small(), other="x"), request)) == request


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ("beyond:B-20", ""),
        ("beyond:B-20", "true"),
        ("beyond:B-20", "[]"),
        ("beyond:B-20", '{"generation":1}'),
        ("beyond:B-20", '{"generation":1,"at":"yesterday"}'),
        ("beyond:B-20", '{"generation":1,"at":"2026-01-01T00:00:00"}'),
        ("beyond:B-20", '{"generation":null,"at":"2026-01-01T00:00:00Z"}'),
        ("beyond:B-20", '{"generation":1,"at":"2026-01-01T00:00:00Z","restarts":3}'),
        ("beyond:B-32", '{"generation":1e999,"at":"2026-01-01T00:00:00Z"}'),
        ("beyond:B-32", '{"generation":1,"at":"9999-12-31T23:59:59Z"}'),
        ("beyond:B-32", '{"generation":1,"at":"0001-01-01T00:00:00+14:00"}'),
        ("beyond:B-32", "[" * 100_000),
    ],
)
def test_what_somebody_else_wrote_counts_as_nothing(row: str, text: str) -> None:
    assert read_request(replace(small(), annotations={REQUESTED_ANNOTATION: text})) is None


def running(restarts: int, ended: Termination | None = None) -> Pod:
    """Return a pod whose container was restarted so often."""
    return replace(small(), statuses=(ContainerStatus("c", restart_count=restarts, last_terminated=ended),))


def oom(finished: timedelta) -> Termination:
    """Return a kill for lack of memory, so long after NOW."""
    return Termination("OOMKilled", NOW, NOW + finished)


@pytest.mark.parametrize(
    ("row", "subject", "before", "expected"),
    [
        ("beyond:B-27", running(4), None, 4),
        # A series of kills goes on, however often the amounts move meanwhile.
        ("beyond:B-27", running(4, oom(MINUTE)), ResizeRequest(1, NOW, {"c": 2}), 2),
        ("beyond:B-27", running(4, oom(timedelta(0))), ResizeRequest(1, NOW, {"c": 2}), 4),
        ("beyond:B-27", running(4, Termination("Error", NOW, NOW + MINUTE)), ResizeRequest(1, NOW, {"c": 2}), 4),
        ("beyond:B-27", running(4, oom(MINUTE)), ResizeRequest(1, NOW, {"other": 2}), 4),
        ("beyond:B-27", running(4, oom(MINUTE)), ResizeRequest(1, NOW), 4),
    ],
)
def test_from_where_kills_count(row: str, subject: Pod, before: ResizeRequest | None, expected: int) -> None:
    subject = subject if before is None else noted(subject, before)
    assert restarts_to_note(subject) == {"c": expected}


def test_a_kill_that_does_not_say_when_it_was_does_not_count() -> None:
    assert not was_killed_since(Termination("OOMKilled"), NOW)
    assert not was_killed_since(None, NOW)

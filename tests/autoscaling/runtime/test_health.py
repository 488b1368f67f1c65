"""Answers to probes."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus

import pytest

from autoscaling.runtime.health import Vitals, health, readiness

MINUTE = timedelta(minutes=1)
TICK = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("row", "idle", "status"),
    [
        ("recommender:10", None, HTTPStatus.OK),
        ("recommender:10", timedelta(0), HTTPStatus.OK),
        ("updater:M-2", 5 * MINUTE, HTTPStatus.OK),
        ("updater:M-2", 5 * MINUTE + TICK, HTTPStatus.INTERNAL_SERVER_ERROR),
    ],
)
def test_a_process_is_stuck_once_no_round_finished_for_more_than_five_periods(
    row: str, idle: timedelta | None, status: HTTPStatus
) -> None:
    assert health(idle, MINUTE).status is status


def test_the_answers_say_what_is_wrong() -> None:
    assert health(None, MINUTE).text == "OK"
    assert (
        health(timedelta(seconds=400), MINUTE).text == "no round has finished for 400 s; more than 300 s count as stuck"
    )
    assert (readiness(()).status, readiness(()).text) == (HTTPStatus.OK, "OK")
    waiting = readiness({"pods", "leadership"})
    assert (waiting.status, waiting.text) == (HTTPStatus.SERVICE_UNAVAILABLE, "waiting for leadership, pods")


def test_health_is_watched_from_the_start_of_monitoring_and_renewed_by_each_round() -> None:
    """Spec: recommender:10."""
    now = [100.0]
    vitals = Vitals(MINUTE, lambda: now[0])
    vitals.round_finished()
    now[0] += 10_000
    assert vitals.health().status is HTTPStatus.OK, "nothing is asked of a standby"
    vitals.start_monitoring()
    now[0] += 300
    assert vitals.health().status is HTTPStatus.OK
    now[0] += 1
    assert vitals.health().status is HTTPStatus.INTERNAL_SERVER_ERROR
    vitals.round_finished()
    assert vitals.health().status is HTTPStatus.OK


def test_a_process_is_ready_once_everything_awaited_is_there() -> None:
    vitals = Vitals(MINUTE, lambda: 0.0)
    assert vitals.readiness().status is HTTPStatus.OK
    vitals.wait_for("pods", "autoscalers")
    vitals.there("pods")
    assert vitals.readiness().text == "waiting for autoscalers"
    vitals.there("autoscalers")
    vitals.there("never awaited")
    assert vitals.readiness().status is HTTPStatus.OK

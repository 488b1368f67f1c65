"""The course of a resize, told by what was seen of it."""

from __future__ import annotations

import json
import math

import pytest

from bench.resize_course import Course, Observations, Seen
from e2e.cluster.documents import JsonObject

BEFORE, AFTER = "50m", "80m"
STEP = 1000.0


def measured(instant: float, cpu: str) -> Seen:
    return Seen(instant, {"containers": [{"name": "main", "usage": {"cpu": cpu}}]})


def recommended(instant: float, cpu: str) -> Seen:
    recommendation: JsonObject = {"containerRecommendations": [{"target": {"cpu": cpu}}]}
    return Seen(instant, {"status": {"recommendation": recommendation}})


def asked(instant: float, cpu: str, generation: int) -> Seen:
    container: JsonObject = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    return Seen(instant, {"metadata": {"generation": generation}, "spec": {"containers": [container]}})


def told(instant: float, generation: int, reason: str = "ResizeCompleted") -> Seen:
    summary = json.dumps({"containers": [], "generation": generation})
    return Seen(instant, {"reason": reason, "message": f"Pod resize completed: {summary}"})


ALL = Observations(
    measurements=[measured(1000.5, "1m"), measured(1007.0, "412000000n"), measured(1008.0, "1")],
    vpas=[Seen(990.0, {}), recommended(995.0, BEFORE), recommended(1008.5, AFTER), recommended(1010.5, AFTER)],
    pods=[asked(980.0, BEFORE, 1), asked(1010.0, "0.08", 2), asked(1010.5, "0.08", 2)],
    events=[Seen(981.0, {"reason": "Started", "message": "Container started"}), told(1011.0, 2)],
)


def test_stages_are_told_from_the_step_on() -> None:
    course = ALL.course(STEP, BEFORE, AFTER)
    assert course == Course(measured=7.0, recommended=8.5, asked=10.0, completed=11.0, resizes=1), "performance:C-1"
    assert (course.recommender_seconds, course.updater_seconds, course.kubelet_seconds) == (1.5, 1.5, 1.0)
    assert course.is_complete


def test_only_the_resize_to_the_last_amount_counts() -> None:
    pods = [asked(980.0, BEFORE, 1), asked(1004.0, "60m", 2), asked(1010.0, AFTER, 3)]
    early = Observations(ALL.measurements, ALL.vpas, pods, [told(1005.0, 2)])
    assert not early.course(STEP, BEFORE, AFTER).is_complete
    done = Observations(ALL.measurements, ALL.vpas, pods, [told(1005.0, 2), told(1012.0, 3)]).course(
        STEP, BEFORE, AFTER
    )
    assert (done.completed, done.resizes) == (12.0, 2)


@pytest.mark.parametrize("reason", ["ResizeStarted", "ResizeDeferred", "ResizeError"])
def test_other_events_complete_nothing(reason: str) -> None:
    seen = Observations(ALL.measurements, ALL.vpas, ALL.pods, [told(1011.0, 2, reason)])
    assert math.isinf(seen.course(STEP, BEFORE, AFTER).completed), "in-place-resize:3.11"


def test_what_was_not_seen_is_never_reached() -> None:
    course = Observations([], [], [], []).course(STEP, BEFORE, AFTER)
    assert (course.measured, course.recommended, course.asked, course.completed) == (math.inf,) * 4
    assert (course.is_complete, course.resizes) == (False, 0)


def test_a_recommender_that_has_read_the_metrics_before_us_took_no_time() -> None:
    vpas = [recommended(1006.9, AFTER)]
    course = Observations(ALL.measurements, vpas, ALL.pods, ALL.events).course(STEP, BEFORE, AFTER)
    assert course.recommender_seconds == 0.0

"""The order of waiting resizes, and the timer that tries them again (in-place-resize 3.3)."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from evenkeel.simulator.clock import EPOCH
from evenkeel.simulator.kubelet.queue import LAST, PendingResizes, Urgency, next_retry

MINUTE = timedelta(minutes=1)
EARLY, LATE = EPOCH, EPOCH + MINUTE

ORDER = [
    # id, first, second
    ("1 smaller before larger", Urgency(False, 0, True, LATE), Urgency(True, -1000, False, EARLY)),
    ("2 priority", Urgency(True, -1000, True, LATE), Urgency(True, 0, False, EARLY)),
    ("3 Guaranteed", Urgency(True, 0, False, LATE), Urgency(True, 0, True, EARLY)),
    ("4 age", Urgency(True, 0, True, EARLY), Urgency(True, 0, True, LATE)),
    ("4 no condition yet", Urgency(True, 0, True, LATE), Urgency(True, 0, True, LAST)),
]


@pytest.mark.parametrize(("case", "first", "second"), ORDER, ids=[row[0] for row in ORDER])
def test_order(case: str, first: Urgency, second: Urgency) -> None:
    queue = PendingResizes()
    keys = {"later": second, "sooner": first}
    for uid in ("later", "sooner"):
        queue.add(uid, keys.__getitem__)
    assert queue.uids == ["sooner", "later"]


def test_the_order_is_made_when_somebody_comes_and_only_then() -> None:
    keys = {"a": Urgency(True, 0, True), "b": Urgency(True, 0, True), "c": Urgency(True, 5, True)}
    queue = PendingResizes()
    for uid in ("a", "b"):
        queue.add(uid, keys.__getitem__)
    keys["b"] = Urgency(True, -9, True)
    queue.add("b", keys.__getitem__)
    assert queue.uids == ["a", "b"], "b is in already"
    queue.add("c", keys.__getitem__)
    assert queue.uids == ["b", "a", "c"]
    queue.remove("a")
    queue.remove("a")
    assert (queue.uids, len(queue)) == (["b", "c"], 2)


FIRST, PERIOD = EPOCH + timedelta(seconds=30), timedelta(seconds=180)
RETRIES = [
    # id, last attempt, now, due; all in seconds from the start
    ("first", None, 0, 30),
    ("first, later", None, 29, 30),
    ("after the first that found nothing", None, 30, 210),
    ("long after", None, 500, 570),
    ("after an attempt", 10, 10, 190),
    ("between", 10, 100, 190),
    ("after that again", 10, 190, 370),
]


@pytest.mark.parametrize(("case", "last", "now", "due"), RETRIES, ids=[row[0] for row in RETRIES])
def test_retries(case: str, last: int | None, now: int, due: int) -> None:
    def at(seconds: int) -> datetime:
        return EPOCH + timedelta(seconds=seconds)

    assert next_retry(None if last is None else at(last), FIRST, PERIOD, at(now)) == at(due)

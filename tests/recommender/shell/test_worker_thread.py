"""Calls that block, one after the other in one thread."""

from __future__ import annotations

import threading

import pytest

from recommender.shell.worker_thread import WorkerThread


def test_calls_run_in_order_in_one_thread_that_keeps_no_process() -> None:
    worker = WorkerThread("history")
    seen: list[tuple[int, str, bool]] = []

    def call(number: int) -> int:
        thread = threading.current_thread()
        seen.append((number, thread.name, thread.daemon))
        return number * 2

    futures = [worker.submit(call, number) for number in range(3)]
    assert [future.result(10) for future in futures] == [0, 2, 4]
    assert seen == [(number, "history", True) for number in range(3)]
    worker.shutdown()


def test_an_error_goes_to_whoever_asked() -> None:
    worker = WorkerThread("history")
    with pytest.raises(ZeroDivisionError):
        worker.submit(lambda: 1 // 0).result(10)
    assert worker.submit(lambda: 1).result(10) == 1
    worker.shutdown()


def test_a_call_that_was_cancelled_is_left_out() -> None:
    worker, gate, ran = WorkerThread("history"), threading.Event(), list[int]()
    first = worker.submit(gate.wait, 10)
    second = worker.submit(ran.append, 1)
    assert second.cancel()
    gate.set()
    assert first.result(10)
    worker.shutdown()
    assert ran == []

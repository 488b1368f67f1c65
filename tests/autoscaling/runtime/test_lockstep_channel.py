"""The process's end of the line to a simulated clock, against one that answers as it should and one that does not."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

import pytest

from autoscaling.runtime.lockstep_channel import Channel, LockstepLostError, Moment, Report, Welcome
from tests.autoscaling.runtime.jumping_clock import T0, jumping_clock

SECOND = timedelta(seconds=1)


def test_joining_resting_and_leaving() -> None:
    with jumping_clock() as clock:
        channel = Channel(clock.url)
        assert channel.name == "me"
        assert channel.fileno() == -1
        assert channel.join() == Welcome(T0, T0, 42)
        assert channel.fileno() > 0
        report = Report(5, 0, T0 + SECOND, 1, {"me/1": 3}, ("me/2",))
        channel.rest(report)
        assert channel.turn() == Moment(T0 + SECOND, 1)
        channel.rest(Report(6, 1, None))
        assert channel.go_on(6) == Moment(T0 + SECOND, 1)
        channel.leave()
        assert channel.fileno() == -1
        # What is said on different connections may arrive in any order.
        assert sorted(clock.said) == ["leave", "me", "rest", "rest", "work"]
        assert clock.reports == [report, Report(6, 1, None)]


def test_nothing_can_be_said_before_joining_or_after_leaving() -> None:
    channel = Channel("http://127.0.0.1:1/clock/me")
    with pytest.raises(LockstepLostError, match="it has not been joined"):
        channel.rest(Report(0, 0, None))
    with pytest.raises(LockstepLostError, match="it has not been joined"):
        channel.turn()
    channel.leave()
    channel.close()


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """A server that gives every connection the same answer and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ending = threading.Event()

        def serve() -> None:
            while not ending.is_set():
                connection, _ = listener.accept()
                # The client may have hung up before it is answered.
                with connection, suppress(OSError):
                    if connection.recv(65536):
                        connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        port = listener.getsockname()[1]
        yield f"http://127.0.0.1:{port}/clock/me"
        ending.set()
        socket.create_connection(("127.0.0.1", port)).close()
        thread.join()


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"", "Remote end closed connection without response"),
        (b"rubbish\r\n\r\n", "rubbish"),
        (b"HTTP/1.1 409 Conflict\r\nContent-Length: 10\r\n\r\nno, thanks", "it answered 409: no, thanks"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "it sent something that is no Welcome"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}\n", "no Welcome: Object missing required field `origin`"),
    ],
)
def test_a_clock_that_does_not_answer_as_one_is_lost(answer: bytes, problem: str) -> None:
    with answering(answer) as url:
        channel = Channel(url)
        with pytest.raises(LockstepLostError, match=problem) as caught:
            channel.join()
    assert str(caught.value).endswith("a process lives and ends with its simulator, see that one's log")
    assert channel.fileno() == -1


def test_a_clock_that_hangs_up_is_lost() -> None:
    with jumping_clock() as clock:
        channel = Channel(clock.url)
        channel.join()
        clock.on_rest = lambda _report: False
        channel.rest(Report(0, 0, T0))
        clock.end()
        with pytest.raises(LockstepLostError):
            channel.turn()
        channel.close()

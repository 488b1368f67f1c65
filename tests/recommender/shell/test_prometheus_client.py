"""Requests to Prometheus as they go over the wire, and what refusals mean."""

from __future__ import annotations

import json
import re
import socket
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread

import pytest

from autoscaling.errors import ConfigurationError
from recommender.history.errors import HistoryError, Trouble
from recommender.history.pieces import Span
from recommender.shell.prometheus_client import Credentials, PrometheusClient, ServerSettings, moment_text
from tests.autoscaling.kube.certificates import Authority
from tests.recommender.history.builders import HOUR, T0_NS, of
from tests.recommender.shell.prometheus_server import Asked, PrometheusServer, hours, prometheus_server

NOBODY = Credentials()
SPAN = Span(T0_NS + 123_000_000, HOUR, 3)


@pytest.fixture
def server() -> Iterator[PrometheusServer]:
    with prometheus_server() as serving:
        serving.use(of(), hours(3, 0.1), hours(3, 3e8))
        yield serving


Seen = list[tuple[str, str, bool]]


ClientMaker = Callable[..., PrometheusClient]


@pytest.fixture
def client_for() -> Iterator[ClientMaker]:
    """Return what makes clients that are closed with the test."""
    with ExitStack() as stack:

        def make(
            server: PrometheusServer, credentials: Credentials = NOBODY, *, seen: Seen | None = None, **settings: object
        ) -> PrometheusClient:
            def observe(code: str, method: str, seconds: float) -> None:
                if seen is not None:
                    seen.append((code, method, seconds >= 0))

            plain = ServerSettings(f"{server.url}/", credentials, timeout=timedelta(seconds=20), tells_timeout=False)
            made = replace(plain, **settings)  # type: ignore[arg-type]
            return stack.enter_context(closing(PrometheusClient(made, observe)))

        yield make


def refuse(status: int, body: bytes = b"", *, method: str = "") -> Callable[[Asked], tuple[int, bytes] | None]:
    return lambda asked: (status, body) if method in {"", asked.method} else None


def error(kind: str, text: str = "so it is") -> bytes:
    return json.dumps({"status": "error", "errorType": kind, "error": text}).encode()


def test_a_range_is_asked_for_with_a_form_as_upstream_does(server: PrometheusServer, client_for: ClientMaker) -> None:
    client_for(server).series_over("up", SPAN)
    (asked,) = server.asked
    assert (asked.method, asked.path, asked.address) == ("POST", "/api/v1/query_range", "/api/v1/query_range")
    start = T0_NS // 10**9
    assert asked.form == {"query": "up", "start": f"{start}.123", "end": f"{start + 7200}.123", "step": "3600"}
    assert asked.headers["Content-Type"] == "application/x-www-form-urlencoded", "recommender:7"


def test_one_instant_is_asked_for_with_a_form_as_upstream_does(
    server: PrometheusServer, client_for: ClientMaker
) -> None:
    client_for(server).series_at('a{b="c d&e"}', T0_NS)
    (asked,) = server.asked
    assert (asked.method, asked.address) == ("POST", "/api/v1/query")
    assert asked.form == {"query": 'a{b="c d&e"}', "time": str(T0_NS // 10**9)}, "recommender:7"


def test_values_of_a_label(server: PrometheusServer, client_for: ClientMaker) -> None:
    selector = 'container_memory_working_set_bytes{name!=""}'
    assert client_for(server).label_values("namespace", selector, SPAN) == ("default",)
    assert server.asked[0].path == "/api/v1/label/namespace/values"


def test_the_server_is_told_how_long_it_may_take(server: PrometheusServer, client_for: ClientMaker) -> None:
    client_for(server, tells_timeout=True).series_at("up", T0_NS)
    assert server.asked[0].form["timeout"] == "20s"


@pytest.mark.parametrize("status", [403, 405, 501])
def test_where_post_is_refused_get_will_do(server: PrometheusServer, status: int, client_for: ClientMaker) -> None:
    server.faults.append(refuse(status, method="POST"))
    seen: Seen = []
    client_for(server, seen=seen).series_at("up", T0_NS)
    assert [asked.method for asked in server.asked] == ["POST", "GET"], "recommender:7"
    assert server.asked[1].form["query"] == "up"
    assert seen == [(str(status), "post", True), ("200", "get", True)], "recommender:10"


@pytest.mark.parametrize(
    ("row", "credentials", "expected"),
    [
        ("recommender:7", Credentials(), None),
        ("recommender:7", Credentials(token="t", username="u", password="p"), "Bearer t"),
        (
            "recommender:7",
            Credentials(username="u", password="p:ü"),
            f"Basic {b64encode('u:p:ü'.encode()).decode()}",
        ),
        ("recommender:7", Credentials(username="u"), None),
        ("recommender:7", Credentials(password="p"), None),
    ],
)
def test_signing_in(
    server: PrometheusServer, row: str, credentials: Credentials, expected: str | None, client_for: ClientMaker
) -> None:
    client_for(server, credentials).series_at("up", T0_NS)
    assert server.asked[0].headers.get("Authorization") == expected, row


def test_a_token_file_wins_and_is_read_anew(server: PrometheusServer, tmp_path: Path, client_for: ClientMaker) -> None:
    file = tmp_path / "token"
    file.write_text(" first \n")
    client = client_for(server, Credentials(token_file=str(file), token="t"))
    client.series_at("up", T0_NS)
    file.write_text("second")
    client.series_at("up", T0_NS)
    headers = [asked.headers["Authorization"] for asked in server.asked]
    assert headers == ["Bearer first", "Bearer second"], "recommender:7"


def test_a_password_file_is_read_anew(server: PrometheusServer, tmp_path: Path, client_for: ClientMaker) -> None:
    file = tmp_path / "password"
    client = client_for(server, Credentials(username="u", password="p", password_file=str(file)))
    for text in ("first\n", "second"):
        file.write_text(text)
        client.series_at("up", T0_NS)
    headers = [asked.headers["Authorization"] for asked in server.asked]
    assert headers == [f"Basic {b64encode(text).decode()}" for text in (b"u:first", b"u:second")]


def test_files_that_are_no_text_are_named_without_what_stands_in_them(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_bytes(b"hunter2\xff")
    with pytest.raises(
        ConfigurationError, match=r"--prometheus-password-file=.*: cannot be read: it is not text"
    ) as told:
        Credentials(username="u", password_file=str(file)).header()
    assert "hunter2" not in str(told.value)
    assert "hunter2" not in repr(Credentials(token="hunter2", password="hunter2"))


def test_a_token_file_that_is_gone_is_named(server: PrometheusServer, tmp_path: Path, client_for: ClientMaker) -> None:
    credentials = Credentials(token_file=str(tmp_path / "none"))
    with pytest.raises(ConfigurationError, match=r"--prometheus-bearer-token-file=.*none: cannot be read"):
        credentials.header()
    with pytest.raises(HistoryError, match=r"--prometheus-bearer-token-file=.*none: cannot be read"):
        client_for(server, credentials).series_at("up", T0_NS)


@pytest.mark.parametrize(
    ("status", "body", "trouble", "remedy"),
    [
        (401, b"", Trouble.FINAL, "--prometheus-bearer-token-file"),
        (400, error("bad_data", "parse error"), Trouble.FINAL, "the metric names"),
        (
            400,
            error("bad_data", "exceeded maximum resolution of 11,000 points"),
            Trouble.TOO_MUCH,
            "--history-resolution",
        ),
        (422, error("execution", "too many samples"), Trouble.TOO_MUCH, "--history-resolution"),
        (503, error("timeout", "query timed out"), Trouble.TOO_MUCH, "--history-resolution"),
        (503, error("unavailable", "not ready"), Trouble.TRANSIENT, "log of Prometheus"),
        (502, b"Bad Gateway", Trouble.TRANSIENT, "log of Prometheus"),
        (429, b"", Trouble.TRANSIENT, "log of Prometheus"),
    ],
)
def test_what_a_refusal_means(
    server: PrometheusServer, status: int, body: bytes, trouble: Trouble, remedy: str, client_for: ClientMaker
) -> None:
    server.faults.append(refuse(status, body))
    with pytest.raises(HistoryError, match=rf"^up: status {status}: ") as told:
        client_for(server).series_at("up", T0_NS)
    assert told.value.trouble is trouble
    assert remedy in told.value.remedy


def test_nobody_there_may_pass(server: PrometheusServer, client_for: ClientMaker) -> None:
    with prometheus_server() as gone:
        client = client_for(gone)
    with pytest.raises(HistoryError, match="check --prometheus-address") as told:
        client.series_at("up", T0_NS)
    assert told.value.trouble is Trouble.TRANSIENT


def test_an_address_that_is_none_is_for_good() -> None:
    with (
        closing(PrometheusClient(ServerSettings("prometheus:9090"), lambda *_: None)) as client,
        pytest.raises(HistoryError, match="correct --prometheus-address") as told,
    ):
        client.series_at("up", T0_NS)
    assert told.value.trouble is Trouble.FINAL


def test_time_is_up_however_much_has_come_by_then(server: PrometheusServer, client_for: ClientMaker) -> None:
    with pytest.raises(HistoryError, match=r"no answer within 0\.001s; raise --prometheus-query-timeout") as told:
        client_for(server, timeout=timedelta(0)).series_over("up", SPAN)
    assert told.value.trouble is Trouble.TOO_MUCH


def test_a_certificate_must_be_trusted_unless_any_will_do(tmp_path: Path, client_for: ClientMaker) -> None:
    texts = zip(("tls.crt", "tls.key"), Authority().issue("prometheus"), strict=True)
    certificate, key = (tmp_path / name for name, text in texts if (tmp_path / name).write_text(text))
    with prometheus_server((certificate, key)) as server:
        server.use(of(), hours(1, 0.1), hours(1, 3e8))
        with pytest.raises(HistoryError, match="--prometheus-insecure") as told:
            client_for(server).series_at("up", T0_NS)
        assert told.value.trouble is Trouble.FINAL
        client_for(server, is_insecure=True).series_at("up", T0_NS)
        assert [asked.query for asked in server.asked] == ["up"]


@pytest.mark.parametrize(
    ("at", "expected"), [(T0_NS, "1767225600"), (T0_NS + 120_000_000, "1767225600.12"), (1_000_000, "0.001")]
)
def test_instants_are_written_in_seconds(at: int, expected: str) -> None:
    assert moment_text(at) == expected


def test_an_answer_that_is_too_large_is_not_held(server: PrometheusServer, client_for: ClientMaker) -> None:
    with pytest.raises(HistoryError, match="exceeds 50 bytes") as told:
        client_for(server, largest_answer_bytes=50).series_at("up", T0_NS)
    assert told.value.trouble is Trouble.TOO_MUCH, "performance:R-7"


@pytest.mark.parametrize(
    ("sent", "trouble", "said"),
    [
        (b"", Trouble.TOO_MUCH, "no answer within 0.2s"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", Trouble.TOO_MUCH, "no answer within 0.2s"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n<nothing>", Trouble.FINAL, "unreadable answer"),
        (b"what?\r\n\r\n", Trouble.TRANSIENT, "check --prometheus-address"),
    ],
)
def test_a_server_that_stops_in_the_middle(sent: bytes, trouble: Trouble, said: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        seen = Event()
        client = PrometheusClient(
            ServerSettings(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=timedelta(seconds=0.2)),
            lambda *_: None,
        )

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(sent)
                seen.wait(10)

        thread = Thread(target=answer, daemon=True)
        thread.start()
        with pytest.raises(HistoryError, match=re.escape(said)) as told:
            client.series_at("up", T0_NS)
        seen.set()
        client.close()
        thread.join(10)
    assert told.value.trouble is trouble


def test_a_redirect_is_followed(server: PrometheusServer, client_for: ClientMaker) -> None:
    with prometheus_server() as front:
        front.elsewhere = server.url
        client_for(front).series_at("up", T0_NS)
    assert [asked.query for asked in server.asked] == ["up"]

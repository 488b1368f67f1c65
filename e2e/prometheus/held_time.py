"""A proxy that holds the time for which Prometheus is asked, so that two programs see the same past."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from urllib.parse import parse_qsl, urlencode, urlsplit

_TIMEOUT_SECONDS = 120
_SNAP_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked, apart from when.

    Args:
        method: Of the request.
        path: Of the request.
        fields: What was asked for, without instants.
        seconds: Time between start and end, rounded; 0 where one instant is asked for.
    """

    method: str
    path: str
    fields: tuple[tuple[str, str], ...]
    seconds: int

    @property
    def query(self) -> str:
        """The expression."""
        return dict(self.fields).get("query", "")


@dataclass(slots=True)
class HeldTime:
    """A proxy.

    Args:
        target: Base address of Prometheus.
        now: The instant that stands for the present, in seconds since the epoch.
    """

    target: str
    now: int
    url: str = ""
    questions: list[Question] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)
    _moved: float | None = None

    def take(self) -> list[Question]:
        """Return what was asked since the last call, and let the present begin anew with the next question."""
        with self._lock:
            asked, self.questions, self._moved = self.questions, [], None
            return asked

    def held(self, method: str, path: str, form: dict[str, str]) -> dict[str, str]:
        """Note a question, and return it for the time that is held."""
        instants = {name: float(form[name]) for name in ("start", "end", "time") if name in form}
        with self._lock:
            span = round(instants["end"] - instants["start"]) if "end" in instants else 0
            fields = tuple(sorted((name, value) for name, value in form.items() if name not in instants))
            self.questions.append(Question(method, path, fields, span))
            if self._moved is None:
                self._moved = self.now - max(instants.values(), default=self.now)
            moved = self._moved
        return form | {name: str(self._snapped(at + moved)) for name, at in instants.items()}

    def _snapped(self, at: float) -> int:
        """Return the nearest whole minute from the present on: a program looks at its clock for each question anew."""
        return self.now - round((self.now - at) / _SNAP_SECONDS) * _SNAP_SECONDS


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: HeldTime

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        form = self.proxy.held("GET", parts.path, dict(parse_qsl(parts.query)))
        self._forward(urllib.request.Request(f"{self.proxy.target}{parts.path}?{urlencode(form)}"))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
        form = self.proxy.held("POST", self.path, dict(parse_qsl(body)))
        self._forward(urllib.request.Request(f"{self.proxy.target}{self.path}", urlencode(form).encode()))

    def _forward(self, request: urllib.request.Request) -> None:
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:
                status, body = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, body = error.code, error.read()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing of single requests."""


@contextmanager
def held_time(target: str, now: int) -> Iterator[HeldTime]:
    """Serve such a proxy on the loopback interface while the context lasts."""
    proxy = HeldTime(target, now)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"proxy": proxy}))
    server.daemon_threads = True
    proxy.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

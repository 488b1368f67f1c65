"""A real HTTP server that answers like Prometheus, for the queries that history asks."""

from __future__ import annotations

import json
import re
import ssl
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import SHUT_RDWR, socket
from threading import Lock, Thread
from urllib.parse import parse_qsl, urlsplit

from tests.recommender.history.builders import CPU, HOUR, MEMORY, SECOND, T0_NS

_SELECTOR = re.compile(r"^(?P<name>[a-zA-Z_:][\w:]*)?(?:\{(?P<matchers>.*)\})?$", re.DOTALL)
_MATCHER = re.compile(r'\s*(\w+)\s*(=~|!=|=)\s*"((?:[^"\\]|\\.)*)"\s*,?')
_UNITS = {"ms": 0.001, "m": 60, "h": 3600, "d": 86400}
_LOOK_BACK = 300 * SECOND


@dataclass(frozen=True)
class Stored:
    """One series: its labels with ``__name__``, and its points by instant in nanoseconds.

    Points of the CPU counter are what its rate is at those instants.
    """

    labels: Mapping[str, str]
    points: Mapping[int, float]


@dataclass(frozen=True)
class Asked:
    """One request as it came over the wire."""

    method: str
    path: str
    form: Mapping[str, str]
    address: str
    headers: Mapping[str, str]

    @property
    def query(self) -> str:
        return self.form.get("query", self.form.get("match[]", ""))


Fault = Callable[[Asked], tuple[int, bytes] | None]


@dataclass
class PrometheusServer:
    """What there is to answer, what was asked, and what goes wrong."""

    stored: list[Stored] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    url: str = ""
    elsewhere: str = ""
    lock: Lock = field(default_factory=Lock)

    def add(self, name: str, labels: Mapping[str, str], points: Mapping[int, float]) -> None:
        self.stored.append(Stored({"__name__": name, **labels}, points))

    def use(self, labels: Mapping[str, str], cpu: Mapping[int, float], memory: Mapping[int, float]) -> None:
        """Add the use of one container."""
        job = {"job": "kubernetes-cadvisor"}
        self.add(CPU, {**job, **labels}, cpu)
        self.add(MEMORY, {**job, **labels}, memory)

    def queries(self, path: str = "") -> list[str]:
        return [one.query for one in self.asked if path in one.path]

    def answer(self, asked: Asked) -> tuple[int, bytes]:
        with self.lock:
            self.asked.append(asked)
            for fault in self.faults:
                refused = fault(asked)
                if refused is not None:
                    return refused
        try:
            data = self._data(asked)
        except (KeyError, ValueError, AttributeError) as error:
            return 400, json.dumps({"status": "error", "errorType": "bad_data", "error": repr(error)}).encode()
        return 200, json.dumps({"status": "success", "data": data}).encode()

    def _data(self, asked: Asked) -> object:
        if asked.path.endswith("/values"):
            label = asked.path.split("/")[-2]
            found = (one.labels.get(label) for one in self._matching(asked.query))
            return sorted({value for value in found if value})
        if asked.path.endswith("query_range"):
            start, end, step = (_ns(asked.form[name]) for name in ("start", "end", "step"))
            return self._over(asked.query, list(range(start, end + 1, step)))
        return self._at(asked.query, _ns(asked.form["time"]))

    def _over(self, query: str, instants: list[int]) -> object:
        found: dict[str, list[tuple[float, str]]] = {}
        for at in instants:
            for labels, value in self._values(query, at):
                found.setdefault(json.dumps(labels), []).append((at / SECOND, value))
        rows = [{"metric": json.loads(labels), "values": points} for labels, points in sorted(found.items())]
        return {"resultType": "matrix", "result": rows}

    def _at(self, query: str, at: int) -> object:
        ranged = re.fullmatch(r"(.*)\[(\d+)(ms|[mhd])\]", query, re.DOTALL)
        if ranged:
            since = at - round(int(ranged[2]) * _UNITS[ranged[3]] * SECOND)
            rows = [
                {
                    "metric": dict(one.labels),
                    "values": [[t / SECOND, str(v)] for t, v in sorted(one.points.items()) if since < t <= at],
                }
                for one in self._matching(ranged[1])
            ]
            return {"resultType": "matrix", "result": [row for row in rows if row["values"]]}
        vector = [{"metric": labels, "value": (at / SECOND, value)} for labels, value in self._values(query, at)]
        return {"resultType": "vector", "result": vector}

    def _values(self, query: str, at: int) -> list[tuple[dict[str, str], str]]:
        """Evaluate a query at one instant."""
        if rate := re.fullmatch(r"rate\((.*)\[[0-9a-z]+\]\)", query, re.DOTALL):
            return [(_bare(one), str(one.points[at])) for one in self._matching(rate[1]) if at in one.points]
        if grouped := re.fullmatch(r"(count|group) by \(([^)]*)\) \((.*)\)", query, re.DOTALL):
            names = [name.strip() for name in grouped[2].split(",")]
            groups = Counter(
                tuple((name, labels[name]) for name in names if name in labels)
                for labels, _ in self._values(grouped[3], at)
            )
            return [(dict(key), str(count if grouped[1] == "count" else 1)) for key, count in groups.items()]
        if newest := re.fullmatch(r"max\(timestamp\((.*)\)\)", query, re.DOTALL):
            seen = [t for one in self._matching(newest[1]) for t in one.points if at - _LOOK_BACK < t <= at]
            return [({}, str(max(seen) / SECOND))] if seen else []
        if within := re.fullmatch(r"last_over_time\((.*)\[(\d+)([mhd])\]\)", query, re.DOTALL):
            since = at - round(int(within[2]) * _UNITS[within[3]] * SECOND)
            pairs = ((one, [t for t in one.points if since < t <= at]) for one in self._matching(within[1]))
            return [(dict(one.labels), str(one.points[max(times)])) for one, times in pairs if times]
        found = ((one, [t for t in one.points if at - _LOOK_BACK < t <= at]) for one in self._matching(query))
        return [(dict(one.labels), str(one.points[max(times)])) for one, times in found if times]

    def _matching(self, selector: str) -> Iterator[Stored]:
        parts = _SELECTOR.match(selector)
        assert parts is not None, selector
        conditions = _MATCHER.findall(parts["matchers"] or "")
        for one in self.stored:
            if parts["name"] in {None, one.labels["__name__"]} and all(_fits(one.labels, *c) for c in conditions):
                yield one


def _bare(one: Stored) -> dict[str, str]:
    return {name: value for name, value in one.labels.items() if name != "__name__"}


def _fits(labels: Mapping[str, str], name: str, operator: str, text: str) -> bool:
    value, wanted = labels.get(name, ""), text.replace("\\\\", "\\")
    if operator == "=~":
        return re.fullmatch(wanted, value) is not None
    return (value == wanted) is (operator == "=")


def _ns(seconds: str) -> int:
    whole, _, fraction = seconds.partition(".")
    return int(whole) * SECOND + int(fraction.ljust(9, "0") or 0)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    prometheus: PrometheusServer
    connections: set[socket]

    def setup(self) -> None:
        super().setup()
        self.connections.add(self.connection)

    def finish(self) -> None:
        self.connections.discard(self.connection)
        super().finish()

    def do_GET(self) -> None:
        self._respond(dict(parse_qsl(urlsplit(self.path).query)))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
        self._respond(dict(parse_qsl(body)))

    def _respond(self, form: dict[str, str]) -> None:
        path = urlsplit(self.path).path
        if self.prometheus.elsewhere:
            self.send_response(307)
            self.send_header("Location", f"{self.prometheus.elsewhere}{self.path}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        asked = Asked(self.command, path, form, self.path, dict(self.headers.items()))
        status, body = self.prometheus.answer(asked)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep the test's output to itself."""


@contextmanager
def prometheus_server(certificate: tuple[Path, Path] | None = None) -> Iterator[PrometheusServer]:
    """Serve on a free port of the loopback interface, over TLS where a certificate and its key are given."""
    prometheus = PrometheusServer()
    connections: set[socket] = set()
    handler = type("Handler", (_Handler,), {"prometheus": prometheus, "connections": connections})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    # Threads are waited for, so that none is left to the tests that follow.
    server.daemon_threads = False
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    scheme = "http" if certificate is None else "https"
    prometheus.url = f"{scheme}://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield prometheus
    finally:
        server.shutdown()
        for connection in list(connections):
            with suppress(OSError):
                connection.shutdown(SHUT_RDWR)
        server.server_close()
        thread.join()


def hours(count: int, value: float | Callable[[int], float], *, first: int = 0) -> dict[int, float]:
    """Return a point for each of some hours from T0 on."""
    return {
        T0_NS + number * HOUR: value(number) if callable(value) else value for number in range(first, first + count)
    }

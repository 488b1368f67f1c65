"""A server that answers like Prometheus over a made-up past: ``python -m bench.prometheus_host``.

It answers the questions that both recommenders ask for history, and takes next to no time for that: a real Prometheus
needs minutes for 230 million points, so that only it would be measured. Every container has one series of CPU and one
of memory without a gap, and every pod one series with its labels. Points are cut out of prepared text, uncompressed
for either side. It prints its address as one line of JSON and ends with its standard input.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qsl, urlsplit

import msgspec
import numpy as np
from numpy.typing import NDArray

from bench.cluster import CONTAINERS, PodName, Shape, pod_names
from bench.hosting import LineProcess, cpu_seconds, say

Text = NDArray[np.uint8]

_CPU, _MEMORY, _LABELS = "container_cpu_usage_seconds_total", "container_memory_working_set_bytes", "up"
_LEVELS = 61
_PATTERN = 1009
_LONGEST = 12_000
_DAY = 86_400
_LABEL_STEP = 3600
_PLAIN = re.compile(r"^(?P<name>\w+)\{(?P<matchers>.*)\}(?:\[(?P<range>\w+)\])?$", re.DOTALL)
_NAMESPACES = re.compile(r'namespace=~?"(?P<names>[^"]*)"')


class PastAddress(msgspec.Struct, frozen=True):
    """The line from it: where it listens."""

    url: str


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, with its instants moved so that none lies beyond the present of the past.

    Args:
        query: The expression.
        start: First instant, seconds since the epoch.
        end: The last.
        step: Between two.
    """

    query: str
    start: int
    end: int
    step: int

    @property
    def namespaces(self) -> frozenset[str]:
        """The namespaces that it is about; none for all."""
        found = _NAMESPACES.search(self.query)
        return frozenset(found["names"].replace("\\\\", "").split("|")) if found else frozenset()

    @property
    def instants(self) -> range:
        """Everything that is between start and end."""
        return range(self.start, self.end + 1, self.step)


class Past:
    """What every container used at every instant.

    Args:
        shape: The cluster.
        now: Its present, seconds since the epoch.
    """

    def __init__(self, shape: Shape, now: int) -> None:
        self._pods = pod_names(shape)
        self._now = now
        dice = np.random.default_rng(1)
        cores = np.exp(dice.normal(-2.0, 1.0, (_LEVELS, 1))).clip(0.001, 3.0) * dice.lognormal(
            0.0, 0.3, (_LEVELS, _PATTERN)
        )
        used = (dice.uniform(2e8, 8e8, (_LEVELS, 1)) * dice.uniform(0.9, 1.1, (_LEVELS, _PATTERN))).astype(np.int64)
        self._texts = {
            _CPU: _pool([[f"{value:.17f}" for value in row] for row in cores.tolist()]),
            _MEMORY: _pool([[str(value) for value in row] for row in used.tolist()]),
        }

    @cached_property
    def _members(self) -> dict[str, list[tuple[int, PodName]]]:
        """The pods of each namespace, with their numbers."""
        found: dict[str, list[tuple[int, PodName]]] = {}
        for number, pod in enumerate(self._pods):
            found.setdefault(pod.namespace, []).append((number, pod))
        return found

    def question(self, form: Mapping[str, str]) -> Question:
        """Return what a form asks."""
        end = float(form.get("end", form.get("time", "0")))
        start, step = float(form.get("start", str(end))), float(form.get("step", "1"))
        beyond = max(0.0, end - self._now)
        return Question(form["query"], round(start - beyond), round(end - beyond), round(step))

    def label_values(self, label: str) -> bytes:
        """Return the values of a label."""
        return _success(msgspec.json.encode(sorted(self._members) if label == "namespace" else []))

    def answer(self, question: Question) -> Iterator[bytes]:
        """Yield the answer to a query in parts."""
        query = question.query
        if query.startswith("count by"):
            yield self._sizes(question)
        elif query.startswith("rate("):
            yield from _matrix(self._used(_CPU, question))
        elif query.startswith(_MEMORY):
            yield from _matrix(self._used(_MEMORY, question))
        elif query.startswith("last_over_time("):
            yield self._labels_at(question)
        elif (asked := _PLAIN.match(query)) and asked["name"] == _LABELS and asked["range"] == "8d":
            yield from _matrix(self._labels_over(question))
        else:
            raise ValueError(f"{query}: there is no answer to this; teach it to bench/prometheus_host.py")

    def _used(self, metric: str, question: Question) -> Iterator[bytes]:
        """Yield the series of containers."""
        instants, pool = question.instants, self._texts[metric]
        count, width = len(instants), pool.shape[2]
        points = np.empty((count, len('[1764000000,""],') + width), dtype=np.uint8)
        frame = "".join(f'[{at:010d},"{"0" * width}"],' for at in instants)
        points[:] = np.frombuffer(frame.encode(), dtype=np.uint8).reshape(points.shape)
        values = points[:, 13 : 13 + width]
        # Where a text begins goes by the instant, so that the parts of a question are the same as the whole.
        first = question.start // question.step
        named = f'"__name__":"{metric}",' if metric == _MEMORY else ""
        for number, pod in self._chosen(question):
            for place, container in enumerate(CONTAINERS):
                series = number * len(CONTAINERS) + place
                begin = (first + series * 31) % _PATTERN
                values[:] = pool[series % _LEVELS, begin : begin + count]
                yield _container_labels(pod, container, named) + points.tobytes()[:-1]

    def _chosen(self, question: Question) -> Iterator[tuple[int, PodName]]:
        for namespace in sorted(question.namespaces or self._members):
            yield from self._members.get(namespace, [])

    def _sizes(self, question: Question) -> bytes:
        rows = [
            {
                "metric": {"namespace": name},
                "values": [(at, str(len(pods) * len(CONTAINERS))) for at in question.instants],
            }
            for name, pods in sorted(self._members.items())
        ]
        return _success(msgspec.json.encode({"resultType": "matrix", "result": rows}))

    def _labels_over(self, question: Question) -> Iterator[bytes]:
        """Yield the labels of all pods, one point an hour for eight days."""
        points = ",".join(f'[{at},"1"]' for at in range(question.end - 8 * _DAY + _LABEL_STEP, question.end + 1, 3600))
        for pod in self._pods:
            yield _head(_pod_labels(pod, f'"__name__":"{_LABELS}",')) + points.encode()

    def _labels_at(self, question: Question) -> bytes:
        rows = ",".join(f'{{"metric":{{{_pod_labels(pod)}}},"value":[{question.end},"1"]}}' for pod in self._pods)
        return _success(f'{{"resultType":"vector","result":[{rows}]}}'.encode())


def _pool(rows: list[list[str]]) -> Text:
    """Return texts of equal width, level by level, repeated so that any answer can be cut out in one piece.

    Returns:
        uint8[levels, texts, width].
    """
    text = np.frombuffer("".join("".join(row) for row in rows).encode(), dtype=np.uint8)
    repeats = _LONGEST // _PATTERN + 2
    return np.tile(text.reshape(len(rows), _PATTERN, -1), (1, repeats, 1))


def _container_labels(pod: PodName, container: str, named: str) -> bytes:
    group = f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{pod.name}.slice/{container}.scope"
    return _head(
        f'{named}"id":"{group}","image":"registry.example/service:1.4.2","instance":"node-1","job":"kubernetes-cadvisor",'
        f'"name":"{container}","namespace":"{pod.namespace}","pod_name":"{pod.name}"'
    )


def _pod_labels(pod: PodName, named: str = "") -> str:
    return (
        f'{named}"instance":"10.0.0.1:8080","job":"kubernetes-pods","kubernetes_namespace":"{pod.namespace}",'
        f'"kubernetes_pod_name":"{pod.name}","pod_label_app":"{pod.app}","pod_label_pod_template_hash":"6d4cf56db6"'
    )


def _head(labels: str) -> bytes:
    return f'{{"metric":{{{labels}}},"values":['.encode()


def _matrix(series: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the whole answer around series without their ends."""
    yield b'{"status":"success","data":{"resultType":"matrix","result":['
    for number, each in enumerate(series):
        yield (b"," if number else b"") + each + b"]}"
    yield b"]}}"


def _success(data: bytes) -> bytes:
    return b'{"status":"success","data":%b}' % data


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    past: Past

    def do_GET(self) -> None:
        label = urlsplit(self.path).path.removeprefix("/api/v1/label/").removesuffix("/values")
        self._reply([self.past.label_values(label)])

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
        self._reply(self.past.answer(self.past.question(dict(parse_qsl(body)))))

    def _reply(self, parts: Iterable[bytes]) -> None:
        body = b"".join(parts)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing of single requests."""


class PrometheusHost:
    """The process, seen from outside.

    Args:
        shape: The cluster that it tells of.
        now: Its present.
    """

    def __init__(self, shape: Shape, now: datetime) -> None:
        size = f"--vpas={shape.vpas}", f"--pods-per-vpa={shape.pods_per_vpa}", f"--now={now.isoformat()}"
        self._process = LineProcess("the server of history", sys.executable, "-m", "bench.prometheus_host", *size)
        self.url = self._process.hear(PastAddress).url

    @property
    def cpu_seconds(self) -> float:
        """CPU time that it has used so far."""
        return cpu_seconds(self._process.pid)

    def stop(self) -> None:
        """End it."""
        self._process.stop()


def main() -> None:
    """Serve until standard input ends."""
    parser = argparse.ArgumentParser(prog="python -m bench.prometheus_host")
    parser.add_argument("--vpas", type=int, required=True)
    parser.add_argument("--pods-per-vpa", type=int, required=True)
    parser.add_argument("--now", type=datetime.fromisoformat, required=True)
    arguments = parser.parse_args()
    past = Past(Shape(arguments.vpas, arguments.pods_per_vpa), int(arguments.now.timestamp()))
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"past": past}))
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    say(PastAddress(f"http://127.0.0.1:{server.server_address[1]}"))
    sys.stdin.read()
    server.shutdown()


if __name__ == "__main__":
    main()

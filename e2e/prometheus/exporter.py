"""An exporter that tells the use of one container as a kubelet does."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class _Handler(BaseHTTPRequestHandler):
    labels: str
    cores: float
    memory: int
    started: float

    def do_GET(self) -> None:
        used = (time.monotonic() - self.started) * self.cores
        lines = (
            "# TYPE container_cpu_usage_seconds_total counter",
            f"container_cpu_usage_seconds_total{{{self.labels}}} {used:.6f}",
            "# TYPE container_memory_working_set_bytes gauge",
            f"container_memory_working_set_bytes{{{self.labels}}} {self.memory}",
        )
        body = "\n".join((*lines, "")).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing of single requests."""


@contextmanager
def exporting(labels: str, cores: float, memory: int) -> Iterator[str]:
    """Tell a steady use on the loopback interface while the context lasts.

    Returns:
        Host and port.
    """
    told = {"labels": labels, "cores": cores, "memory": memory, "started": time.monotonic()}
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), told))
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

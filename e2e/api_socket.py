"""Plain requests to the cluster's API server, with its plain answers.

The tests run outside the cluster's network namespace; a socket file has no network namespace, so ``kubectl proxy``
inside it can be reached through one from here.
"""

from __future__ import annotations

import http.client
import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject, JsonValue, objects_at, text_at
from e2e.cluster.errors import ClusterError
from e2e.cluster.packages import kubectl

_START_SECONDS = 20.0
_CALL_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What the API server said.

    Args:
        code: HTTP status code.
        body: The object, or the Status of a refusal.
        warnings: What it says beside that, for whoever asks.
    """

    code: int
    body: JsonObject
    warnings: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """The message of a refusal."""
        return text_at(self.body, "message")

    @property
    def fields(self) -> list[str]:
        """Paths of the fields a refusal names."""
        return [text_at(cause, "field") for cause in objects_at(self.body, "details", "causes")]


class ApiSocket:
    """Requests through the socket file of a ``kubectl proxy``.

    Args:
        path: The socket file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def post(self, path: str, body: JsonValue, *, user: str = "") -> Answer:
        """Create an object."""
        return self.call("POST", path, body, {"Content-Type": "application/json", **_impersonate(user)})

    def patch(self, path: str, operations: JsonValue, *, user: str = "") -> Answer:
        """Change an object by a JSON patch."""
        return self.call(
            "PATCH", path, operations, {"Content-Type": "application/json-patch+json", **_impersonate(user)}
        )

    def apply(self, path: str, body: JsonValue) -> Answer:
        """Apply an object on the server's side, as kubectl does."""
        return self.call("PATCH", path, body, {"Content-Type": "application/apply-patch+yaml"})

    def read(self, path: str, *, as_table: bool = False) -> Answer:
        """Read an object or a list, as it is or in the form kubectl prints."""
        table = "application/json;as=Table;v=v1;g=meta.k8s.io"
        return self.call("GET", path, None, {"Accept": table if as_table else "application/json"})

    def delete(self, path: str) -> Answer:
        """Delete an object."""
        return self.call("DELETE", path, None, {})

    def call(self, method: str, path: str, body: JsonValue, headers: dict[str, str]) -> Answer:
        """Send one request and wait for its answer."""
        connection = http.client.HTTPConnection("localhost", timeout=_CALL_SECONDS)
        connection.sock = self._connected()
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            warnings = tuple(map(_warning, response.headers.get_all("Warning", [])))
            return Answer(response.status, json.loads(response.read()), warnings)
        finally:
            connection.close()

    def is_open(self) -> bool:
        """Say whether somebody listens."""
        try:
            self._connected().close()
        except OSError:
            return False
        return True

    def _connected(self) -> socket.socket:
        connected = socket.socket(socket.AF_UNIX)
        try:
            connected.settimeout(_CALL_SECONDS)
            connected.connect(str(self._path))
        except OSError:
            connected.close()
            raise
        return connected


@contextmanager
def api_socket(cluster: Cluster, name: str) -> Iterator[ApiSocket]:
    """Open a way to the API server for the time of a ``with`` block.

    Args:
        cluster: A running cluster.
        name: Name of the proxy process, unique in the cluster.

    Raises:
        ClusterError: The proxy does not listen.
    """
    path = cluster.layout.root / f"{name}.socket"
    command = [str(kubectl()), f"--kubeconfig={cluster.kubeconfig}", "proxy", f"--unix-socket={path}"]
    process = cluster.start_process(name, command)
    try:
        opened = ApiSocket(path)
        deadline = time.monotonic() + _START_SECONDS
        while not opened.is_open():
            if time.monotonic() > deadline:
                raise ClusterError(name, f"does not listen: {cluster.logs(name)}", remedy="see the log")
            time.sleep(0.05)
        yield opened
    finally:
        cluster.stop_process(process)
        path.unlink(missing_ok=True)


def _warning(header: str) -> str:
    """Return the text of a Warning header, which stands in quotation marks after a code and an agent."""
    quoted = header.split(" ", 2)[2]
    return re.sub(r"\\(.)", r"\1", quoted[1:-1])


def _impersonate(user: str) -> dict[str, str]:
    return {"Impersonate-User": user} if user else {}

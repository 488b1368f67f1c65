"""What an API server tells of the objects of a list: all of it, from one moment on.

A watch is a connection that ends: a young API server closes it while its cache is still being filled, one that is
restarted as well. So what is there is listed first, and a watch goes on from exactly that version, however late its
connection is made and however often it has to be made again.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from e2e.cluster import packages
from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject, at, objects_at, text_at
from e2e.cluster.errors import ClusterError

_PAUSE_SECONDS: Final = 0.2
_CHANGES: Final = frozenset({"ADDED", "MODIFIED", "DELETED"})

Tell = Callable[[str, JsonObject], None]
"""Is told of a change, ``ADDED``, ``MODIFIED`` or ``DELETED``, and of the object after it."""


class Watch:
    """Tells of every change of the objects of a list, from a thread of its own until it is stopped.

    Args:
        cluster: Whose API server.
        path: Of the list.
        tell: Is told of what is there as added, then of each change, in order.
        connection_seconds: After how long the API server is to end each connection; when it likes if None.

    Raises:
        ClusterError: The list cannot be read.
    """

    def __init__(self, cluster: Cluster, path: str, tell: Tell, connection_seconds: int | None = None) -> None:
        self._cluster, self._path, self._tell = cluster, path, tell
        self._until = "" if connection_seconds is None else f"&timeoutSeconds={connection_seconds}"
        listed: JsonObject = json.loads(cluster.kubectl("get", "--raw", path))
        for found in objects_at(listed, "items"):
            tell("ADDED", found)
        self._version = text_at(listed, "metadata", "resourceVersion")
        self._failure = ""
        self._is_over = threading.Event()
        self._process = self._begin()
        self._reader = threading.Thread(target=self._read, name=f"watch of {path}")
        self._reader.start()

    def stop(self) -> None:
        """End it.

        Raises:
            ClusterError: The API server could not tell of all changes.
        """
        self._is_over.set()
        while self._reader.is_alive():
            # Perhaps it was begun anew just now.
            self._process.terminate()
            self._reader.join(_PAUSE_SECONDS)
        if self._failure:
            raise ClusterError(f"watch of {self._path}", self._failure, remedy="let it be shorter")

    def _begin(self) -> subprocess.Popen[bytes]:
        path = f"{self._path}?watch=1&allowWatchBookmarks=true&resourceVersion={self._version}{self._until}"
        words = [str(packages.kubectl()), f"--kubeconfig={self._cluster.kubeconfig}", "get", "--raw", path]
        return subprocess.Popen(self._cluster.namespace_command(words), stdout=subprocess.PIPE)

    def _read(self) -> None:
        while True:
            with self._process as process:
                for line in process.stdout or ():
                    self._take(json.loads(line))
            if self._failure or self._is_over.wait(_PAUSE_SECONDS):
                return
            self._process = self._begin()

    def _take(self, happened: JsonObject) -> None:
        kind, changed = text_at(happened, "type"), at(happened, "object")
        if not isinstance(changed, dict) or kind == "ERROR":
            self._failure = text_at(happened, "object", "message") or f"it told {happened}"
            return
        self._version = text_at(changed, "metadata", "resourceVersion")
        if kind in _CHANGES:
            self._tell(kind, changed)


@contextmanager
def watching(cluster: Cluster, path: str, tell: Tell) -> Iterator[None]:
    """Tell of every change of the objects of a list for the time of a ``with`` block.

    Args:
        cluster: Whose API server.
        path: Of the list.
        tell: Is told of what is there as added, then of each change, in order.

    Raises:
        ClusterError: The list cannot be read, or the API server could not tell of all changes.
    """
    watch = Watch(cluster, path, tell)
    try:
        yield
    finally:
        watch.stop()

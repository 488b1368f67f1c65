"""The resize scenarios' bench on a real kubelet: time is the machine's, and containers do what they do by shell."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar, cast

from autoscaling.quantity import Quantity
from e2e.api_socket import ApiSocket
from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject as Document
from e2e.cluster.documents import JsonValue
from e2e.cluster.watching import watching
from evenkeel.simulator.api.fields import JsonObject, as_object, child, text
from evenkeel.simulator.kubelet.settings import Amounts
from tests.conformance.bench import IDLE, Ability, Answer, Call, Doing, Seen

T = TypeVar("T")
ABILITIES = frozenset({Ability.KUBELET_RESTART, Ability.STATIC_PODS, Ability.EVICTION_THRESHOLD})
"""Without a runtime that refuses, tells of its calls, or a disk that can be filled."""

_NODE = "node1"
_IMAGE = "local.test/busybox:1"
_NO_LIMIT_BYTES = 2**60
_PAUSE_SECONDS = 0.02
_CLEARING = timedelta(minutes=1)


def script_of(does: Doing) -> str:
    """Return a shell script that does what a container is to do by itself; memory is held by files in memory."""
    parts = ["trap '' TERM" if does.deaf else "trap 'exit 0' TERM"]
    if does.memory_bytes:
        parts.append(f"dd if=/dev/zero of=/hold bs=1M count={does.memory_bytes >> 20} 2>/dev/null")
    if does.releases_after is not None:
        parts.append(f"sleep {does.releases_after.total_seconds():g} & wait $!; rm /hold")
    if does.exits_after is not None:
        parts.append(f"sleep {does.exits_after.total_seconds():g}; exit {does.exit_code}")
    else:
        parts.append("while :; do sleep 100000 & wait $!; done")
    return "; ".join(parts)


class RealBench:
    """A real node, shared by the scenarios one after the other, each in a namespace of its own.

    Args:
        cluster: A running cluster with one node.
        api: Requests to it.
        manifests: The folder of the node's static pods.
        namespace: The scenario's namespace.
    """

    abilities = ABILITIES
    node = _NODE
    slack = timedelta(seconds=1.5)

    def __init__(self, cluster: Cluster, api: ApiSocket, manifests: Path, namespace: str) -> None:
        self.namespace = namespace
        self._cluster, self._api, self._manifests = cluster, api, manifests
        status = child(as_object(api.read(f"/api/v1/nodes/{_NODE}").body), "status")
        self.allocatable, self.absolute = (_amounts(child(status, name)) for name in ("allocatable", "capacity"))
        self._seen: dict[str, list[Seen]] = {}

    @contextmanager
    def running(self) -> Iterator[None]:
        """Keep the namespace, and note every version of its pods, for the time of a ``with`` block."""
        self._api.post("/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        account = f"/api/v1/namespaces/{self.namespace}/serviceaccounts/default"
        self.wait_until(lambda: self._api.read(account).code == 200, "the namespace's service account", _CLEARING)
        pods = f"/api/v1/namespaces/{self.namespace}/pods"
        with watching(self._cluster, pods, self._note):
            try:
                yield
            finally:
                for manifest in self._manifests.glob("*.json"):
                    manifest.unlink()
                self._api.delete(f"/api/v1/namespaces/{self.namespace}")
                self.wait_until(lambda: not self._api.read(pods).body.get("items"), "the pods' end", _CLEARING)

    def _note(self, change: str, changed: Document) -> None:
        """Note a version of a pod."""
        pod = as_object(changed)
        if change != "DELETED":
            self._seen.setdefault(text(pod, "metadata", "name"), []).append(Seen(self.now(), pod))

    def call(self, method: str, path: str, body: object = None, content_type: str = "application/json") -> Answer:
        """Send one request to the API server."""
        answer = self._api.call(
            method, path, cast("JsonValue", body), {} if body is None else {"Content-Type": content_type}
        )
        return Answer(answer.code, as_object(answer.body))

    def container(self, name: str, resources: JsonObject, does: Doing = IDLE) -> JsonObject:
        """Return a container for a pod's spec that does something."""
        command = ["/bin/sh", "-c", script_of(does)]
        pulling = {"image": _IMAGE, "imagePullPolicy": "Never"}
        return {"name": name, **pulling, "command": command, "resources": resources}

    def now(self) -> datetime:
        """Return the time that the API server's timestamps are in."""
        return datetime.now(UTC)

    def wait_until(self, check: Callable[[], T | None], what: str, timeout: timedelta) -> T:
        """Wait until a check returns something true, and return that.

        Raises:
            AssertionError: It does not within the time-out.
        """
        end = time.monotonic() + (timeout + self.slack).total_seconds()
        while True:
            if value := check():
                return value
            assert time.monotonic() < end, f"not within {timeout}: {what}"
            time.sleep(_PAUSE_SECONDS)

    def pass_time(self, by: timedelta) -> None:
        """Wait."""
        time.sleep(by.total_seconds())

    def history(self, name: str) -> Sequence[Seen]:
        """Return all versions of a pod that were seen so far, oldest first."""
        return tuple(self._seen.get(name, ()))

    def metrics_text(self) -> str:
        """Return the kubelet's metrics."""
        return self._cluster.kubectl("get", "--raw", f"/api/v1/nodes/{_NODE}/proxy/metrics")

    def memory_limit_bytes(self, pod_uid: str, container_id: str = "") -> int | None:
        """Return the memory limit in the control group of a container, or of the pod itself."""
        limit = self._cluster.container_cgroup(pod_uid, container_id).memory_limit_bytes
        return None if limit > _NO_LIMIT_BYTES else limit

    def cpu_quota_us(self, pod_uid: str, container_id: str = "") -> int | None:
        """Return the CPU quota in the control group of a container, or of the pod itself."""
        quota = self._cluster.container_cgroup(pod_uid, container_id).cpu_quota_us
        return None if quota < 0 else quota

    def restart_kubelet(self, pause: timedelta, meanwhile: Callable[[], None] = lambda: None) -> datetime:
        """Stop the kubelet, do something, start it after a pause, and return when it was started."""
        self._cluster.restart_kubelet(_NODE, pause_seconds=pause.total_seconds(), meanwhile=meanwhile)
        return self.now()

    def put_manifest(self, name: str, pod: JsonObject) -> None:
        """Put the manifest of a static pod on the node, in place of an earlier one of that name."""
        draft = self._manifests / f".{name}.tmp"
        draft.write_text(json.dumps(pod))
        draft.rename(self._manifests / f"{name}.json")

    def fail_updates(self, times: int | None) -> None:  # noqa: ARG002 the bench's signature
        """Refuse: a real runtime does not fail on demand."""
        raise _beyond(Ability.FAILING_UPDATES)

    def set_disk_pressure(self, *, holds: bool) -> None:  # noqa: ARG002
        """Refuse: the machine's disk is not to be filled."""
        raise _beyond(Ability.NODE_PRESSURE)

    def runtime_calls(self, pod_uid: str) -> Sequence[Call]:  # noqa: ARG002
        """Refuse: a real runtime does not tell of its calls."""
        raise _beyond(Ability.RUNTIME_CALLS)


def _amounts(status: JsonObject) -> Amounts:
    """Return a node's CPU and memory."""
    return Amounts(Quantity.parse(text(status, "cpu")).milli_value(), Quantity.parse(text(status, "memory")).value())


def _beyond(ability: Ability) -> NotImplementedError:
    """Return the error of a scenario that needs what its row did not say."""
    return NotImplementedError(f"a real node lacks {ability.name}; name it among what the scenario needs")

"""Both webhooks over the same API server, and the load on them: what A-1, A-2 and A-3 share."""

from __future__ import annotations

import base64
import os
import re
import subprocess
import sys
import time

import msgspec

from bench.cluster import CONTAINERS, Shape, app_name, namespace_of
from bench.errors import DisagreementError, PeerError
from bench.figures import Run
from bench.hosting import ApiHost, cpu_seconds
from bench.peer import Peer
from bench.row import Benchmark
from e2e.cluster.binaries import build
from evenkeel.simulator.api.certificates import Authority
from evenkeel.simulator.processes.ports import free_port

_BODIES = 500
READY_SECONDS = 300.0
"""How long everything may take to be ready."""

_HOST_NAME = "webhook.system.svc"


def review(place: int) -> dict[str, object]:
    """Return the review of one new pod of a Deployment, as an API server sends it."""
    fields = {"f:metadata": {"f:generateName": {}, "f:labels": {".": {}, "f:app": {}}}, "f:spec": {"f:containers": {}}}
    mount = {"name": "token", "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
    pod = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "generateName": f"{app_name(place)}-6d4cf56db6-",
            "namespace": namespace_of(place),
            "labels": {"app": app_name(place), "pod-template-hash": "6d4cf56db6"},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{app_name(place)}-6d4cf56db6",
                    "uid": "0a1b2c3d-0000-4000-8000-000000000000", "controller": True, "blockOwnerDeletion": True,
                }
            ],
            "managedFields": [
                {
                    "manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1",
                    "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": fields,
                }
            ],
        },
        "spec": {
            "volumes": [{"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}],
            "containers": [
                {
                    "name": name,
                    "image": "registry.example/service:1.4.2",
                    "resources": {
                        "requests": {"cpu": "50m", "memory": "32Mi"}, "limits": {"cpu": "500m", "memory": "64Mi"},
                    },
                    "env": [{"name": f"SETTING_{n}", "value": "a value of some length"} for n in range(10)],
                    "volumeMounts": [mount],
                    "imagePullPolicy": "Always",
                }
                for name in CONTAINERS
            ],
            "restartPolicy": "Always",
            "dnsPolicy": "ClusterFirst",
            "schedulerName": "default-scheduler",
        },
        "status": {},
    }  # fmt: skip
    return {
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": f"00000000-0000-4000-8000-{place:012d}",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "requestKind": {"group": "", "version": "v1", "kind": "Pod"},
            "requestResource": {"group": "", "version": "v1", "resource": "pods"},
            "namespace": namespace_of(place),
            "operation": "CREATE",
            "userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller"},
            "object": pod,
            "oldObject": None,
            "dryRun": False,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        },
    }


class WebhookBenchmark(Benchmark):
    """Load on both webhooks in turn; the other one rests meanwhile.

    Attributes:
        pods_per_vpa: Pods that the API server has; the webhooks follow none of them.
        has_peer: Whether upstream's webhook takes part.
    """

    pods_per_vpa: int = 0
    has_peer: bool = True

    def set_up(self) -> None:
        """Start the API server and both webhooks."""
        self.turns = self.setting.choose(self.turns, 3)
        self.processes: list[subprocess.Popen[bytes]] = []
        shape = self.shape = Shape(self.setting.choose(10_000, 1_000), self.pods_per_vpa)
        size = "--vpas", str(shape.vpas), "--pods-per-vpa", str(shape.pods_per_vpa)
        self.host = ApiHost(self.setting.folder, *size, "--controllers", "--plain", *self.host_flags())
        self.bodies = self.setting.folder / "reviews.json"
        self.bodies.write_bytes(msgspec.json.encode([review(i * 7 % shape.vpas) for i in range(_BODIES)]))
        authority = Authority()
        pair = authority.issue("127.0.0.1", _HOST_NAME)
        for name, content in (("ca", authority.certificate_pem), ("crt", pair.certificate_pem), ("key", pair.key_pem)):
            (self.setting.folder / f"webhook.{name}").write_bytes(content)
        self.load = Peer()
        flags = "--api-group=autoscaling.k8s.io", "--profile=upstream"
        self.ours = self._start("ours", [*self.our_command(), *flags])
        if self.has_peer:
            self.theirs = self._start("peer", [str(build("vpa") / "vpa-admission-controller")])
            self._wait(self.theirs)
        self._wait(self.ours)

    def our_command(self) -> list[str]:
        """Return the command that starts ours, without its flags."""
        return [sys.executable, "-P", "-m", "admission"]

    def host_flags(self) -> tuple[str, ...]:
        """Return what else the API server is told."""
        return ()

    def _start(self, name: str, command: list[str]) -> tuple[str, int]:
        """Start one webhook; returns its URL and process id."""
        port, folder = free_port(), self.setting.folder
        log = (folder / f"{name}.log").open("wb")
        process = subprocess.Popen(
            [
                *command,
                f"--kubeconfig={self.host.hosted.kubeconfig}",
                "--register-webhook=false",
                f"--port={port}",
                f"--address=127.0.0.1:{free_port()}",
                f"--client-ca-file={folder / 'webhook.ca'}",
                f"--tls-cert-file={folder / 'webhook.crt'}",
                f"--tls-private-key={folder / 'webhook.key'}",
                "--v=1",
            ],
            stdout=log,
            stderr=log,
            env={**os.environ, "NAMESPACE": "kube-system"},
        )
        self.processes.append(process)
        return f"https://127.0.0.1:{port}/", process.pid

    def _answers(self, side: tuple[str, int]) -> list[list[tuple[str, str, str]]]:
        """Send every review once and return the patches."""
        out = self.setting.folder / "answers.json"
        self._ask(side, out=str(out))
        return [_patch(bytes(raw)) for raw in msgspec.json.decode(out.read_bytes(), type=list[msgspec.Raw])]

    def _ask(self, side: tuple[str, int], **arguments: str | float) -> Run:
        authority = str(self.setting.folder / "webhook.ca")
        connections = int(arguments.get("connections", 1))
        rest = {key: value for key, value in arguments.items() if key != "connections"}
        answer = self.load.ask(
            "load", url=side[0], ca=authority, name=_HOST_NAME, file=str(self.bodies), connections=connections, **rest
        )
        return answer.run(rate=answer.count / answer.wall if answer.wall else 0.0, **answer.steps)

    def _wait(self, side: tuple[str, int]) -> None:
        """Wait until a webhook patches every pod."""
        end, problem = time.monotonic() + READY_SECONDS, "it has not answered"
        while time.monotonic() < end:
            try:
                if all(self._answers(side)):
                    return
                problem = "it leaves pods as they are"
            except PeerError as error:
                problem = str(error)
            time.sleep(0.5)
        raise PeerError(f"the webhook at {side[0]} is not ready after {READY_SECONDS:.0f} s: {problem}")

    def press(self, side: tuple[str, int], connections: int, seconds: float) -> Run:
        """Put load on one webhook; the CPU time is the webhook's own."""
        before = cpu_seconds(side[1])
        run = self._ask(side, connections=connections, seconds=seconds)
        return Run(run.wall_seconds, cpu_seconds(side[1]) - before, run.values)

    def check(self) -> None:
        """Compare the patches of both."""
        ours, theirs = self._answers(self.ours), self._answers(self.theirs)
        differing = [place for place, pair in enumerate(zip(ours, theirs, strict=True)) if pair[0] != pair[1]]
        if differing:
            place = differing[0]
            raise DisagreementError(f"{len(differing)} patches differ, such as {ours[place]} and {theirs[place]}")

    def tear_down(self) -> None:
        """End everything."""
        for process in getattr(self, "processes", []):
            process.terminate()
            process.wait()
        for each in ("load", "host"):
            if hasattr(self, each):
                getattr(self, each).stop()


def _patch(raw: bytes) -> list[tuple[str, str, str]]:
    """Return the operations of an answer in an order of their own: upstream's comes from a map and changes."""
    answer = msgspec.json.decode(raw, type=dict[str, dict[str, object] | str])
    response = answer["response"]
    encoded = response.get("patch", "") if isinstance(response, dict) else ""
    operations = msgspec.json.decode(base64.b64decode(str(encoded)) or b"[]", type=list[dict[str, object]])
    return sorted((str(each["op"]), str(each["path"]), _unordered(each["value"])) for each in operations)


def _unordered(value: object) -> str:
    """Return a value as text; of one that lists what was changed, the changes sorted."""
    return ",".join(sorted(re.split(r"[,;:] ?", value))) if isinstance(value, str) else str(value)

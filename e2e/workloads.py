"""Objects that several real-cluster tests deploy."""

from __future__ import annotations

from e2e.cluster.documents import JsonObject
from e2e.cluster.images import BUSYBOX_IMAGE

BURN_SCRIPT = "while :; do :; done"
IDLE_SCRIPT = "while :; do sleep 1; done"


def container(script: str, resources: JsonObject, *, name: str = "main") -> JsonObject:
    """Return a container that runs a shell script; its CPU is resized in place, its memory with a restart."""
    return {
        "name": name,
        "image": BUSYBOX_IMAGE,
        "imagePullPolicy": "Never",
        "command": ["/bin/sh", "-c", script],
        "resources": resources,
        "resizePolicy": [
            {"resourceName": "cpu", "restartPolicy": "NotRequired"},
            {"resourceName": "memory", "restartPolicy": "RestartContainer"},
        ],
    }


def deployment(name: str, pod_container: JsonObject, *, replicas: int = 1) -> JsonObject:
    """Return a Deployment whose pods have the label ``app`` with its name and end within a second."""
    labels: JsonObject = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"terminationGracePeriodSeconds": 1, "containers": [pod_container]},
            },
        },
    }


def amounts(cpu: str, memory: str, *, limit_cpu: str, limit_memory: str) -> JsonObject:
    """Return a container's requests and limits."""
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"cpu": limit_cpu, "memory": limit_memory}}


def pod_on(node: str, main: JsonObject) -> JsonObject:
    """Return a pod with a node's name on that node, with the label ``app=placed``."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": node, "labels": {"app": "placed"}},
        "spec": {"nodeName": node, "terminationGracePeriodSeconds": 1, "containers": [main]},
    }

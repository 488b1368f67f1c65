"""Pods as the tests of the simulated kubelet speak of them."""

from __future__ import annotations

from autoscaling.resources import ContainerResources
from evenkeel.simulator.api.fields import JsonObject, copy_of
from evenkeel.simulator.kubelet.podview import PodView, read_pod, read_resources

MEBIBYTE, GIBIBYTE = 2**20, 2**30
Pair = tuple[str, str]


def resources(cpu: Pair | str = "", memory: Pair | str = "") -> JsonObject:
    """Return resources; each is request and limit, or a request alone; an empty text leaves an amount out."""
    found: JsonObject = {}
    for name, amounts in (("cpu", cpu), ("memory", memory)):
        pair = amounts if isinstance(amounts, tuple) else (amounts, "")
        for section, amount in zip(("requests", "limits"), pair, strict=True):
            if amount:
                held = found.setdefault(section, {})
                assert isinstance(held, dict)
                held[name] = amount
    return found


def held(cpu: Pair | str = "", memory: Pair | str = "") -> ContainerResources:
    """Return the same as the kubelet reads it."""
    return read_resources(resources(cpu, memory))


BURSTABLE = resources(("100m", "200m"), ("128Mi", "256Mi"))
GUARANTEED = resources(("500m", "500m"), ("256Mi", "256Mi"))


def container(name: str = "app", wants: JsonObject | None = None, **fields: object) -> JsonObject:
    """Return a container, Burstable unless told otherwise."""
    return {"name": name, "image": "example.dev/app:1", "resources": copy_of(wants or BURSTABLE), **fields}


def pod(name: str = "a", *containers: JsonObject, **spec: object) -> JsonObject:
    """Return a pod, with one Burstable container unless told otherwise."""
    metadata: JsonObject = {"name": name, "namespace": "default", "uid": f"uid-{name}", "generation": 1}
    return {"metadata": metadata, "spec": {"containers": list(containers) or [container()]} | spec}


def view(name: str = "a", *containers: JsonObject, **spec: object) -> PodView:
    """Return such a pod as the kubelet reads it."""
    return read_pod(pod(name, *containers, **spec))

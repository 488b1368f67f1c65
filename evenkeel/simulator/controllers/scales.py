"""How many pods the controller of a pod asks for, and what an autoscaler scales."""

from __future__ import annotations

from dataclasses import dataclass

from evenkeel.simulator.api.fields import JsonObject, number, text, value_at
from evenkeel.simulator.api.kinds import Kind
from evenkeel.simulator.api.selectors import selector_text
from evenkeel.simulator.api.store import Stored
from evenkeel.simulator.controllers.context import DEPLOYMENTS, REPLICA_SETS, Context
from evenkeel.simulator.controllers.index import controller_of


class NoScaleError(Exception):
    """Something does not say how many pods there should be."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The size of an object.

    Args:
        kind: Its kind.
        stored: The object.
        replicas: How many pods it asks for.
        selector: Finds its pods, as queries spell it; empty where it has none.
    """

    kind: Kind
    stored: Stored
    replicas: int
    selector: str


def expected_by_controllers(context: Context, pods: list[Stored]) -> int:
    """Return how many pods the controllers of some pods ask for; pods without a controller count for nothing.

    Args:
        context: The cluster.
        pods: The pods.

    Raises:
        NoScaleError: A controller is of a kind that has no scale.
    """
    found: dict[str, int] = {}
    for pod in pods:
        reference = controller_of(pod.body)
        if reference is None or text(reference, "uid") in found:
            continue
        owner = _owner(context, pod.key[0], reference)
        if owner is None:
            continue
        kind, stored = owner
        found[stored.uid] = number(stored.body, *kind.scale_paths.spec)
    return sum(found.values())


def scale_of_reference(context: Context, namespace: str, reference: JsonObject) -> Scale:
    """Return the size of the object that a reference names, in whatever version its group has a scale for it.

    Args:
        context: The cluster.
        namespace: Where the object is.
        reference: apiVersion, kind and name.

    Raises:
        NoScaleError: There is no such object, or it has no scale.
    """
    group = text(reference, "apiVersion").rpartition("/")[0]
    name, kind_name = text(reference, "name"), text(reference, "kind")
    served = [kind for kind in context.server.registry.all() if (kind.group, kind.kind) == (group, kind_name)]
    scaled = [kind for kind in served if "scale" in kind.subresources]
    kind = next((one for one in scaled if one.api_version == text(reference, "apiVersion")), None)
    kind = kind or next(iter(scaled), None)
    if kind is None:
        wrong = "has no scale" if served else "is of no kind that is served"
        raise NoScaleError(f"{kind_name} {name} of {text(reference, 'apiVersion')} {wrong}; name what has one")
    stored = context.versions.read(kind.resource, (namespace, name))
    if stored is None:
        raise NoScaleError(f"{kind_name} {name} does not exist; create it, or correct scaleTargetRef")
    paths = kind.scale_paths
    selector = value_at(stored.body, *paths.selector) if paths.selector else ""
    written = selector if isinstance(selector, str) else selector_text(selector)
    return Scale(kind, stored, number(stored.body, *paths.spec), written)


def _owner(context: Context, namespace: str, reference: JsonObject) -> tuple[Kind, Stored] | None:
    """Return what asks for the pods of a controller: itself, or the Deployment above a ReplicaSet; None when gone."""
    kind = context.server.registry.named(text(reference, "apiVersion"), text(reference, "kind"))
    if kind is None or "scale" not in kind.subresources:
        raise NoScaleError(
            f"{text(reference, 'kind')} {text(reference, 'name')} of {text(reference, 'apiVersion')} has no scale"
        )
    stored = context.versions.read(kind.resource, (namespace, text(reference, "name")))
    if stored is None or stored.uid != text(reference, "uid"):
        return None
    above = controller_of(stored.body) if kind.resource == REPLICA_SETS else None
    if above is not None and text(above, "kind") == "Deployment":
        deployment = context.versions.read(DEPLOYMENTS, (namespace, text(above, "name")))
        if deployment is None or deployment.uid != text(above, "uid"):
            return None
        return context.kind(DEPLOYMENTS), deployment
    return kind, stored

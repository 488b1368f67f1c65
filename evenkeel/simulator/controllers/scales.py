"""How many pods the controller of a pod asks for."""

from __future__ import annotations

from evenkeel.simulator.api.fields import JsonObject, number, text
from evenkeel.simulator.api.kinds import Kind
from evenkeel.simulator.api.store import Stored
from evenkeel.simulator.controllers.context import DEPLOYMENTS, REPLICA_SETS, Context
from evenkeel.simulator.controllers.index import controller_of


class NoScaleError(Exception):
    """The controller of a pod does not say how many pods there should be."""


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

"""Direct controller and topmost controller of a pod, over a given map of workloads.

The seven well-known kinds are told by their kind alone. Every other kind counts as a controller where it has a scale
subresource; what the API server said of it is looked up beforehand and handed in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from autoscaling.errors import EvenkeelError
from autoscaling.pod import Owner, Pod

WELL_KNOWN_GROUPS: Final[Mapping[str, str]] = {
    "CronJob": "batch",
    "DaemonSet": "apps",
    "Deployment": "apps",
    "Job": "batch",
    "ReplicaSet": "apps",
    "ReplicationController": "",
    "StatefulSet": "apps",
}
"""API group of each kind that is told by its kind alone."""
WELL_KNOWN_KINDS = frozenset(WELL_KNOWN_GROUPS)


def api_group(api_version: str) -> str:
    """Return the group of ``group/version``, empty for the core group."""
    group, slash, _ = api_version.partition("/")
    return group if slash else ""


@dataclass(frozen=True, slots=True)
class ControllerKey:
    """What names a controller; the API version is part of the key for other than well-known kinds."""

    namespace: str
    kind: str
    name: str
    api_version: str = ""

    @property
    def is_well_known(self) -> bool:
        """Whether the kind is one of the seven that are read from caches."""
        return self.kind in WELL_KNOWN_KINDS

    @property
    def group(self) -> str:
        """The API group; of a well-known kind its own, whatever the reference to it says (spec: recommender:11.1)."""
        return WELL_KNOWN_GROUPS[self.kind] if self.is_well_known else api_group(self.api_version)

    def __str__(self) -> str:
        return f"{self.api_version}.{self.kind}/{self.name} in namespace {self.namespace}"


@dataclass(frozen=True, slots=True)
class ScaleAnswer:
    """What the scale subresource of a controller said.

    Args:
        is_found: Whether there is such a subresource.
        selector: ``status.selector`` as text.
        replicas: ``spec.replicas``.
        owners: Owner references of the scale object.
        failure: Why it could not be read, where that is not just its absence.
    """

    is_found: bool
    selector: str = ""
    replicas: int = 0
    owners: tuple[Owner, ...] = ()
    failure: str = ""


class OwnerLookupError(EvenkeelError):
    """The chain of controllers above a pod or workload cannot be followed."""


class OwnerNotCachedError(OwnerLookupError):
    """A controller of a kind that is not well-known has not been looked up yet.

    Args:
        key: What to look up.
    """

    def __init__(self, key: ControllerKey) -> None:
        super().__init__(f"{key}: its scale subresource has not been read yet; it is looked up for the next time")
        self.key = key


class NodeOwnerError(OwnerLookupError):
    """The owner is a node, so the pod is a static one that nobody scales."""


@dataclass(frozen=True, slots=True)
class Controllers:
    """What is known of controllers at one moment.

    Args:
        owners: Owner references of each cached object of a well-known kind, by namespace, kind and name.
        scales: Answers of scale subresources for other kinds.
    """

    owners: Mapping[tuple[str, str, str], tuple[Owner, ...]]
    scales: Mapping[ControllerKey, ScaleAnswer]

    def topmost(self, start: ControllerKey) -> ControllerKey | None:
        """Climb from a controller to the highest one that is well-known or scalable (spec: recommender:11.2).

        Returns:
            None where neither the start nor anything above it is such a controller.

        Raises:
            OwnerNotCachedError: A scale answer is missing from the map.
            NodeOwnerError: The chain reaches a node.
            OwnerLookupError: An object is missing, an answer was an error, or the chain runs in a circle.
        """
        top: ControllerKey | None = None
        visited: set[ControllerKey] = set()
        current: ControllerKey | None = start
        while current is not None:
            if current in visited:
                raise OwnerLookupError(f"{start}: the owner references above it run in a circle at {current}")
            visited.add(current)
            if self._counts(current):
                top = current
            current = self._parent(current)
        return top

    def _counts(self, key: ControllerKey) -> bool:
        """Say whether a controller can be a target."""
        return key.is_well_known or (key.kind != "Node" and self._scale(key).is_found)

    def _parent(self, key: ControllerKey) -> ControllerKey | None:
        """Return the controller above, None at the top."""
        if key.kind == "Node":
            raise NodeOwnerError(f"{key}: a node is no controller that can be scaled")
        if key.is_well_known:
            owners = self.owners.get((key.namespace, key.kind, key.name))
            if owners is None:
                raise OwnerLookupError(f"{key.kind} {key.namespace}/{key.name} does not exist")
        else:
            answer = self._scale(key)
            if answer.failure:
                raise OwnerLookupError(
                    f"unhandled targetRef {key.api_version} / {key.kind} / {key.name}: {answer.failure}"
                )
            owners = answer.owners
        return _controller_key(key.namespace, owners)

    def _scale(self, key: ControllerKey) -> ScaleAnswer:
        """Return the answer for a key, which must have been looked up."""
        if key not in self.scales:
            raise OwnerNotCachedError(key)
        return self.scales[key]


def _controller_key(namespace: str, owners: Iterable[Owner]) -> ControllerKey | None:
    """Return the first owner that is the controller."""
    owner = next((o for o in owners if o.controller), None)
    return ControllerKey(namespace, owner.kind, owner.name, owner.api_version) if owner else None


def pod_controller(pod: Pod) -> ControllerKey | None:
    """Return a pod's direct controller: the last reference that says it is the controller (spec: admission:6.3)."""
    return _controller_key(pod.namespace, reversed(pod.owners))

"""Which container does what: behaviours by name, and how pods choose among them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from evenkeel.simulator.api.fields import JsonObject, child, text
from evenkeel.simulator.clock import EPOCH
from evenkeel.simulator.workloads.choices import USAGE_KEY, chosen_name, replica_of
from evenkeel.simulator.workloads.demand import Behaviour, Demand
from evenkeel.simulator.workloads.sharing import Alone, Sharing

_IDLE, _ALONE = Behaviour(), Alone()
_KEPT_CHOICES = 500_000
_NO_REPLICA = 0
"""What pods bear together is no replica's own."""


@dataclass(frozen=True, slots=True)
class _Choice:
    """What a pod says about one of its containers.

    Args:
        metadata: Where it was read; stored objects are never changed in place.
        name: The behaviour it asks for, empty for none.
        replica: The pod's number.
    """

    metadata: JsonObject
    name: str
    replica: int


class UnknownBehaviourError(LookupError):
    """A pod names a behaviour that is not in the catalogue."""


class Catalogue:
    """Behaviours by name; the demand source of the simulated nodes.

    Args:
        origin: The simulation's beginning, from which ``Behaviour.since_origin`` and ``Behaviour.shared`` count.
        default: What containers do that name nothing.
        sharing: Divides the loads that pods bear together.
    """

    def __init__(self, origin: datetime = EPOCH, default: Behaviour = _IDLE, sharing: Sharing = _ALONE) -> None:
        self.origin = origin
        self.default = default
        self._sharing = sharing
        self._behaviours: dict[str, Behaviour] = {}
        self._choices: dict[tuple[str, str], _Choice] = {}

    def add(self, name: str, behaviour: Behaviour) -> None:
        """Add a behaviour, or replace the one of that name; running containers change with it."""
        self._behaviours[name] = behaviour

    def behaviour_of(self, pod: JsonObject, container_name: str) -> Behaviour:
        """Return what a container does.

        Raises:
            UnknownBehaviourError: Its pod names one that is not in the catalogue.
        """
        name = self._choice(pod, container_name).name
        if not name:
            return self.default
        found = self._behaviours.get(name)
        if found is None:
            raise _unknown(pod, container_name, name)
        return found

    def demand_of(self, pod: JsonObject, container_name: str, started: datetime, now: datetime) -> Demand:
        """Return what a running container wants at a moment.

        Raises:
            UnknownBehaviourError: Its pod names a behaviour that is not in the catalogue.
        """
        behaviour, choice = self.behaviour_of(pod, container_name), self._choice(pod, container_name)
        demand = behaviour.since_start.at(now - started, choice.replica)
        if behaviour.since_origin is not None:
            demand = demand.plus(behaviour.since_origin.at(now - self.origin, choice.replica))
        if behaviour.shared is not None:
            share = self._sharing.share(choice.name, pod)
            demand = demand.plus(behaviour.shared.at(now - self.origin, _NO_REPLICA).times(share))
        return demand

    def _choice(self, pod: JsonObject, container_name: str) -> _Choice:
        """Return what a pod says about a container, from memory while its metadata is the same object."""
        metadata = child(pod, "metadata")
        key = (text(metadata, "uid"), container_name)
        known = self._choices.get(key)
        if known is None or known.metadata is not metadata:
            known = _Choice(metadata, chosen_name(pod, container_name), replica_of(pod))
            if len(self._choices) >= _KEPT_CHOICES:
                self._choices.clear()
            self._choices[key] = known
        return known


def _unknown(pod: JsonObject, container_name: str, name: str) -> UnknownBehaviourError:
    """Return the complaint about a name that is not in the catalogue."""
    where = f"{text(pod, 'metadata', 'namespace')}/{text(pod, 'metadata', 'name')}"
    return UnknownBehaviourError(
        f"Pod {where}: container {container_name!r} asks for the behaviour {name!r}, which is not in the catalogue;"
        f" add it there or correct {USAGE_KEY}"
    )

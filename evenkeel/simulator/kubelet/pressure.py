"""Memory pressure: when a node is short of memory, which pod has to go, and what is told about that."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from autoscaling.quantity import Format, Quantity
from autoscaling.resources import MEMORY
from evenkeel.simulator.kubelet.events import WARNING, Event
from evenkeel.simulator.kubelet.podview import PodView, Role, section
from evenkeel.simulator.kubelet.records import Ending
from evenkeel.simulator.kubelet.settings import MEBIBYTE

EVICTED = "Evicted"


@dataclass(frozen=True, slots=True)
class Tenant:
    """A pod that may be evicted.

    Args:
        view: The pod.
        usage_bytes: Memory in use, by container.
        request_bytes: What the pod requests.
    """

    view: PodView
    usage_bytes: dict[str, int]
    request_bytes: int

    @property
    def excess_bytes(self) -> int:
        """How much it uses beyond its request; negative while it uses less."""
        return sum(self.usage_bytes.values()) - self.request_bytes


def next_to_go(tenants: Iterable[Tenant]) -> Tenant | None:
    """Return the pod to evict: beyond its request, of the lowest priority, with the largest excess; no critical one."""
    movable = [tenant for tenant in tenants if not tenant.view.critical]
    return min(movable, key=_rank, default=None)


def _rank(tenant: Tenant) -> tuple[bool, int, int, str]:
    """Return the sort key of a pod; the smallest goes first."""
    return tenant.excess_bytes <= 0, tenant.view.priority, -tenant.excess_bytes, tenant.view.uid


def eviction_of(tenant: Tenant, available_bytes: int) -> tuple[Ending, Event]:
    """Return how an evicted pod ends, and the event with the facts that recommenders read (spec: recommender 8.3)."""
    offending = [
        (container.name, used)
        for container in tenant.view.of_role(Role.REGULAR, Role.SIDECAR)
        if (used := tenant.usage_bytes.get(container.name, 0)) > _request(tenant.view, container.name)
    ]
    parts = [f"The node was low on memory, of which {available_bytes // MEBIBYTE}Mi were available."]
    parts += [
        f"Container {name} used {_text(used)}, more than its request of {_text(_request(tenant.view, name))}."
        for name, used in offending
    ]
    message = " ".join(parts)
    facts = (
        ("offending_containers", ",".join(name for name, _ in offending)),
        ("offending_containers_usage", ",".join(_text(used) for _, used in offending)),
        ("starved_resource", MEMORY),
    )
    ending = Ending(EVICTED, message, "Ended by the kubelet because the node was low on memory")
    return ending, Event(WARNING, EVICTED, message, annotations=facts)


def _request(view: PodView, name: str) -> int:
    """Return the memory request of a container."""
    found = next(c.resources for c in view.containers if c.name == name)
    request = section(found, "requests").get(MEMORY)
    return request.value() if request else 0


def _text(amount: int) -> str:
    """Return an amount of memory as a quantity."""
    return str(Quantity.of_units(amount, Format.BINARY_SI))


@dataclass(slots=True)
class Pressure:
    """A condition that stays for a while after its cause has gone.

    Args:
        since: When it last became true or false.
        holds: Whether it is true.
        last_met: When its cause was last there.
    """

    since: datetime
    holds: bool = False
    last_met: datetime | None = None

    def update(self, now: datetime, stays: timedelta, *, met: bool) -> bool:
        """Take in whether the cause is there, and say whether the condition changed."""
        if met:
            self.last_met = now
        holds = self.last_met is not None and (met or now - self.last_met < stays)
        if holds == self.holds:
            return False
        self.holds, self.since = holds, now
        return True

"""ResourceQuotas at work: a write that asks for more than is left is refused, others are charged (resize R42, R43)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from autoscaling.quantity import ZERO, Quantity
from evenkeel.simulator.api.builtin import PODS, RESOURCE_QUOTAS
from evenkeel.simulator.api.containers import amounts
from evenkeel.simulator.api.fields import JsonObject, child, copy_of, ensure, text
from evenkeel.simulator.api.kinds import Kind
from evenkeel.simulator.api.objects import ObjectStore
from evenkeel.simulator.api.pod_amounts import Amounts
from evenkeel.simulator.api.quota_usage import counts, unset_by_containers, usage_of
from evenkeel.simulator.api.status import StatusError, Subject, forbidden
from evenkeel.simulator.api.store import Stored


@dataclass(slots=True)
class QuotaCharges:
    """The quotas of one server.

    A quota holds from the moment its status shows what is used; the quota controller sees to that.

    Args:
        objects: Where quotas are stored.
    """

    objects: ObjectStore

    def charge(self, kind: Kind, body: JsonObject, old: JsonObject | None, *, dry_run: bool = False) -> None:
        """Charge the quotas of a namespace with what a write adds to their use.

        Args:
            kind: Kind of the object.
            body: The object as it will be stored.
            old: As it was, None for a new one.
            dry_run: Only check.

        Raises:
            StatusError: A quota has not enough left, or a container lacks what a quota counts (403).
        """
        metadata = child(body, "metadata")
        if not self.objects.versions.snapshot(RESOURCE_QUOTAS, text(metadata, "namespace")):
            return
        subject = kind.subject(text(metadata, "name"))
        with self.objects.versions.lock:
            quotas = [
                stored
                for stored in self.objects.versions.snapshot(RESOURCE_QUOTAS, text(metadata, "namespace"))
                if counts(stored.body, kind, body)
            ]
            usage = usage_of(kind, body, self.objects.now())
            for quota in quotas:
                _check_countable(subject, quota, usage)
                if kind.resource == PODS:
                    _check_set(subject, quota, body)
            added = _added(usage, usage_of(kind, old, self.objects.now()) if old else {})
            charged = [(quota, _charged(subject, quota, added)) for quota in quotas]
            if not dry_run:
                self._store(charged)

    def _store(self, charged: list[tuple[Stored, JsonObject]]) -> None:
        """Write the new use of every quota that has one."""
        quota_kind = self.objects.registry.at("", "v1", RESOURCE_QUOTAS.plural)
        assert quota_kind is not None
        for quota, used in charged:
            body = copy_of(quota.body)
            ensure(body, "status")["used"] = used
            self.objects.replace(quota_kind, body, quota)


def _check_countable(subject: Subject, quota: Stored, usage: Mapping[str, Quantity]) -> None:
    """Refuse while a quota does not know what is used of something that the object needs."""
    hard, used = child(quota.body, "status", "hard"), child(quota.body, "status", "used")
    unknown = sorted(name for name in hard if name in usage and name not in used)
    if unknown:
        why = f"quota {quota.key[1]} does not know yet how much is used of {', '.join(unknown)}"
        raise forbidden(subject, why)


def _check_set(subject: Subject, quota: Stored, pod: JsonObject) -> None:
    """Refuse a pod whose containers leave open what a quota counts."""
    unset = unset_by_containers(list(child(quota.body, "status", "hard")), pod)
    if unset:
        raise forbidden(subject, f"failed quota: {quota.key[1]}: must specify {'; '.join(unset)}")


def _added(new: Amounts, old: Amounts) -> Amounts:
    """Return what a write adds; what it gives back is left to the quota controller."""
    gained = {name: Quantity(amount.nano - old.get(name, ZERO).nano, amount.format) for name, amount in new.items()}
    return {name: amount for name, amount in gained.items() if amount > ZERO}


def _charged(subject: Subject, quota: Stored, added: Amounts) -> JsonObject:
    """Return a quota's use after a charge."""
    hard, used = amounts(child(quota.body, "status"), "hard"), amounts(child(quota.body, "status"), "used")
    asked = {name: amount for name, amount in sorted(added.items()) if name in hard}
    exceeded = [name for name, amount in asked.items() if used[name].nano + amount.nano > hard[name].nano]
    if exceeded:
        raise _exceeded(subject, quota.key[1], [(n, asked[n], used[n], hard[n]) for n in exceeded])
    result = dict(child(quota.body, "status", "used"))
    return result | {name: str(used[name].plus(amount)) for name, amount in asked.items()}


def _exceeded(subject: Subject, name: str, lines: list[tuple[str, Quantity, Quantity, Quantity]]) -> StatusError:
    """Return the refusal of a write that a quota has no room for."""
    requested = ",".join(f"{resource}={asked}" for resource, asked, _, _ in lines)
    used = ",".join(f"{resource}={amount}" for resource, _, amount, _ in lines)
    limited = ",".join(f"{resource}={amount}" for resource, _, _, amount in lines)
    return forbidden(subject, f"exceeded quota: {name}, requested: {requested}, used: {used}, limited: {limited}")

"""The admission that is built in: priorities, LimitRanges and ResourceQuotas, in the order of in-place-resize 1.3."""

from __future__ import annotations

from evenkeel.simulator.api.admission_request import Operation
from evenkeel.simulator.api.builtin import PODS
from evenkeel.simulator.api.calls import Call
from evenkeel.simulator.api.fields import JsonObject, child, text
from evenkeel.simulator.api.limits_admission import LimitRanger
from evenkeel.simulator.api.objects import ObjectStore
from evenkeel.simulator.api.priority_admission import Priorities
from evenkeel.simulator.api.quota_admission import QuotaCharges
from evenkeel.simulator.api.status import forbidden


class Policies:
    """What is asked about writes besides webhooks.

    Args:
        objects: Where the policies are stored.
    """

    def __init__(self, objects: ObjectStore) -> None:
        self._limits = LimitRanger(objects)
        self._quotas = QuotaCharges(objects)
        self._priorities = Priorities(objects)

    def complete(self, call: Call, operation: Operation, body: JsonObject) -> None:
        """Fill in what the policies of a namespace give a pod, before webhooks see it, in place.

        Raises:
            StatusError: A pod names a priority class that does not exist (403).
        """
        if not _is_governed(call, operation, body):
            return
        if operation is Operation.CREATE:
            self._priorities.resolve(call.target.kind, body)
        self._limits.complete(call.target.namespace, body)

    def check(self, call: Call, operation: Operation, body: JsonObject) -> None:
        """Check a valid pod, before the validating webhooks see it.

        Raises:
            StatusError: A LimitRange forbids it (403).
        """
        if not _is_governed(call, operation, body):
            return
        faults = self._limits.faults(call.target.namespace, body)
        if faults:
            listed = faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]"
            raise forbidden(call.target.kind.subject(text(body, "metadata", "name")), listed)

    def charge(self, call: Call, body: JsonObject, old: JsonObject | None) -> None:
        """Charge the quotas with a write that everything else allows: any new object, or the resize of a pod.

        Raises:
            StatusError: A quota has no room for it (403).
        """
        kind = call.target.kind
        if kind.namespaced and (old is None or (kind.resource == PODS and call.target.subresource == "resize")):
            self._quotas.charge(kind, body, old, dry_run=call.dry_run)


def _is_governed(call: Call, operation: Operation, body: JsonObject) -> bool:
    """Say whether a write is the creation or the resize of a pod that is not going away."""
    if call.target.kind.resource != PODS or child(body, "metadata").get("deletionTimestamp"):
        return False
    wanted = "" if operation is Operation.CREATE else "resize"
    return operation is not Operation.DELETE and call.target.subresource == wanted

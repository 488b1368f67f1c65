"""One write as admission sees it: what happens to which object, and the question that webhooks are asked about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from evenkeel.simulator.api.calls import Call
from evenkeel.simulator.api.fields import JsonObject, text


class Operation(StrEnum):
    """What happens to an object, in the words of admission rules."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class Review:
    """One write that admission is asked about."""

    call: Call
    operation: Operation
    object: JsonObject | None
    old: JsonObject | None

    def with_object(self, changed: JsonObject) -> Review:
        """Return the same write with the object as a webhook changed it."""
        return Review(self.call, self.operation, changed, self.old)


def request_of(review: Review, uid: str) -> JsonObject:
    """Return a write as the request of an AdmissionReview, without the objects."""
    call, kind = review.call, review.call.target.kind
    gvk = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    gvr = {"group": kind.group, "version": kind.version, "resource": kind.plural}
    request: JsonObject = {"uid": uid, "kind": gvk, "resource": gvr, "requestKind": gvk, "requestResource": gvr}
    if call.target.subresource:
        request["subResource"] = request["requestSubResource"] = call.target.subresource
    name = call.target.name or text(review.object or {}, "metadata", "name")
    if name:
        request["name"] = name
    if call.target.namespace:
        request["namespace"] = call.target.namespace
    request["operation"] = review.operation.value
    request["userInfo"] = {"username": call.user.name, "uid": call.user.uid, "groups": list(call.user.groups)}
    request["dryRun"] = call.dry_run
    request["options"] = {"kind": f"{review.operation.value.title()}Options", "apiVersion": "meta.k8s.io/v1"}
    return request

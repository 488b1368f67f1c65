"""What happens to a cluster between two rounds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from evenkeel.simulator.api.fields import JsonObject, copy_of, text
from evenkeel.simulator.api.server import ApiServer


class ChangeKind(Enum):
    """What is done with an object."""

    CREATE = "create"
    MERGE = "merge"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Change:
    """One change.

    Args:
        kind: What is done.
        object: The object, the part of it that is merged, or its name.
    """

    kind: ChangeKind
    object: JsonObject

    def apply(self, server: ApiServer) -> None:
        """Carry it out, past all admission; an object that is gone is left alone."""
        store, body = server.store, copy_of(self.object)
        name = (text(body, "apiVersion"), text(body, "kind"), text(body, "metadata", "name"))
        namespace = text(body, "metadata", "namespace")
        if self.kind is ChangeKind.CREATE:
            store.create(body)
        elif store.find(*name, namespace) is None:
            return
        elif self.kind is ChangeKind.MERGE:
            store.merge(body)
        else:
            store.delete(*name, namespace)


def partial(obj: JsonObject, **parts: object) -> JsonObject:
    """Return what is merged into an object to give it other parts."""
    metadata = {"name": text(obj, "metadata", "name"), "namespace": text(obj, "metadata", "namespace")}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": metadata, **parts}

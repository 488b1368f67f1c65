"""Whoever operates a simulated cluster: creates, changes and deletes objects as an administrator would with kubectl."""

from __future__ import annotations

from evenkeel.simulator.api.access import ADMIN
from evenkeel.simulator.api.calls import Call, Request, Target
from evenkeel.simulator.api.codec import PatchType
from evenkeel.simulator.api.deletes import DeleteOptions
from evenkeel.simulator.api.fields import JsonObject, encode, text
from evenkeel.simulator.api.kinds import Kind
from evenkeel.simulator.api.propagation import Propagation
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.status import StatusError

_JSON = "application/json"
_AS_KUBECTL = DeleteOptions(propagation=Propagation.BACKGROUND)


class Administrator:
    """Writes to one cluster with all rights; defaults, quotas, webhooks and validation apply all the same.

    The calls take no connection: faults do not strike them, and they are not in the server's request log.

    Args:
        server: The cluster's API server.
    """

    def __init__(self, server: ApiServer) -> None:
        self._server = server

    async def create(self, obj: JsonObject) -> None:
        """Create an object given whole, with its status, which only others could write in a real cluster.

        Raises:
            StatusError: It exists, or something refuses it.
        """
        target = self._target(obj)
        await self._server.parts.writer.create(_call("POST", "create", target, encode(obj)))
        if "status" in obj and "status" in target.kind.subresources:
            self._server.store.merge({key: obj[key] for key in ("apiVersion", "kind", "metadata", "status")})

    async def apply(self, obj: JsonObject) -> None:
        """Create an object, or merge what is given into the one that exists.

        Raises:
            StatusError: Something refuses it.
        """
        target = self._target(obj)
        named = Target(target.kind, target.namespace, text(obj, "metadata", "name"))
        if self._server.store.versions.read(named.kind.resource, named.key) is None:
            await self.create(obj)
            return
        form = PatchType.MERGE if named.kind.schema is not None else PatchType.STRATEGIC
        await self._server.parts.writer.patch(_call("PATCH", "patch", named, encode(obj), form.value))

    async def delete(self, api_version: str, kind: str, name: str, namespace: str = "") -> None:
        """Delete an object, with the grace that it asks for, and afterwards what it owns, as kubectl does.

        Raises:
            StatusError: It does not exist, or something refuses.
        """
        found = self._server.store.kind_of({"apiVersion": api_version, "kind": kind})
        target = Target(found, namespace if found.namespaced else "", name)
        await self._server.parts.deleter.delete(_call("DELETE", "delete", target), _AS_KUBECTL)

    def write_status(self, obj: JsonObject) -> None:
        """Merge a status into an object, past all admission, as whoever it belongs to would.

        Raises:
            StatusError: The object does not exist.
        """
        self._server.store.merge({key: obj[key] for key in ("apiVersion", "kind", "metadata", "status")})

    def serves(self, obj: JsonObject) -> bool:
        """Say whether the cluster knows the kind of an object."""
        try:
            self._server.store.kind_of(obj)
        except StatusError:
            return False
        return True

    def _target(self, obj: JsonObject) -> Target:
        """Return the collection that an object belongs to."""
        kind: Kind = self._server.store.kind_of(obj)
        namespace = text(obj, "metadata", "namespace") or "default"
        return Target(kind, namespace if kind.namespaced else "")


def _call(method: str, verb: str, target: Target, body: bytes = b"", content_type: str = _JSON) -> Call:
    """Return one request of the administrator."""
    inside = f"/namespaces/{target.namespace}" if target.namespace else ""
    root = f"/apis/{target.kind.api_version}" if target.kind.group else f"/api/{target.kind.version}"
    path = f"{root}{inside}/{target.kind.plural}" + (f"/{target.name}" if target.name else "")
    return Call(Request(method, path, {}, {"content-type": content_type}, body), target, verb, ADMIN)

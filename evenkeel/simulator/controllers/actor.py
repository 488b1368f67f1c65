"""The API server from inside: what a controller creates and deletes takes the way of every other request."""

from __future__ import annotations

from evenkeel.simulator.api.calls import Call, Request, Target, User
from evenkeel.simulator.api.deletes import DeleteOptions
from evenkeel.simulator.api.fields import JsonObject, encode, text
from evenkeel.simulator.api.kinds import Kind
from evenkeel.simulator.api.propagation import Propagation
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.status import StatusError
from evenkeel.simulator.api.store import Stored
from evenkeel.simulator.api.subresources import SCALE_TYPE, write_scale
from evenkeel.simulator.api.writes import PATCH_ATTEMPTS, Modify

_GROUPS = ("system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated")
_JSON_HEADERS = {"content-type": "application/json"}
_GONE_OR_ANOTHER = ("NotFound", "Conflict")


class Actor:
    """One controller as a client of the API server: defaults, admission, webhooks and validation apply to it.

    Its calls are not put into the server's request log, and faults do not strike them.

    Args:
        server: The server.
        component: Name of the controller, such as ``replicaset-controller``.
    """

    def __init__(self, server: ApiServer, component: str) -> None:
        self._server = server
        self._user = User(f"system:serviceaccount:kube-system:{component}", _GROUPS)

    async def create(self, obj: JsonObject) -> Stored:
        """Create an object given whole, with kind and apiVersion.

        Raises:
            StatusError: It exists, or validation, a quota, a limit or a webhook forbids it.
        """
        kind = self._server.store.kind_of(obj)
        target = Target(kind, text(obj, "metadata", "namespace") if kind.namespaced else "")
        return await self._server.parts.writer.create(self._call("POST", "create", target, encode(obj)))

    async def delete(self, kind: Kind, stored: Stored, propagation: Propagation | None = None) -> bool:
        """Delete an object, and only this one; returns whether it was still there.

        Args:
            kind: Its kind.
            stored: The object.
            propagation: What becomes of what it owns; as is usual for its kind where it is None.

        Raises:
            StatusError: A webhook refuses.
        """
        namespace, name = stored.key
        call = self._call("DELETE", "delete", Target(kind, namespace, name))
        try:
            await self._server.parts.deleter.delete(call, DeleteOptions(uid=stored.uid, propagation=propagation))
        except StatusError as error:
            if error.reason in _GONE_OR_ANOTHER:
                return False
            raise
        return True

    async def modify(self, kind: Kind, stored: Stored, change: Modify) -> bool:
        """Change an object as it is now, and only this one; returns whether it was still there.

        Raises:
            StatusError: A webhook refuses, or it is written again and again meanwhile.
        """

        def change_this(current: JsonObject) -> JsonObject:
            return change(current) if text(current, "metadata", "uid") == stored.uid else current

        namespace, name = stored.key
        call = self._call("PATCH", "patch", Target(kind, namespace, name))
        try:
            written = await self._server.parts.writer.modify(call, change_this, attempts=PATCH_ATTEMPTS)
        except StatusError as error:
            if error.reason == "NotFound":
                return False
            raise
        return written.uid == stored.uid

    async def scale(self, kind: Kind, stored: Stored, replicas: int) -> Stored:
        """Set the replicas of an object through its scale subresource, and return the object.

        Raises:
            StatusError: It has changed since it was read or has gone, or a webhook refuses.
        """
        namespace, name = stored.key
        metadata: JsonObject = {"name": name, "namespace": namespace, "resourceVersion": str(stored.revision)}
        body = encode({**SCALE_TYPE, "metadata": metadata, "spec": {"replicas": replicas}})
        call = self._call("PUT", "update", Target(kind, namespace, name, "scale"), body)
        return await write_scale(self._server.parts.writer, call)

    def _call(self, method: str, verb: str, target: Target, body: bytes = b"") -> Call:
        """Return one request of this controller."""
        return Call(Request(method, _path_of(target), {}, _JSON_HEADERS, body), target, verb, self._user)


def _path_of(target: Target) -> str:
    """Return the path that a client would have used."""
    kind = target.kind
    root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    inside = f"/namespaces/{target.namespace}" if target.namespace else ""
    return f"{root}{inside}/" + "/".join(part for part in (kind.plural, target.name, target.subresource) if part)

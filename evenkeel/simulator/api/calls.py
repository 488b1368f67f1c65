"""One request as the handlers see it: who wants what, of which object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from evenkeel.simulator.api.codec import Form, answer_form, read_object
from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.api.kinds import Kind, KindRegistry
from evenkeel.simulator.api.status import StatusError, bad_request, method_not_allowed, no_such_path
from evenkeel.simulator.api.store import Key

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}
PROXY = "proxy"
"""Subresource of a node by which the API server passes requests on to its kubelet."""

_TRUE = {"1", "true", "True", "TRUE", "t", "T"}


@dataclass(frozen=True, slots=True)
class User:
    """Who sends a request."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """What a path points at; the name is empty for a collection, the namespace for all namespaces."""

    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def key(self) -> Key:
        """Where the object is stored."""
        return self.namespace, self.name

    @property
    def resource_name(self) -> str:
        """Resource with subresource, as RBAC and discovery write it."""
        return f"{self.kind.plural}/{self.subresource}" if self.subresource else self.kind.plural


@dataclass(frozen=True, slots=True)
class Request:
    """What came over the wire."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def content_type(self) -> str:
        """The body's content type as sent."""
        return self.headers.get("content-type", "")


@dataclass(slots=True)
class Call:
    """A request on a resource, while it is being answered."""

    request: Request
    target: Target
    verb: str
    user: User
    warnings: list[str] = field(default_factory=list)

    @property
    def query(self) -> Mapping[str, str]:
        """The query parameters."""
        return self.request.query

    @property
    def form(self) -> Form:
        """The form in which the client takes the answer."""
        return answer_form(self.request.headers.get("accept", ""))

    @property
    def dry_run(self) -> bool:
        """Whether nothing may be stored."""
        return self.query.get("dryRun") == "All"

    def flag(self, name: str) -> bool:
        """Return a boolean query parameter."""
        return self.query.get(name, "") in _TRUE

    def integer(self, name: str) -> int | None:
        """Return a whole number from the query, None when it is absent.

        Raises:
            StatusError: It is no whole number (400).
        """
        value = self.query.get(name, "")
        if not value:
            return None
        if not value.isdecimal():
            raise bad_request(f"query parameter {name}={value!r} must be a whole number")
        return int(value)

    def object(self) -> JsonObject:
        """Return the object in the body.

        Raises:
            StatusError: There is none that can be read.
        """
        return read_object(self.request.content_type, self.request.body)


def verb_of(request: Request, target: Target) -> str:
    """Return the API verb of a request.

    Raises:
        StatusError: The method means nothing here (405).
    """
    if request.method in {"GET", "HEAD"}:
        if target.name:
            return "get"
        return "watch" if request.query.get("watch", "") in _TRUE else "list"
    if request.method == "DELETE":
        return "delete" if target.name else "deletecollection"
    if request.method not in _VERBS:
        raise method_not_allowed()
    return _VERBS[request.method]


def target_of(registry: KindRegistry, path: str) -> Target | None:
    """Return what a path points at, None when it is no path of resources.

    Raises:
        StatusError: It is one, and nothing is served there (404).
    """
    parts = path.strip("/").split("/")
    if parts[:3] == ["api", "v1", "nodes"] and parts[4:] == [PROXY, "metrics"]:
        # The only page of a kubelet that is passed on; its path goes on behind the subresource.
        return replace(_resource(registry, "", "v1", parts[2:4]), subresource=PROXY)
    if parts[0] == "api" and len(parts) >= 3:
        return _resource(registry, "", parts[1], parts[2:])
    if parts[0] == "apis" and len(parts) >= 4:
        return _resource(registry, parts[1], parts[2], parts[3:])
    return None


def _resource(registry: KindRegistry, group: str, version: str, parts: list[str]) -> Target:
    """Return the target of the parts of a path after group and version."""
    namespace = ""
    is_namespace_itself = not group and len(parts) == 3 and registry.at("", version, parts[2]) is None
    if parts[0] == "namespaces" and len(parts) >= 3 and not is_namespace_itself:
        namespace, parts = parts[1], parts[2:]
    kind = registry.at(group, version, parts[0])
    if kind is None or len(parts) > 3 or (namespace and not kind.namespaced):
        raise no_such_path()
    name, subresource = (*parts[1:], "", "")[:2]
    if name and kind.namespaced and not namespace:
        raise no_such_path()
    if subresource and subresource not in kind.subresources:
        raise no_such_path()
    return Target(kind, namespace, name, subresource)


def refuse_mismatch(target: Target, obj: JsonObject) -> StatusError | None:
    """Return the refusal of an object whose kind is not the one that the path serves."""
    named = (obj.get("apiVersion"), obj.get("kind"))
    served = (target.kind.api_version, target.kind.kind)
    if all(value in {None, "", expected} for value, expected in zip(named, served, strict=True)):
        return None
    return bad_request(f"the body is a {named[1]} of {named[0]}, the path serves {served[1]} of {served[0]}")

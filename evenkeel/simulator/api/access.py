"""Who is calling, and what they may do: bearer tokens, and RBAC from the roles stored in the server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from evenkeel.simulator.api.builtin import RBAC
from evenkeel.simulator.api.calls import Call, Request, User
from evenkeel.simulator.api.fields import JsonObject, child, rows, text, texts
from evenkeel.simulator.api.kinds import GroupResource
from evenkeel.simulator.api.objects import ObjectStore
from evenkeel.simulator.api.status import Subject, forbidden, unauthorized

MASTERS = "system:masters"
AUTHENTICATED = "system:authenticated"
ADMIN = User("kubernetes-admin", (MASTERS, AUTHENTICATED))
ACCOUNT, ACCOUNTS = "system:serviceaccount", "system:serviceaccounts"
ISSUED_PREFIX = "evenkeel-sa."
"""How tokens begin that were issued for service accounts: once they have ended they are good for nothing."""

_IMPERSONATE = "impersonate"
_OPEN_PATHS = ("/healthz", "/livez", "/readyz", "/version", "/api", "/apis", "/openapi")


@dataclass(slots=True)
class Access:
    """Authentication and authorization of one server; settable while it runs.

    Args:
        tokens: User by bearer token. While this is empty nobody is asked, and everybody is the administrator.
        rbac: Whether roles are enforced; members of ``system:masters`` may always do everything.
    """

    tokens: dict[str, User] = field(default_factory=dict)
    rbac: bool = False
    issued: dict[str, tuple[User, datetime]] = field(default_factory=dict)

    def user_of(self, headers: Mapping[str, str], now: datetime) -> User:
        """Return who sends a request.

        Raises:
            StatusError: No valid token came with it (401).
        """
        token = headers.get("authorization", "").removeprefix("Bearer ").strip()
        user = self.bearer_of(token, now)
        if user is not None:
            return user
        if self.tokens or token.startswith(ISSUED_PREFIX):
            raise unauthorized()
        return ADMIN

    def bearer_of(self, token: str, now: datetime) -> User | None:
        """Return whom a token is for, None when it is not valid."""
        user = self.tokens.get(token)
        if user is None and token in self.issued and self.issued[token][1] > now:
            user = self.issued[token][0]
        return _with_groups(user, AUTHENTICATED) if user else None

    def acting_as(self, objects: ObjectStore, user: User, headers: Mapping[str, str]) -> User:
        """Return as whom a user wants to act: another one, when the request says so.

        Raises:
            StatusError: The user may not act as that one (403).
        """
        name = headers.get("impersonate-user", "")
        if not name:
            return user
        namespace, _, account = (
            name.removeprefix(f"{ACCOUNT}:").partition(":") if name.startswith(ACCOUNT) else ("",) * 3
        )
        wanted = Attributes(_IMPERSONATE, "", "users", name=name)
        if account:
            wanted = Attributes(_IMPERSONATE, "", "serviceaccounts", name=account, namespace=namespace)
        if not self.allows(objects, user, wanted):
            raise forbidden(Subject(wanted.plural, "", name), f'User "{user.name}" cannot act as somebody else')
        groups = tuple(filter(None, headers.get("impersonate-group", "").split(",")))
        own = account_groups(namespace) if account else ()
        return _with_groups(User(name, (*groups, *own)), AUTHENTICATED)

    def issue(self, token: str, user: User, lifetime: timedelta, now: datetime) -> datetime:
        """Accept a token for a user from now on, for a while; returns when it ends."""
        self.issued[token] = (user, now + lifetime)
        return now + lifetime

    def check(self, objects: ObjectStore, call: Call) -> None:
        """Make sure that the user may do what a call asks.

        Raises:
            StatusError: No role allows it (403).
        """
        target = call.target
        wanted = Attributes(
            call.verb, target.kind.group, target.kind.plural, target.subresource, target.name, target.namespace
        )
        if self.allows(objects, call.user, wanted):
            return
        scope = f' in the namespace "{target.namespace}"' if target.namespace else " at the cluster scope"
        why = (
            f'User "{call.user.name}" cannot {call.verb} resource "{target.resource_name}"'
            f' in API group "{target.kind.group}"{scope}'
        )
        raise forbidden(target.kind.subject(target.name), why)

    def allows(self, objects: ObjectStore, user: User, wanted: Attributes) -> bool:
        """Say whether a user may do something."""
        if not self.rbac or MASTERS in user.groups or wanted.is_open_to_all():
            return True
        return any(_allows(rule, wanted) for rule in rules_of(objects, user, wanted.namespace))

    def allows_path(self, objects: ObjectStore, user: User, verb: str, path: str) -> bool:
        """Say whether a user may do something on a path that is no resource."""
        if not self.rbac or MASTERS in user.groups or any(_below(path, root) for root in _OPEN_PATHS):
            return True
        return any(
            _has(texts(rule, "verbs"), verb) and _covers_path(texts(rule, "nonResourceURLs"), path)
            for rule in rules_of(objects, user, "")
        )

    def check_path(self, objects: ObjectStore, request: Request, user: User) -> None:
        """Make sure that the user may read a path that is no resource; discovery is open to everybody known.

        Raises:
            StatusError: No role allows it (403).
        """
        verb = request.method.lower()
        if not self.allows_path(objects, user, verb, request.path):
            raise forbidden(Subject(), f'User "{user.name}" cannot {verb} path "{request.path}"')


@dataclass(frozen=True, slots=True)
class Attributes:
    """What somebody wants to do to a resource.

    Args:
        verb: API verb.
        group: Group of the resource.
        plural: The resource.
        subresource: Its part, empty for the whole.
        name: Name of the object; empty for any.
        namespace: Where; empty for the whole cluster.
    """

    verb: str
    group: str
    plural: str
    subresource: str = ""
    name: str = ""
    namespace: str = ""

    def is_open_to_all(self) -> bool:
        """Say whether everybody who is known may do it: ask about oneself."""
        return self.verb == "create" and (self.group, self.plural) in _OPEN_REVIEWS


_OPEN_REVIEWS = (
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("authentication.k8s.io", "selfsubjectreviews"),
)


def account_groups(namespace: str) -> tuple[str, ...]:
    """Return the groups of a namespace's service accounts."""
    return ACCOUNTS, f"{ACCOUNTS}:{namespace}"


def _with_groups(user: User, *groups: str) -> User:
    """Return a user who is in some more groups."""
    return User(user.name, tuple(dict.fromkeys((*user.groups, *groups))), user.uid)


def _below(path: str, root: str) -> bool:
    """Say whether a path is a root or lies below it."""
    return path == root or path.startswith(root + "/")


def _covers_path(patterns: list[str], path: str) -> bool:
    """Say whether one of several paths, perhaps ending in a star, covers a path."""
    return any(path == p or (p.endswith("*") and path.startswith(p[:-1])) for p in patterns)


def _has(values: list[str], wanted: str) -> bool:
    """Say whether a list names a value, or everything."""
    return wanted in values or "*" in values


def _allows(rule: JsonObject, wanted: Attributes) -> bool:
    """Say whether one rule allows what is wanted."""
    if not _has(texts(rule, "verbs"), wanted.verb) or not _has(texts(rule, "apiGroups"), wanted.group):
        return False
    resources = texts(rule, "resources")
    full = f"{wanted.plural}/{wanted.subresource}" if wanted.subresource else wanted.plural
    everywhere = f"*/{wanted.subresource}" if wanted.subresource else "*"
    if not _has(resources, full) and everywhere not in resources:
        return False
    names = texts(rule, "resourceNames")
    return not names or wanted.name in names


def rules_of(objects: ObjectStore, user: User, namespace: str) -> Iterator[JsonObject]:
    """Yield every rule that applies to a user, cluster-wide and in a namespace."""
    for binding in _stored(objects, "clusterrolebindings"):
        if _binds(binding, user):
            yield from _role_rules(objects, binding, "")
    for binding in _stored(objects, "rolebindings", namespace) if namespace else ():
        if _binds(binding, user):
            yield from _role_rules(objects, binding, namespace)


def _stored(objects: ObjectStore, plural: str, namespace: str = "") -> list[JsonObject]:
    """Return stored objects of the RBAC group."""
    return [stored.body for stored in objects.versions.snapshot(GroupResource(RBAC, plural), namespace)]


def _role_rules(objects: ObjectStore, binding: JsonObject, namespace: str) -> list[JsonObject]:
    """Return the rules of the role that a binding names; none when it does not exist."""
    name, is_role = text(binding, "roleRef", "name"), text(binding, "roleRef", "kind") == "Role"
    resource = GroupResource(RBAC, "roles" if is_role else "clusterroles")
    role = objects.versions.read(resource, (namespace if is_role else "", name))
    return rows(role.body, "rules") if role else []


def _binds(binding: JsonObject, user: User) -> bool:
    """Say whether a binding names a user, one of the user's groups, or the service account the user is."""
    default = text(child(binding, "metadata"), "namespace")
    for subject in rows(binding, "subjects"):
        name = text(subject, "name")
        match text(subject, "kind"):
            case "User" if name == user.name:
                return True
            case "Group" if name in user.groups:
                return True
            case "ServiceAccount":
                if f"system:serviceaccount:{text(subject, 'namespace') or default}:{name}" == user.name:
                    return True
            case _:
                continue
    return False

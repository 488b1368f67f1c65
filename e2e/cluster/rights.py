"""Rights that roles grant to a service account, and which of them its requests have used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from e2e.cluster.audit import AuditEntry
from e2e.cluster.documents import JsonObject, JsonValue, at, objects_at, text_at

_ROLES = {"ClusterRole": "ClusterRoleBinding", "Role": "RoleBinding"}
_ANY = "*"
_FORBIDDEN = "forbid"


@dataclass(frozen=True, slots=True, order=True)
class Right:
    """One verb on one resource.

    Args:
        group: API group; empty for the core group, an asterisk for any.
        resource: Plural, with its subresource behind a slash; an asterisk stands for any plural.
        verb: Kubernetes' verb.
        name: The only object it is for; empty for all.
        namespace: The only namespace it is for; empty for the whole cluster.
    """

    group: str
    resource: str
    verb: str
    name: str = ""
    namespace: str = ""

    def __str__(self) -> str:
        """Print as ``patch pods/resize`` or ``get leases.coordination.k8s.io x in y``."""
        titled = f"{self.resource}.{self.group}" if self.group else self.resource
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.verb} {titled}{f' {self.name}' if self.name else ''}{where}"

    def allows(self, request: Right) -> bool:
        """Say whether a request, told as the right that it needs, is allowed by this one."""
        plural, _, subresource = self.resource.partition("/")
        asked_plural, _, asked_subresource = request.resource.partition("/")
        return (
            self.verb == request.verb
            and self.group in {_ANY, request.group}
            and plural in {_ANY, asked_plural}
            and subresource == asked_subresource
            and self.name in {"", request.name}
            and self.namespace in {"", request.namespace}
        )


@dataclass(frozen=True, slots=True)
class RightsUse:
    """What became of an account's rights.

    Args:
        counts: How many requests each right has allowed, none among them.
        refused: What was asked for and not allowed, each once.
        elsewhere: What was allowed though none of the rights says so, each once: by other roles than those looked at.
    """

    counts: dict[Right, int]
    refused: tuple[Right, ...]
    elsewhere: tuple[Right, ...]

    @property
    def unused(self) -> tuple[Right, ...]:
        """The rights that no request has needed, in order."""
        return tuple(sorted(right for right, count in self.counts.items() if not count))


def granted(documents: Iterable[JsonObject], namespace: str, account: str) -> frozenset[Right]:
    """Return what a service account may do by the roles that are bound to it.

    Args:
        documents: Roles, cluster roles and their bindings, among objects of other kinds.
        namespace: Of the account.
        account: Its name.

    Raises:
        KeyError: A binding names a role that is not among the documents.
    """
    known = list(documents)
    roles = {_place(document): document for document in known if document["kind"] in _ROLES}
    found: set[Right] = set()
    for binding in known:
        if binding["kind"] in _ROLES.values() and _is_for(binding, namespace, account):
            place = text_at(binding, "metadata", "namespace")
            kind = text_at(binding, "roleRef", "kind")
            role = roles[kind, place if kind == "Role" else "", text_at(binding, "roleRef", "name")]
            found.update(_rights(role, place))
    return frozenset(found)


def _place(document: JsonObject) -> tuple[str, str, str]:
    """Kind, namespace and name."""
    metadata = document["metadata"]
    return text_at(document, "kind"), text_at(metadata, "namespace"), text_at(metadata, "name")


def _is_for(binding: JsonObject, namespace: str, account: str) -> bool:
    subject = ("ServiceAccount", namespace, account)
    return any(
        tuple(text_at(each, key) for key in ("kind", "namespace", "name")) == subject
        for each in objects_at(binding, "subjects")
    )


def _rights(role: JsonObject, namespace: str) -> Iterator[Right]:
    """Yield the rights of a role that is bound in a namespace, or in the whole cluster where that is empty."""
    for rule in objects_at(role, "rules"):
        for group in _texts(rule, "apiGroups"):
            for resource in _texts(rule, "resources"):
                for verb in _texts(rule, "verbs"):
                    for name in _texts(rule, "resourceNames") or [""]:
                        yield Right(group, resource, verb, name, namespace)


def _texts(document: JsonValue, key: str) -> list[str]:
    """Return a list of texts, an empty one where there is none."""
    value = at(document, key)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def rights_use(rights: Iterable[Right], requests: Iterable[AuditEntry]) -> RightsUse:
    """Tell which rights an account's requests have used.

    A request that a right allowed has used it, whatever the answer: what is not found may be looked for, too.
    Paths that are no resource, such as those that list API groups, are everybody's and not looked at.

    Args:
        rights: What the account may do.
        requests: All of the account, from the audit log.
    """
    counts = Counter(dict.fromkeys(rights, 0))
    refused: dict[Right, None] = {}
    elsewhere: dict[Right, None] = {}
    for request in requests:
        if not request.resource:
            continue
        asked = _asked(request)
        if request.decision == _FORBIDDEN:
            refused[asked] = None
            continue
        allowing = [right for right in counts if right.allows(asked)]
        counts.update(allowing)
        if not allowing:
            elsewhere[asked] = None
    return RightsUse(dict(counts), tuple(refused), tuple(elsewhere))


def _asked(request: AuditEntry) -> Right:
    """Return the right that a request needs."""
    resource = f"{request.resource}/{request.subresource}" if request.subresource else request.resource
    return Right(request.group, resource, request.verb, request.name, request.namespace)

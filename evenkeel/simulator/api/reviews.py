"""Questions that are posted and answered at once, and never stored: who am I, what may I do."""

from __future__ import annotations

from collections.abc import Iterable

from evenkeel.simulator.api.access import ACCOUNT, MASTERS, Access, Attributes, account_groups, rules_of
from evenkeel.simulator.api.calls import Call, User
from evenkeel.simulator.api.fields import JsonObject, child, text, texts
from evenkeel.simulator.api.kinds import Kind
from evenkeel.simulator.api.objects import ObjectStore
from evenkeel.simulator.api.status import Cause, CauseType, invalid

AUTHORIZATION, AUTHENTICATION = "authorization.k8s.io", "authentication.k8s.io"
_VERBS = ("create",)
_EVERYTHING: JsonObject = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
_EVERYWHERE: JsonObject = {"verbs": ["*"], "nonResourceURLs": ["*"]}


def review_kinds() -> tuple[Kind, ...]:
    """Return the kinds of questions."""
    return (
        _review(AUTHORIZATION, "SelfSubjectAccessReview"),
        _review(AUTHORIZATION, "SelfSubjectRulesReview"),
        _review(AUTHORIZATION, "SubjectAccessReview"),
        _review(AUTHORIZATION, "LocalSubjectAccessReview", namespaced=True),
        _review(AUTHENTICATION, "SelfSubjectReview"),
        _review(AUTHENTICATION, "TokenReview"),
    )


def _review(group: str, kind: str, *, namespaced: bool = False) -> Kind:
    """Return the kind of one question."""
    return Kind(group, "v1", kind, f"{kind.lower()}s", namespaced=namespaced, verbs=_VERBS)


def answer_review(objects: ObjectStore, access: Access, call: Call) -> JsonObject:
    """Return a question with its answer in ``status``.

    Raises:
        StatusError: It asks for nothing in particular (422).
    """
    kind, question = call.target.kind, call.object()
    named: JsonObject = {"kind": kind.kind, "apiVersion": kind.api_version}
    metadata = {"creationTimestamp": None}
    answered: JsonObject = {**named, "metadata": metadata, "spec": child(question, "spec")}
    match kind.kind:
        case "SelfSubjectReview":
            return {**named, "metadata": metadata, "status": {"userInfo": _user_info(call.user)}}
        case "TokenReview":
            return answered | {"status": _token_status(objects, access, question)}
        case "SelfSubjectRulesReview":
            return answered | {"status": _rules_status(objects, access, call.user, text(question, "spec", "namespace"))}
        case "SelfSubjectAccessReview":
            return answered | {"status": _access_status(objects, access, call.user, call, question)}
        case _:
            return answered | {"status": _access_status(objects, access, _subject(question), call, question)}


def _user_info(user: User) -> JsonObject:
    """Return a user as answers show one."""
    info: JsonObject = {"username": user.name, "groups": list(user.groups)}
    return {**info, "uid": user.uid} if user.uid else info


def _subject(question: JsonObject) -> User:
    """Return whom a question is about; a service account is in its groups unless others are named."""
    name, groups = text(question, "spec", "user"), texts(question, "spec", "groups")
    if not groups and name.startswith(f"{ACCOUNT}:"):
        groups = list(account_groups(name.split(":")[2]))
    return User(name, tuple(groups))


def _access_status(objects: ObjectStore, access: Access, user: User, call: Call, question: JsonObject) -> JsonObject:
    """Return whether a user may do what a question names."""
    resource, path = child(question, "spec", "resourceAttributes"), child(question, "spec", "nonResourceAttributes")
    if bool(resource) is bool(path):
        message = "Invalid value: exactly one of resourceAttributes and nonResourceAttributes must be given"
        causes = [Cause(CauseType.INVALID, "spec.resourceAttributes", message)]
        raise invalid(call.target.kind.kind_subject(), causes)
    if path:
        allowed = access.allows_path(objects, user, text(path, "verb"), text(path, "path"))
    else:
        wanted = Attributes(
            text(resource, "verb"),
            text(resource, "group"),
            text(resource, "resource"),
            text(resource, "subresource"),
            text(resource, "name"),
            text(resource, "namespace") or call.target.namespace,
        )
        allowed = access.allows(objects, user, wanted)
    return {"allowed": allowed}


def _rules_status(objects: ObjectStore, access: Access, user: User, namespace: str) -> JsonObject:
    """Return all that a user may do in a namespace."""
    if not access.rbac or MASTERS in user.groups:
        return {"resourceRules": [_EVERYTHING], "nonResourceRules": [_EVERYWHERE], "incomplete": False}
    rules = list(rules_of(objects, user, namespace))
    return {
        "resourceRules": _parts(rules, ("verbs", "apiGroups", "resources", "resourceNames"), "resources"),
        "nonResourceRules": _parts(rules, ("verbs", "nonResourceURLs"), "nonResourceURLs"),
        "incomplete": False,
    }


def _parts(rules: Iterable[JsonObject], fields: tuple[str, ...], needed: str) -> list[JsonObject]:
    """Return some fields of the rules that have one of them."""
    return [{field: rule[field] for field in fields if field in rule} for rule in rules if rule.get(needed)]


def _token_status(objects: ObjectStore, access: Access, question: JsonObject) -> JsonObject:
    """Return whom a token is for."""
    user = access.bearer_of(text(question, "spec", "token"), objects.now())
    if user is None:
        return {"authenticated": False, "user": {}, "error": "the token is not valid"}
    audiences = texts(question, "spec", "audiences")
    return {"authenticated": True, "user": _user_info(user)} | ({"audiences": audiences} if audiences else {})

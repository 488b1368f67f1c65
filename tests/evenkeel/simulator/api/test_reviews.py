"""Questions about who one is and what one may do."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.access import MASTERS
from evenkeel.simulator.api.calls import User
from evenkeel.simulator.api.fields import JsonObject, child, rows, text
from evenkeel.simulator.api.server import ApiServer
from tests.evenkeel.simulator.api.wire import Answer, Wire, cluster

pytestmark = pytest.mark.anyio
RBAC = "rbac.authorization.k8s.io/v1"
USERS = {"admin": User("root", (MASTERS,)), "plain": User("joe", ("devs",), "u-1")}
AUTHORIZATION, AUTHENTICATION = "/apis/authorization.k8s.io/v1", "/apis/authentication.k8s.io/v1"
SCALE = {"group": "apps", "resource": "any", "subresource": "scale"}
ROLE: JsonObject = {
    "apiVersion": RBAC,
    "kind": "ClusterRole",
    "metadata": {"name": "reader"},
    "rules": [
        {"apiGroups": [""], "resources": ["pods", "pods/log"], "verbs": ["get"], "resourceNames": ["a"]},
        {"apiGroups": ["apps"], "resources": ["*/scale"], "verbs": ["get"]},
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
    ],
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def guarded() -> ApiServer:
    server = ApiServer(tokens=USERS, rbac=True)
    server.store.create(ROLE)
    subjects = [{"kind": "User", "name": "joe"}, {"kind": "Group", "name": "system:serviceaccounts:team"}]
    reference = {"kind": "ClusterRole", "name": "reader"}
    common: JsonObject = {
        "apiVersion": RBAC,
        "metadata": {"name": "reader"},
        "roleRef": reference,
        "subjects": subjects,
    }
    server.store.create({**common, "kind": "ClusterRoleBinding", "subjects": subjects})
    return server


async def ask(wire: Wire, path: str, kind: str, spec: JsonObject) -> Answer:
    group = path.split("/")[2]
    return await wire.post(path, {"apiVersion": f"{group}/v1", "kind": kind, "spec": spec})


@pytest.mark.parametrize(
    ("token", "spec", "allowed"),
    [
        ("plain", {"resourceAttributes": {"verb": "get", "resource": "pods", "name": "a", "namespace": "x"}}, True),
        ("plain", {"resourceAttributes": {"verb": "get", "resource": "pods", "name": "b"}}, False),
        ("plain", {"resourceAttributes": {"verb": "get", "resource": "pods"}}, False),
        ("plain", {"resourceAttributes": {"verb": "get", "resource": "pods", "subresource": "log", "name": "a"}}, True),
        (
            "plain",
            {"resourceAttributes": {"verb": "get", **SCALE}},
            True,
        ),
        (
            "plain",
            {"resourceAttributes": {"verb": "list", **SCALE}},
            False,
        ),
        ("plain", {"nonResourceAttributes": {"verb": "get", "path": "/metrics"}}, True),
        ("plain", {"nonResourceAttributes": {"verb": "get", "path": "/secret"}}, False),
        ("plain", {"nonResourceAttributes": {"verb": "get", "path": "/apis/apps"}}, True),
        ("admin", {"resourceAttributes": {"verb": "delete", "resource": "nodes"}}, True),
    ],
)
async def test_what_one_may_do(token: str, spec: JsonObject, allowed: bool) -> None:
    async with cluster(guarded(), token=token) as wire:
        path = f"{AUTHORIZATION}/selfsubjectaccessreviews"
        answer = await ask(wire, path, "SelfSubjectAccessReview", spec)
        assert (answer.code, answer.body["status"], answer.body["spec"]) == (201, {"allowed": allowed}, spec)


async def test_what_others_may_do_only_some_may_ask() -> None:
    server = guarded()
    path = f"{AUTHORIZATION}/subjectaccessreviews"
    wanted = {"verb": "get", "resource": "pods", "name": "a"}
    async with cluster(server, token="plain") as wire:
        assert (await ask(wire, path, "SubjectAccessReview", {"user": "x", "resourceAttributes": wanted})).code == 403
    async with cluster(server, token="admin") as wire:
        for user, groups, allowed in (
            ("joe", [], True),
            ("jane", [], False),
            ("jane", ["system:serviceaccounts:team"], True),
            ("system:serviceaccount:team:a", [], True),
            ("system:serviceaccount:other:a", [], False),
        ):
            spec: JsonObject = {"user": user, "groups": groups, "resourceAttributes": wanted}
            answer = await ask(wire, path, "SubjectAccessReview", spec)
            assert child(answer.body, "status")["allowed"] is allowed, user
        local = f"{AUTHORIZATION}/namespaces/team/localsubjectaccessreviews"
        answer = await ask(wire, local, "LocalSubjectAccessReview", {"user": "joe", "resourceAttributes": wanted})
        assert child(answer.body, "status")["allowed"] is True


@pytest.mark.parametrize("spec", [{}, {"resourceAttributes": {"verb": "get"}, "nonResourceAttributes": {"path": "/"}}])
async def test_questions_without_a_subject_matter(spec: JsonObject) -> None:
    async with cluster() as wire:
        answer = await ask(wire, f"{AUTHORIZATION}/selfsubjectaccessreviews", "SelfSubjectAccessReview", spec)
        assert (answer.code, answer.causes) == (422, [("FieldValueInvalid", "spec.resourceAttributes")])


async def test_all_that_one_may_do() -> None:
    path = f"{AUTHORIZATION}/selfsubjectrulesreviews"
    async with cluster(guarded(), token="plain") as wire:
        status = child((await ask(wire, path, "SelfSubjectRulesReview", {"namespace": "team"})).body, "status")
        assert status["resourceRules"] == [
            {"verbs": ["get"], "apiGroups": [""], "resources": ["pods", "pods/log"], "resourceNames": ["a"]},
            {"verbs": ["get"], "apiGroups": ["apps"], "resources": ["*/scale"]},
        ]
        assert status["nonResourceRules"] == [{"verbs": ["get"], "nonResourceURLs": ["/metrics"]}]
    async with cluster(guarded(), token="admin") as wire:
        status = child((await ask(wire, path, "SelfSubjectRulesReview", {"namespace": "team"})).body, "status")
        assert [row["resources"] for row in rows(status, "resourceRules")] == [["*"]]


async def test_who_one_is() -> None:
    async with cluster(guarded(), token="plain") as wire:
        answer = await ask(wire, f"{AUTHENTICATION}/selfsubjectreviews", "SelfSubjectReview", {})
        info = {"username": "joe", "groups": ["devs", "system:authenticated"], "uid": "u-1"}
        assert (answer.code, answer.body["status"]) == (201, {"userInfo": info})


async def test_whose_a_token_is() -> None:
    path = f"{AUTHENTICATION}/tokenreviews"
    async with cluster(guarded(), token="admin") as wire:
        known = await ask(wire, path, "TokenReview", {"token": "plain", "audiences": ["x"]})
        status = child(known.body, "status")
        assert (status["authenticated"], text(status, "user", "username"), status["audiences"]) == (True, "joe", ["x"])
        unknown = child((await ask(wire, path, "TokenReview", {"token": "stolen"})).body, "status")
        assert (unknown["authenticated"], unknown["user"]) == (False, {})
    async with cluster(guarded(), token="plain") as wire:
        assert (await ask(wire, path, "TokenReview", {"token": "plain"})).code == 403


async def test_questions_are_asked_and_not_kept() -> None:
    async with cluster() as wire:
        for path in (f"{AUTHORIZATION}/selfsubjectaccessreviews", f"{AUTHENTICATION}/tokenreviews"):
            assert (await wire.get(path)).code == 405
            assert (await wire.get(f"{path}/x")).code == 405

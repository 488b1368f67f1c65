"""Bearer tokens and RBAC over HTTP."""

from __future__ import annotations

from datetime import timedelta

import pytest

from evenkeel.simulator.api.access import MASTERS
from evenkeel.simulator.api.calls import User
from evenkeel.simulator.api.fields import JsonObject, child, rows, text
from evenkeel.simulator.api.server import ApiServer
from tests.evenkeel.simulator.api.wire import PODS, STRATEGIC_PATCH, Wire, cluster, pod

pytestmark = pytest.mark.anyio
API_VERSION = "rbac.authorization.k8s.io/v1"
ACCOUNT = "system:serviceaccount:kube-system:vpa"
USERS = {"admin": User("root", (MASTERS,)), "plain": User("joe", ("devs",)), "vpa": User(ACCOUNT)}
READER = "system:serviceaccount:kube-system:reader"
SERVICE_ACCOUNT: JsonObject = {
    "apiVersion": "v1",
    "kind": "ServiceAccount",
    "metadata": {"name": "vpa", "namespace": "kube-system"},
}
JOE: JsonObject = {"kind": "User", "name": "joe"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def guarded() -> ApiServer:
    server = ApiServer(tokens=USERS, rbac=True)
    server.store.create(pod())
    server.store.create(pod("a", namespace="kube-system"))
    return server


def grant(server: ApiServer, rule: JsonObject, subject: JsonObject, *, namespace: str = "") -> None:
    """Bind a role of one rule to a subject, cluster-wide or in a namespace."""
    scope = "" if namespace else "Cluster"
    metadata = {"name": "granted"} | ({"namespace": namespace} if namespace else {})
    common: JsonObject = {"apiVersion": API_VERSION, "metadata": metadata}
    server.store.create(common | {"kind": f"{scope}Role", "rules": [rule]})
    reference = {"kind": f"{scope}Role", "name": "granted"}
    server.store.create(common | {"kind": f"{scope}RoleBinding", "roleRef": reference, "subjects": [subject]})


async def test_without_tokens_everybody_is_the_administrator() -> None:
    async with cluster(ApiServer(rbac=True)) as wire:
        assert (await wire.get(PODS)).code == 200
        assert wire.server.requests.calls()[0].user == "kubernetes-admin"


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer stolen"}, {"Authorization": "Bearer"}])
async def test_with_tokens_strangers_are_unauthorized(headers: dict[str, str]) -> None:
    async with cluster(guarded()) as wire:
        answer = await wire.call("GET", PODS, headers=headers)
        assert (answer.code, answer.body["reason"]) == (401, "Unauthorized")
        assert wire.server.requests.calls()[0].user == ""


async def test_rbac_can_be_switched_off_and_masters_pass_it() -> None:
    async with cluster(guarded(), token="plain") as wire:
        assert (await wire.get(PODS)).code == 403
        wire.server.access.rbac = False
        assert (await wire.get(PODS)).code == 200
    async with cluster(guarded(), token="admin") as wire:
        assert (await wire.get(PODS)).code == 200


async def test_a_refusal_says_who_may_not_do_what_where() -> None:
    async with cluster(guarded(), token="plain") as wire:
        resize = await wire.patch(f"{PODS}/a/resize", {}, STRATEGIC_PATCH)
        assert (resize.code, resize.body["reason"]) == (403, "Forbidden")
        message = text(resize.body, "message")
        assert 'User "joe" cannot patch resource "pods/resize" in API group "" in the namespace "default"' in message
        everywhere = await wire.get("/apis/apps/v1/deployments")
        assert 'cannot list resource "deployments" in API group "apps" at the cluster scope' in text(
            everywhere.body, "message"
        )


READ_PODS: JsonObject = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}
ANYTHING: JsonObject = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}


@pytest.mark.parametrize(
    ("what", "rule", "namespace", "allowed"),
    [
        ("read pods", READ_PODS, "", {"get", "list", "list all"}),
        ("read pods in one namespace", READ_PODS, "default", {"get", "list"}),
        ("read pods in another", READ_PODS, "kube-system", set()),
        ("one pod", READ_PODS | {"resourceNames": ["a"]}, "", {"get"}),
        ("another pod", READ_PODS | {"resourceNames": ["b"]}, "", set()),
        ("another group", READ_PODS | {"apiGroups": ["apps"]}, "", set()),
        ("the subresource", READ_PODS | {"resources": ["pods/resize"], "verbs": ["patch"]}, "", {"resize"}),
        ("that subresource of anything", READ_PODS | {"resources": ["*/resize"], "verbs": ["*"]}, "", {"resize"}),
        ("pods do not include subresources", READ_PODS | {"verbs": ["*"]}, "", {"get", "list", "list all", "patch"}),
        ("anything", ANYTHING, "", {"get", "list", "list all", "patch", "resize"}),
    ],
)
async def test_rules(what: str, rule: JsonObject, namespace: str, allowed: set[str]) -> None:
    server = guarded()
    grant(server, rule, JOE, namespace=namespace)
    async with cluster(server, token="plain") as wire:
        answers = {
            "get": await wire.get(f"{PODS}/a"),
            "list": await wire.get(PODS),
            "list all": await wire.get("/api/v1/pods"),
            "patch": await wire.patch(f"{PODS}/a", {}),
            "resize": await wire.patch(f"{PODS}/a/resize", {}),
        }
        assert {name for name, answer in answers.items() if answer.code == 200} == allowed, what
        assert {answer.code for answer in answers.values()} <= {200, 403}


@pytest.mark.parametrize(
    ("subject", "token", "code"),
    [
        (JOE, "plain", 200),
        (JOE, "vpa", 403),
        ({"kind": "Group", "name": "devs"}, "plain", 200),
        ({"kind": "Group", "name": "devs"}, "vpa", 403),
        ({"kind": "Group", "name": "system:authenticated"}, "vpa", 200),
        ({"kind": "ServiceAccount", "name": "vpa", "namespace": "kube-system"}, "vpa", 200),
        ({"kind": "ServiceAccount", "name": "vpa", "namespace": "default"}, "vpa", 403),
        ({"kind": "Robot", "name": "joe"}, "plain", 403),
    ],
)
async def test_subjects(subject: JsonObject, token: str, code: int) -> None:
    server = guarded()
    grant(server, READ_PODS, subject)
    async with cluster(server, token=token) as wire:
        assert (await wire.get(PODS)).code == code


async def test_a_binding_to_a_missing_role_grants_nothing() -> None:
    server = guarded()
    grant(server, READ_PODS, JOE)
    server.store.delete(API_VERSION, "ClusterRole", "granted")
    async with cluster(server, token="plain") as wire:
        assert (await wire.get(PODS)).code == 403


async def test_discovery_and_health_are_open_and_other_paths_need_a_rule() -> None:
    server = guarded()
    async with cluster(server, token="plain") as wire:
        for path in ("/healthz", "/readyz", "/livez/ping", "/version", "/api", "/apis", "/apis/apps/v1", "/openapi/v3"):
            assert (await wire.get(path)).code == 200, path
        assert (await wire.get("/metrics")).code == 403
        grant(server, {"nonResourceURLs": ["/met*"], "verbs": ["get"]}, JOE)
        assert (await wire.get("/metrics")).code == 404


async def token_of(wire: Wire, seconds: int) -> str:
    answer = await wire.post(
        "/api/v1/namespaces/kube-system/serviceaccounts/vpa/token",
        {"spec": {"expirationSeconds": seconds}},
    )
    assert (answer.code, answer.body["kind"]) == (201, "TokenRequest")
    return text(answer.body, "status", "token")


async def test_tokens_of_service_accounts_work_until_they_end() -> None:
    server = guarded()
    grant(server, READ_PODS, {"kind": "ServiceAccount", "name": "vpa", "namespace": "kube-system"})
    metadata = {"name": "vpa", "namespace": "kube-system"}
    server.store.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    async with cluster(server, token="admin") as wire:
        token = await token_of(wire, 600)
        headers = {"Authorization": f"Bearer {token}"}
        assert (await wire.call("GET", PODS, headers=headers)).code == 200
        assert wire.server.requests.calls("list")[-1].user == ACCOUNT
        wire.clock.advance(timedelta(seconds=600))
        assert (await wire.call("GET", PODS, headers=headers)).code == 401


async def test_a_token_that_has_ended_is_good_for_nothing_even_where_nobody_is_asked() -> None:
    server = ApiServer()
    server.store.create(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "vpa", "namespace": "kube-system"}}
    )
    async with cluster(server) as wire:
        headers = {"Authorization": f"Bearer {await token_of(wire, 600)}"}
        assert (await wire.call("GET", PODS, headers=headers)).code == 200
        assert server.requests.calls()[-1].user == ACCOUNT
        wire.clock.advance(timedelta(minutes=10))
        assert (await wire.call("GET", PODS, headers=headers)).code == 401
        assert (await wire.call("GET", PODS, headers={"Authorization": "Bearer other"})).code == 200


@pytest.mark.parametrize(("seconds", "code"), [(599, 422), (600, 201), (2**32, 201), (2**32 + 1, 422)])
async def test_how_long_tokens_can_last(seconds: int, code: int) -> None:
    server = ApiServer()
    server.store.create(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "vpa", "namespace": "kube-system"}}
    )
    async with cluster(server) as wire:
        path = "/api/v1/namespaces/kube-system/serviceaccounts/vpa/token"
        answer = await wire.post(path, {"spec": {"expirationSeconds": seconds}})
        assert answer.code == code
        if code == 201:
            assert child(answer.body, "spec") == {
                "audiences": ["https://kubernetes.default.svc"],
                "expirationSeconds": seconds,
                "boundObjectRef": None,
            }
        else:
            assert answer.causes == [("FieldValueInvalid", "spec.expirationSeconds")]


@pytest.mark.parametrize(
    ("token", "headers", "code", "user"),
    [
        ("admin", {"Impersonate-User": "joe"}, 403, "joe"),
        ("admin", {"Impersonate-User": "jane", "Impersonate-Group": "readers"}, 200, "jane"),
        ("admin", {"Impersonate-User": "jane", "Impersonate-Group": "devs,readers"}, 200, "jane"),
        ("admin", {"Impersonate-User": ACCOUNT}, 403, ACCOUNT),
        (
            "admin",
            {"Impersonate-User": "system:serviceaccount:kube-system:reader"},
            200,
            "system:serviceaccount:kube-system:reader",
        ),
        ("admin", {"Impersonate-User": "jane", "Impersonate-Group": MASTERS}, 200, "jane"),
        ("plain", {"Impersonate-User": "root"}, 403, ""),
        ("plain", {"Impersonate-User": ACCOUNT}, 403, ""),
    ],
)
async def test_acting_as_somebody_else(token: str, headers: dict[str, str], code: int, user: str) -> None:
    server = guarded()
    rule: JsonObject = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
    grant(server, rule, {"kind": "Group", "name": "readers"})
    reader = {"kind": "ServiceAccount", "name": "reader", "namespace": "kube-system"}
    binding = server.store.read(API_VERSION, "ClusterRoleBinding", "granted")
    server.store.update({**binding, "subjects": [*rows(binding, "subjects"), reader]})
    async with cluster(server, token=token) as wire:
        assert (await wire.call("GET", PODS, headers=headers)).code == code
        assert server.requests.calls()[-1].user == user


async def test_the_right_to_act_as_somebody_can_be_granted() -> None:
    server = guarded()
    rule: JsonObject = {"apiGroups": [""], "resources": ["users"], "resourceNames": ["root"], "verbs": ["impersonate"]}
    grant(server, rule, JOE)
    async with cluster(server, token="plain") as wire:
        headers = {"Impersonate-User": "root", "Impersonate-Group": MASTERS}
        assert (await wire.call("GET", PODS, headers=headers)).code == 200
        assert (await wire.call("GET", PODS, headers={"Impersonate-User": "other"})).code == 403

"""A webhook that is registered as a Service, looked at through the API server's proxy."""

from __future__ import annotations

import base64

import pytest

from autoscaling.runtime.api_group import ApiGroup
from evenkeel.cli.webhook_probe import WebhookProbe
from evenkeel.simulator.api.certificates import Authority
from tests.autoscaling.kube.clocks import HeldPacing
from tests.autoscaling.kube.scripted import DROPPED, Answer, ScriptedServer, client_of, no, ok

pytestmark = pytest.mark.anyio

LIST = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
PROXY = "/api/v1/namespaces/evenkeel-system/services/https:evenkeel-webhook:443/proxy/"
ADDRESS = "Service evenkeel-system/evenkeel-webhook:443"
BUNDLE = base64.b64encode(Authority().certificate_pem).decode()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def configuration(name: str, *hooks: dict[str, object]) -> dict[str, object]:
    return {"metadata": {"name": name}, "webhooks": list(hooks)}


def hook(**config: object) -> dict[str, object]:
    return {"name": "h", "failurePolicy": "Ignore", "clientConfig": config}


SERVICE = {"namespace": "evenkeel-system", "name": "evenkeel-webhook"}

ANSWERS = [
    ("beyond:B-39 the webhook's own no", Answer(404, (b"Not Found",)), True),
    ("beyond:B-39 the webhook's own yes", ok({}), True),
    ("beyond:B-39 not passed on", no(404, "NotFound", "no resource is served at this path"), None),
    ("beyond:B-39 not allowed", no(403, "Forbidden", "no"), None),
    ("beyond:B-39 no such Service", no(404, "NotFound", 'services "evenkeel-webhook" not found'), False),
    ("beyond:B-39 no endpoints", no(503, "ServiceUnavailable", "no endpoints available"), False),
    ("beyond:B-39 no answer at all", DROPPED, False),
]


PROXY_REFUSALS = [
    ("beyond:B-39 no Endpoints", no(404, "NotFound", 'services "evenkeel-webhook" not found')),
    ("beyond:B-39 no pods", no(503, "ServiceUnavailable", "no endpoints available")),
]

SERVICE_OBJECTS = [
    ("beyond:B-39 it leads elsewhere", ok({"spec": {"ports": []}}), None),
    ("beyond:B-39 it leads to pods", ok({"spec": {"selector": {"app": "a"}}}), False),
    ("beyond:B-39 it cannot be read", ok([]), False),
]


@pytest.mark.parametrize(("row", "refusal"), PROXY_REFUSALS, ids=[row[0] for row in PROXY_REFUSALS])
@pytest.mark.parametrize(("what", "found", "answers"), SERVICE_OBJECTS, ids=[row[0] for row in SERVICE_OBJECTS])
async def test_a_service_that_leads_to_no_pods_cannot_be_tried(
    row: str, refusal: Answer, what: str, found: Answer, answers: bool | None
) -> None:
    server = ScriptedServer()
    own = configuration("evenkeel-webhook-config", hook(service=SERVICE, caBundle=BUNDLE))
    server.script("GET", LIST, ok({"items": [own]}))
    server.script("GET", PROXY, refusal)
    server.script("GET", PROXY.partition("https:")[0] + "evenkeel-webhook", found)
    async with server.running(), client_of(server.url, HeldPacing()) as (client, _):
        seen = await WebhookProbe(client, ApiGroup.EVENKEEL).look()
    (reach,) = seen.reaches
    assert (reach.answers, "has no selector" in reach.detail) == (answers, answers is None), (row, what)


@pytest.mark.parametrize(("row", "answer", "answers"), ANSWERS, ids=[row[0] for row in ANSWERS])
async def test_whether_it_answers(row: str, answer: Answer, answers: bool | None) -> None:
    server = ScriptedServer()
    own = configuration("evenkeel-webhook-config", hook(service=SERVICE, caBundle=BUNDLE))
    server.script("GET", LIST, ok({"items": [own]}))
    server.script("GET", PROXY, answer)
    async with server.running(), client_of(server.url, HeldPacing()) as (client, _):
        seen = await WebhookProbe(client, ApiGroup.EVENKEEL).look()
    (reach,) = seen.reaches
    assert (reach.address, reach.answers) == (ADDRESS, answers)
    assert [each.problem for each in seen.certificates] == [""]


BUNDLES = [
    ("beyond:B-39 none", {"service": SERVICE}, ["is empty, so the API server trusts the authorities of its machine"]),
    ("beyond:B-39 no base64", {"service": SERVICE, "caBundle": "?"}, ["is no base64"]),
    ("beyond:B-39 one", {"service": SERVICE, "caBundle": BUNDLE}, [""]),
]


@pytest.mark.parametrize(("row", "config", "problems"), BUNDLES, ids=[row[0] for row in BUNDLES])
async def test_bundles(row: str, config: dict[str, object], problems: list[str]) -> None:
    server = ScriptedServer()
    # Two hooks of one address are looked at once.
    own = configuration("evenkeel-webhook-config", hook(**config), hook(**config))
    server.script("GET", LIST, ok({"items": [own]}))
    server.script("GET", PROXY, ok({}))
    async with server.running(), client_of(server.url, HeldPacing()) as (client, _):
        seen = await WebhookProbe(client, ApiGroup.EVENKEEL).look()
    assert len(seen.certificates) == len(problems)
    assert all(each.problem.startswith(problem) for each, problem in zip(seen.certificates, problems, strict=True))


async def test_the_name_goes_with_the_api_group() -> None:
    server = ScriptedServer()
    server.script("GET", LIST, ok({"items": [configuration("vpa-webhook-config"), configuration("other")]}))
    async with server.running(), client_of(server.url, HeldPacing()) as (client, _):
        own = await WebhookProbe(client, ApiGroup.EVENKEEL).look()
        upstream = await WebhookProbe(client, ApiGroup.UPSTREAM).look()
    assert own.own is None
    assert upstream.own is not None
    assert upstream.own.name == "vpa-webhook-config"

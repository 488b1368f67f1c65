"""Calls against a server that answers as written down."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from autoscaling.errors import ApiRefusedError, ApiUnreachableError, ConfigurationError
from autoscaling.kube import paths
from autoscaling.kube.calls import NO_PRECONDITIONS, ClientSettings, PatchType, Preconditions, ServerVersion
from autoscaling.kube.client import KubeClient, user_agent
from autoscaling.kube.connection import connect
from autoscaling.kube.paths import Selection
from autoscaling.kube.refusals import is_budget_refusal
from autoscaling.kube.retry import ONE_TRY, Patience
from autoscaling.kube.streams import WatchStart
from tests.autoscaling.kube.clocks import HeldPacing, InstantPacing
from tests.autoscaling.kube.scripted import (
    DROPPED,
    SILENT,
    Answer,
    End,
    ScriptedServer,
    client_of,
    lines,
    no,
    ok,
)
from tests.autoscaling.kube.test_connection import kubeconfig, plugin, runs

pytestmark = pytest.mark.anyio

PATH = "/api/v1/namespaces/shop/pods/web"
PODS = Selection(paths.PODS, "shop", "app=web, tier in (a,b)", "status.phase!=Failed")
LIST = "/api/v1/namespaces/shop/pods"
EVICTION = f"{PATH}/eviction"
QUICK = Patience(attempt_seconds=0.05, attempts=1)
BUDGET: dict[str, object] = {"causes": [{"reason": "DisruptionBudget", "message": "needs 2"}]}
Operation = Callable[[KubeClient], Awaitable[object]]


def page(names: list[str], token: str = "", version: str = "7", remaining: int | None = None) -> Answer:
    meta: dict[str, object] = {"resourceVersion": version}
    if token:
        meta["continue"] = token
    if remaining is not None:
        meta["remainingItemCount"] = remaining
    return ok({"metadata": meta, "items": [{"metadata": {"name": name}} for name in names]})


def name_of(body: bytes) -> str:
    name: str = json.loads(bytes(body))["metadata"]["name"]
    return name


async def test_a_call_says_who_it_is(server: ScriptedServer, client: KubeClient) -> None:
    server.script("GET", PATH, ok({"kind": "Pod"}))
    assert json.loads(await client.get(PATH, {"resourceVersion": "0", "x": "a b&c"})) == {"kind": "Pod"}
    (seen,) = server.requests
    assert seen.query == {"resourceVersion": "0", "x": "a b&c"}
    expected = {"User-Agent": "evenkeel-test/1", "Authorization": "Bearer secret", "Accept": "application/json"}
    assert {name: seen.headers[name] for name in expected} == expected
    assert "Content-Type" not in seen.headers


def test_the_name_of_a_process() -> None:
    assert user_agent("updater").startswith("evenkeel-updater/0.")


@pytest.mark.parametrize(
    ("operation", "method", "media_type", "body"),
    [
        (lambda c: c.create(PATH, b'{"a":1}'), "POST", "application/json", {"a": 1}),
        (lambda c: c.replace(PATH, b'{"a":1}'), "PUT", "application/json", {"a": 1}),
        (lambda c: c.patch(PATH, b"[]", PatchType.JSON), "PATCH", "application/json-patch+json", []),
        (lambda c: c.patch(PATH, b"{}", PatchType.MERGE), "PATCH", "application/merge-patch+json", {}),
        (
            lambda c: c.patch(PATH, b"{}", PatchType.STRATEGIC_MERGE),
            "PATCH",
            "application/strategic-merge-patch+json",
            {},
        ),
        (lambda c: c.patch(PATH, b"{}", PatchType.APPLY), "PATCH", "application/apply-patch+yaml", {}),
        (lambda c: c.delete(PATH), "DELETE", "application/json", {"apiVersion": "v1", "kind": "DeleteOptions"}),
        (
            lambda c: c.delete(PATH, Preconditions("u-1", "9"), "Background"),
            "DELETE",
            "application/json",
            {
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "preconditions": {"uid": "u-1", "resourceVersion": "9"},
                "propagationPolicy": "Background",
            },
        ),
    ],
)
async def test_what_goes_over_the_wire(
    server: ScriptedServer, client: KubeClient, operation: Operation, method: str, media_type: str, body: object
) -> None:
    server.script(method, PATH, ok({}))
    await operation(client)
    (seen,) = server.requests
    assert (seen.method, seen.headers["Content-Type"], json.loads(seen.body)) == (method, media_type, body)


@pytest.mark.parametrize(
    ("asked", "options"),
    [
        (NO_PRECONDITIONS, None),
        (Preconditions("u-1"), {"preconditions": {"uid": "u-1"}}),
        (Preconditions("u-1", "7"), {"preconditions": {"uid": "u-1", "resourceVersion": "7"}}),
    ],
)
async def test_an_eviction(server: ScriptedServer, client: KubeClient, asked: Preconditions, options: object) -> None:
    server.script("POST", EVICTION, Answer(201))
    await client.evict("shop", "web", asked)
    eviction = server.requests[0].json
    assert (eviction["apiVersion"], eviction["kind"]) == ("policy/v1", "Eviction")
    assert eviction["metadata"] == {"namespace": "shop", "name": "web"}
    assert eviction.get("deleteOptions") == options


@pytest.mark.parametrize(
    ("spec", "answers", "tries", "is_refused"),
    [
        ("resize:4", [no(429, "TooManyRequests", "no", details=BUDGET)], 1, True),
        ("resize:4", [no(429, "TooManyRequests", "no", headers={"Retry-After": "10"}, details=BUDGET)], 1, True),
        ("resize:4", [no(429, "TooManyRequests", "busy", headers={"Retry-After": "1"}), Answer(201)], 2, False),
        ("resize:4", [no(500, "", "more than one budget")], 1, True),
        ("resize:4", [no(404, "NotFound")], 1, True),
    ],
)
async def test_which_evictions_are_tried_again(
    server: ScriptedServer, client: KubeClient, spec: str, answers: list[Answer], tries: int, is_refused: bool
) -> None:
    server.script("POST", EVICTION, *answers)
    if is_refused:
        with pytest.raises(ApiRefusedError) as caught:
            await client.evict("shop", "web")
        assert is_budget_refusal(caught.value) is (b"DisruptionBudget" in answers[0].pieces[0])
    else:
        await client.evict("shop", "web")
    assert len(server.requests) == tries


@pytest.mark.parametrize("answer", [DROPPED, Answer(201, (b"{",), end=End.DROP)])
async def test_an_eviction_whose_answer_is_lost_is_not_repeated(
    server: ScriptedServer, client: KubeClient, answer: Answer
) -> None:
    server.script("POST", EVICTION, answer)
    with pytest.raises(
        ApiUnreachableError, match=r"POST .*/eviction: API server http://127.*; nothing to do if it passes"
    ):
        await client.evict("shop", "web")
    assert len(server.requests) == 1


async def test_passing_trouble_is_waited_out(server: ScriptedServer, client: KubeClient, pacing: InstantPacing) -> None:
    server.script("PATCH", PATH, no(503), no(429, headers={"Retry-After": "7"}), DROPPED, ok({"done": True}))
    assert json.loads(await client.patch(PATH, b"{}", PatchType.MERGE)) == {"done": True}
    assert pacing.slept == [0.1, 7.0, 0.4]
    assert [seen.body for seen in server.requests] == [b"{}"] * 4


async def test_the_last_failure_is_the_one_raised(server: ScriptedServer, client: KubeClient) -> None:
    server.script("GET", PATH, no(503), no(503), no(503), no(500, "InternalError", "broken"))
    with pytest.raises(ApiRefusedError, match=f"GET {PATH}: 500 InternalError: broken"):
        await client.get(PATH)
    assert len(server.requests) == 4


@pytest.mark.parametrize("code", [301, 400, 401, 403, 404, 409, 410, 422])
async def test_a_refusal_is_final(server: ScriptedServer, client: KubeClient, code: int) -> None:
    server.script("GET", PATH, no(code, "Reason", "text"))
    with pytest.raises(ApiRefusedError) as caught:
        await client.get(PATH)
    assert (caught.value.code, caught.value.reason, len(server.requests)) == (code, "Reason", 1)


async def test_no_redirect_is_followed(server: ScriptedServer, client: KubeClient) -> None:
    """An API server sends none, and the token is meant for nobody else."""
    server.script("GET", PATH, no(302, headers={"Location": "/elsewhere"}))
    server.script("GET", "/elsewhere", ok({}))
    with pytest.raises(ApiRefusedError, match="302"):
        await client.get(PATH)
    assert server.asked("GET", "/elsewhere") == []


async def test_a_call_may_bring_its_own_patience(server: ScriptedServer, client: KubeClient) -> None:
    server.script("GET", PATH, no(503))
    with pytest.raises(ApiRefusedError):
        await client.get(PATH, patience=ONE_TRY)
    assert len(server.requests) == 1


async def test_a_slow_answer_is_not_waited_for(server: ScriptedServer, client: KubeClient) -> None:
    server.script("GET", PATH, SILENT)
    with pytest.raises(ApiUnreachableError, match=r"no answer in time .*look at the server's load"):
        await client.get(PATH, patience=QUICK)


async def test_nobody_listens(pacing: InstantPacing) -> None:
    async with client_of("http://127.0.0.1:1", pacing) as (client, calls):
        with pytest.raises(ApiUnreachableError, match=r"API server http://127.0.0.1:1: no connection came about"):
            await client.create(PATH, b"{}")
    assert [(call.verb, call.path, call.code) for call in calls] == [("POST", PATH, 0)] * 4


async def test_the_rate_is_kept(server: ScriptedServer, pacing: InstantPacing) -> None:
    """Spec: updater M-5."""
    server.script("GET", PATH, ok({}))
    async with client_of(server.url, pacing, qps=50) as (client, _):
        for _ in range(3):
            await client.get(PATH)
    assert pacing.slept == [pytest.approx(0.02)] * 2


async def test_an_unlimited_call_goes_at_once_and_is_not_counted(
    server: ScriptedServer, held: HeldPacing, anyio_backend: str
) -> None:
    server.script("GET", PATH, ok({}))
    async with client_of(server.url, held, qps=1, burst=2) as (client, calls):
        for _ in range(3):
            await client.get(PATH, patience=replace(ONE_TRY, is_unlimited=True))
        assert (client.lull(), held.slept) == (0.0, [])
        tasks = [asyncio.create_task(client.get(PATH)) for _ in range(3)]
        await held.asleep()
        assert (client.lull(), held.slept) == (2.0, [1.0])
        await client.get(PATH, patience=replace(ONE_TRY, is_unlimited=True))
        assert (client.lull(), held.slept) == (2.0, [1.0])
        await held.advance(1.0)
        await asyncio.gather(*tasks)
        assert len(calls) == 7


async def test_every_try_is_recorded(server: ScriptedServer, pacing: InstantPacing) -> None:
    server.script("PATCH", PATH, DROPPED, no(503), ok({}))
    async with client_of(server.url, pacing) as (client, calls):
        await client.patch(PATH, b"{}", PatchType.MERGE)
    assert [(call.verb, call.code) for call in calls] == [("PATCH", 0), ("PATCH", 503), ("PATCH", 200)]


async def test_pages_follow_each_other(server: ScriptedServer, client: KubeClient) -> None:
    server.script("GET", LIST, page(["a", "b"], "t1", remaining=3), page(["c", "d"], "t2"), page(["e"]))
    pages = [found async for found in client.pages(PODS, page_size=2)]
    assert [(p.number, [name_of(item) for item in p.items], p.resource_version, p.remaining) for p in pages] == [
        (0, ["a", "b"], "7", 3),
        (1, ["c", "d"], "7", 0),
        (2, ["e"], "7", 0),
    ]
    selectors = {"labelSelector": "app=web, tier in (a,b)", "fieldSelector": "status.phase!=Failed", "limit": "2"}
    assert [seen.query for seen in server.requests] == [
        selectors,
        selectors | {"continue": "t1"},
        selectors | {"continue": "t2"},
    ]


async def test_a_list_forgotten_half_way_starts_again(server: ScriptedServer, client: KubeClient) -> None:
    server.script("GET", LIST, page(["a"], "t1"), no(410, "Expired"), page(["b"], "t2", "9"), page(["c"], version="9"))
    found = await client.items(PODS, name_of)
    assert found == ["b", "c"]
    assert [seen.query.get("continue", "") for seen in server.requests] == ["", "t1", "", "t2"]


async def test_a_list_forgotten_twice_is_asked_for_in_one_piece(server: ScriptedServer, client: KubeClient) -> None:
    gone = no(410, "Expired")
    server.script("GET", LIST, page(["a"], "t1"), gone, page(["a"], "t1"), gone, page(["x", "y"], version="9"))
    pages = [found async for found in client.pages(PODS)]
    assert [(p.number, len(p.items)) for p in pages] == [(0, 1), (0, 1), (0, 2)]
    assert [seen.query.get("limit", "") for seen in server.requests] == ["500", "500", "500", "500", ""]


async def test_a_first_page_that_is_gone_is_an_error(server: ScriptedServer, client: KubeClient) -> None:
    server.script("GET", LIST, no(410, "Expired"))
    with pytest.raises(ApiRefusedError):
        await client.items(PODS, name_of)


@pytest.mark.parametrize("items", ["null", "[]"])
async def test_an_empty_list(server: ScriptedServer, client: KubeClient, items: str) -> None:
    server.script("GET", LIST, Answer(200, (b'{"metadata":{"resourceVersion":"3"},"items":' + items.encode() + b"}",)))
    assert await client.items(PODS, name_of) == []


async def test_an_answer_that_is_no_list(server: ScriptedServer, client: KubeClient) -> None:
    server.script("GET", LIST, Answer(200, (b"<html>",)))
    with pytest.raises(ApiUnreachableError, match=r"answered with something that is no list: .*; check that no proxy"):
        await client.items(PODS, name_of)


async def watched(client: KubeClient, since: WatchStart) -> list[bytes]:
    async with aclosing(client.watch(PODS, since)) as found:
        return [line async for line in found]


async def test_a_watch_brings_lines_until_its_end(server: ScriptedServer, client: KubeClient) -> None:
    server.script("GET", LIST, lines({"type": "ADDED"}, {"type": "BOOKMARK"}))
    found = await watched(client, WatchStart("42", 30))
    assert [json.loads(line)["type"] for line in found] == ["ADDED", "BOOKMARK"]
    assert server.requests[0].query == {
        "labelSelector": "app=web, tier in (a,b)",
        "fieldSelector": "status.phase!=Failed",
        "watch": "true",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "30",
        "resourceVersion": "42",
    }


@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        (no(410, "Expired", "too old"), ApiRefusedError, "410 Expired: too old"),
        (no(503), ApiRefusedError, "503"),
        (lines({"type": "ADDED"}, end=End.DROP), ApiUnreachableError, "the answer was cut off|connection was dropped"),
        (DROPPED, ApiUnreachableError, "the connection was dropped"),
        (lines({"type": "ADDED"}, end=End.HANG), ApiUnreachableError, "no answer in time"),
        (SILENT, ApiUnreachableError, "no answer in time"),
    ],
)
async def test_how_a_watch_may_fail(
    server: ScriptedServer, client: KubeClient, answer: Answer, error: type[Exception], text: str
) -> None:
    server.script("GET", LIST, answer)
    with pytest.raises(error, match=text):
        await watched(client, WatchStart("42", silence_seconds=0.05))


async def test_a_watch_may_be_left_early(server: ScriptedServer, client: KubeClient) -> None:
    server.script("GET", LIST, lines({"type": "ADDED"}, end=End.HANG))
    async with aclosing(client.watch(PODS, WatchStart())) as found:
        assert json.loads(await anext(found)) == {"type": "ADDED"}


async def test_credentials_that_were_turned_down_are_renewed_once(
    server: ScriptedServer, tmp_path: Path, pacing: InstantPacing
) -> None:
    user = plugin(tmp_path, {"token": "old"})
    connection = await connect(kubeconfig(tmp_path, user, server=server.url), pacing=pacing)
    (tmp_path / "status.json").write_text(json.dumps({"token": "new"}))
    client = KubeClient(connection, ClientSettings("t"), pacing)
    server.script("POST", PATH, no(401, "Unauthorized"), ok({}), no(401, "Unauthorized"))
    await client.create(PATH, b"{}")
    assert [seen.headers["Authorization"] for seen in server.requests] == ["Bearer old", "Bearer new"]
    with pytest.raises(ApiRefusedError, match="401 Unauthorized"):
        await client.create(PATH, b"{}")
    assert (len(server.requests), runs(tmp_path)) == (4, 3)
    await client.close()


async def test_credentials_that_cannot_be_read_any_more(
    server: ScriptedServer, tmp_path: Path, pacing: InstantPacing
) -> None:
    (tmp_path / "token").write_text("first")
    connection = await connect(kubeconfig(tmp_path, {"tokenFile": "token"}, server=server.url), pacing=pacing)
    client = KubeClient(connection, ClientSettings("t", patience=replace(ONE_TRY, attempts=2)), pacing)
    (tmp_path / "token").unlink()
    await pacing.sleep(60)
    with pytest.raises(ApiUnreachableError, match=r"there are no credentials to show .*restore them"):
        await client.get(PATH)
    assert server.requests == []
    await client.close()


async def test_the_start_up_check_tells_the_version(server: ScriptedServer, client: KubeClient) -> None:
    server.script("GET", "/version", ok({"major": "1", "minor": "35", "gitVersion": "v1.35.4"}))
    assert await client.probe() == ServerVersion("1", "35", "v1.35.4")


async def test_the_start_up_check_needs_no_right(server: ScriptedServer, client: KubeClient) -> None:
    server.script("GET", "/version", no(403, "Forbidden"))
    assert await client.probe() == ServerVersion()


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (no(401, "Unauthorized"), "401 Unauthorized: .*; renew the credentials"),
        (no(404, "NotFound"), "404 NotFound: .*; check that the address is an API server's"),
        (Answer(200, (b"<html>",)), "cannot be used: "),
        (DROPPED, "cannot be used: GET /version: .*the connection was dropped"),
    ],
)
async def test_the_start_up_check_fails(server: ScriptedServer, client: KubeClient, answer: Answer, text: str) -> None:
    server.script("GET", "/version", answer)
    with pytest.raises(ConfigurationError, match=f"API server {server.url}.* {text}"):
        await client.probe()


async def test_the_client_knows_its_server(server: ScriptedServer, client: KubeClient, pacing: InstantPacing) -> None:
    assert (client.server, client.pacing) == (server.url, pacing)

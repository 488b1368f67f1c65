"""Asking the metrics API for memory, against the embedded API server."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from autoscaling.objectref import ObjectRef
from autoscaling.vpa import UpdateMode, Vpa
from evenkeel.simulator.api.metrics import StaticMetrics, Window
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.faults import Delay, DropConnection, Fault, Refuse
from tests.autoscaling.kube.clocks import InstantPacing
from tests.autoscaling.kube.scripted import Answer, ScriptedServer, client_of
from tests.builders import T0, vpa
from tests.embedded import api_server, client_for
from updater.shell.memory_use import MemoryReader
from updater.surroundings import MemoryUse

pytestmark = pytest.mark.anyio
MINUTE = timedelta(minutes=1)
METRICS = "/apis/metrics.k8s.io/v1beta1"
WEB = ObjectRef("Pod", "default", "web-0")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def measured() -> ApiServer:
    """Return a server that knows the use of a pod in each of two namespaces."""
    server, source = api_server(), StaticMetrics()
    window = Window(T0, timedelta(seconds=15))
    source.put_pod(("default", "web-0"), {"main": ("100m", "65536Ki"), "proxy": ("1m", "4Mi")}, window)
    source.put_pod(("other", "web-0"), {"main": ("1", "1Gi")}, window)
    server.metrics = source
    return server


def of_mode(mode: UpdateMode, namespace: str = "default") -> Vpa:
    return replace(vpa(mode=mode), namespace=namespace)


IN_PLACE = of_mode(UpdateMode.IN_PLACE_OR_RECREATE)


@pytest.mark.parametrize(
    ("row", "vpas", "namespaces"),
    [
        ("beyond:B-22", [IN_PLACE], {"default"}),
        ("beyond:B-22", [of_mode(UpdateMode.IN_PLACE), of_mode(UpdateMode.RECREATE, "other")], {"default"}),
        ("beyond:B-22", [IN_PLACE, of_mode(UpdateMode.IN_PLACE, "other")], {"default", "other"}),
        ("beyond:B-22", [of_mode(mode) for mode in (UpdateMode.RECREATE, UpdateMode.OFF, UpdateMode.INITIAL)], set()),
        ("beyond:B-22", [], set()),
    ],
)
async def test_it_is_asked_once_and_only_for_whoever_resizes(row: str, vpas: list[Vpa], namespaces: set[str]) -> None:
    server = measured()
    async with client_for(server) as client:
        uses = await MemoryReader(client, "", MINUTE).read(vpas)
    assert uses is not None
    assert {ref.namespace for ref in uses} == namespaces, row
    assert len(server.requests.calls(path=METRICS)) == bool(namespaces), row


async def test_what_each_container_uses() -> None:
    server = measured()
    async with client_for(server) as client:
        uses = await MemoryReader(client, "default", MINUTE).read([IN_PLACE])
    assert uses == {WEB: {"main": MemoryUse(T0, 2**26), "proxy": MemoryUse(T0, 2**22)}}
    assert [call.path for call in server.requests.calls(path=METRICS)] == [f"{METRICS}/namespaces/default/pods"]


@pytest.mark.parametrize(
    ("fault", "told"),
    [(Refuse(404), "install metrics-server"), (Refuse(403), "403"), (Refuse(503), "503"), (DropConnection(), METRICS)],
)
async def test_a_failure_is_told_once_and_so_is_its_end(
    fault: Refuse | DropConnection, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spec: beyond:B-22, beyond:B-21."""
    server = measured()
    async with client_for(server) as client:
        reader = MemoryReader(client, "", MINUTE)
        server.faults.add(Fault(fault, path=METRICS, count=None))
        assert [await reader.read([IN_PLACE]) for _ in range(3)] == [None, None, None]
        server.faults.clear()
        known = [await reader.read([IN_PLACE]) for _ in range(2)]
    assert [set(uses or ()) for uses in known] == [{WEB}, {WEB}]
    lines = [line for line in capsys.readouterr().out.splitlines() if "memory use" in line]
    assert ["not known" in line for line in lines] == [True, False]
    assert told in lines[0]


async def test_an_answer_may_take_a_part_of_the_round_only(capsys: pytest.CaptureFixture[str]) -> None:
    server = measured()
    server.faults.add(Fault(Delay(timedelta(hours=1)), path=METRICS))
    async with client_for(server) as client:
        assert await MemoryReader(client, "", timedelta(milliseconds=60)).read([IN_PLACE]) is None
    assert "no answer within 0.01 s" in capsys.readouterr().out


async def test_an_answer_in_parts_is_put_together_and_bad_objects_are_told_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def part(name: str, amount: str, token: str) -> bytes:
        metadata = f'{{"name":"{name}","namespace":"default"}}'
        containers = f'[{{"name":"main","usage":{{"memory":"{amount}"}}}}]'
        item = f'{{"metadata":{metadata},"timestamp":"2026-01-01T00:00:00Z","containers":{containers}}}'
        return f'{{"metadata":{{"continue":"{token}"}},"items":[{item}]}}'.encode()

    path = f"{METRICS}/pods"
    parts = [part("a", "1Ki", "next"), part("b", "much", "last"), part("c", "3Ki", "")]
    async with ScriptedServer().running() as server, client_of(server.url, InstantPacing()) as (client, _):
        server.script("GET", path, *(Answer(200, (body,)) for body in parts * 2))
        reader = MemoryReader(client, "", MINUTE)
        first, second = await reader.read([IN_PLACE]), await reader.read([IN_PLACE])
    assert first is not None
    assert {ref.name: use["main"].bytes for ref, use in first.items()} == {"a": 1024, "c": 3072}
    assert second == first
    told = [line for line in capsys.readouterr().out.splitlines() if "left out" in line]
    assert len(told) == 1
    assert "PodMetrics default/b" in told[0]

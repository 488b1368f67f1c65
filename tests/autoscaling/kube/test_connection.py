"""Configuration and credentials."""

from __future__ import annotations

import json
import stat
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from autoscaling.errors import ConfigurationError
from autoscaling.kube.connection import Connection, connect, namespace_of
from tests.autoscaling.kube.certificates import Authority
from tests.autoscaling.kube.clocks import InstantPacing
from tests.autoscaling.kube.scripted import ScriptedServer, client_of, ok

pytestmark = pytest.mark.anyio

SERVER = "http://127.0.0.1:1"
POD_ENVIRONMENT = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def kubeconfig(folder: Path, user: object, **cluster: object) -> str:
    path = folder / "kubeconfig"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": SERVER} | cluster}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(yaml.safe_dump(document))
    return str(path)


def plugin(folder: Path, status: dict[str, object] | None) -> dict[str, object]:
    """An exec plugin that counts its runs and prints the status found beside it."""
    (folder / "status.json").write_text(json.dumps(status))
    script = folder / "plugin"
    script.write_text(
        f"#!{sys.executable}\n"
        "import json, pathlib, sys\n"
        "here = pathlib.Path(__file__).parent\n"
        "runs = here / 'runs'\n"
        "runs.write_text(str(int(runs.read_text()) + 1 if runs.exists() else 1))\n"
        "status = json.loads((here / 'status.json').read_text())\n"
        "sys.exit('no ticket') if status is None else None\n"
        "api = 'client.authentication.k8s.io/v1'\n"
        "print(json.dumps({'apiVersion': api, 'kind': 'ExecCredential', 'status': status}))\n"
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(script)}}


def runs(folder: Path) -> int:
    return int((folder / "runs").read_text())


def service_account(folder: Path) -> Path:
    (folder / "token").write_text("pod-token\n")
    (folder / "ca.crt").write_text(Authority().certificate_text)
    return folder


async def authorization(connection: Connection) -> str:
    try:
        return await connection.authorization()
    finally:
        await connection.close()


@pytest.mark.parametrize(
    ("user", "header"),
    [
        ({"token": "abc"}, "Bearer abc"),
        ({"username": "me", "password": "pw"}, "Basic bWU6cHc="),
        ({}, ""),
    ],
)
async def test_kubeconfig_users(tmp_path: Path, user: object, header: str) -> None:
    connection = await connect(kubeconfig(tmp_path, user))
    assert connection.server == SERVER
    assert await authorization(connection) == header


async def test_proxy_and_server_name_are_taken_over(tmp_path: Path) -> None:
    extras = {"proxy-url": "http://proxy:3128", "tls-server-name": "kubernetes"}
    connection = await connect(kubeconfig(tmp_path, {"token": "a"}, **extras))
    assert (connection.proxy, connection.tls_server_name) == ("http://proxy:3128", "kubernetes")
    await connection.close()


@pytest.mark.parametrize(
    ("variables", "proxy"),
    [
        ({"HTTP_PROXY": "http://proxy:3128"}, "http://proxy:3128"),
        ({"http_proxy": "http://me:pw@proxy:3128"}, "http://me:pw@proxy:3128"),
        ({"HTTPS_PROXY": "http://proxy:3128"}, None),
        ({"HTTP_PROXY": "http://proxy:3128", "NO_PROXY": "localhost,127.0.0.1"}, None),
        ({"HTTP_PROXY": "http://proxy:3128", "NO_PROXY": "*"}, None),
        ({}, None),
    ],
)
async def test_the_environment_names_a_proxy_where_the_kubeconfig_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], proxy: str | None
) -> None:
    without_proxies(monkeypatch)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    connection = await connect(kubeconfig(tmp_path, {"token": "a"}))
    named = await connect(kubeconfig(tmp_path, {"token": "a"}, **{"proxy-url": "http://other:3128"}))
    assert (connection.proxy, named.proxy) == (proxy, "http://other:3128")
    await connection.close()
    await named.close()


async def test_calls_go_through_the_proxy_and_ask_no_netrc(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_proxies(monkeypatch)
    (tmp_path / "netrc").write_text("default login somebody password else\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("http_proxy", server.url)
    server.script("GET", "/version", ok({"gitVersion": "v1"}))
    async with client_of("http://api.example", InstantPacing()) as (client, _):
        assert (await client.probe()).git_version == "v1"
    assert server.requests[0].headers["Host"] == "api.example"
    assert server.requests[0].headers["Authorization"] == "Bearer secret"


def without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


async def test_a_token_file_is_read_again_after_a_minute(tmp_path: Path, pacing: InstantPacing) -> None:
    (tmp_path / "token").write_text("first")
    connection = await connect(kubeconfig(tmp_path, {"tokenFile": "token"}), pacing=pacing)
    (tmp_path / "token").write_text("second")
    await pacing.sleep(59.9)
    assert await connection.authorization() == "Bearer first"
    await pacing.sleep(0.1)
    assert await connection.authorization() == "Bearer second"
    (tmp_path / "token").unlink()
    await pacing.sleep(60)
    with pytest.raises(ConfigurationError, match=r"credentials could not be renewed: .*token.*; log in again"):
        await connection.authorization()
    await connection.close()


async def test_a_plain_token_is_never_read_again(tmp_path: Path) -> None:
    connection = await connect(kubeconfig(tmp_path, {"token": "abc"}))
    assert not await connection.renew()
    await connection.close()


async def test_a_plugin_without_expiry_runs_again_only_when_the_server_says_no(
    tmp_path: Path, pacing: InstantPacing
) -> None:
    user = plugin(tmp_path, {"token": "first"})
    connection = await connect(kubeconfig(tmp_path, user), pacing=pacing)
    (tmp_path / "status.json").write_text(json.dumps({"token": "second"}))
    await pacing.sleep(3600)
    assert (await connection.authorization(), runs(tmp_path)) == ("Bearer first", 1)
    assert await connection.renew()
    assert (await connection.authorization(), runs(tmp_path)) == ("Bearer second", 2)
    await connection.close()


@pytest.mark.parametrize(("expires_in", "header", "count"), [(3600, "Bearer first", 1), (200, "Bearer second", 2)])
async def test_a_plugin_runs_again_before_its_token_expires(
    tmp_path: Path, pacing: InstantPacing, expires_in: int, header: str, count: int
) -> None:
    expiry = (datetime.now(UTC) + timedelta(seconds=expires_in)).strftime("%Y-%m-%dT%H:%M:%SZ")  # noqa: TID251
    user = plugin(tmp_path, {"token": "first", "expirationTimestamp": expiry})
    connection = await connect(kubeconfig(tmp_path, user), pacing=pacing)
    (tmp_path / "status.json").write_text(json.dumps({"token": "second", "expirationTimestamp": expiry}))
    await pacing.sleep(60)
    assert (await authorization(connection), runs(tmp_path)) == (header, count)


async def test_a_plugin_may_bring_certificates_and_later_others(tmp_path: Path) -> None:
    authority = Authority()
    server_files = {"server": "https://127.0.0.1:1", "certificate-authority": str(authority.write(tmp_path))}
    certificate, key = authority.issue("first")
    user = plugin(tmp_path, {"clientCertificateData": certificate, "clientKeyData": key})
    connection = await connect(kubeconfig(tmp_path, user, **server_files))
    session = connection.session
    certificate, key = authority.issue("second")
    (tmp_path / "status.json").write_text(json.dumps({"clientCertificateData": certificate, "clientKeyData": key}))
    assert await connection.renew()
    assert connection.session is not session
    assert not session.closed
    await connection.close()
    assert session.closed


async def test_a_plugin_that_fails_keeps_the_process_from_starting(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="exec plugin of the context's user gave no credentials"):
        await connect(kubeconfig(tmp_path, plugin(tmp_path, None)))


CONTEXT = "{current-context: x, contexts: [{name: x, context: {cluster: c, user: u}}], "
PLAIN_CLUSTER = "clusters: [{name: c, cluster: {server: 'https://h'}}]}"
FOREIGN_CLUSTER = "clusters: [{name: c, cluster: {server: 'https://h', certificate-authority: /nowhere/ca}}]}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: [", "is no kubeconfig: while parsing"),
        ("- a", "is no kubeconfig: Expected `object`"),
        ("", "is no kubeconfig: Expected `object`"),
        ("clusters: 3", "is no kubeconfig: Expected `array"),
        ("{}", "current-context '' is not among its contexts"),
        ("{current-context: x, contexts: [{name: y}]}", "current-context 'x' is not among its contexts"),
        (CONTEXT + "}", "cluster 'c' of the context has no server"),
        (CONTEXT + "clusters: [{name: c, cluster: {}}]}", "cluster 'c' of the context has no server address"),
        (CONTEXT + PLAIN_CLUSTER, "user 'u' of the context is not among its users"),
        (CONTEXT + "users: [{name: u}], " + PLAIN_CLUSTER, "correct the file"),
        (CONTEXT + "users: [{name: u, user: {}}], " + FOREIGN_CLUSTER, "/nowhere/ca; correct the file"),
        (CONTEXT + "users: [{name: u, user: {client-key-data: a}}], " + PLAIN_CLUSTER, "correct the file"),
    ],
)
async def test_kubeconfigs_that_cannot_be_used(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        await connect(str(path))
    assert str(caught.value).startswith(f"--kubeconfig {path}: ")
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


TWO_CONTEXTS = """
current-context: here
contexts:
- {name: here, context: {cluster: c, user: u, namespace: shop}}
- {name: there, context: {cluster: d, user: u}}
clusters: [{name: c, cluster: {server: 'https://c'}}, {name: d, cluster: {server: 'https://d'}}]
users: [{name: u, user: {token: t}}]
"""


@pytest.mark.parametrize(
    ("context", "server", "namespace"),
    [("", "https://c", "shop"), ("here", "https://c", "shop"), ("there", "https://d", "")],
)
async def test_another_context_than_the_current_one(tmp_path: Path, context: str, server: str, namespace: str) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(TWO_CONTEXTS)
    connection = await connect(str(path), context=context)
    assert connection.server == server
    assert namespace_of(str(path), context) == namespace
    await connection.close()


async def test_a_context_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(TWO_CONTEXTS)
    with pytest.raises(ConfigurationError, match="has no context 'x'; its contexts are: here, there"):
        await connect(str(path), context="x")


async def test_a_kubeconfig_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read: No such file or directory; give a kubeconfig file"):
        await connect(str(tmp_path / "none"))


async def test_a_kubeconfig_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "kubeconfig").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigurationError, match="cannot be read: it is not text"):
        await connect(str(tmp_path / "kubeconfig"))


async def test_certificates_that_cannot_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("no certificate")
    files = {"server": "https://127.0.0.1:1", "certificate-authority": str(tmp_path / "ca.crt")}
    with pytest.raises(
        ConfigurationError, match=r"certificates to reach it cannot be loaded: .*; check certificate-auth"
    ):
        await connect(kubeconfig(tmp_path, {"token": "a"}, **files))


async def test_a_pod_uses_its_service_account(tmp_path: Path) -> None:
    connection = await connect("", POD_ENVIRONMENT, service_account(tmp_path))
    assert connection.server == "https://10.0.0.1:443"
    assert await authorization(connection) == "bearer pod-token"


async def test_a_pods_token_is_read_again_after_a_minute(tmp_path: Path, pacing: InstantPacing) -> None:
    connection = await connect("", POD_ENVIRONMENT, service_account(tmp_path), pacing)
    (tmp_path / "token").write_text("rotated")
    await pacing.sleep(59.9)
    assert await connection.authorization() == "bearer pod-token"
    await pacing.sleep(0.1)
    assert await connection.authorization() == "bearer rotated"
    (tmp_path / "token").write_text("turned down, so read at once")
    assert await connection.renew()
    assert await connection.authorization() == "bearer turned down, so read at once"
    (tmp_path / "token").unlink()
    await pacing.sleep(60)
    with pytest.raises(
        ConfigurationError, match=r"token in .* could not be renewed: .*; check the pod's projected token"
    ):
        await connection.authorization()
    await connection.close()


async def test_a_pod_on_ipv6(tmp_path: Path) -> None:
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    connection = await connect("", environment, service_account(tmp_path))
    assert connection.server == "https://[fd00::1]:443"
    await connection.close()


@pytest.mark.parametrize("environment", [{}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, POD_ENVIRONMENT])
async def test_outside_a_cluster_without_a_kubeconfig(tmp_path: Path, environment: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match="--kubeconfig is empty, and this process does not look like a pod"):
        await connect("", environment, tmp_path)

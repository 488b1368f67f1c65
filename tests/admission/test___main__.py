"""The whole process against an embedded API server that calls its webhook over TLS."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path

import aiohttp
import pytest
from structlog.testing import capture_logs
from structlog.typing import EventDict

from admission.__main__ import called_as, cluster_of, registration_settings, review_rules, server_name, start
from admission.boosting import BoostRules
from admission.config import AdmissionConfig
from admission.shell.caches import Caches
from admission.vpa_validation import Gates
from admission.webhook_configuration import NamespaceScope, ServiceTarget, UrlTarget
from autoscaling.behaviour import Profile
from autoscaling.quantity import Quantity
from autoscaling.runtime.api_group import ApiGroup, cluster_names
from autoscaling.runtime.process import Process, WallClockDriver
from autoscaling.runtime.startup import open_client
from evenkeel.crd.definitions import definitions
from evenkeel.simulator.api.certificates import Authority
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import Endpoint, serve
from evenkeel.simulator.faults import Fault, Refuse
from tests.admission.shell.webhooks import eventually, pod_review, trusting
from tests.autoscaling.kube.clocks import InstantPacing
from tests.autoscaling.kube.scripted import client_of
from tests.embedded import Json, owner, recommended_status

pytestmark = pytest.mark.anyio

MUTATING = ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def api_server(group: ApiGroup) -> ApiServer:
    """Return a server with a Deployment, its ReplicaSet and a VPA that has a recommendation."""
    server = ApiServer()
    server.create_namespaces("evenkeel-system")
    for definition in definitions(group).values():
        server.store.create(dict(definition))
    selector = {"matchLabels": {"app": "web"}}
    spec = {"replicas": 1, "selector": selector, "template": {"metadata": {"labels": {"app": "web"}}}}
    for kind, name, owners in (("Deployment", "web", []), ("ReplicaSet", "web-rs", [owner("Deployment", "web")])):
        metadata = {"name": name, "namespace": "default", "ownerReferences": owners}
        server.store.create({"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec})
    server.store.create(vpa_object(group, status=recommended_status("400m", "100Mi")))
    return server


def vpa_object(group: ApiGroup, name: str = "web", *, status: Json | None = None) -> Json:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    body: Json = {
        "apiVersion": f"{group}/v1",
        "kind": "VerticalPodAutoscaler",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"targetRef": target},
    }
    return body | ({"status": status} if status is not None else {})


def pod_object() -> Json:
    resources = {"requests": {"cpu": "50m", "memory": "32Mi"}, "limits": {"cpu": "500m", "memory": "64Mi"}}
    metadata = {
        "generateName": "web-",
        "namespace": "default",
        "labels": {"app": "web"},
        "ownerReferences": [owner("ReplicaSet", "web-rs")],
    }
    containers = [{"name": "main", "image": "i", "resources": resources}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}}


@dataclass
class Running:
    """The process under test and the server it works with."""

    api: Endpoint
    process: Process
    group: ApiGroup
    events: list[EventDict]
    session: aiohttp.ClientSession

    def port(self, event: str) -> int:
        """Return the port that the log names."""
        return next(int(entry["port"]) for entry in self.events if entry["event"] == event)

    def registration(self) -> Json | None:
        """Return the webhook's registration."""
        return self.api.server.store.find(*MUTATING, cluster_names(self.group).webhook_configuration)

    def has(self, event: str) -> bool:
        """Say whether the log has an entry."""
        return any(entry["event"] == event for entry in self.events)

    async def ready(self) -> int:
        """Return the status of the readiness probe."""
        async with self.session.get(f"http://127.0.0.1:{self.port('telemetry listens')}/readyz") as answer:
            return answer.status

    async def look(self, path: str) -> tuple[int, str]:
        """Return status and text of a page beside the metrics."""
        async with self.session.get(f"http://127.0.0.1:{self.port('telemetry listens')}{path}") as answer:
            return answer.status, await answer.text()

    async def create(self, path: str, body: Json) -> tuple[int, Json]:
        """Create an object through the API, and return status and answer."""
        async with self.session.post(f"{self.api.url}{path}", json=body) as answer:
            return answer.status, await answer.json()

    async def create_vpa(self, update_policy: Json | None) -> tuple[int, Json]:
        """Create a VPA through the API."""
        path = f"/apis/{self.group}/v1/namespaces/default/verticalpodautoscalers"
        body = vpa_object(self.group, "new")
        spec = body["spec"]
        assert isinstance(spec, dict)
        body["spec"] = spec if update_policy is None else spec | {"updatePolicy": update_policy}
        return await self.create(path, body)

    def point_service_here(self, namespace: str, name: str) -> None:
        """Let the webhook's Service lead to the process."""
        ports = [{"port": self.port("webhook listens")}]
        subsets = [{"addresses": [{"ip": "127.0.0.1"}], "ports": ports}]
        metadata = {"name": name, "namespace": namespace}
        self.api.server.store.create(
            {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": subsets}
        )


@asynccontextmanager
async def running(server: ApiServer, config: AdmissionConfig, folder: Path) -> AsyncIterator[Running]:
    """Run the process while the context lasts, and see that it ends with status 0."""
    process = Process(WallClockDriver())
    async with serve(server, tls=False) as api, aiohttp.ClientSession() as session:
        flags: dict[str, object] = {
            "kubeconfig": str(api.write_kubeconfig(folder / "kubeconfig")),
            "address": "127.0.0.1:0",
            "port": 0,
            "status_lease_update_interval": timedelta(milliseconds=50),
        }
        full = config.model_copy(update=flags)
        with capture_logs() as events:
            task = asyncio.create_task(process.run(partial(start, config=full)))
            await eventually(lambda: any(e["event"] == "webhook listens" for e in events) or task.done())
            try:
                yield Running(api, process, config.api_group, events, session)
            finally:
                process.stop()
                status = await task
        assert status == 0


def config_for(folder: Path, group: ApiGroup = ApiGroup.EVENKEEL, **flags: object) -> AdmissionConfig:
    files = {
        "client_ca_file": str(folder / "caCert.pem"),
        "tls_cert_file": str(folder / "serverCert.pem"),
        "tls_private_key": str(folder / "serverKey.pem"),
    }
    return AdmissionConfig(api_group=group, **files, **flags)  # type: ignore[arg-type]


async def test_a_pod_gets_its_resources_through_the_webhook(tmp_path: Path) -> None:
    """Spec: admission:1.6, admission:5.23, admission:7.3.1, admission:7.3.2, product sections 1 and 2."""
    server = api_server(ApiGroup.EVENKEEL)
    async with running(server, config_for(tmp_path, webhook_timeout_seconds=10), tmp_path) as run:
        await eventually(lambda: run.registration() is not None and run.has("caches filled"))
        run.point_service_here("evenkeel-system", "evenkeel-webhook")
        assert await run.ready() == 200

        status, pod = await run.create("/api/v1/namespaces/default/pods", pod_object())
        assert status == 201
        stored = server.store.list("v1", "Pod", "default")
        assert len(stored) == 1
        containers = pod["spec"]["containers"]  # type: ignore[index]
        assert containers[0]["resources"] == {
            "requests": {"cpu": "400m", "memory": "100Mi"},
            "limits": {"cpu": "4", "memory": "200Mi"},
        }
        assert pod["metadata"]["annotations"] == {  # type: ignore[index]
            "vpaUpdates": "Pod resources updated by web: container 0: "
            "cpu request, memory request, cpu limit, memory limit",
            "vpaObservedContainers": "main",
        }

        status, vpa = await run.create_vpa(None)
        assert status == 201
        assert vpa["spec"]["updatePolicy"] == {"updateMode": "Recreate"}  # type: ignore[index]
        status, refused = await run.create_vpa({"updateMode": "InPlaceOrRecreate", "evictAfterOOMSeconds": 60})
        assert status == 422
        assert "PerVPAConfig" in str(refused["message"])

        lease = partial(server.store.find, "coordination.k8s.io/v1", "Lease", "evenkeel-admission-controller")
        await eventually(lambda: lease("evenkeel-system") is not None)
        run.process.stop()
        async with asyncio.timeout(10):
            while await run.ready() != 503:
                pass
        status, _ = await run.create("/api/v1/namespaces/default/pods", pod_object())
        assert status == 201
        assert len([e for e in run.events if e["event"] == "review decided" and e["reason"] == "Patched"]) == 2
    assert not server.requests.calls(verb="delete")
    secret = server.store.read("v1", "Secret", "evenkeel-tls-certs", "evenkeel-system")
    assert secret["metadata"]["annotations"] == {"evenkeel.dev/made-by": "evenkeel-admission-controller"}  # type: ignore[index]


async def test_it_takes_upstreams_place_with_upstreams_files_and_registration(tmp_path: Path) -> None:
    """Spec: product sections 1 and 2: another image is all it takes, and what upstream registered stays as it is."""
    server = api_server(ApiGroup.UPSTREAM)
    authority = Authority()
    pair = authority.issue("vpa-webhook.kube-system.svc")
    (tmp_path / "caCert.pem").write_bytes(authority.certificate_pem)
    (tmp_path / "serverCert.pem").write_bytes(pair.certificate_pem)
    (tmp_path / "serverKey.pem").write_bytes(pair.key_pem)
    hook = {
        "name": "vpa.k8s.io",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Ignore",
        "timeoutSeconds": 10,
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}],
        "clientConfig": {
            "service": {"namespace": "kube-system", "name": "vpa-webhook"},
            "caBundle": base64.b64encode(authority.certificate_pem).decode(),
        },
    }
    metadata = {"name": "vpa-webhook-config"}
    before = server.store.create(
        {"apiVersion": MUTATING[0], "kind": MUTATING[1], "metadata": metadata, "webhooks": [hook]}
    )
    config = config_for(tmp_path, ApiGroup.UPSTREAM, profile=Profile.UPSTREAM, reload_cert=True)
    async with running(server, config, tmp_path) as run:
        await eventually(lambda: run.has("caches filled") and run.has("webhook registration left alone"))
        run.point_service_here("kube-system", "vpa-webhook")
        status, pod = await run.create("/api/v1/namespaces/default/pods", pod_object())
        assert status == 201
        assert pod["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "400m", "memory": "100Mi"}  # type: ignore[index]
        lease = partial(server.store.find, "coordination.k8s.io/v1", "Lease", "vpa-admission-controller")
        await eventually(lambda: lease("kube-system") is not None)
    assert server.store.read(*MUTATING, "vpa-webhook-config") == before
    assert not server.requests.calls(resource="secrets")


async def test_somebody_else_may_register_and_provide(tmp_path: Path) -> None:
    """Spec: admission:1.6; then nobody has to be elected."""
    server = api_server(ApiGroup.EVENKEEL)
    authority = Authority()
    pair = authority.issue("evenkeel-webhook.evenkeel-system.svc")
    (tmp_path / "caCert.pem").write_bytes(authority.certificate_pem)
    (tmp_path / "serverCert.pem").write_bytes(pair.certificate_pem)
    (tmp_path / "serverKey.pem").write_bytes(pair.key_pem)
    async with running(server, config_for(tmp_path, register_webhook=False), tmp_path) as run:
        lease = partial(server.store.find, "coordination.k8s.io/v1", "Lease")
        await eventually(lambda: lease("evenkeel-admission-controller", "evenkeel-system") is not None)
        assert run.registration() is None
        assert lease("evenkeel-admission-certs", "evenkeel-system") is None


async def test_it_is_watched_from_its_first_moment(tmp_path: Path) -> None:
    """Metrics and probes are there before the caches are filled, and no number of reviews makes it unhealthy.

    Spec: admission:1.2, admission:4.5, admission:11.4, admission:11.5, admission:13.18.
    """
    server = api_server(ApiGroup.EVENKEEL)
    barred = server.faults.add(Fault(Refuse(403), path="/limitranges", count=None))
    async with running(server, config_for(tmp_path), tmp_path) as run:
        assert await run.look("/health-check") == (200, "OK")
        assert await run.ready() == 503
        status, metrics = await run.look("/metrics")
        assert status == 200
        assert "\nprocess_cpu_seconds_total " in metrics
        assert "vpa_resources_get_resources_count" not in metrics
        assert (await run.look("/debug/pprof/"))[0] == 404
        server.faults.remove(barred)
        await eventually(lambda: run.has("caches filled"))
        await eventually(lambda: run.registration() is not None)
        run.point_service_here("evenkeel-system", "evenkeel-webhook")
        assert await run.ready() == 200
        assert (await run.create("/api/v1/namespaces/default/pods", pod_object()))[0] == 201
        assert await run.look("/health-check") == (200, "OK")


async def test_profiles_are_served_where_that_is_asked_for(tmp_path: Path) -> None:
    """Spec: admission:1.2, admission:10.19."""
    async with running(api_server(ApiGroup.EVENKEEL), config_for(tmp_path, profiling=True), tmp_path) as run:
        assert (await run.look("/debug/pprof/"))[0] == 200


async def test_an_address_that_is_taken_ends_the_start(tmp_path: Path) -> None:
    """Spec: admission:1.2, admission:1.7, either port."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        error = await fails_to_start(config_for(tmp_path, address=f"127.0.0.1:{port}"), tmp_path, address=False)
    assert str(port) in error
    with socket.create_server(("", 0)) as taken:
        port = taken.getsockname()[1]
        error = await fails_to_start(config_for(tmp_path, port=port), tmp_path, port=False)
    assert str(port) in error


@pytest.mark.parametrize(
    ("row", "qps", "burst", "waited"),
    [
        ("admission:1.3", 10.0, 3, [pytest.approx(0.1), pytest.approx(0.1)]),
        ("admission:1.3", 10.0, 5, []),
        ("admission:1.3", 0.5, 4, [pytest.approx(2.0)]),
    ],
)
async def test_calls_keep_to_the_rate_of_the_flags(
    tmp_path: Path, row: str, qps: float, burst: int, waited: list[float]
) -> None:
    pacing = InstantPacing()

    async def five_calls(process: Process, config: AdmissionConfig) -> None:
        client = await open_client(process, config, "admission-controller")
        for _ in range(4):
            await client.probe()
        process.stop()

    async with serve(ApiServer(), tls=False) as api:
        kubeconfig = str(api.write_kubeconfig(tmp_path / "kubeconfig"))
        config = config_for(tmp_path, kubeconfig=kubeconfig, kube_api_qps=qps, kube_api_burst=burst)
        process = Process(WallClockDriver(), pacing=pacing)
        assert await process.run(partial(five_calls, config=config)) == 0
    assert pacing.slept == waited, row


async def test_one_namespace_is_followed_where_one_is_named(tmp_path: Path) -> None:
    """Spec: admission:1.3, admission:1.4: VPAs, the seven kinds of workloads and LimitRanges, and nothing else."""
    server = api_server(ApiGroup.EVENKEEL)
    async with running(server, config_for(tmp_path, vpa_object_namespace="default"), tmp_path) as run:
        await eventually(lambda: run.has("caches filled"))
    watched = {(call.resource, "/namespaces/default/" in call.path) for call in server.requests.calls("watch")}
    kinds = ("cronjobs", "daemonsets", "deployments", "jobs", "replicasets", "replicationcontrollers", "statefulsets")
    assert watched == {(each, True) for each in (*kinds, "limitranges", "verticalpodautoscalers")}


async def test_a_pod_of_an_ignored_namespace_has_its_vpa_all_the_same(tmp_path: Path) -> None:
    """Spec: admission:1.4: the flag shapes the selector of the registration only."""
    server, authority = api_server(ApiGroup.EVENKEEL), Authority()
    pair = authority.issue("hook")
    (tmp_path / "caCert.pem").write_bytes(authority.certificate_pem)
    (tmp_path / "serverCert.pem").write_bytes(pair.certificate_pem)
    (tmp_path / "serverKey.pem").write_bytes(pair.key_pem)
    config = config_for(tmp_path, ignored_vpa_object_namespaces=("default",), register_webhook=False)
    async with running(server, config, tmp_path) as run:
        await eventually(lambda: run.has("caches filled"))
        url = f"https://127.0.0.1:{run.port('webhook listens')}/"
        headers, trust = {"Content-Type": "application/json"}, trusting(authority.certificate_pem)
        body = pod_review(pod_object(), namespace="default")
        async with run.session.post(url, data=body, headers=headers, ssl=trust, server_hostname="hook") as answer:
            assert (await answer.json())["response"]["patchType"] == "JSONPatch"


@pytest.mark.parametrize(("row", "fails", "status"), [("admission:12.1", False, 201), ("admission:12.1", True, 500)])
async def test_while_nobody_answers_the_failure_policy_decides(
    tmp_path: Path, row: str, fails: bool, status: int
) -> None:
    """Spec: admission:3.8, admission:13.24: the pod is as its template has it."""
    server = api_server(ApiGroup.EVENKEEL)
    async with running(server, config_for(tmp_path, webhook_failure_policy_fail=fails), tmp_path) as run:
        await eventually(lambda: run.registration() is not None)
        # No Service leads to the process yet.
        found, pod = await run.create("/api/v1/namespaces/default/pods", pod_object())
    assert found == status, row
    if not fails:
        assert pod["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "50m", "memory": "32Mi"}  # type: ignore[index]
        assert "annotations" not in pod["metadata"]  # type: ignore[operator]


async def test_nobody_asks_about_what_becomes_of_pods(tmp_path: Path) -> None:
    """Spec: admission:3.5, admission:12.8."""
    server = api_server(ApiGroup.EVENKEEL)
    async with running(server, config_for(tmp_path), tmp_path) as run:
        await eventually(lambda: run.registration() is not None and run.has("caches filled"))
        run.point_service_here("evenkeel-system", "evenkeel-webhook")
        _, pod = await run.create("/api/v1/namespaces/default/pods", pod_object())
        path = f"{run.api.url}/api/v1/namespaces/default/pods/{pod['metadata']['name']}"  # type: ignore[index]
        smaller = {"containers": [{"name": "main", "resources": {"requests": {"cpu": "300m"}}}]}
        changes: list[tuple[str, Json]] = [
            ("", {"metadata": {"labels": {"more": "yes"}}}),
            ("/resize", {"spec": smaller}),
        ]
        headers = {"Content-Type": "application/strategic-merge-patch+json"}
        for subresource, change in changes:
            async with run.session.patch(f"{path}{subresource}", data=json.dumps(change), headers=headers) as answer:
                assert answer.status == 200, subresource
        assert len([event for event in run.events if event["event"] == "review decided"]) == 1


async def fails_to_start(config: AdmissionConfig, folder: Path, *, address: bool = True, port: bool = True) -> str:
    """Run the process until it gives up, and return why; on free ports but where the test has its own."""
    process = Process(WallClockDriver())
    async with serve(ApiServer(), tls=False) as api:
        path = str(api.write_kubeconfig(folder / "kubeconfig"))
        free = ({"address": "127.0.0.1:0"} if address else {}) | ({"port": 0} if port else {})
        full = config.model_copy(update={"kubeconfig": path, **free})
        with capture_logs() as events:
            assert await process.run(partial(start, config=full)) == 1
    return next(str(entry["error"]) for entry in events if entry["event"] == "process failed")


async def test_a_pair_that_cannot_be_used_ends_the_start(tmp_path: Path) -> None:
    """Spec: admission:1.5, admission:2.5."""
    for name in ("serverCert.pem", "serverKey.pem"):
        (tmp_path / name).write_text("rubbish")
    assert "certificate" in await fails_to_start(config_for(tmp_path), tmp_path)


def test_the_command_says_why_it_does_not_start(tmp_path: Path) -> None:
    words = [sys.executable, "-P", "-m", "admission", "--address=127.0.0.1:0"]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, env=dict(os.environ))
    assert ended.returncode == 1
    assert "give --kubeconfig" in ended.stderr


def test_what_flags_register(tmp_path: Path) -> None:
    """Spec: admission:3.2, admission:3.7, admission:3.11, admission:13.4."""
    plain = registration_settings(config_for(tmp_path))
    assert plain.target == ServiceTarget("evenkeel-system", "evenkeel-webhook")
    assert (plain.name, plain.webhook) == ("evenkeel-webhook-config", "pods.autoscaling.evenkeel.dev")
    assert plain.scope == NamespaceScope()
    assert (plain.timeout_seconds, plain.fails_closed) == (30, False)
    narrowed = config_for(tmp_path, vpa_object_namespace="shop")
    assert registration_settings(narrowed).scope == NamespaceScope("shop")
    as_upstream = config_for(tmp_path, vpa_object_namespace="shop", profile=Profile.UPSTREAM)
    assert registration_settings(as_upstream).scope == NamespaceScope()
    ignoring = config_for(tmp_path, ignored_vpa_object_namespaces=("a", "b"), webhook_labels="k:v")
    assert registration_settings(ignoring).scope == NamespaceScope(ignored=("a", "b"))
    assert registration_settings(ignoring).labels == (("k", "v"),)


@pytest.mark.parametrize(
    ("row", "text", "gates"),
    [
        ("admission:5.26", "", Gates()),
        ("admission:5.26", "CPUStartupBoost=true", Gates(cpu_startup_boost=True)),
        ("admission:5.26", "InPlace=true", Gates(in_place=True)),
        ("admission:5.26", "PerVPAConfig=true", Gates(per_vpa_config=True)),
        ("admission:5.26", "AllAlpha=true,InPlace=false", Gates(cpu_startup_boost=True, per_vpa_config=True)),
        ("admission:5.26", "AllBeta=true", Gates()),
    ],
)
def test_gates_of_the_flag_are_those_of_reviews(row: str, text: str, gates: Gates) -> None:
    words = ["--max-allowed-cpu-boost=2", f"--feature-gates={text}"]
    rules = review_rules(AdmissionConfig.from_command_line(words, {}))
    assert rules.gates == gates, row
    assert rules.boosts == (BoostRules(Quantity.parse("2")) if gates.cpu_startup_boost else None), "admission:8.4"


@pytest.mark.parametrize(
    ("row", "flags", "waits"),
    [
        ("admission:13.20 evenkeel", {}, False),
        ("admission:13.20 upstream", {"profile": Profile.UPSTREAM}, True),
        ("admission:13.20 switched off", {"behaviour": (("reviews_from_caches", "false"),)}, True),
    ],
)
async def test_only_as_upstream_does_a_review_wait_for_the_api_server(
    tmp_path: Path, row: str, flags: dict[str, object], waits: bool
) -> None:
    async with serve(ApiServer(), tls=False) as endpoint, client_of(endpoint.url, InstantPacing()) as (client, _):
        caches = Caches(client, ApiGroup.EVENKEEL)
        assert (cluster_of(config_for(tmp_path, ApiGroup.EVENKEEL, **flags), caches).look_up is not None) is waits, row


def test_what_the_webhook_is_called_by(tmp_path: Path) -> None:
    """Spec: admission:3.7, register by URL."""
    service = config_for(tmp_path)
    assert server_name(service) == "evenkeel-webhook.evenkeel-system.svc"
    assert called_as(service) == {"evenkeel-webhook.evenkeel-system", "evenkeel-webhook.evenkeel-system.svc"}
    url = config_for(tmp_path, register_by_url=True, webhook_address="https://hook.example.com", webhook_port="8443")
    assert registration_settings(url).target == UrlTarget("https://hook.example.com:8443")
    assert server_name(url) == "hook.example.com"
    assert "hook.example.com" in called_as(url)
    portless = config_for(tmp_path, register_by_url=True, webhook_address="https://10.0.0.1")
    assert registration_settings(portless).target == UrlTarget("https://10.0.0.1")
    assert "10.0.0.1" in called_as(portless)
    assert "hook" in called_as(config_for(tmp_path, webhook_address="hook"))

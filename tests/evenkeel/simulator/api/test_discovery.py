"""Discovery over HTTP."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import rows, text
from tests.evenkeel.simulator.api.wire import Wire, cluster, definition

pytestmark = pytest.mark.anyio
SERVED = [
    ("/api/v1", "pods namespaces nodes events limitranges resourcequotas serviceaccounts secrets configmaps services"),
    ("/api/v1", "replicationcontrollers endpoints pods/status pods/resize pods/eviction pods/binding nodes/status"),
    (
        "/apis/apps/v1",
        "deployments replicasets statefulsets daemonsets deployments/scale replicasets/scale statefulsets/scale",
    ),
    ("/apis/batch/v1", "jobs cronjobs jobs/status cronjobs/status"),
    ("/apis/policy/v1", "poddisruptionbudgets poddisruptionbudgets/status"),
    ("/apis/coordination.k8s.io/v1", "leases"),
    ("/apis/events.k8s.io/v1", "events"),
    ("/apis/admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations validatingwebhookconfigurations"),
    ("/apis/apiextensions.k8s.io/v1", "customresourcedefinitions"),
    ("/apis/autoscaling/v2", "horizontalpodautoscalers"),
    ("/apis/metrics.k8s.io/v1beta1", "pods nodes"),
    ("/apis/rbac.authorization.k8s.io/v1", "roles rolebindings clusterroles clusterrolebindings"),
    ("/apis/scheduling.k8s.io/v1", "priorityclasses"),
]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def entry(wire: Wire, path: str, name: str) -> dict[str, object]:
    found = [row for row in rows((await wire.get(path)).body, "resources") if row["name"] == name]
    assert len(found) == 1, (path, name)
    return found[0]


@pytest.mark.parametrize(("path", "names"), SERVED)
async def test_resources_and_subresources_are_listed_and_answer(path: str, names: str) -> None:
    async with cluster() as wire:
        listed = (await wire.get(path)).body
        assert text(listed, "groupVersion") == path.removeprefix("/apis/").removeprefix("/api/")
        found = {text(row, "name") for row in rows(listed, "resources")}
        assert found >= set(names.split())
        for name in names.split():
            if "/" not in name:
                assert (await wire.get(f"{path}/{name}")).code == 200, name


async def test_entries_say_what_clients_need_to_know() -> None:
    async with cluster() as wire:
        pods = await entry(wire, "/api/v1", "pods")
        assert (pods["kind"], pods["namespaced"], pods["shortNames"], pods["categories"]) == (
            "Pod",
            True,
            ["po"],
            ["all"],
        )
        assert pods["verbs"] == ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
        resize = await entry(wire, "/api/v1", "pods/resize")
        assert (resize["kind"], resize["verbs"]) == ("Pod", ["get", "patch", "update"])
        eviction = await entry(wire, "/api/v1", "pods/eviction")
        assert (eviction["group"], eviction["version"], eviction["kind"]) == ("policy", "v1", "Eviction")
        assert eviction["verbs"] == ["create"]
        scale = await entry(wire, "/apis/apps/v1", "deployments/scale")
        assert (scale["group"], scale["kind"]) == ("autoscaling", "Scale")
        metrics = await entry(wire, "/apis/metrics.k8s.io/v1beta1", "pods")
        assert metrics["verbs"] == ["get", "list"]


async def test_groups_and_versions() -> None:
    async with cluster() as wire:
        assert (await wire.get("/api")).body["versions"] == ["v1"]
        groups = (await wire.get("/apis")).body
        names = [text(group, "name") for group in rows(groups, "groups")]
        assert groups["kind"] == "APIGroupList"
        assert {path.split("/")[2] for path, _ in SERVED if path.startswith("/apis/")} <= set(names)
        assert "" not in names
        apps = (await wire.get("/apis/apps")).body
        preferred = {"groupVersion": "apps/v1", "version": "v1"}
        assert (apps["kind"], apps["preferredVersion"], apps["versions"]) == ("APIGroup", preferred, [preferred])
        for path in ("/apis/none", "/apis/apps/v9", "/api/v9", "/openapi/v3/apis/none/v1", "/openapi/v2"):
            assert (await wire.get(path)).code == 404, path


async def test_health_and_version() -> None:
    async with cluster() as wire:
        for path in ("/healthz", "/readyz", "/livez", "/readyz/etcd"):
            answer = await wire.get(path)
            assert (answer.code, answer.body["text"]) == (200, "ok")
        version = (await wire.get("/version")).body
        assert (version["major"], version["minor"]) == ("1", "35")


async def test_openapi_tells_kubectl_that_fields_are_validated_here() -> None:
    async with cluster() as wire:
        wire.server.store.create(definition({"type": "object", "properties": {"spec": {"type": "object"}}}))
        index = (await wire.get("/openapi/v3")).body["paths"]
        assert isinstance(index, dict)
        for root, path, schema in (
            ("api/v1", "/api/v1/namespaces/{namespace}/pods/{name}", "v1.Pod"),
            ("api/v1", "/api/v1/nodes/{name}", "v1.Node"),
            (
                "apis/example.dev/v1",
                "/apis/example.dev/v1/namespaces/{namespace}/widgets/{name}",
                "example.dev.v1.Widget",
            ),
        ):
            document = (await wire.get(index[root]["serverRelativeURL"])).body
            operation = document["paths"][path]["patch"]  # type: ignore[index]
            assert "fieldValidation" in {parameter["name"] for parameter in operation["parameters"]}
            assert schema in document["components"]["schemas"]  # type: ignore[index]

"""What is applied besides for a recommender that takes usage from external metrics."""

from __future__ import annotations

from http import HTTPStatus

import pytest

from evenkeel.simulator.api.calls import User
from evenkeel.simulator.api.external_metrics import StaticExternalMetrics
from evenkeel.simulator.api.server import ApiServer
from tests.evenkeel.simulator.api.wire import cluster
from tests.manifests.rendering import INSTALLATIONS, of_kind, reference, rendered

pytestmark = pytest.mark.anyio

FOLDER = "external-metrics"
NAME = "evenkeel-recommender-external-metrics"
ACCOUNT = {"kind": "ServiceAccount", "name": "evenkeel-recommender", "namespace": "evenkeel-system"}
BASE = "/apis/external.metrics.k8s.io/v1beta1/namespaces/default/cpu_cores"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_it_is_one_role_and_its_binding() -> None:
    """Spec: recommender:8.2, product:9."""
    assert {reference(item) for item in rendered(FOLDER)} == {
        ("ClusterRole", "", NAME),
        ("ClusterRoleBinding", "", NAME),
    }
    rule = {"apiGroups": ["external.metrics.k8s.io"], "resources": ["*"], "verbs": ["list"]}
    assert of_kind(FOLDER, "ClusterRole")[NAME]["rules"] == [rule]


@pytest.mark.parametrize("folder", INSTALLATIONS)
def test_it_is_for_the_account_of_either_installation(folder: str) -> None:
    binding = of_kind(FOLDER, "ClusterRoleBinding")[NAME]
    assert binding["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAME}
    assert binding["subjects"] == [ACCOUNT]
    accounts = {reference(item) for item in rendered(folder) if item["kind"] == "ServiceAccount"}
    assert ("ServiceAccount", "evenkeel-system", "evenkeel-recommender") in accounts
    assert NAME not in {reference(item)[2] for item in rendered(folder)}, "only who asks for it gets it"


@pytest.mark.parametrize("is_applied", [True, False])
async def test_it_is_what_the_recommender_needs(is_applied: bool) -> None:
    account = User("system:serviceaccount:evenkeel-system:evenkeel-recommender")
    server = ApiServer(tokens={"t": account}, rbac=True)
    metrics = StaticExternalMetrics()
    metrics.declare("cpu_cores")
    server.serve_external(metrics)
    for item in rendered(FOLDER) if is_applied else ():
        server.store.create(dict(item))
    async with cluster(server, token="t") as wire:
        answer = await wire.get(BASE)
    assert answer.code == (HTTPStatus.OK if is_applied else HTTPStatus.FORBIDDEN)

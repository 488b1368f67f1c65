"""A cluster read once, as far as the user may."""

from __future__ import annotations

import pytest

from autoscaling.behaviour import Behaviour, Profile
from autoscaling.objectref import ObjectRef
from autoscaling.runtime.api_group import ApiGroup
from evenkeel.cli.session import NotReadableError
from evenkeel.cli.surveying import survey
from evenkeel.inspection.survey import control
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.faults import Fault, Refuse
from tests.embedded import Json, api_server, client_for, deploy, pod_object, scalable_definition, vpa_object

pytestmark = pytest.mark.anyio

GROUP = ApiGroup.EVENKEEL
VPA = ObjectRef("VerticalPodAutoscaler", "default", "web")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> ApiServer:
    found = api_server()
    deploy(found, replicas=2)
    found.store.create(vpa_object("web"))
    return found


async def test_pods_find_their_vpa(server: ApiServer) -> None:
    """beyond:B-30."""
    server.store.create(pod_object("lonely", "other"))
    async with client_for(server) as client:
        found = await survey(client, GROUP, "default")
    controlled = control(found)
    assert [pod.name for pod in controlled.pods[VPA]] == ["web-0", "web-1"]
    assert ObjectRef("Pod", "default", "lonely") not in controlled.vpas
    assert found.problems == ()


async def test_one_in_mode_off_yields_to_any_other(server: ApiServer) -> None:
    """updater:K-27, beyond:B-30."""
    older: Json = vpa_object("a", targetRef={"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"})
    older["spec"]["updatePolicy"] = {"updateMode": "Off"}  # type: ignore[index]
    server.store.create(older)
    async with client_for(server) as client:
        found = await survey(client, GROUP, "default")
    assert set(control(found).pods) == {VPA}


async def test_custom_kinds_are_known_by_their_scale(server: ApiServer) -> None:
    """recommender:11.1, beyond:B-30."""
    server.store.create(scalable_definition("example.org", "Fleet", "fleets"))
    fleet: Json = {"apiVersion": "example.org/v1", "kind": "Fleet", "metadata": {"name": "f", "namespace": "default"}}
    server.store.create(fleet | {"spec": {"replicas": 1}, "status": {"selector": "app=fleet"}})
    pod = pod_object("f-0", "fleet")
    owner = {"apiVersion": "example.org/v1", "kind": "Fleet", "name": "f", "uid": "u", "controller": True}
    pod["metadata"]["ownerReferences"] = [owner]  # type: ignore[index]
    server.store.create(pod)
    target = {"apiVersion": "example.org/v1", "kind": "Fleet", "name": "f"}
    server.store.create(vpa_object("fleet", targetRef=target))
    async with client_for(server) as client:
        found = await survey(client, GROUP, "default")
    pods = control(found).pods[ObjectRef("VerticalPodAutoscaler", "default", "fleet")]
    assert [each.name for each in pods] == ["f-0"]


async def test_what_may_not_be_read_is_a_problem_and_the_rest_is_read(server: ApiServer) -> None:
    for path in ("cronjobs", "/nodes"):
        server.faults.add(Fault(Refuse(403, "Forbidden", "no"), path=path, count=None))
    async with client_for(server) as client:
        found = await survey(client, GROUP, "default", is_thorough=True)
    assert len(found.problems) == 2
    assert all("you may not list" in problem for problem in found.problems)
    assert found.snapshot.surroundings.nodes is None
    assert found.snapshot.surroundings.budgets == {}
    assert not found.snapshot.surroundings.sees_all_pods


@pytest.mark.parametrize("path", ["verticalpodautoscalers", "/pods"])
async def test_without_vpas_and_pods_there_is_nothing_to_say(server: ApiServer, path: str) -> None:
    server.faults.add(Fault(Refuse(403, "Forbidden", "no"), path=path, count=None))
    async with client_for(server) as client:
        with pytest.raises(NotReadableError, match="ask for a role that allows it"):
            await survey(client, GROUP, "default")


SIDECAR: Json = {"name": "proxy", "image": "i", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1m"}}}


@pytest.mark.parametrize(("profile", "names"), [(Profile.EVENKEEL, ["main", "proxy"]), (Profile.UPSTREAM, ["main"])])
async def test_sidecars_count_where_they_count_for_the_processes(
    server: ApiServer, profile: Profile, names: list[str]
) -> None:
    """beyond:B-16."""
    pod = pod_object("s", "web")
    pod["spec"]["initContainers"] = [SIDECAR]  # type: ignore[index]
    server.store.create(pod)
    async with client_for(server) as client:
        found = await survey(client, GROUP, "default", behaviour=Behaviour.of(profile))
    read = found.pod("default", "s")
    assert read is not None
    assert [container.name for container in read.containers] == names
    assert found.known.runs_match_by_owner is (profile is Profile.EVENKEEL)

"""The caches behind reviews, against an API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from structlog.testing import capture_logs

from admission.shell.caches import Caches, LimitIndex, VpaIndex
from autoscaling.behaviour import UPSTREAM
from autoscaling.errors import ApiError
from autoscaling.kube.client import KubeClient
from autoscaling.kube.scales import FRESH_SECONDS
from autoscaling.kube.table import Change
from autoscaling.limitrange import LimitRange, LimitType
from autoscaling.ownership import ControllerKey, OwnerLookupError, OwnerNotCachedError
from autoscaling.vpa import TargetRef, Vpa
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import serve
from evenkeel.simulator.faults import EndWatch, Fault, Refuse
from tests.admission.shell.webhooks import eventually
from tests.autoscaling.kube.clocks import HeldPacing
from tests.autoscaling.kube.scripted import client_of
from tests.builders import limit_range, printed, vpa

pytestmark = pytest.mark.anyio

GROUP = "autoscaling.evenkeel.dev"
CRDS = Path(__file__).parents[3] / "manifests" / "crd"
ROLLOUT = ControllerKey("default", "Rollout", "r", "example.com/v1")


def change(old: Vpa | None, new: Vpa | None) -> Change[Vpa]:
    one = new or old
    assert one is not None
    return Change((one.namespace, one.name), old, new)


def indexed(index: VpaIndex) -> dict[tuple[str, str, str], list[str]]:
    return {
        (namespace, *target): [one.name for one in vpas]
        for namespace, targets in index.by_namespace.items()
        for target, vpas in targets.items()
    }


def test_the_index_of_vpas_follows_every_change() -> None:
    """Spec: admission:6.5."""
    index = VpaIndex()
    first, second = vpa(), replace(vpa(), name="w")
    index.apply(change(None, first))
    index.apply(change(None, second))
    assert indexed(index) == {("default", "Deployment", "d"): ["v", "w"]}
    moved = replace(first, target_ref=TargetRef("StatefulSet", "s"))
    index.apply(change(first, moved))
    assert indexed(index) == {("default", "Deployment", "d"): ["w"], ("default", "StatefulSet", "s"): ["v"]}
    aimless = replace(moved, target_ref=None)
    index.apply(change(moved, aimless))
    index.apply(change(aimless, None))
    index.apply(change(second, None))
    assert dict(index.by_namespace) == {}


def test_an_update_replaces_the_object() -> None:
    index = VpaIndex()
    index.apply(change(None, vpa()))
    index.apply(change(vpa(), replace(vpa(), generation=7)))
    (only,) = index.by_namespace["default"][("Deployment", "d")]
    assert only.generation == 7


def test_limit_ranges_are_merged_for_each_namespace() -> None:
    """Spec: limits:S2; of several defaults the one of the last name counts, whatever the order of events."""
    index = LimitIndex()

    def limits(name: str, default: str, maximum: str) -> LimitRange:
        item = limit_range(LimitType.CONTAINER, default=default, maximum=maximum)
        return LimitRange("default", name, (item,))

    for one in (limits("b", "2/-", "4/-"), limits("a", "1/-", "3/-")):
        index.apply(Change(("default", one.name), None, one))
    merged = index.by_namespace["default"].container
    assert merged is not None
    assert (printed(merged.default or {}), printed(merged.maximum or {})) == ({"cpu": "2"}, {"cpu": "3"})
    index.apply(Change(("default", "b"), limits("b", "2/-", "4/-"), None))
    index.apply(Change(("default", "a"), limits("a", "1/-", "3/-"), None))
    index.apply(Change(("default", "a"), limits("a", "1/-", "3/-"), None))
    assert dict(index.by_namespace) == {}


def seed(cluster: ApiServer) -> None:
    cluster.store.create(yaml.safe_load((CRDS / "verticalpodautoscalers.yaml").read_text()))
    cluster.store.create(vpa_object("v", {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}))
    item = {"type": "Container", "max": {"cpu": "2"}}
    cluster.store.create(
        {
            "apiVersion": "v1",
            "kind": "LimitRange",
            "metadata": {"name": "l", "namespace": "default"},
            "spec": {"limits": [item]},
        }
    )
    cluster.store.create(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "d", "namespace": "default"},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "a"}}},
        }
    )


def vpa_object(name: str, target: dict[str, str]) -> dict[str, object]:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "VerticalPodAutoscaler",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"targetRef": target},
    }


@pytest.fixture
async def client(cluster: ApiServer, anyio_backend: str) -> AsyncIterator[KubeClient]:
    async with serve(cluster, tls=False) as endpoint, client_of(endpoint.url, HeldPacing()) as (made, _):
        yield made


@pytest.fixture
async def caches(cluster: ApiServer, client: KubeClient) -> AsyncIterator[Caches]:
    seed(cluster)
    made = Caches(client, GROUP)
    made.start()
    yield made
    await made.stop()


@pytest.mark.parametrize("by_owner", [True, False])
async def test_runs_of_jobs_may_be_told_by_their_owners(cluster: ApiServer, client: KubeClient, by_owner: bool) -> None:
    """Spec: beyond:B-19, case:22."""
    seed(cluster)
    template = {"spec": {"containers": [{"name": "main", "image": "i"}], "restartPolicy": "Never"}}
    spec = {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": template}}}
    metadata = {"name": "nightly", "namespace": "default"}
    cluster.store.create({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata, "spec": spec})
    made = Caches(client, GROUP, behaviour=replace(UPSTREAM, jobs_and_cronjobs_match_by_owner=by_owner))
    made.start()
    await made.wait_synced(10)
    selector = made.view().controllers.selector(ControllerKey("default", "CronJob", "nightly", "batch/v1"))
    assert selector.matches({}) is by_owner
    await made.stop()


@pytest.mark.parametrize("compares", [True, False])
def test_targets_may_be_told_by_their_groups(client: KubeClient, *, compares: bool) -> None:
    """Spec: beyond:B-30."""
    caches = Caches(client, GROUP, behaviour=replace(UPSTREAM, custom_controllers=compares))
    assert caches.view().compares_groups is compares


async def test_a_view_is_complete_once_every_cache_is_filled(caches: Caches) -> None:
    assert not caches.view().is_complete
    await caches.wait_synced(10)
    view = caches.view()
    assert view.is_complete
    assert [one.name for one in view.vpas["default"][("Deployment", "d")]] == ["v"]
    assert view.limits["default"].container is not None
    deployment = ControllerKey("default", "Deployment", "d", "apps/v1")
    assert view.controllers.topmost(deployment) == deployment
    assert view.controllers.selector(deployment).matches({"app": "a"})


async def test_views_follow_the_cluster(cluster: ApiServer, caches: Caches) -> None:
    await caches.wait_synced(10)
    cluster.store.create(vpa_object("w", {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}))
    await eventually(lambda: len(caches.view().vpas["default"][("Deployment", "d")]) == 2)
    cluster.store.delete("v1", "LimitRange", "l", "default")
    await eventually(lambda: "default" not in caches.view().limits)


async def test_an_unreadable_vpa_is_left_out_and_the_others_go_on(cluster: ApiServer, caches: Caches) -> None:
    """Spec: beyond:B-32."""
    await caches.wait_synced(10)
    broken = vpa_object("broken", {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"})
    broken["status"] = {
        "recommendation": {"containerRecommendations": [{"containerName": "c", "target": {"cpu": "x"}}]}
    }
    cluster.store.create(broken)
    cluster.store.create(vpa_object("w", {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}))
    await eventually(lambda: len(caches.view().vpas["default"][("Deployment", "d")]) == 2)
    assert {one.name for one in caches.view().vpas["default"][("Deployment", "d")]} == {"v", "w"}


async def test_the_target_of_another_kind_is_looked_up_before_a_pod_comes(cluster: ApiServer, caches: Caches) -> None:
    await caches.wait_synced(10)
    cluster.store.create(vpa_object("r", {"apiVersion": "example.com/v1", "kind": "Rollout", "name": "r"}))
    await eventually(lambda: _is_known(caches))
    await caches.keep_targets_known()
    await asyncio.sleep(0)
    assert _is_known(caches)


async def test_reviews_get_their_turn_while_targets_are_kept_known(cluster: ApiServer, caches: Caches) -> None:
    await caches.wait_synced(10)
    for number in range(200):
        cluster.store.create(vpa_object(f"w{number}", {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}))
    await eventually(lambda: len(caches.view().vpas["default"][("Deployment", "d")]) == 201)
    keeping = asyncio.create_task(caches.keep_targets_known())
    turns = 0
    while not keeping.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns > 201 // 100


def _is_known(caches: Caches) -> bool:
    try:
        caches.view().controllers.topmost(ROLLOUT)
    except OwnerNotCachedError:
        return False
    except OwnerLookupError:
        return True
    return True


async def test_what_a_review_asks_for_is_looked_up(caches: Caches) -> None:
    await caches.wait_synced(10)
    assert not _is_known(caches)
    caches.look_up_later(ROLLOUT)
    await eventually(lambda: _is_known(caches))


_OTHER_KINDS = 8
"""VPAs and the kinds of controllers."""


async def test_a_cache_that_cannot_be_filled_says_why(cluster: ApiServer, client: KubeClient) -> None:
    """Spec: admission:1.4."""
    seed(cluster)
    cluster.faults.add(Fault(Refuse(403), path="/limitranges", count=None))
    made = Caches(client, GROUP)
    # A complete list is followed by a watch, and a refusal is told when it is known.
    with capture_logs() as told:
        made.start()
        await eventually(lambda: len({call.resource for call in cluster.requests.calls("watch")}) == _OTHER_KINDS)
        await eventually(lambda: [event["collection"] for event in told] == ["limitranges"])
    with pytest.raises(ApiError, match="limitranges"):
        await made.wait_synced(0)
    assert not made.is_synced
    await made.stop()


async def test_limit_ranges_that_cannot_be_listed_any_more_count_as_they_were(
    cluster: ApiServer, client: KubeClient
) -> None:
    """Spec: admission:12.7."""
    seed(cluster)
    cluster.faults.add(Fault(EndWatch(), verb="watch", path="/limitranges"))
    cluster.faults.add(Fault(Refuse(403), path="/limitranges", count=None, skip=2))
    made = Caches(client, GROUP)
    with capture_logs() as told:
        made.start()
        await made.wait_synced(10)
        await time_passes(client, lambda: "limitranges" in [event.get("collection") for event in told])
    view = made.view()
    assert view.is_complete
    assert view.limits["default"].container is not None
    await made.stop()


async def test_an_answer_about_a_scale_is_not_for_ever(cluster: ApiServer, client: KubeClient, caches: Caches) -> None:
    """Spec: admission:13.7: what was not found once is asked for again."""
    await caches.wait_synced(10)
    caches.look_up_later(ROLLOUT)
    await eventually(lambda: _is_known(caches))
    cluster.requests.clear()
    assert await time_passes(client, lambda: bool(cluster.requests.calls(path="/apis/example.com"))) >= FRESH_SECONDS


async def time_passes(client: KubeClient, until: Callable[[], bool]) -> float:
    """Let time pass until something holds, and return how many seconds that took."""
    held = client.pacing
    assert isinstance(held, HeldPacing)
    began = held.seconds
    async with asyncio.timeout(10):
        while not until():
            await held.advance(1.0)
    return held.seconds - began

"""Whole rounds of the recommender against the embedded API server."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus

import pytest

from autoscaling.behaviour import Profile
from evenkeel.simulator.api.metrics import StaticMetrics, Window
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.faults import Fault, Refuse
from recommender.oom import OomRecord
from recommender.shell.loop import Loop
from recommender.waiting_ooms import WaitingOom
from tests.builders import T0
from tests.embedded import GROUP, Json, api_server, deploy, pod_object, vpa_object
from tests.recommender.shell.stage import (
    conditions,
    recommender,
    run_at,
    seen,
    status,
    stored,
    target,
    until,
    used,
)

pytestmark = [pytest.mark.anyio, pytest.mark.lengthy]
MINUTE = timedelta(minutes=1)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> ApiServer:
    made = api_server()
    deploy(made)
    made.store.create(vpa_object())
    return made


async def test_usage_becomes_a_recommendation_and_a_checkpoint(server: ApiServer) -> None:
    used(server, 1)
    async with recommender(server) as loop:
        await run_at(loop, 1)
    assert target(server) == {"cpu": "126m", "memory": "380258472"}, "recommender:E3"
    assert status(server)["observedGeneration"] == 1
    assert conditions(server) == {"LowConfidence": "True", "RecommendationProvided": "True"}
    (checkpoint,) = stored(server)
    assert checkpoint["spec"] == {"vpaObjectName": "web", "containerName": "main"}
    body = checkpoint["status"]
    assert isinstance(body, dict)
    assert body["cpuHistogram"]["bucketWeights"] == {"8": 10000}
    assert body["memoryHistogram"] == {"referenceTimestamp": "2026-01-02T00:00:00Z"}, "the running peak is left out"
    assert (body["version"], body["totalSamplesCount"]) == ("v3", 1)


async def test_metrics_tell_how_old_recommendations_are_at_most(server: ApiServer) -> None:
    """A round without usage comes to its end all the same (spec: product:9)."""
    used(server, 1)
    async with recommender(server) as loop:
        shown = loop.parts.metrics.freshness
        for minutes, newest in ((1, 1), (2, 1)):
            await run_at(loop, minutes)
            server.metrics = StaticMetrics()
            for gauge, expected in ((shown.last_round, minutes), (shown.newest_usage, newest)):
                ((sample,),) = (family.samples for family in gauge.collect())
                assert sample.value == (T0 + expected * MINUTE).timestamp()


async def test_a_status_is_written_only_when_it_changed(server: ApiServer) -> None:
    used(server, 1)
    async with recommender(server) as loop:
        await run_at(loop, 1)
        await server.requests.until(lambda log: len(log.calls("patch", path="/status$")) == 1)
        await until(lambda: bool(loop.parts.caches.vpas.snapshot()[0].conditions))
        await run_at(loop, 2)
    assert len(server.requests.calls(verb="patch", path="/status$")) == 1, "recommender:5"


@pytest.mark.parametrize(
    ("row", "threshold", "minutes"), [("recommender:5", 0.0, [1, 2, 3, 4]), ("recommender:5", 0.4, [1, 2, 3])]
)
async def test_small_changes_wait_where_a_threshold_is_set(
    server: ApiServer, row: str, threshold: float, minutes: list[int]
) -> None:
    """With the third sample the upper bound falls to a half, with the fourth to two thirds of that."""
    written: list[int] = []
    async with recommender(server, threshold=threshold) as loop:
        for minute in (1, 2, 3, 4):
            used(server, minute)
            await run_at(loop, minute)
            await seen(server, loop)
            if len(server.requests.calls(verb="patch", path="/status$")) > len(written):
                written.append(minute)
    assert written == minutes, row


async def test_history_is_loaded_from_checkpoints(server: ApiServer) -> None:
    used(server, 1)
    async with recommender(server) as loop:
        await run_at(loop, 1)
    server.store.merge({**vpa_object(), "status": None})
    metrics = server.metrics
    assert isinstance(metrics, StaticMetrics)
    metrics.pod_rows.clear()
    async with recommender(server, started_minutes=2) as loop:
        await run_at(loop, 3)
    cpu = target(server)
    assert isinstance(cpu, dict)
    assert cpu["cpu"] == "126m", "recommender:6.4"


@pytest.mark.parametrize(
    ("row", "profile", "wanted", "provided"),
    [
        ("recommender:E4", Profile.UPSTREAM, {"cpu": "25m", "memory": "250Mi"}, "True"),
        ("evenkeel", Profile.EVENKEEL, None, "False"),
    ],
)
async def test_what_is_recommended_before_anything_was_seen(
    server: ApiServer, row: str, profile: Profile, wanted: object, provided: str
) -> None:
    async with recommender(server, profile=profile) as loop:
        await run_at(loop, 1)
    assert target(server) == wanted, row
    assert conditions(server) == {"RecommendationProvided": provided}, row


async def test_a_metrics_api_that_does_not_answer_ends_nothing(server: ApiServer) -> None:
    used(server, 1)
    server.faults.add(Fault(Refuse(HTTPStatus.NOT_FOUND), path="/apis/metrics.k8s.io", count=1))
    async with recommender(server) as loop:
        await run_at(loop, 1)
        assert target(server) is None
        await run_at(loop, 2)
    assert target(server) is not None


async def test_a_target_that_is_not_the_topmost_controller_is_said_to_be_unsupported(server: ApiServer) -> None:
    target_ref = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-rs"}
    server.store.create(vpa_object("below", targetRef=target_ref))
    server.store.create(vpa_object("gone"))
    used(server, 1)
    async with recommender(server) as loop:
        await run_at(loop, 1)
    assert target(server) is not None, "beyond:B-32: the others go on"
    for name in ("below", "gone"):
        assert conditions(server, name) == {
            "ConfigUnsupported": "True",
            "NoPodsMatched": "True",
            "RecommendationProvided": "False",
        }, "recommender:11.3"
    entries = status(server, "below")["conditions"]
    assert isinstance(entries, list)
    message = next(c["message"] for c in entries if c["type"] == "ConfigUnsupported")
    assert "apps/v1.Deployment/web" in message, "the message names the way out"


@pytest.mark.parametrize(
    ("row", "name", "ignored", "asked", "served"),
    [
        ("recommender:6.2", "default", (), [], True),
        ("recommender:6.2", "default", (), [{"name": "default"}], True),
        ("recommender:6.2", "default", (), [{"name": "other"}], False),
        ("recommender:6.2", "other", (), [{"name": "other"}], True),
        ("recommender:6.2", "other", (), [], False),
        ("recommender:6.2", "default", ("default",), [], False),
    ],
)
async def test_which_vpas_are_served(
    server: ApiServer, row: str, name: str, ignored: tuple[str, ...], asked: list[Json], *, served: bool
) -> None:
    server.store.merge(vpa_object(recommenders=asked))
    used(server, 1)
    async with recommender(server, name=name, ignored=ignored) as loop:
        await run_at(loop, 1)
    assert (target(server) is not None) is served, row


async def test_an_orphaned_checkpoint_goes_and_one_of_an_unreadable_vpa_stays(server: ApiServer) -> None:
    for vpa in ("gone", "broken"):
        server.store.create(
            {
                "apiVersion": f"{GROUP}/v1",
                "kind": "VerticalPodAutoscalerCheckpoint",
                "metadata": {"name": f"{vpa}-c", "namespace": "default"},
                "spec": {"vpaObjectName": vpa, "containerName": "c"},
            }
        )
    server.store.create(vpa_object("broken", updatePolicy={"updateMode": "Sometimes"}))
    used(server, 1)
    async with recommender(server) as loop:
        await run_at(loop, 10)
        assert len(stored(server)) == 3, "recommender:6.3: not before the interval has passed"
        await run_at(loop, 11)
    assert sorted(str(c["spec"]) for c in stored(server)) == [
        str({"vpaObjectName": "broken", "containerName": "c"}),
        str({"vpaObjectName": "web", "containerName": "main"}),
    ]


def orphan(namespace: str, name: str) -> Json:
    """Return a checkpoint of a VPA that is gone."""
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "VerticalPodAutoscalerCheckpoint",
        "metadata": {"name": f"{name}-c", "namespace": namespace},
        "spec": {"vpaObjectName": name, "containerName": "c"},
    }


async def test_orphans_of_other_namespaces_stay_and_one_that_cannot_be_removed_keeps_none(server: ApiServer) -> None:
    server.store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ignored"}})
    for namespace, name in (("default", "first"), ("default", "second"), ("ignored", "third")):
        server.store.create(orphan(namespace, name))
    server.faults.add(Fault(Refuse(HTTPStatus.FORBIDDEN), verb="delete", path="/first-c$"))
    async with recommender(server, ignored=("ignored",)) as loop:
        await run_at(loop, 11)
    kept = [one["metadata"] for one in server.store.list(f"{GROUP}/v1", "VerticalPodAutoscalerCheckpoint")]
    names = {metadata["name"] for metadata in kept if isinstance(metadata, dict)}
    assert names >= {"first-c", "third-c"}, "recommender:6.3"
    assert "second-c" not in names, "recommender:6.3"


async def test_an_oom_kill_raises_memory(server: ApiServer) -> None:
    used(server, 1, memory="200Mi")
    async with recommender(server) as loop:
        await run_at(loop, 1)
        assert target(server) == {"cpu": "126m", "memory": "250Mi"}
        killed = pod_object("web-0", "web")
        status_now = killed["status"]
        assert isinstance(status_now, dict)
        ended = {"reason": "OOMKilled", "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:02:00Z"}
        status_now["containerStatuses"][0] |= {"state": {"terminated": {**ended, "exitCode": 137}}}
        version = loop.parts.caches.pods.version
        server.store.merge({**killed, "metadata": {"name": "web-0", "namespace": "default"}})
        await until(lambda: loop.parts.caches.pods.version != version)
        await run_at(loop, 3)
    # The 200Mi in use plus 100Mi at least, at the end of its bucket, plus the margin.
    assert target(server) == {"cpu": "126m", "memory": "380258472"}, "recommender:2.3"


def killed(server: ApiServer, at: str) -> None:
    """Have a container run again that was killed for memory."""
    pod = pod_object("web-0", "web")
    status_now = pod["status"]
    assert isinstance(status_now, dict)
    ended = {"reason": "OOMKilled", "finishedAt": at, "exitCode": 137}
    status_now["containerStatuses"][0] |= {"restartCount": 1, "lastState": {"terminated": ended}}
    server.store.merge({**pod, "metadata": {"name": "web-0", "namespace": "default"}})


@pytest.mark.parametrize(
    ("row", "profile", "at", "memory"),
    [
        ("recommender:13.5 while none ran", Profile.EVENKEEL, "2026-01-01T00:01:01Z", "380258472"),
        ("recommender:13.5 before that", Profile.EVENKEEL, "2026-01-01T00:01:00Z", "250Mi"),
        ("upstream", Profile.UPSTREAM, "2026-01-01T00:01:01Z", "250Mi"),
    ],
)
async def test_a_kill_while_no_recommender_ran_counts(
    server: ApiServer, row: str, profile: Profile, at: str, memory: str
) -> None:
    used(server, 1, memory="200Mi")
    async with recommender(server, profile=profile) as loop:
        await run_at(loop, 1)
    killed(server, at)
    async with recommender(server, profile=profile, started_minutes=2) as loop:
        await run_at(loop, 2)
    found = target(server)
    assert isinstance(found, dict)
    assert found["memory"] == memory, row


async def test_where_resources_are_read_from_is_counted_in_every_round(server: ApiServer) -> None:
    used(server, 1)
    server.store.create(pod_object("web-1", "web"))

    def counted(loop: Loop) -> dict[str, float]:
        family = next(iter(loop.parts.metrics.resource_reads.collect()))
        return {sample.labels["source"]: sample.value for sample in family.samples}

    async with recommender(server) as loop:
        await run_at(loop, 1)
        first = counted(loop)
        version = loop.parts.caches.pods.version
        server.store.delete("v1", "Pod", "web-1", "default")
        await until(lambda: loop.parts.caches.pods.version != version)
        await run_at(loop, 2)
        second = counted(loop)
    assert (sum(first.values()), sum(second.values())) == (2, 3), "recommender:10"
    assert first.keys() == second.keys() == {"Pod.Status.ContainerStatuses"}, "recommender:10"


async def test_pods_that_have_not_started_are_not_looked_at(server: ApiServer) -> None:
    pending = pod_object("web-1", "web")
    server.store.create({**pending, "status": {"phase": "Pending"}})
    server.store.create({**pod_object("web-2", "web"), "status": {"phase": "Succeeded"}})
    async with recommender(server) as loop:
        await run_at(loop, 1)
    assert set(loop.model.pods) == {("default", "web-0"), ("default", "web-2")}, "recommender:3.3"


async def test_what_a_pod_showed_before_it_vanished_counts_once_more(server: ApiServer) -> None:
    used(server, 1)
    async with recommender(server, profile=Profile.UPSTREAM) as loop:
        await run_at(loop, 1)
        kill = OomRecord("default", "web-0", "main", T0 + MINUTE, 2**30)
        loop.waiting_ooms = (WaitingOom(kill, 0),)
        used(server, 2)
        version = loop.parts.caches.pods.version
        server.store.delete("v1", "Pod", "web-0", "default")
        await until(lambda: loop.parts.caches.pods.version != version)
        await run_at(loop, 2)
        (tracked,) = loop.model.vpas.values()
        (aggregate,) = tracked.linked["main"]
    assert int(loop.model.aggregates.sample_count[aggregate]) == 2, "recommender:6.2, recommender:13.4"
    assert target(server) == {"cpu": "126m", "memory": "1555165137"}, "recommender:6.2"
    assert loop.model.pods == {}, "recommender:6.2"
    assert conditions(server)["NoPodsMatched"] == "True", "recommender:6.2"


async def test_kills_are_taken_in_although_usage_cannot_be_had(server: ApiServer) -> None:
    used(server, 1)
    async with recommender(server) as loop:
        await run_at(loop, 1)
        loop.waiting_ooms = (WaitingOom(OomRecord("default", "web-0", "main", T0 + MINUTE, 2**30), 0),)
        server.faults.add(Fault(Refuse(HTTPStatus.NOT_FOUND), path="/apis/metrics.k8s.io", count=1))
        await run_at(loop, 2)
    found = target(server)
    assert isinstance(found, dict)
    assert found["memory"] == "1555165137", "recommender:6.2"


async def test_a_vpa_without_a_recommendation_is_reported_every_half_hour(
    server: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[int] = []
    async with recommender(server) as loop:
        for minutes in (0, 30, 31, 61, 62):
            capsys.readouterr()
            await run_at(loop, minutes)
            if "no recommendation" in capsys.readouterr().out:
                told.append(minutes)
    assert told == [31, 62], "recommender:5"


@pytest.mark.parametrize(("row", "is_gone"), [("recommender:13.11 gone", True), ("recommender:13.11 refused", False)])
async def test_a_vpa_that_is_gone_meanwhile_stops_nobody_from_serving_the_others(
    server: ApiServer, row: str, is_gone: bool
) -> None:
    names = [f"web-{number}" for number in range(6)]
    for name in names:
        server.store.create(vpa_object(name, targetRef={"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}))
    used(server, 1)
    async with recommender(server, profile=Profile.UPSTREAM) as loop:
        if is_gone:
            # What is deleted behind the back of the watch is still served in this round.
            server.watches.close("/verticalpodautoscalers$")
            for name in names[:3]:
                server.store.delete(f"{GROUP}/v1", "VerticalPodAutoscaler", name, "default")
        else:
            server.faults.add(Fault(Refuse(HTTPStatus.NOT_FOUND), path="/web-[012]/status$", count=3))
        await run_at(loop, 1)
        assert {name for _, name in loop.model.vpas} >= set(names), row
    written = [name for name in names[3:] if target(server, name)]
    assert written == names[3:], row


async def test_a_pod_that_is_gone_no_longer_counts(server: ApiServer) -> None:
    used(server, 1)
    async with recommender(server) as loop:
        await run_at(loop, 1)
        version = loop.parts.caches.pods.version
        server.store.delete("v1", "Pod", "web-0", "default")
        await until(lambda: loop.parts.caches.pods.version != version)
        await run_at(loop, 2)
    assert conditions(server) == {
        "LowConfidence": "True",
        "NoPodsMatched": "True",
        "RecommendationProvided": "True",
    }, "recommender:5"


async def test_one_bad_object_of_each_kind_keeps_nothing_from_being_recommended(server: ApiServer) -> None:
    bad = pod_object("web-bad", "web")
    bad["status"] = {"phase": "Running", "startTime": "yesterday"}
    server.store.create(bad)
    server.store.create(vpa_object("broken", updatePolicy={"updateMode": "Sometimes"}))
    for name, status_then in (("no-numbers", {"totalSamplesCount": "many"}), ("old", {"version": "v2"})):
        server.store.create({**orphan("default", name), "status": status_then})
    server.store.merge({**orphan("default", "old"), "spec": {"vpaObjectName": "web", "containerName": "side"}})
    scaled_on_cpu(server)
    horizontal = server.store.read("autoscaling/v2", "HorizontalPodAutoscaler", "web", "default")
    server.store.merge({**horizontal, "spec": {"metrics": "all"}})
    used(server, 1)
    used(server, 1, cpu="much", pod="web-bad")
    async with recommender(server) as loop:
        await run_at(loop, 1)
        left_out = {
            sample.labels["kind"]: sample.value
            for family in loop.parts.metrics.left_out.collect()
            for sample in family.samples
            if sample.name.endswith("_total")
        }
    assert target(server) == {"cpu": "126m", "memory": "380258472"}, "beyond:B-32"
    assert left_out == {
        "Pod": 1,
        "VerticalPodAutoscaler": 1,
        "VerticalPodAutoscalerCheckpoint": 2,
        "HorizontalPodAutoscaler": 1,
        "PodMetrics": 1,
    }, "beyond:B-32"


def scaled_on_cpu(server: ApiServer, kind: str = "Deployment", api_version: str = "apps/v1") -> None:
    """Create a horizontal autoscaler for the Deployment ``web``."""
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}
    server.store.create(
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {
                "scaleTargetRef": {"apiVersion": api_version, "kind": kind, "name": "web"},
                "maxReplicas": 9,
                "metrics": [{"type": "Resource", "resource": cpu}],
            },
        }
    )


YOUNG = {"LowConfidence": "True", "RecommendationProvided": "True"}
HELD = {"cpu": "100m", "memory": "380258472"}
ESTIMATED = {"cpu": "126m", "memory": "380258472"}


@pytest.mark.parametrize(
    ("row", "profile", "wanted", "shown"),
    [
        ("beyond:B-14", Profile.EVENKEEL, HELD, {"HPAConflict": "True", **YOUNG}),
        ("upstream", Profile.UPSTREAM, ESTIMATED, {"RecommendationProvided": "True"}),
    ],
)
async def test_what_a_horizontal_autoscaler_scales_on_is_held(
    server: ApiServer, row: str, profile: Profile, wanted: object, shown: dict[str, str]
) -> None:
    scaled_on_cpu(server)
    used(server, 1)
    async with recommender(server, profile=profile) as loop:
        await run_at(loop, 1)
    assert target(server) == wanted, row
    assert conditions(server) == shown, row
    is_asked = bool(server.requests.calls(path="/horizontalpodautoscalers$"))
    assert is_asked is (profile is Profile.EVENKEEL), "upstream's profile does not even look"


async def test_the_condition_goes_with_the_horizontal_autoscaler(server: ApiServer) -> None:
    scaled_on_cpu(server)
    used(server, 1)
    async with recommender(server) as loop:
        await run_at(loop, 1)
        await until(lambda: bool(loop.parts.caches.vpas.snapshot()[0].conditions))
        hpas = loop.parts.caches.hpas
        assert hpas is not None
        server.store.delete("autoscaling/v2", "HorizontalPodAutoscaler", "web", "default")
        await until(lambda: not hpas.snapshot())
        await run_at(loop, 2)
    assert target(server) == ESTIMATED
    assert conditions(server) == YOUNG, "beyond:B-14"


async def test_without_the_permission_for_horizontal_autoscalers_all_else_goes_on(
    server: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    scaled_on_cpu(server)
    server.faults.add(Fault(Refuse(HTTPStatus.FORBIDDEN), path="/horizontalpodautoscalers$"))
    used(server, 1)
    async with recommender(server) as loop:
        for minutes in (1, 2, 3):
            await run_at(loop, minutes)
    assert target(server) == ESTIMATED, "beyond:B-14"
    assert conditions(server) == YOUNG
    assert len(server.requests.calls(path="/horizontalpodautoscalers$")) == 1
    assert capsys.readouterr().out.count("collection cannot be followed") == 1, "it is said once"


@pytest.mark.parametrize(
    ("row", "profile", "written", "kept"),
    [("beyond:B-8", Profile.EVENKEEL, 1, False), ("upstream", Profile.UPSTREAM, 0, True)],
)
async def test_vpas_say_while_their_history_is_loaded(
    server: ApiServer, row: str, profile: Profile, written: int, *, kept: bool
) -> None:
    fetching = {"type": "FetchingHistory", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    server.store.create(vpa_object("old", status={"conditions": [fetching]}))
    server.store.create(vpa_object("other", recommenders=[{"name": "other"}]))
    used(server, 1)
    async with recommender(server, profile=profile) as loop:
        await loop.announce_fetching()
        assert len(server.requests.calls(verb="patch", path="/status$")) == written, row
        assert ("FetchingHistory" in conditions(server)) is bool(written), row
        assert "FetchingHistory" in conditions(server, "old"), row
        await run_at(loop, 1)
    assert "FetchingHistory" not in conditions(server), row
    assert ("FetchingHistory" in conditions(server, "old")) is kept, row
    assert conditions(server, "other") == {}, row


@pytest.mark.parametrize(
    ("row", "profile", "shown"), [("beyond:B-15", Profile.EVENKEEL, "True"), ("upstream", Profile.UPSTREAM, None)]
)
async def test_a_bound_below_the_need_shows(server: ApiServer, row: str, profile: Profile, shown: str | None) -> None:
    bounded = {"containerPolicies": [{"containerName": "*", "maxAllowed": {"memory": "100Mi"}}]}
    server.store.merge(vpa_object(resourcePolicy=bounded))
    used(server, 1)
    async with recommender(server, profile=profile) as loop:
        await run_at(loop, 1)
    assert conditions(server).get("CappedBelowObservedNeed") == shown, row


@pytest.mark.parametrize(
    ("row", "profile", "rounds", "outcome"),
    [
        ("beyond:B-5", Profile.EVENKEEL, 3, "unknown_pod"),
        ("case:12", Profile.EVENKEEL, 2, None),
        ("upstream", Profile.UPSTREAM, 1, "unknown_pod"),
    ],
)
async def test_a_kill_of_an_unknown_pod_is_given_up_after_some_rounds_and_counted(
    server: ApiServer, row: str, profile: Profile, rounds: int, outcome: str | None
) -> None:
    annotations = {"offending_containers": "main", "offending_containers_usage": "1Gi", "starved_resource": "memory"}
    async with recommender(server, profile=profile) as loop:
        version = loop.parts.caches.evictions.version
        server.store.create(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": "e", "namespace": "default", "annotations": annotations},
                "reason": "Evicted",
                "involvedObject": {"kind": "Pod", "namespace": "default", "name": "gone"},
            }
        )
        await until(lambda: loop.parts.caches.evictions.version != version)
        for minutes in range(rounds):
            await run_at(loop, minutes)
        kills = loop.parts.metrics.oom_kills
        counted = {
            s.labels["outcome"]: s.value for m in kills.collect() for s in m.samples if s.name.endswith("_total")
        }
    assert counted == ({outcome: 1.0} if outcome else {}), row


async def test_an_oom_kill_of_one_of_many_raises_the_target_of_all(server: ApiServer) -> None:
    used(server, 1, memory="200Mi")
    for number in range(1, 10):
        server.store.create(pod_object(f"web-{number}", "web"))
        used(server, 1, memory="200Mi", pod=f"web-{number}")
    async with recommender(server) as loop:
        await run_at(loop, 1)
        kill = OomRecord("default", "web-9", "main", T0 + MINUTE, 400 * 2**20)
        loop.waiting_ooms = (WaitingOom(kill, 0),)
        await run_at(loop, 2)
    found = target(server)
    assert isinstance(found, dict)
    assert found["memory"] == "575Mi", "case:15"


@pytest.mark.parametrize(
    ("row", "profile", "containers"),
    [("beyond:B-6", Profile.EVENKEEL, ["new"]), ("upstream", Profile.UPSTREAM, ["main", "new"])],
)
async def test_a_renamed_container_leaves_the_recommendation(
    server: ApiServer, row: str, profile: Profile, containers: list[str]
) -> None:
    used(server, 1)
    async with recommender(server, profile=profile) as loop:
        await run_at(loop, 1)
        version = loop.parts.caches.pods.version
        server.store.delete("v1", "Pod", "web-0", "default")
        renamed = pod_object("web-1", "web")
        spec = renamed["spec"]
        assert isinstance(spec, dict)
        spec["containers"][0]["name"] = "new"
        server.store.create(renamed)
        metrics = server.metrics
        assert isinstance(metrics, StaticMetrics)
        metrics.pod_rows.clear()
        metrics.put_pod(("default", "web-1"), {"new": ("100m", "300Mi")}, Window(T0 + 70 * MINUTE))
        await until(lambda: loop.parts.caches.pods.version >= version + 2)
        await run_at(loop, 70)
    found = status(server)["recommendation"]
    assert isinstance(found, dict)
    assert [entry["containerName"] for entry in found["containerRecommendations"]] == containers, row


def two_weeks(server: ApiServer) -> Json:
    """Store a checkpoint of two weeks in which 2Gi and 250m were used, and return its status."""
    at = "2025-12-31T00:00:00Z"
    status_then: Json = {
        "version": "v3",
        "lastUpdateTime": "2026-01-01T00:00:00Z",
        "firstSampleStart": "2025-12-18T00:00:00Z",
        "lastSampleStart": at,
        "totalSamplesCount": 20160,
        "cpuHistogram": {"referenceTimestamp": at, "bucketWeights": {"16": 10000}, "totalWeight": 100.0},
        "memoryHistogram": {"referenceTimestamp": at, "bucketWeights": {"50": 10000}, "totalWeight": 10.0},
    }
    server.store.create(
        {
            "apiVersion": f"{GROUP}/v1",
            "kind": "VerticalPodAutoscalerCheckpoint",
            "metadata": {"name": "web-main", "namespace": "default"},
            "spec": {"vpaObjectName": "web", "containerName": "main"},
            "status": status_then,
        }
    )
    return status_then


def deployment(server: ApiServer) -> Json:
    """Return the Deployment as it could be applied again."""
    found = server.store.read("apps/v1", "Deployment", "web", "default")
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"}} | {
        "spec": found["spec"]
    }


@pytest.mark.parametrize(
    ("row", "profile", "keeps"), [("case:17", Profile.EVENKEEL, True), ("upstream", Profile.UPSTREAM, False)]
)
async def test_a_target_that_is_missing_for_a_while_costs_no_history(
    server: ApiServer, row: str, profile: Profile, *, keeps: bool
) -> None:
    status_then = two_weeks(server)
    again = deployment(server)
    server.store.delete("apps/v1", "Deployment", "web", "default")
    used(server, 1)
    async with recommender(server, profile=profile) as loop:
        await run_at(loop, 1)
        assert conditions(server)["ConfigUnsupported"] == "True", row
        before = target(server)
        assert isinstance(before, dict), row
        server.store.create(again)
        controllers = loop.parts.caches.controllers
        await until(lambda: any(each.kind == "Deployment" for each in controllers.workloads()))
        for minutes in (2, 3):
            await run_at(loop, minutes)
    (checkpoint,) = stored(server)
    written = checkpoint["status"]
    assert isinstance(written, dict)
    samples = written["totalSamplesCount"]
    assert isinstance(samples, int)
    assert (written["firstSampleStart"] == status_then["firstSampleStart"]) is keeps, row
    assert (samples >= 20160) is keeps, row
    after = target(server)
    assert isinstance(after, dict)
    assert (after["memory"] == before["memory"]) is keeps, row
    assert "ConfigUnsupported" not in conditions(server), row


@pytest.mark.parametrize(
    ("row", "profile", "takes"), [("case:18", Profile.EVENKEEL, True), ("upstream", Profile.UPSTREAM, False)]
)
async def test_a_vpa_that_changes_its_recommender_keeps_its_history(
    server: ApiServer, row: str, profile: Profile, *, takes: bool
) -> None:
    two_weeks(server)
    used(server, 1)
    async with recommender(server, name="frugal", profile=profile) as loop:
        await run_at(loop, 1)
        assert target(server) is None
        server.store.merge(vpa_object(recommenders=[{"name": "frugal"}]))
        await until(lambda: loop.parts.caches.vpas.snapshot()[0].recommenders == ("frugal",))
        await run_at(loop, 2)
    (checkpoint,) = stored(server)
    written = checkpoint["status"]
    assert isinstance(written, dict)
    samples = written["totalSamplesCount"]
    assert isinstance(samples, int)
    assert (samples >= 20160) is takes, row


@pytest.mark.parametrize(
    ("row", "version", "told"),
    [("case:18", "v3", "history taken over"), ("case:18 unreadable", "v2", "checkpoint not loaded")],
)
async def test_what_is_taken_over_is_told(
    server: ApiServer, capsys: pytest.CaptureFixture[str], row: str, version: str, told: str
) -> None:
    status_then = two_weeks(server)
    server.store.merge({**stored(server)[0], "status": {**status_then, "version": version}})
    async with recommender(server, name="frugal") as loop:
        server.store.merge(vpa_object(recommenders=[{"name": "frugal"}]))
        server.store.create(vpa_object("fresh", recommenders=[{"name": "frugal"}]))
        await until(lambda: len([v for v in loop.parts.caches.vpas.snapshot() if v.recommenders]) == 2)
        capsys.readouterr()
        await run_at(loop, 1)
        server.store.create(vpa_object("later", recommenders=[{"name": "frugal"}]))
        await until(lambda: len(loop.parts.caches.vpas.snapshot()) == 3)
        first = capsys.readouterr().out
        await run_at(loop, 2)
        second = capsys.readouterr().out
    assert told in first, row
    assert "taken over" not in second, "a VPA that nobody has served before has nothing stored"

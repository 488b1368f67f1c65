"""What is noted on pods of resizes that were accepted: after them, and whatever comes in between."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from autoscaling.behaviour import UPSTREAM, Behaviour, Profile
from autoscaling.kube.liveness import LivenessSettings
from autoscaling.objectref import ObjectRef
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.clock import ManualClock
from evenkeel.simulator.faults import Delay, DropConnection, Fault, Refuse
from tests.autoscaling.kube.clocks import HeldPacing
from tests.builders import T0
from tests.embedded import HeldDriver, Json, api_server, client_for, deploy, recommended_status, vpa_object
from tests.updater.shell.stage import MINUTE, at, updater
from tests.updater.situations import small
from updater.resize_request import REQUESTED_ANNOTATION, ResizeRequest, request_operation
from updater.shell.carrier import AT_ONCE
from updater.shell.loop import Loop
from updater.shell.notes import Note, Notes

pytestmark = pytest.mark.anyio

EVENKEEL = Behaviour.of(Profile.EVENKEEL)
ONE_BY_ONE = replace(EVENKEEL, calls_side_by_side=False)
SIDE_BY_SIDE = replace(UPSTREAM, calls_side_by_side=True)
NOTING = replace(SIDE_BY_SIDE, timers=True)
"""As many changes at a time as are wanted."""
SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
NOTE = r"/pods/[^/]+$"
RESIZE = "/resize$"
ORIGINAL = json.dumps({"requests": {"cpu": "100m", "memory": "100Mi"}})


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def served(pods: int = 1) -> ApiServer:
    """Return a server with so many Deployments of one pod each, all of which have too little."""
    made = api_server()
    for number in range(pods):
        deploy(made, f"web{number:02}")
        made.store.create(vpa_object(f"web{number:02}", status=recommended_status("400m", "100Mi")))
    return made


@asynccontextmanager
async def process(
    server: ApiServer, behaviour: Behaviour = EVENKEEL, now: datetime = T0 + MINUTE
) -> AsyncIterator[Loop]:
    """An updater that knows nothing yet."""
    async with updater(server) as loop:
        settle(loop, behaviour)
        set_time(loop, now)
        yield loop


def settle(loop: Loop, behaviour: Behaviour, period: timedelta = MINUTE) -> None:
    """Have rounds decide by a behaviour and end after a time."""
    decisions = replace(loop.settings.decisions, behaviour=behaviour)
    loop.settings = replace(loop.settings, decisions=decisions, period=period)


def set_time(loop: Loop, now: datetime) -> None:
    """Have the updater's clock show a time."""
    assert isinstance(loop.driver, HeldDriver)
    loop.driver.time = now


def pod(server: ApiServer, name: str = "web00-0") -> Json:
    return server.store.read("v1", "Pod", name, "default")


def annotations_on(server: ApiServer, name: str = "web00-0") -> dict[str, str]:
    """Return the annotations that a pod has."""
    metadata = pod(server, name)["metadata"]
    assert isinstance(metadata, dict)
    return dict(metadata.get("annotations") or {})


def request_on(server: ApiServer, name: str = "web00-0") -> object:
    """Return what a pod says of its last resize; None where it says nothing."""
    text = annotations_on(server, name).get(REQUESTED_ANNOTATION)
    return None if text is None else json.loads(text)


def patches(server: ApiServer) -> list[str]:
    """Return which pods were resized or noted on, in the order in which the calls came."""
    paths = [call.path for call in server.requests.calls(verb="patch", path="/pods/")]
    return [re.sub(r".*/pods/(\w+)-0", r"\1", path) for path in paths]


async def until(check: Callable[[], bool]) -> None:
    """Wait until something has come about."""
    for _ in range(20_000):
        if check():
            return
        await asyncio.sleep(0)
    raise AssertionError("it has not come about")


def clock_of(server: ApiServer) -> ManualClock:
    assert isinstance(server.clock, ManualClock)
    return server.clock


@pytest.mark.parametrize(
    ("row", "behaviour", "expected"),
    [
        ("performance:U-3", EVENKEEL, ["web00/resize", "web01/resize", "web00", "web01"]),
        ("performance:U-3", SIDE_BY_SIDE, ["web00/resize", "web01/resize", "web00", "web01"]),
        ("updater:X-5", ONE_BY_ONE, ["web00/resize", "web00", "web01/resize", "web01"]),
        ("updater:X-5", UPSTREAM, ["web00/resize", "web00", "web01/resize", "web01"]),
    ],
)
async def test_notes_follow_all_resizes_where_calls_go_side_by_side(
    row: str, behaviour: Behaviour, expected: list[str]
) -> None:
    server = served(2)
    async with process(server, behaviour) as loop:
        await loop.run_round()
    assert patches(server) == expected, row
    for name in ("web00-0", "web01-0"):
        assert annotations_on(server, name)["vpaInPlaceUpdated"] == "true", "updater:X-5"
        assert (request_on(server, name) is not None) is behaviour.timers, "beyond:B-20"


async def test_no_resize_waits_for_a_note_and_notes_go_side_by_side() -> None:
    """Spec: performance:U-3."""
    server = served(AT_ONCE + 2)
    slow = server.faults.add(Fault(Delay(HOUR), verb="patch", path=NOTE, count=None))
    async with process(server, NOTING) as loop:
        running = asyncio.create_task(loop.run_round())
        await until(lambda: slow.hits == AT_ONCE)
        assert len(server.requests.calls(verb="patch", path=RESIZE)) == AT_ONCE + 2
        server.faults.clear()
        clock_of(server).advance(HOUR)
        await running
    assert len([name for name in patches(server) if "/" not in name]) == AT_ONCE + 2


async def test_a_note_says_what_was_true_when_its_resize_was_accepted() -> None:
    """Spec: beyond:B-20. Between that and the note time passes, a container restarts, and somebody resizes again."""
    server = served()
    slow = server.faults.add(Fault(Delay(HOUR), verb="patch", path=NOTE))
    async with process(server) as loop:
        running = asyncio.create_task(loop.run_round())
        await until(lambda: slow.hits == 1)
        set_time(loop, T0 + 30 * MINUTE)
        accepted = at(pod(server), "metadata", "generation")
        server.store.merge(identified(spec={"containers": [{**first(server), "image": "j"}]}))
        clock_of(server).advance(HOUR)
        await running
    assert at(pod(server), "metadata", "generation") != accepted
    expected = {"generation": accepted, "at": (T0 + MINUTE).isoformat(), "restarts": {"main": 0}}
    assert request_on(server) == expected


def identified(name: str = "web00-0", **rest: object) -> Json:
    """Return a merge patch of a pod."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, **rest}


def first(server: ApiServer) -> Json:
    """Return the pod's container."""
    found = at(pod(server), "spec", "containers", 0)
    assert isinstance(found, dict)
    return found


async def test_annotations_that_a_pod_gets_meanwhile_stay() -> None:
    """Spec: updater:X-5. The pod had none, so a patch that begins with an empty map would take them away."""
    server = served()
    slow = server.faults.add(Fault(Delay(HOUR), verb="patch", path=NOTE))
    async with process(server) as loop:
        running = asyncio.create_task(loop.run_round())
        await until(lambda: slow.hits == 1)
        changed = identified()
        changed["metadata"] = {"name": "web00-0", "namespace": "default", "annotations": {"network": "up"}}
        server.store.merge(changed)
        clock_of(server).advance(HOUR)
        await running
    assert sorted(annotations_on(server)) == [REQUESTED_ANNOTATION, "network", "vpaInPlaceUpdated"]


@pytest.mark.parametrize(("row", "behaviour"), [("beyond:B-31", EVENKEEL), ("beyond:B-31", SIDE_BY_SIDE)])
async def test_the_successor_of_a_pod_is_not_noted_on(row: str, behaviour: Behaviour) -> None:
    server = served()
    slow = server.faults.add(Fault(Delay(HOUR), verb="patch", path=NOTE))
    async with process(server, behaviour) as loop:
        running = asyncio.create_task(loop.run_round())
        await until(lambda: slow.hits == 1)
        old = pod(server)
        server.store.delete("v1", "Pod", "web00-0", "default")
        server.store.create({**old, "metadata": {"name": "web00-0", "namespace": "default"}})
        clock_of(server).advance(HOUR)
        await running
        assert annotations_on(server) == {}, row
        await loop.write_notes()
    assert len(server.requests.calls(verb="patch", path=NOTE)) == 1, "a refusal settles a note"


async def test_the_end_of_a_boost_is_noted_at_once() -> None:
    """Spec: updater:U-5, updater:X-5. As long as a pod has the annotation, its boost is taken back once more."""
    server = served(3)
    metadata: Json = {"name": "web00-0", "namespace": "default", "annotations": {"vpaCpuStartupBoost/main": ORIGINAL}}
    server.store.merge({**identified(), "metadata": metadata})
    slow = server.faults.add(Fault(Delay(HOUR), verb="patch", path="/web02-0/resize$"))
    async with process(server) as loop:
        running = asyncio.create_task(loop.run_round())
        await until(lambda: slow.hits == 1 and "web00" in patches(server))
        assert set(annotations_on(server)) == {"vpaInPlaceUpdated", REQUESTED_ANNOTATION}
        assert "web01" not in patches(server), "its note waits for all resizes"
        clock_of(server).advance(HOUR)
        await running
    assert patches(server)[-2:] == ["web01", "web02"]


async def test_what_a_round_has_no_time_for_is_written_in_the_next_one() -> None:
    """Spec: beyond:B-20, beyond:B-27. Until then decisions are made as if it were written."""
    server = served(2)
    server.faults.add(Fault(Delay(HOUR), verb="patch", path=NOTE, count=None))
    async with process(server) as loop:
        settle(loop, EVENKEEL, timedelta(milliseconds=300))
        await loop.run_round()
        assert [request_on(server, name) for name in ("web00-0", "web01-0")] == [None, None]
        seen = {one.name: one for one in (await loop.observe(is_webhook_proven=None)).pods}
        for name in ("web00-0", "web01-0"):
            assert json.loads(str(seen[name].annotation(REQUESTED_ANNOTATION)))["at"] == (T0 + MINUTE).isoformat()
        server.faults.clear()
        settle(loop, EVENKEEL)
        set_time(loop, T0 + 2 * MINUTE)
        await loop.run_round()
    for name in ("web00-0", "web01-0"):
        assert at(request_on(server, name), "at") == (T0 + MINUTE).isoformat()
    assert len(server.requests.calls(verb="patch", path=RESIZE)) == 2


@pytest.mark.parametrize(
    ("row", "fault", "tries", "is_written"),
    [
        ("updater:X-5", Refuse(403), 1, False),
        ("updater:X-5", Refuse(422), 1, False),
        ("updater:X-5", Refuse(404), 1, False),
        ("beyond:B-20", DropConnection(), 2, True),
        ("beyond:B-20", DropConnection(after_carrying_out=True), 2, True),
    ],
)
async def test_a_refused_note_is_left_and_one_without_an_answer_written_in_the_next_round(
    row: str, fault: Refuse | DropConnection, tries: int, *, is_written: bool
) -> None:
    server = served()
    bad = server.faults.add(Fault(fault, verb="patch", path=NOTE, count=None))
    async with process(server) as loop:
        notes = asyncio.create_task(loop.run_round())
        pacing = loop.client.pacing
        assert isinstance(pacing, HeldPacing)
        for _ in range(20_000):
            # Time passes for the pauses between tries.
            await pacing.advance(10.0)
            if notes.done():
                break
        await notes
        assert (request_on(server) is not None) is (fault == DropConnection(after_carrying_out=True))
        server.faults.remove(bad)
        first_tries = bad.hits
        await loop.run_round()
        await loop.run_round()
    assert len(server.requests.calls(verb="patch", path=NOTE)) - first_tries == tries - 1, row
    assert (request_on(server) is not None) is is_written, row


async def test_notes_are_written_in_a_round_that_does_nothing_else() -> None:
    """Spec: beyond:B-20, updater:M-7. Admission does not show that it lives, and upstream's way that ends the round."""
    server = served()
    async with process(server, SIDE_BY_SIDE) as loop:
        loop.settings = replace(loop.settings, liveness=LivenessSettings("default", "alive", 60.0))
        note = Note(ObjectRef("Pod", "default", "web00-0"), str(at(pod(server), "metadata", "uid")), {"a": "b"})
        loop.notes.owe(note)
        await loop.run_round()
    assert patches(server) == ["web00"]
    assert annotations_on(server) == {"a": "b"}


async def test_of_two_notes_on_one_pod_the_later_one_counts() -> None:
    server = served()
    uid = str(at(pod(server), "metadata", "uid"))
    async with client_for(server) as client:
        notes = Notes(client)
        for texts in ({"a": "1", "b": "1"}, {"b": "2", "c": "2"}):
            notes.owe(Note(ObjectRef("Pod", "default", "web00-0"), uid, texts))
        await notes.write(AT_ONCE)
    assert annotations_on(server) == {"a": "1", "b": "2", "c": "2"}
    assert patches(server) == ["web00"]


async def test_pods_are_shown_with_what_is_owed() -> None:
    server = api_server()
    async with client_for(server) as client:
        notes, pods = Notes(client), (small("p0"), replace(small("p1"), annotations={"x": "y"}))
        assert notes.shown_on(pods) is pods
        operation = request_operation(ResizeRequest(2, T0))
        notes.owe(Note(pods[1].ref, pods[1].uid, {REQUESTED_ANNOTATION: str(operation.value)}))
        one, other = notes.shown_on(pods)
        assert one is pods[0]
        assert other.annotations == {"x": "y", REQUESTED_ANNOTATION: operation.value}, "beyond:B-20"
        notes.close()
        assert notes.shown_on(pods) is pods


async def test_once_closed_nothing_is_written() -> None:
    """Spec: beyond:B-20. Whoever leads next may have noted its own resize of the same pod."""
    server = served(AT_ONCE + 1)
    slow = server.faults.add(Fault(Delay(HOUR), verb="patch", path=NOTE, count=None))
    async with process(server, NOTING) as loop:
        running = asyncio.create_task(loop.run_round())
        await until(lambda: slow.hits == AT_ONCE)
        loop.notes.close()
        server.faults.clear()
        clock_of(server).advance(HOUR)
        await running
        loop.notes.owe(Note(ObjectRef("Pod", "default", "web00-0"), "u", {"a": "b"}))
        await loop.write_notes()
    assert len([name for name in patches(server) if "/" not in name]) == AT_ONCE, "those under way by then"


PODS = 3


@pytest.mark.parametrize("is_told", [True, False])
@pytest.mark.parametrize("condition", ["PodResizePending", "PodResizeInProgress"])
@pytest.mark.parametrize("call", range(2 * PODS + 1))
async def test_wherever_a_process_ends_the_next_one_counts_from_the_request(
    call: int, condition: str, *, is_told: bool
) -> None:
    """Spec: beyond:B-20, updater:K-1, updater:K-32. The condition is that of a resize hours before.

    The process ends when it makes its call of this number, the last of them after its round. Where neither a note nor
    the API server tells of a resize, the next process counts from its first look.
    """
    server, asked = served(PODS), T0 + 4 * HOUR
    clock_of(server).set(asked)
    reason, limit = ("Deferred", 5 * MINUTE) if condition == "PodResizePending" else ("", HOUR)
    old: Json = {"type": condition, "status": "True", "reason": reason, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    if is_told:
        for number in range(PODS):
            owned_by_somebody(server, f"web{number:02}-0")
    hanging = server.faults.add(Fault(Delay(10 * HOUR), verb="patch", path="/pods/", count=None, skip=call))
    async with process(server, now=asked) as loop:
        running = asyncio.create_task(loop.run_round())
        await until(lambda: running.done() or hanging.hits > 0)
        for _ in range(200):
            await asyncio.sleep(0)
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
    server.faults.clear()
    resized = [name for name in (f"web{number:02}-0" for number in range(PODS)) if cpu_of(server, name) == "400m"]
    noted = [name for name in resized if request_on(server, name) is not None]
    assert (len(resized), len(noted)) == (min(call, PODS), max(0, call - PODS))
    for name in resized:
        server.store.merge(identified(name, status={"conditions": [READY, old]}))
    due = resized if is_told else noted
    for now, expected in ((asked + limit, []), (asked + limit + 2 * SECOND, due)):
        async with process(server, now=now) as loop:
            await loop.run_round()
        gone = [one.path.split("/")[-2] for one in server.requests.calls(verb="create", path="/eviction$")]
        assert sorted(gone) == expected, now


READY: Json = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}


def owned_by_somebody(server: ApiServer, name: str) -> None:
    """Have the API server note who writes what of a pod, as it does of all that was not put into its store."""
    entry: Json = {"manager": "m", "operation": "Update", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z"}
    entry |= {"fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {"f:labels": {"f:app": {}}}}}
    server.store.merge({**identified(), "metadata": {"name": name, "namespace": "default", "managedFields": [entry]}})


def cpu_of(server: ApiServer, name: str) -> object:
    """Return the CPU that a pod's container asks for."""
    return at(pod(server, name), "spec", "containers", 0, "resources", "requests", "cpu")

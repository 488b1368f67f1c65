"""The webhook over real TLS: what it answers, counts and survives (spec: admission:4, admission:11, admission:12)."""

from __future__ import annotations

import asyncio
import json
import ssl
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

import aiohttp
import pytest
from structlog.testing import capture_logs

from admission.certificate_plan import Step
from admission.review import ReviewRules
from admission.shell.issuing import CertificateSet, carry_out
from admission.shell.server import LARGEST_BODY_BYTES, LIMITS
from admission.vpa_matching import ClusterView
from autoscaling.behaviour import Behaviour, Profile
from autoscaling.matching import of_labels
from autoscaling.ownership import ControllerKey
from autoscaling.pod import Owner
from autoscaling.targets import KnownControllers
from autoscaling.vpa import Vpa
from autoscaling.workload import Workload
from tests.admission.shell.webhooks import (
    GROUP,
    HOST,
    NAMES,
    RULES,
    Webhook,
    eventually,
    fresh_certificates,
    pod_review,
    post,
    running_webhook,
    session,
    trusting,
)
from tests.builders import recommended, vpa

pytestmark = pytest.mark.anyio

LATENCY = "vpa_admission_controller_admission_latency_seconds_count"
STEPS = "vpa_admission_controller_execution_latency_seconds_count"
PODS = "vpa_admission_controller_admission_pods_total"
REVIEWS = "evenkeel_admission_reviews_total"
DRY_RUNS = "evenkeel_admission_dry_runs_total"
POD = {
    "metadata": {
        "name": "p",
        "namespace": "default",
        "labels": {"app": "a"},
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "controller": True}],
    },
    "spec": {
        "containers": [
            {
                "name": "c",
                "resources": {
                    "requests": {"cpu": "50m", "memory": "32Mi"},
                    "limits": {"cpu": "500m", "memory": "64Mi"},
                },
            }
        ]
    },
}

WRONG_TYPE = b"the content type must be application/json\n"


def of_profile(profile: Profile) -> ReviewRules:
    return replace(RULES, behaviour=Behaviour.of(profile))


def view(given_vpa: Vpa | None = None) -> ClusterView:
    one = given_vpa or vpa(recommended("c", "400m/100Mi"))
    workloads = (
        Workload(
            "ReplicaSet",
            "default",
            "rs",
            of_labels({"app": "a"}),
            owners=(Owner("apps/v1", "Deployment", "d", controller=True),),
        ),
        Workload("Deployment", "default", "d", of_labels({"app": "a"})),
    )
    index = {"default": {("Deployment", "d"): (one,)}}
    return ClusterView(True, index, KnownControllers.of(workloads, {}), {})


@pytest.fixture(scope="module")
def certificates() -> CertificateSet:
    return fresh_certificates()


async def ask(
    webhook: Webhook, body: bytes, certificates: CertificateSet, content_type: str = "application/json"
) -> bytes:
    async with session() as made:
        status, answer = await post(made, webhook, body, certificates.authorities, content_type)
    assert status == 200
    return answer


async def test_a_pod_is_patched_over_tls(certificates: CertificateSet) -> None:
    """Spec: admission:4.3.6, admission:4.4, admission:11.1, admission:11.2, admission:11.3."""
    async with running_webhook(view, certificates) as webhook:
        response = json.loads(await ask(webhook, pod_review(POD), certificates))["response"]
    assert (response["uid"], response["allowed"], response["patchType"]) == ("u1", True, "JSONPatch")
    assert webhook.count(LATENCY, status="applied", resource="Pod") == 1
    assert webhook.count(PODS, applied="true") == 1
    assert webhook.count(REVIEWS, resource="Pod", reason="Patched") == 1
    for step in ("read_request", "admit", "build_response", "write_response", "total"):
        assert webhook.count(STEPS, step=step) == 1, step


async def test_every_path_is_the_webhook(certificates: CertificateSet) -> None:
    """Spec: admission:1.7."""
    async with (
        running_webhook(view, certificates) as webhook,
        session() as made,
        made.post(
            f"{webhook.url}any/path?timeout=5s",
            data=pod_review(POD),
            headers={"Content-Type": "application/json"},
            ssl=trusting(certificates.authorities),
            server_hostname=HOST,
        ) as answer,
    ):
        assert (await answer.json())["response"]["allowed"] is True


async def test_each_answer_near_the_end_is_the_last_of_its_connection(certificates: CertificateSet) -> None:
    """Spec: admission:9: callers go on to another replica before this one closes connections that are at rest."""
    async with running_webhook(view, certificates) as webhook, session() as made:
        for is_ending in (False, True, True):
            webhook.endpoint.is_ending = is_ending
            async with made.post(
                webhook.url,
                data=pod_review(POD),
                headers={"Content-Type": "application/json"},
                ssl=trusting(certificates.authorities),
                server_hostname=HOST,
            ) as answer:
                assert (await answer.json())["response"]["patchType"] == "JSONPatch"
                assert answer.headers.get("Connection", "") == ("close" if is_ending else "")


async def test_a_pod_of_nobody_is_let_in(certificates: CertificateSet) -> None:
    """Spec: admission:4.3.4, admission:12.5."""
    async with running_webhook(view, certificates) as webhook:
        answer = await ask(webhook, pod_review({"metadata": {"name": "p"}}), certificates)
    assert json.loads(answer)["response"] == {"uid": "u1", "allowed": True}
    assert webhook.count(LATENCY, status="skipped", resource="Pod") == 1
    assert webhook.count(PODS, applied="false") == 1
    assert webhook.count(REVIEWS, resource="Pod", reason="NoController") == 1


async def test_what_is_only_tried_counts_apart(certificates: CertificateSet) -> None:
    """Spec: admission:3.9, admission:11.1: upstream's family counts every pod that was asked about."""
    async with running_webhook(view, certificates) as webhook:
        asked = [await ask(webhook, pod_review(POD, dryRun=tried), certificates) for tried in (True, False, None)]
    assert asked[0] == asked[1] == asked[2]
    assert webhook.count(DRY_RUNS, resource="Pod", reason="Patched") == 1
    assert webhook.count(REVIEWS, resource="Pod", reason="Patched") == 2
    assert webhook.count(PODS, applied="true") == 3


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "text/plain", "APPLICATION/JSON"])
@pytest.mark.parametrize(
    ("profile", "answered"), [(Profile.UPSTREAM, (200, b"")), (Profile.EVENKEEL, (415, WRONG_TYPE))]
)
async def test_another_content_type_gets_no_answer(
    certificates: CertificateSet, content_type: str, profile: Profile, answered: tuple[int, bytes]
) -> None:
    """Spec: admission:4.1."""
    async with running_webhook(view, certificates, of_profile(profile)) as webhook, session() as made:
        assert await post(made, webhook, pod_review(POD), certificates.authorities, content_type) == answered
    assert webhook.count(LATENCY, status="error", resource="unknown") == 1
    assert webhook.count(STEPS, step="total") == 1
    assert webhook.count(STEPS, step="admit") == 0
    assert webhook.count(REVIEWS, resource="unknown", reason="WrongContentType") == 1


async def test_the_largest_body_passes_and_one_byte_more_does_not(certificates: CertificateSet) -> None:
    """Spec: admission:4.2, admission:12.3."""
    review = pod_review(POD)
    exactly = review + b" " * (LARGEST_BODY_BYTES - len(review))
    async with running_webhook(view, certificates) as webhook, session() as made:
        status, answer = await post(made, webhook, exactly, certificates.authorities)
        assert (status, json.loads(answer)["response"]["uid"]) == (200, "u1")
        status, answer = await post(made, webhook, exactly + b" ", certificates.authorities)
        assert status == 413
        assert b"{" not in answer
    assert webhook.count(LATENCY, status="error", resource="unknown") == 1
    assert webhook.count(REVIEWS, resource="unknown", reason="TooLarge") == 1


async def test_a_body_without_a_stated_length_is_measured(certificates: CertificateSet) -> None:
    """Spec: admission:4.2."""

    async def parts(count: int) -> asyncio.Queue[bytes]:
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        for _ in range(count):
            queue.put_nowait(b" " * 1024 * 1024)
        return queue

    queue = await parts(6)

    async def body() -> object:
        while not queue.empty():
            yield queue.get_nowait()

    async with (
        running_webhook(view, certificates) as webhook,
        session() as made,
        made.post(
            webhook.url,
            data=body(),
            headers={"Content-Type": "application/json"},
            ssl=trusting(certificates.authorities),
            server_hostname=HOST,
        ) as answer,
    ):
        assert answer.status == 413


NO_REVIEWS: list[tuple[str, bytes, str]] = [
    ("admission:4.3.1", b"", "Input data was truncated"),
    ("admission:12.2", b"not json", "JSON is malformed"),
    ("admission:4.3.1", b"[]", "Expected `object`, got `array`"),
    ("admission:4.3.2", b"{}", "it has no request"),
    ("admission:4.3.2", b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}', "it has no request"),
]


@pytest.mark.parametrize(("row", "body", "problem"), NO_REVIEWS)
async def test_what_is_no_review_is_refused(certificates: CertificateSet, row: str, body: bytes, problem: str) -> None:
    async with running_webhook(view, certificates) as webhook, session() as made:
        status, answer = await post(made, webhook, body, certificates.authorities)
        assert status == 400, row
        assert answer.startswith(b"this is no AdmissionReview of admission.k8s.io/v1: ")
        assert problem in answer.decode()
        status, answer = await post(made, webhook, pod_review(POD), certificates.authorities)
        assert (status, json.loads(answer)["response"]["patchType"]) == (200, "JSONPatch"), "on the same connection"
    assert webhook.count(LATENCY, status="error", resource="unknown") == 1


async def test_a_review_of_another_version_is_refused(certificates: CertificateSet) -> None:
    """Spec: admission:4.3."""
    foreign = json.dumps(json.loads(pod_review(POD)) | {"apiVersion": "admission.k8s.io/v1beta1"}).encode()
    for profile, expected in ((Profile.EVENKEEL, 400), (Profile.UPSTREAM, 200)):
        async with running_webhook(view, certificates, of_profile(profile)) as webhook, session() as made:
            assert (await post(made, webhook, foreign, certificates.authorities))[0] == expected


@pytest.mark.parametrize(("row", "body", "problem"), NO_REVIEWS)
async def test_what_is_no_review_is_let_in_without_uid(
    certificates: CertificateSet, row: str, body: bytes, problem: str
) -> None:
    async with running_webhook(view, certificates, of_profile(Profile.UPSTREAM)) as webhook:
        answer = json.loads(await ask(webhook, body, certificates))
    assert answer["response"] == {"uid": "", "allowed": True}, row
    assert problem
    assert webhook.count(LATENCY, status="error", resource="unknown") == 1


async def test_another_resource_is_an_error_without_harm(certificates: CertificateSet) -> None:
    """Spec: admission:4.3.3."""
    review = pod_review(POD, resource={"group": "apps", "version": "v1", "resource": "deployments"})
    async with running_webhook(view, certificates) as webhook:
        response = json.loads(await ask(webhook, review, certificates))["response"]
    assert response == {"uid": "u1", "allowed": True}
    assert webhook.count(LATENCY, status="error", resource="unknown") == 1
    assert webhook.count(PODS, applied="false") == 0


async def test_an_invalid_vpa_is_refused(certificates: CertificateSet) -> None:
    """Spec: admission:4.3.5."""
    resource = {"group": GROUP, "version": "v1", "resource": "verticalpodautoscalers"}
    broken = {"spec": {"updatePolicy": {"updateMode": "Auto", "minReplicas": 0}}}
    async with running_webhook(view, certificates) as webhook:
        response = json.loads(await ask(webhook, pod_review(broken, resource=resource), certificates))["response"]
    assert response["allowed"] is False
    assert response["status"]["code"] == 422
    assert len(response["warnings"]) == 1
    assert webhook.count(LATENCY, status="skipped", resource="VPA") == 1


async def test_trouble_of_our_own_keeps_nothing_out(certificates: CertificateSet) -> None:
    """Spec: case:36, beyond:B-32."""

    def broken_view() -> ClusterView:
        raise RuntimeError("the caches are gone")

    async with running_webhook(broken_view, certificates) as webhook:
        response = json.loads(await ask(webhook, pod_review(POD), certificates))["response"]
    assert response == {"uid": "u1", "allowed": True}
    assert webhook.count(REVIEWS, resource="unknown", reason="InternalError") == 1


async def test_an_unknown_owner_is_looked_up_for_the_next_pod(certificates: CertificateSet) -> None:
    """Spec: admission:13.20."""
    owner = {"apiVersion": "example.com/v1", "kind": "Rollout", "name": "r", "controller": True}
    pod = {"metadata": {"name": "p", "namespace": "default", "ownerReferences": [owner]}}
    async with running_webhook(view, certificates) as webhook:
        await ask(webhook, pod_review(pod), certificates)
    assert webhook.looked_up == [ControllerKey("default", "Rollout", "r", "example.com/v1")]
    assert webhook.count(REVIEWS, resource="Pod", reason="OwnerNotCached") == 1


UNREADABLE = {"metadata": {"name": "p", "namespace": "default"}, "spec": {"containers": "none"}}
INVALID = {"spec": {"updatePolicy": {"updateMode": "Never"}}}
VPAS = {"group": GROUP, "version": "v1", "resource": "verticalpodautoscalers"}
TOLD: list[tuple[str, bytes, str, str]] = [
    ("admission:13.1", pod_review(UNREADABLE), "warning", "UnreadablePod"),
    ("admission:13.1", pod_review(POD, resource={"group": "", "version": "v2", "resource": "pods"}), "debug", ""),
    ("admission:13.23", pod_review(POD), "info", "Patched"),
    ("admission:13.23", pod_review(INVALID, resource=VPAS), "info", "InvalidVpa"),
    ("admission:13.23", pod_review(POD, resource={"group": "", "version": "v1", "resource": "nodes"}), "warning", ""),
]


@pytest.mark.parametrize(("row", "body", "level", "reason"), TOLD)
async def test_each_review_is_told_with_its_uid(
    certificates: CertificateSet, row: str, body: bytes, level: str, reason: str
) -> None:
    with capture_logs() as events:
        async with running_webhook(view, certificates) as webhook:
            await ask(webhook, body, certificates)
    (told,) = [event for event in events if event["event"] == "review decided"]
    assert (told["uid"], told["log_level"]) == ("u1", level), row
    assert not reason or told["reason"] == reason, row


async def test_a_body_that_does_not_come_is_not_waited_for(certificates: CertificateSet) -> None:
    """Spec: case:36; the deadline is half of what the caller says it waits."""
    async with running_webhook(view, certificates) as webhook:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", webhook.port, ssl=trusting(certificates.authorities), server_hostname=HOST
        )
        head = (
            f"POST /?timeout=0s HTTP/1.1\r\nhost: {HOST}\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n"
        )
        writer.write(head.encode())
        answer = await reader.readuntil(b"}}")
        writer.close()
    assert answer.startswith(b"HTTP/1.1 200")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["response"] == {"uid": "", "allowed": True}
    assert webhook.count(REVIEWS, resource="unknown", reason="DeadlineExceeded") == 1


async def test_what_is_under_way_at_the_end_is_answered(certificates: CertificateSet) -> None:
    review = pod_review(POD)
    head = f"POST / HTTP/1.1\r\nhost: {HOST}\r\ncontent-type: application/json\r\ncontent-length: {len(review)}\r\n\r\n"
    running = running_webhook(view, certificates)
    webhook = await running.__aenter__()
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", webhook.port, ssl=trusting(certificates.authorities), server_hostname=HOST
    )
    writer.write(head.encode() + review[:10])
    await ask(webhook, review, certificates)
    ending = asyncio.create_task(running.__aexit__(None, None, None))
    await asyncio.sleep(0)
    writer.write(review[10:])
    answer = await reader.read()
    await ending
    assert b"connection: close\r\n" in answer
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["response"]["patchType"] == "JSONPatch"
    writer.close()


@pytest.mark.parametrize(
    "begun", ["", "POST / HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n"]
)
async def test_connections_are_cut_at_the_end(certificates: CertificateSet, begun: str) -> None:
    """One at rest at once, one whose request does not end after a while."""
    limits = replace(LIMITS, closing_seconds=0.0)
    async with running_webhook(view, certificates, limits=limits) as webhook:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", webhook.port, ssl=trusting(certificates.authorities), server_hostname=HOST
        )
        writer.write(begun.encode())
        await ask(webhook, pod_review(POD), certificates)
    with suppress(ConnectionError):
        assert await reader.read() == b""
    writer.close()
    assert webhook.count(REVIEWS, resource="unknown", reason="BodyNotRead") == (1 if begun else 0)


async def test_a_patch_serves_all_pods_of_a_template(certificates: CertificateSet) -> None:
    """Spec: performance A-2; each pod gets its own answer, and another VPA another patch."""
    given = [vpa(recommended("c", "400m/100Mi"))]
    patches: list[str] = []
    async with running_webhook(lambda: view(given[0]), certificates) as webhook:
        for uid in ("first", "second", "third"):
            response = json.loads(await ask(webhook, pod_review(POD, uid=uid, name=uid), certificates))["response"]
            assert response["uid"] == uid
            patches.append(response["patch"])
            if uid == "second":
                given[0] = vpa(recommended("c", "300m/100Mi"))
    assert patches[0] == patches[1] != patches[2]


async def test_a_caller_that_leaves_half_way_harms_nobody(certificates: CertificateSet) -> None:
    """Spec: admission:4.2, other read errors."""
    async with running_webhook(view, certificates) as webhook:
        _, writer = await asyncio.open_connection(
            "127.0.0.1", webhook.port, ssl=trusting(certificates.authorities), server_hostname=HOST
        )
        writer.write(b"POST / HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{")
        await writer.drain()
        writer.transport.abort()
        await eventually(lambda: webhook.count(REVIEWS, resource="unknown", reason="BodyNotRead") == 1)
        response = json.loads(await ask(webhook, pod_review(POD), certificates))["response"]
    assert response["patchType"] == "JSONPatch"


async def test_no_handshake_fails_across_a_rotation() -> None:
    """Spec: case:36; requests before, during and after, on new connections and on kept ones."""
    now = datetime.now(UTC)
    first = fresh_certificates()
    both = carry_out(Step.ADD_AUTHORITY, first, NAMES, now)
    second = carry_out(Step.ISSUE_SERVING, both, NAMES, now)
    trusted = both.authorities
    statuses: list[int] = []
    changes = {15: both, 40: second, 60: first, 80: second}
    async with running_webhook(view, first) as webhook:

        async def keep_asking(made: aiohttp.ClientSession) -> None:
            for _ in range(50):
                status, answer = await post(made, webhook, pod_review(POD), trusted)
                assert json.loads(answer)["response"]["allowed"] is True
                statuses.append(status)
                if (change := changes.pop(len(statuses), None)) is not None:
                    webhook.context.use(change.serving, change.serving_key)

        async with session() as kept, session(keeps_alive=False) as fresh:
            await asyncio.gather(keep_asking(kept), keep_asking(fresh))
        assert statuses == [200] * 100
        assert not changes
        with pytest.raises(ssl.SSLCertVerificationError):
            await asyncio.open_connection(
                "127.0.0.1", webhook.port, ssl=trusting(first.authorities), server_hostname=HOST
            )
    assert webhook.count(PODS, applied="true") == 100


async def test_a_connection_outlives_the_certificate_it_began_with() -> None:
    first, second = fresh_certificates(), fresh_certificates()
    async with running_webhook(view, first) as webhook, session() as made:
        context = trusting(first.authorities)
        for certificates in (first, second):
            webhook.context.use(certificates.serving, certificates.serving_key)
            async with made.post(
                webhook.url,
                data=pod_review(POD),
                headers={"Content-Type": "application/json"},
                ssl=context,
                server_hostname=HOST,
            ) as answer:
                assert answer.status == 200
                await answer.read()

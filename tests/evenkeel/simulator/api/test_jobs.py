"""Jobs and CronJobs on their way into the store."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, ensure, labels_of, value_at
from evenkeel.simulator.api.server import ApiServer
from tests.evenkeel.simulator.api.wire import cluster, container

pytestmark = pytest.mark.anyio
JOBS = "/apis/batch/v1/namespaces/default/jobs"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def job(name: str = "j", policy: str = "Never", **spec: object) -> JsonObject:
    template: JsonObject = {"spec": {"containers": [container()], "restartPolicy": policy}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"template": template, **spec}}


async def test_a_job_gets_a_selector_for_its_own_pods() -> None:
    async with cluster() as wire:
        one, other = [(await wire.post(JOBS, job(name))).body for name in ("a", "b")]
        uid = str(value_at(one, "metadata", "uid"))
        assert value_at(one, "spec", "selector") == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
        assert labels_of(child(one, "spec", "template")) == {
            "batch.kubernetes.io/controller-uid": uid,
            "batch.kubernetes.io/job-name": "a",
            "controller-uid": uid,
            "job-name": "a",
        }
        assert value_at(other, "spec", "selector") != value_at(one, "spec", "selector")
        assert labels_of(one) == labels_of(child(one, "spec", "template"))
        named = job("c")
        ensure(named, "metadata")["labels"] = {"own": "yes"}
        assert labels_of((await wire.post(JOBS, named)).body) == {"own": "yes"}


async def test_a_job_may_bring_its_own_selector() -> None:
    async with cluster() as wire:
        selector = {"matchLabels": {"x": "y"}}
        answer = await wire.post(JOBS, job(manualSelector=True, selector=selector))
        assert value_at(answer.body, "spec", "selector") == selector
        assert labels_of(child(answer.body, "spec", "template")) == {}


@pytest.mark.parametrize(("policy", "code"), [("Never", 201), ("OnFailure", 201), ("Always", 422), ("", 422)])
async def test_the_pods_of_a_job_must_be_able_to_end(policy: str, code: int) -> None:
    async with cluster() as wire:
        assert (await wire.post(JOBS, job(policy=policy))).code == code


@pytest.mark.parametrize(
    ("row", "patch", "suspended", "code"),
    [
        ("parallelism may change", {"parallelism": 3}, False, 200),
        ("completions may not", {"completions": 3}, False, 422),
        ("the mode may not", {"completionMode": "Indexed"}, False, 422),
        ("the template may not", {"template": {"metadata": {"labels": {"x": "y"}}}}, False, 422),
        ("a suspended one's template may", {"template": {"metadata": {"labels": {"x": "y"}}}}, True, 200),
    ],
)
async def test_what_pods_were_made_from_stays(row: str, patch: JsonObject, suspended: bool, code: int) -> None:
    async with cluster() as wire:
        await wire.post(JOBS, job(suspend=suspended))
        assert (await wire.patch(f"{JOBS}/j", {"spec": patch})).code == code, row
        assert (await wire.patch(f"{JOBS}/j/status", {"status": {"active": 1}})).code == 200, row


async def test_a_cron_job_needs_a_schedule() -> None:
    async with cluster() as wire:
        path = "/apis/batch/v1/namespaces/default/cronjobs"
        body: JsonObject = {"metadata": {"name": "c"}, "spec": {"jobTemplate": {"spec": child(job(), "spec")}}}
        assert (await wire.post(path, body)).causes == [("FieldValueRequired", "spec.schedule")]
        ensure(body, "spec")["schedule"] = "* * * * *"
        made = await wire.post(path, body)
        assert (made.code, value_at(made.body, "spec", "concurrencyPolicy")) == (201, "Allow")
        assert (await wire.patch(f"{path}/c", {"spec": {"schedule": ""}})).code == 422


def test_seeded_jobs_are_completed_but_for_the_selector() -> None:
    stored = ApiServer().store.create(job())
    assert (value_at(stored, "spec", "backoffLimit"), value_at(stored, "spec", "selector")) == (6, None)

"""CronJobs over hours of simulated time."""

from __future__ import annotations

from datetime import timedelta

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, ensure, rows, text, value_at
from evenkeel.simulator.clock import EPOCH
from evenkeel.simulator.controllers.cron_schedule import CronSchedule
from evenkeel.simulator.controllers.cronjobs import MANY_MISSED, missed_moments
from tests.evenkeel.simulator.controllers.ground import MINUTE, SECOND, Ground, template, workload


def grounded(schedule: str = "*/10 * * * *", **spec: object) -> Ground:
    ground = Ground()
    job_template: JsonObject = {
        "metadata": {"labels": {"team": "a"}, "annotations": {"x": "y"}},
        "spec": {"template": template("tick", restartPolicy="Never")},
    }
    cron = workload("CronJob", "tick", schedule=schedule, jobTemplate=job_template, **spec)
    del ensure(cron, "spec")["template"]
    ground.create(cron)
    return ground


def finish_all(ground: Ground, phase: str = "Succeeded") -> None:
    for pod in ground.pods():
        if text(pod, "status", "phase") == "Running":
            ground.finish(text(pod, "metadata", "name"), phase)


def test_a_job_starts_at_each_moment() -> None:
    ground = grounded()
    ground.run(9 * MINUTE)
    assert ground.objects("Job") == []
    ground.run(2 * MINUTE)
    job = ground.objects("Job")[0]
    minutes = int(EPOCH.timestamp()) // 60 + 10
    assert text(job, "metadata", "name") == f"tick-{minutes}"
    assert child(job, "metadata", "annotations") == {
        "x": "y",
        "batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-01-01T00:10:00Z",
    }
    assert child(job, "metadata", "labels") == {"team": "a"}
    assert rows(job, "metadata", "ownerReferences")[0]["kind"] == "CronJob"
    status = child(ground.read("CronJob", "tick"), "status")
    assert status["lastScheduleTime"] == "2026-01-01T00:10:00Z"
    assert [row["name"] for row in rows({"status": status}, "status", "active")] == [text(job, "metadata", "name")]
    finish_all(ground)
    ground.run()
    status = child(ground.read("CronJob", "tick"), "status")
    assert ("active" in status, status["lastSuccessfulTime"]) == (False, "2026-01-01T00:11:00Z")
    ground.run(10 * MINUTE)
    assert len(ground.objects("Job")) == 2


@pytest.mark.parametrize(("policy", "jobs", "active"), [("Allow", 3, 3), ("Forbid", 1, 1), ("Replace", 1, 1)])
def test_what_happens_while_the_last_job_still_runs(policy: str, jobs: int, active: int) -> None:
    ground = grounded(concurrencyPolicy=policy)
    ground.run(31 * MINUTE)
    assert len(ground.objects("Job")) == jobs
    assert len(rows(ground.read("CronJob", "tick"), "status", "active")) == active
    minutes = int(EPOCH.timestamp()) // 60
    latest = {"Allow": 30, "Forbid": 10, "Replace": 30}[policy]
    assert text(ground.objects("Job")[-1], "metadata", "name") == f"tick-{minutes + latest}"
    assert ("JobAlreadyActive" in ground.reasons("CronJob")) is (policy == "Forbid")


@pytest.mark.parametrize(("phase", "kept"), [("Succeeded", 3), ("Failed", 1)])
def test_history_is_kept_up_to_its_limits(phase: str, kept: int) -> None:
    ground = grounded()
    job_template = child(ground.read("CronJob", "tick"), "spec", "jobTemplate")
    ensure(job_template, "spec")["backoffLimit"] = 0
    ground.merge("CronJob", "tick", spec={"jobTemplate": job_template})
    for _ in range(6):
        ground.run(10 * MINUTE)
        ground.run(5 * SECOND)
        finish_all(ground, phase)
        ground.run(5 * SECOND)
    assert len(ground.objects("Job")) == kept


def test_a_suspended_one_starts_nothing_and_later_only_the_latest() -> None:
    ground = grounded(suspend=True)
    ground.run(35 * MINUTE)
    assert ground.objects("Job") == []
    ground.merge("CronJob", "tick", spec={"suspend": False})
    ground.run()
    minutes = int(EPOCH.timestamp()) // 60
    assert ground.names("Job") == [f"tick-{minutes + 30}"]


def test_a_start_that_comes_too_late_is_left_out() -> None:
    ground = grounded(suspend=True, startingDeadlineSeconds=60)
    ground.run(35 * MINUTE)
    ground.merge("CronJob", "tick", spec={"suspend": False})
    ground.run()
    assert ground.objects("Job") == []
    ground.run(10 * MINUTE)
    assert len(ground.objects("Job")) == 1


def test_many_missed_moments_are_warned_of_and_one_job_starts() -> None:
    ground = grounded("* * * * *", suspend=True)
    ground.run(timedelta(hours=3))
    ground.merge("CronJob", "tick", spec={"suspend": False})
    ground.run()
    assert "TooManyMissedTimes" in ground.reasons("CronJob")
    minutes = int(EPOCH.timestamp()) // 60
    assert ground.names("Job") == [f"tick-{minutes + 180}"]


def test_a_schedule_that_cannot_be_read_is_told() -> None:
    ground = grounded("every now and then")
    ground.run(MINUTE)
    assert "UnparseableSchedule" in ground.reasons("CronJob")


def test_a_refused_job_is_told_and_tried_again() -> None:
    ground = grounded()
    quota: JsonObject = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}}
    ground.create(quota | {"spec": {"hard": {"count/jobs.batch": "0"}}})
    ground.run(11 * MINUTE)
    assert "FailedCreate" in ground.reasons("CronJob")
    assert value_at(ground.read("CronJob", "tick"), "status", "lastScheduleTime") is None
    ground.delete("ResourceQuota", "q")
    ground.run(20 * MINUTE)
    assert len(ground.objects("Job")) >= 1


def test_a_removed_one_leaves_nothing() -> None:
    ground = grounded()
    ground.run(11 * MINUTE)
    ground.delete("CronJob", "tick")
    ground.run()
    assert (ground.objects("Job"), ground.pods()) == ([], [])


def test_missed_moments_are_counted_up_to_a_limit() -> None:
    schedule = CronSchedule("*/10 * * * *")
    assert missed_moments(schedule, EPOCH, EPOCH + 9 * MINUTE).count == 0
    some = missed_moments(schedule, EPOCH, EPOCH + 25 * MINUTE)
    assert (some.latest, some.count) == (EPOCH + 20 * MINUTE, 2)
    many = missed_moments(schedule, EPOCH, EPOCH + timedelta(days=30, minutes=5))
    assert (many.latest, many.count) == (EPOCH + timedelta(days=30), MANY_MISSED + 1)
    pairs = missed_moments(CronSchedule("0,1,2 3 * * *"), EPOCH, EPOCH + timedelta(days=90, hours=3, minutes=5))
    assert pairs.latest == EPOCH + timedelta(days=90, hours=3, minutes=2)

"""Jobs: completions, failures, deadlines, indexes, suspension, removal."""

from __future__ import annotations

from datetime import timedelta

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, copy_of, labels_of, rows, text, value_at
from tests.evenkeel.simulator.controllers.ground import MINUTE, SECOND, Ground, counts, template, workload


def job(policy: str = "Never", /, **spec: object) -> JsonObject:
    return workload("Job", "batch", template=template("batch", restartPolicy=policy), **spec)


def grounded(policy: str = "Never", /, **spec: object) -> Ground:
    ground = Ground()
    ground.create(job(policy, **spec))
    ground.run()
    return ground


def conditions(ground: Ground) -> list[tuple[object, object, object]]:
    found = rows(ground.read("Job", "batch"), "status", "conditions")
    return [(row["type"], row["status"], row["reason"]) for row in found]


def alive(ground: Ground) -> list[str]:
    return [
        text(pod, "metadata", "name") for pod in ground.pods() if text(pod, "status", "phase") in {"Running", "Pending"}
    ]


COMPLETE = [("SuccessCriteriaMet", "True", "CompletionsReached"), ("Complete", "True", "CompletionsReached")]


def test_a_job_runs_to_its_end() -> None:
    ground = grounded()
    stored = ground.read("Job", "batch")
    assert counts(stored, "active", "ready", "succeeded", "failed") == (1, 1, 0, 0)
    assert text(stored, "status", "startTime") == "2026-01-01T00:00:00Z"
    ground.finish(ground.names()[0])
    ground.run()
    stored = ground.read("Job", "batch")
    assert conditions(ground) == COMPLETE
    assert counts(stored, "active", "ready", "succeeded", "terminating") == (0, 0, 1, 0)
    assert text(stored, "status", "completionTime") == "2026-01-01T00:00:10Z"
    assert set(ground.reasons("Job")) == {"Completed", "SuccessfulCreate"}
    ground.run(5 * MINUTE)
    assert ground.phases() == ["Succeeded"]


def test_several_completions_run_side_by_side_as_far_as_allowed() -> None:
    ground = grounded(completions=5, parallelism=2)
    done = 0
    while done < 5:
        assert len(alive(ground)) == min(2, 5 - done)
        ground.finish(alive(ground)[0])
        done += 1
        ground.run()
    assert conditions(ground) == COMPLETE
    assert len(ground.pods()) == 5


def test_a_work_queue_ends_when_one_has_succeeded_and_all_have_ended() -> None:
    ground = grounded(parallelism=3)
    first, second, third = alive(ground)
    ground.finish(first)
    ground.run()
    assert alive(ground) == [second, third]
    ground.finish(second)
    ground.finish(third)
    ground.run()
    assert conditions(ground) == COMPLETE


def test_failures_are_repeated_later_and_later_until_there_are_too_many() -> None:
    ground = grounded(backoffLimit=2)
    pauses: list[int] = []
    for _ in range(2):
        ground.finish(alive(ground)[0], "Failed")
        seconds = 0
        while not alive(ground):
            ground.run(SECOND)
            seconds += 1
        pauses.append(seconds)
        ground.run(5 * SECOND)
    assert pauses == [11, 21]
    ground.finish(alive(ground)[0], "Failed")
    ground.run()
    assert conditions(ground) == [
        ("FailureTarget", "True", "BackoffLimitExceeded"),
        ("Failed", "True", "BackoffLimitExceeded"),
    ]
    assert counts(ground.read("Job", "batch"), "failed", "succeeded") == (3, 0)
    assert "BackoffLimitExceeded" in ground.reasons("Job")
    ground.run(10 * MINUTE)
    assert alive(ground) == []


def test_a_success_makes_the_next_failure_the_first_again() -> None:
    ground = grounded(completions=3)
    for phase in ("Failed", "Succeeded", "Failed"):
        while not alive(ground):
            ground.run(SECOND)
        ground.finish(alive(ground)[0], phase)
        ground.run(SECOND)
    ground.run(9 * SECOND)
    assert alive(ground) == []
    ground.run(2 * SECOND)
    assert len(alive(ground)) == 1


def test_a_deleted_pod_counts_as_failed_and_is_replaced() -> None:
    ground = grounded()
    ground.delete("Pod", ground.names()[0])
    ground.run(MINUTE)
    assert counts(ground.read("Job", "batch"), "failed", "active") == (1, 1)


def test_a_pod_that_goes_counts_at_once_and_is_shown_as_terminating() -> None:
    ground = grounded()
    name = ground.names()[0]
    ground.merge("Pod", name, metadata={"name": name, "deletionTimestamp": "2026-01-01T00:01:00Z"})
    ground.run(SECOND / 2)
    assert counts(ground.read("Job", "batch"), "failed", "terminating", "active") == (1, 1, 0)
    ground.run(MINUTE)
    assert counts(ground.read("Job", "batch"), "failed", "terminating", "active") == (1, 0, 1)


def test_a_pod_that_succeeded_and_was_removed_at_once_counts_as_succeeded() -> None:
    ground = grounded()
    name = ground.names()[0]
    ground.finish(name)
    ground.delete("Pod", name)
    ground.run()
    assert conditions(ground) == COMPLETE


def test_a_pod_counts_once_even_if_it_is_removed_later() -> None:
    ground = grounded(completions=2)
    name = ground.names()[0]
    ground.finish(name)
    ground.run()
    ground.delete("Pod", name)
    ground.run()
    assert counts(ground.read("Job", "batch"), "succeeded", "failed", "active") == (1, 0, 1)


@pytest.mark.parametrize(("restarts", "ends"), [(1, False), (2, True)])
def test_restarts_by_the_kubelet_count_when_containers_restart_in_place(restarts: int, ends: bool) -> None:
    ground = grounded("OnFailure", backoffLimit=2)
    name = ground.names()[0]
    statuses = copy_of(child(ground.read("Pod", name), "status"))
    rows(statuses, "containerStatuses")[0]["restartCount"] = restarts
    ground.merge("Pod", name, status={"containerStatuses": statuses["containerStatuses"]})
    ground.run()
    assert bool(conditions(ground)) is ends
    assert bool(alive(ground)) is not ends


def test_a_deadline_ends_a_job_and_its_pods() -> None:
    ground = grounded(activeDeadlineSeconds=30)
    ground.run(19 * SECOND)
    assert conditions(ground) == []
    ground.run(2 * SECOND)
    assert conditions(ground)[0] == ("FailureTarget", "True", "DeadlineExceeded")
    ground.run()
    assert conditions(ground)[1] == ("Failed", "True", "DeadlineExceeded")
    assert (ground.pods(), counts(ground.read("Job", "batch"), "failed")) == ([], (0,))


def test_less_parallelism_deletes_pods_without_counting_them() -> None:
    ground = grounded(completions=9, parallelism=4)
    ground.merge("Job", "batch", spec={"parallelism": 1})
    ground.run()
    assert len(alive(ground)) == 1
    assert counts(ground.read("Job", "batch"), "failed", "active") == (0, 1)


def test_an_indexed_job_gives_each_index_once() -> None:
    ground = grounded(completions=3, parallelism=2, completionMode="Indexed")
    pod = ground.pods()[0]
    assert labels_of(pod)["batch.kubernetes.io/job-completion-index"] == "0"
    assert text(pod, "metadata", "name").startswith("batch-0-")
    assert value_at(pod, "spec", "hostname") == "batch-0"
    variable = rows(rows(pod, "spec", "containers")[0], "env")[0]
    assert variable["name"] == "JOB_COMPLETION_INDEX"
    ground.finish(alive(ground)[1])
    ground.run()
    assert text(ground.read("Job", "batch"), "status", "completedIndexes") == "1"
    ground.finish(alive(ground)[0], "Failed")
    ground.run(MINUTE)
    assert sorted(name.rsplit("-", 1)[0] for name in alive(ground)) == ["batch-0", "batch-2"]
    for name in alive(ground):
        ground.finish(name)
    ground.run()
    assert text(ground.read("Job", "batch"), "status", "completedIndexes") == "0-2"
    assert conditions(ground) == COMPLETE


def test_a_suspended_job_has_no_pods_until_it_is_resumed() -> None:
    ground = grounded(suspend=True)
    assert (ground.pods(), conditions(ground)) == ([], [("Suspended", "True", "JobSuspended")])
    assert "startTime" not in child(ground.read("Job", "batch"), "status")
    ground.merge("Job", "batch", spec={"suspend": False})
    ground.run()
    assert conditions(ground) == [("Suspended", "False", "JobResumed")]
    assert text(ground.read("Job", "batch"), "status", "startTime") == "2026-01-01T00:00:10Z"
    ground.merge("Job", "batch", spec={"suspend": True})
    ground.run()
    assert (ground.pods(), counts(ground.read("Job", "batch"), "failed")) == ([], (0,))
    assert text(ground.read("Job", "batch"), "status", "startTime") == "2026-01-01T00:00:10Z"
    ground.merge("Job", "batch", spec={"suspend": False})
    ground.run()
    assert text(ground.read("Job", "batch"), "status", "startTime") == "2026-01-01T00:00:30Z"


def test_a_seeded_job_gets_its_selector() -> None:
    ground = grounded()
    uid = value_at(ground.read("Job", "batch"), "metadata", "uid")
    selector = value_at(ground.read("Job", "batch"), "spec", "selector")
    assert selector == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    assert labels_of(ground.pods()[0])["job-name"] == "batch"


def test_what_is_refused_is_told() -> None:
    ground = Ground()
    quota: JsonObject = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}}
    ground.create(quota | {"spec": {"hard": {"pods": "0"}}})
    ground.run()
    ground.create(job())
    ground.run()
    assert "FailedCreate" in ground.reasons("Job")
    assert counts(ground.read("Job", "batch"), "active") == (0,)


@pytest.mark.parametrize(("seconds", "left"), [(None, True), (0, False), (30, False), (3600, True)])
def test_an_ended_job_is_removed_after_its_time_to_live(seconds: int | None, left: bool) -> None:
    ground = grounded(**({} if seconds is None else {"ttlSecondsAfterFinished": seconds}))
    ground.run(timedelta(hours=2))
    assert ground.find("Job", "batch") is not None
    ground.finish(ground.names()[0])
    ground.run(29 * SECOND)
    assert (ground.find("Job", "batch") is not None) is (seconds != 0)
    ground.run(MINUTE)
    assert (ground.find("Job", "batch") is not None) is left
    assert bool(ground.pods()) is left


def test_a_removed_job_takes_its_pods_along() -> None:
    ground = grounded(completions=3, parallelism=3)
    ground.delete("Job", "batch")
    ground.run()
    assert ground.pods() == []

"""Runs that are no built-in ones: every step, and what goes wrong."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from autoscaling.behaviour import Profile
from autoscaling.errors import EvenkeelError
from evenkeel.simulator.processes.installation import ProcessEndedError
from evenkeel.simulator.scenarios.course import RefusedError
from evenkeel.simulator.scenarios.happenings import Happening, Used
from evenkeel.simulator.scenarios.reading import parse_scenario
from evenkeel.simulator.scenarios.running import Result, Run, Watching
from evenkeel.simulator.scenarios.stage import StageError, StageSettings
from tests.forking import start_forked

pytestmark = [pytest.mark.anyio, pytest.mark.lengthy]

STEPS = """\
title: Everything that a scenario can do to a cluster
duration: 3m
nodes: {node-1: {}}
flags:
  recommender: [--recommender-interval=10s]
  updater: [--updater-interval=10s, --v=5]
objects:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: gone, namespace: default}}
workloads:
  web:
    containers:
      main:
        requests: {cpu: 100m, memory: 64Mi}
        limits: {cpu: 200m, memory: 128Mi}
        usage: {function: constant, cpu: 50m, memory: 40Mi}
  late: {after: 90s, containers: {main: {exitsAfter: 20s, exitCode: 1}}}
vpas:
  web: {minReplicas: 1, after: 20s, recommendation: {main: {cpu: 150m, memory: 64Mi}}}
steps:
  - {at: 10s, delete: {kind: ConfigMap, name: gone}}
  - {at: 25s, fault: {verb: patch, path: "/pods/web-[^/]+$", refuse: {code: 500}, skip: 1}}
  - {at: 50s, restart: updater}
  - {at: 50s, restart: admission}
  - {at: 60s, restart: recommender}
  - {at: 70s, node: {name: node-1, refusedUpdates: 2}}
  - {at: 70s, recommend: {vpa: web, containers: {main: {cpu: 180m, memory: 64Mi}}}}
  - {at: 100s, use: {workload: web, usage: {function: constant, cpu: 70m, memory: 50Mi}}}
  - {at: 110s, node: {name: node-1, kubelet: restart}}
  - at: 120s
    apply:
      - {apiVersion: v1, kind: ConfigMap, metadata: {name: made, namespace: default}, data: {a: b}}
      - {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default}, spec: {replicas: 2}}
expect:
  - {object: {kind: ConfigMap, name: gone}, absent: true}
  - {object: {kind: ConfigMap, name: made}, fields: {data.a: b}}
  - {events: ResizeError, of: web, count: {min: 1}}
  - {requests: patch pods, codes: {200: 2, 500: 1}}
  - {pods: web, count: 2, kept: 1, requests: {cpu: 180m}, because: the second admission controller is asked}
  - {pods: late, restarts: {min: 2}}
  - {decisions: resize, of: web, count: 2}
  - {decisions: skip, count: {min: 1}}
"""

FAILS = """\
title: Nobody keeps this promise
duration: 10s
nodes: {node-1: {}}
workloads: {web: {containers: {main: {}}}}
expect:
  - {pods: web, count: 2}
  - {pods: web, count: 1}
  - {pods: web, count: 3, profile: upstream}
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def play(content: str, folder: Path, watching: Watching | None = None) -> Result:
    settings = StageSettings(Profile.EVENKEEL, folder, starter=start_forked)
    async with Run(parse_scenario(content, "inline"), settings, watching or Watching()) as run:
        return await run.play()


async def test_every_step(tmp_path: Path) -> None:
    seen: list[Happening] = []
    ticks: list[timedelta] = []
    began: list[int] = []
    watching = Watching(seen.append, lambda stage: began.append(len(stage.cluster.nodes.all())), ticks.append)
    result = await play(STEPS, tmp_path, watching)
    assert result.holds, [outcome.problems for outcome in result.outcomes]
    assert tuple(seen) == result.happenings
    assert ticks == [timedelta(seconds=second) for second in range(1, 181)]
    assert began == [1]
    used = [one.cpu for one in seen if isinstance(one, Used) and one.pod.startswith("web-")]
    assert {"50m", "70m"} <= set(used)
    said = [one.text for one in seen]
    for what in (
        "delete ConfigMap gone",
        "updater ends and starts again",
        "node node-1: refused updates: 2",
        "web uses something else",
        "requests go wrong: patch /pods/web-[^/]+$",
        "recommend main 180m/64Mi by VPA web",
    ):
        assert f"scenario: {what}" in said


async def test_the_pace_is_the_clocks_and_may_change(tmp_path: Path) -> None:
    settings, speeds = StageSettings(Profile.EVENKEEL, tmp_path, starter=start_forked), list[float | None]()

    def note(passed: timedelta) -> None:
        assert run.stage.lockstep is not None
        speeds.append(run.stage.lockstep.settings.speed)
        run.speed = 1e6 if passed < timedelta(seconds=5) else None

    run = Run(parse_scenario(FAILS, "inline"), settings, Watching(on_tick=note), speed=2e6)
    async with run:
        assert run.stage.lockstep is not None
        assert run.stage.lockstep.settings.speed is None, "nothing is shown yet that would have to be slow"
        await run.play()
    assert speeds == [2e6, *[1e6] * 4, *[None] * 5]


async def test_a_promise_that_is_not_kept_is_said(tmp_path: Path) -> None:
    result = await play(FAILS, tmp_path)
    assert not result.holds
    assert [outcome.problems for outcome in result.outcomes] == [("1 pods",), ()], "the other profile is left out"


@pytest.mark.parametrize(
    ("replace", "by", "error", "said"),
    [
        (
            "workloads: {web",
            "objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: nowhere}}]\nworkloads: {web",
            RefusedError,
            "ConfigMap c: .*correct the object in the scenario",
        ),
        (
            "expect:",
            "steps: [{at: 1s, delete: {kind: ConfigMap, name: c}}]\nexpect:",
            RefusedError,
            "ConfigMap c: .*correct the step in the scenario",
        ),
        (
            "expect:",
            "flags: {updater: [--nonsense]}\nexpect:",
            ProcessEndedError,
            "updater has ended with status 2(.|\n)*nonsense",
        ),
        (
            "expect:",
            "flags: {admission: [--register-webhook=false]}\nexpect:",
            StageError,
            "not ready after 120 s: MutatingWebhookConfiguration evenkeel-webhook-config is missing(.|\n)*--- updater",
        ),
    ],
)  # fmt: skip
async def test_what_goes_wrong_is_said_and_everything_taken_down(
    replace: str, by: str, error: type[EvenkeelError], said: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=said):
        await play(FAILS.replace(replace, by), tmp_path)


async def test_a_process_that_dies_ends_the_run_with_its_last_words(tmp_path: Path) -> None:
    settings = StageSettings(Profile.EVENKEEL, tmp_path, starter=start_forked)
    async with Run(parse_scenario(FAILS, "inline"), settings) as run:
        pids = [program.pid for program in run.stage.installation.programs]
        run.stage.installation.programs[0].kill()
        with pytest.raises(EvenkeelError, match="admission has ended with status -9; its last lines were"):
            await run.play()
    assert len(pids) == 3
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)

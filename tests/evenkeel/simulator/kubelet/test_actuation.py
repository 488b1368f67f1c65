"""Restarts, calls and their order, and the check before memory is lowered (in-place-resize 3.6 and 3.7)."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.kubelet.actuation import (
    Actuation,
    ContainerStep,
    MemoryUse,
    PodStep,
    Restarted,
    Step,
    memory_objection,
    restarts_of,
    steps_of,
)
from evenkeel.simulator.kubelet.cgroups import Cgroup, pod_cgroup
from evenkeel.simulator.kubelet.podview import PodView, read_resources
from tests.evenkeel.simulator.kubelet.pods import BURSTABLE, MEBIBYTE, Pair, container, resources, view

RESTART = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]
RESTART_CPU = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
NONE = Restarted()


def actuation(
    wanted: dict[str, JsonObject],
    held: dict[str, JsonObject],
    policies: dict[str, list[dict[str, str]]] | None = None,
    running: tuple[str, ...] | None = None,
) -> Actuation:
    """What separates the containers' actual resources from the allocated ones."""
    rows = [container(name, wants, resizePolicy=(policies or {}).get(name, [])) for name, wants in wanted.items()]
    pod = view("a", *rows)
    actuated = {name: read_resources(has) for name, has in held.items()}
    return Actuation(pod, pod.desired, actuated, tuple(wanted) if running is None else running)


def present(pod: PodView, actuated: Actuation) -> Cgroup:
    """The pod's control group as it is before."""
    millis = sum(r.request("cpu").milli_value() for r in actuated.actuated.values())
    return pod_cgroup(pod, millis, actuated.actuated)


def one(cpu: Pair | str = ("100m", "200m"), memory: Pair | str = ("128Mi", "256Mi"), **more: object) -> Actuation:
    policies = {"app": more.get("policy", [])}
    return actuation({"app": resources(cpu, memory)}, {"app": BURSTABLE}, policies)  # type: ignore[arg-type]


def described(steps: tuple[Step, ...]) -> list[str]:
    """Steps in short: who, shares, quota in ms, memory in MiB."""
    found: list[str] = []
    for step in steps:
        who = step.name if isinstance(step, ContainerStep) else "pod"
        values = step.cgroup
        quota = "-" if values.cpu_quota_us is None else values.cpu_quota_us // 1000
        memory = "-" if values.memory_bytes is None else values.memory_bytes // MEBIBYTE
        found.append(f"{who} {values.cpu_shares}/{quota}/{memory}")
    return found


STEPS: list[tuple[str, Actuation, list[str]]] = [
    ("nothing", one(), []),
    ("resize:R01 cpu up", one(("500m", "1")), ["pod 102/100/256", "pod 512/100/256", "app 512/100/256"]),
    ("resize:R02 cpu down", one(("50m", "100m")), ["app 51/10/256", "pod 51/20/256", "pod 51/10/256"]),
    ("request alone", one(("150m", "200m")), ["pod 153/20/256", "app 153/20/256"]),
    ("resize:R06 memory up", one(memory=("128Mi", "512Mi")), ["pod 102/20/512", "app 102/20/512"]),
    ("resize:R07 memory down", one(memory=("128Mi", "200Mi")), ["app 102/20/200", "pod 102/20/200"]),
    ("a memory request alone makes one call", one(memory=("200Mi", "256Mi")), ["app 102/20/256"]),
    (
        "both: memory with the old cpu, then both",
        one(("500m", "1"), ("128Mi", "512Mi")),
        ["pod 102/20/512", "app 102/20/512", "pod 102/100/512", "pod 512/100/512", "app 512/100/512"],
    ),
    (
        "a first limit is a raise",
        actuation({"app": resources(("100m", "300m"), ("1Mi", "2Mi"))}, {"app": resources("100m", "1Mi")}),
        ["pod 102/-/2", "app 102/-/2", "pod 102/30/2", "app 102/30/2"],
    ),
    (
        "resize:R51 decreases in reverse, then increases in order",
        actuation(
            {
                "a": resources(("100m", "400m"), ""),
                "b": resources(("100m", "100m"), ""),
                "c": resources(("100m", "250m"), ""),
                "d": resources(("100m", "150m"), ""),
            },
            {name: resources(("100m", "200m"), "") for name in "abcd"},
        ),
        ["pod 409/90/-", "d 102/15/-", "b 102/10/-", "a 102/40/-", "c 102/25/-"],
    ),
    (
        "a pod limit shrinks after all containers, increases too",
        actuation(
            {"a": resources("", ("1Mi", "100Mi")), "b": resources("", ("1Mi", "60Mi"))},
            {"a": resources("", ("1Mi", "200Mi")), "b": resources("", ("1Mi", "50Mi"))},
        ),
        ["a 2/-/100", "b 2/-/60", "pod 2/-/160"],
    ),
    (
        "no pod limit while a container has none",
        actuation(
            {"a": BURSTABLE, "b": resources("1m", "1Mi")},
            {"a": resources(("50m", "100m"), ("128Mi", "256Mi")), "b": resources("1m", "1Mi")},
        ),
        ["pod 103/-/-", "a 102/20/256"],
    ),
]


@pytest.mark.parametrize(("case", "wanted", "expected"), STEPS, ids=[row[0] for row in STEPS])
def test_the_calls_of_a_resize_step(case: str, wanted: Actuation, expected: list[str]) -> None:
    assert described(steps_of(wanted, NONE, present(wanted.view, wanted))) == expected


def test_each_call_says_what_is_in_force_afterwards() -> None:
    wanted = one(("500m", "1"), ("128Mi", "512Mi"))
    calls = [s for s in steps_of(wanted, NONE, present(wanted.view, wanted)) if isinstance(s, ContainerStep)]
    assert calls[0].actuated == read_resources(resources(("100m", "200m"), ("128Mi", "512Mi")))
    assert calls[1].actuated == read_resources(resources(("500m", "1"), ("128Mi", "512Mi")))


RESTARTS: list[tuple[str, Actuation, Restarted, dict[str, list[str]]]] = [
    ("resize:R03 memory", one(memory=("1Mi", "2Mi"), policy=RESTART), Restarted(("app",), ("memory",)), {}),
    ("resize:R04 cpu", one(("1", "2"), policy=RESTART), NONE, {"cpu": ["app"]}),
    ("resize:R05 both", one(("1", "2"), ("1Mi", "2Mi"), policy=RESTART), Restarted(("app",), ("cpu", "memory")), {}),
    ("a policy for cpu", one(("1", "2"), policy=RESTART_CPU), Restarted(("app",), ("cpu",)), {}),
    ("nothing changed", one(policy=RESTART), NONE, {}),
]


@pytest.mark.parametrize(("case", "wanted", "expected", "updating"), RESTARTS, ids=[row[0] for row in RESTARTS])
def test_what_restarts_and_what_does_not(
    case: str, wanted: Actuation, expected: Restarted, updating: dict[str, list[str]]
) -> None:
    assert restarts_of(wanted) == expected
    assert {r: wanted.updating(r) for r in ("cpu", "memory") if wanted.updating(r)} == updating


def test_a_container_that_does_not_run_changes_nothing() -> None:
    wanted = actuation({"app": resources(("1", "2"), ("1Gi", "2Gi"))}, {"app": BURSTABLE}, running=())
    assert list(wanted.changing()) == []
    assert steps_of(wanted, NONE, present(wanted.view, wanted)) == ()


def test_a_plain_init_container_is_never_resized() -> None:
    pod = view("a", container(), initContainers=[container("setup")])
    wanted = Actuation(pod, pod.desired, {"app": pod.desired["app"]}, ("app", "setup"))
    assert list(wanted.changing()) == []


def test_a_restart_changes_the_pod_as_well() -> None:
    wanted = one(memory=("256Mi", "512Mi"), policy=RESTART)
    steps = steps_of(wanted, restarts_of(wanted), present(wanted.view, wanted))
    assert steps == (PodStep(Cgroup(102, 20_000, 512 * MEBIBYTE)),)


POD_TEXT = "attempting to set pod memory limit (209715200) below current usage (235917312)"
APP_TEXT = 'attempting to set container "app" memory limit (209715200) below current usage (235917312)'
USED = 235_917_312
LOWER = one(memory=("128Mi", "200Mi"))
OBJECTIONS: list[tuple[str, Actuation, int, int, str]] = [
    # id, what is to change, usage of the pod, usage of the container, complaint
    ("resize:R08 both", LOWER, USED, USED, f"cannot decrease memory limits: [{POD_TEXT}, {APP_TEXT}]"),
    ("pod alone", LOWER, USED, 0, f"cannot decrease memory limits: {POD_TEXT}"),
    (
        "container alone: the pod's use is printed all the same",
        LOWER,
        0,
        USED,
        f"cannot decrease memory limits: {APP_TEXT.replace(str(USED), '0')}",
    ),
    (
        "equal is too much",
        LOWER,
        200 * MEBIBYTE,
        0,
        f"cannot decrease memory limits: {POD_TEXT.replace(str(USED), '209715200')}",
    ),
    ("resize:R07 one byte below", LOWER, 200 * MEBIBYTE - 1, 200 * MEBIBYTE - 1, ""),
    ("a raise is no matter", one(memory=("128Mi", "300Mi")), 10 * USED, 10 * USED, ""),
    ("a request is no matter", one(memory=("100Mi", "256Mi")), 10 * USED, 10 * USED, ""),
    ("cpu is no matter", one(("500m", "1")), 10 * USED, 10 * USED, ""),
    (
        "a first limit is checked for the container alone",
        actuation({"app": resources("1", ("1Mi", "200Mi"))}, {"app": resources("1", "1Mi")}),
        USED,
        USED,
        f"cannot decrease memory limits: {APP_TEXT}",
    ),
]


@pytest.mark.parametrize(("case", "wanted", "pod", "app", "expected"), OBJECTIONS, ids=[r[0] for r in OBJECTIONS])
def test_objections_to_lower_limits(case: str, wanted: Actuation, pod: int, app: int, expected: str) -> None:
    found = memory_objection(wanted, NONE, present(wanted.view, wanted), MemoryUse(pod, {"app": app}))
    assert found == expected


def test_a_restarting_container_is_spared_but_its_pod_is_not() -> None:
    wanted = one(memory=("128Mi", "200Mi"), policy=RESTART)
    use = MemoryUse(USED, {"app": USED})
    found = memory_objection(wanted, restarts_of(wanted), present(wanted.view, wanted), use)
    assert found == f"cannot decrease memory limits: {POD_TEXT}"


def test_one_container_holds_up_the_others() -> None:
    wanted = actuation(
        {"a": resources(("100m", "200m"), ("128Mi", "200Mi")), "b": resources(("300m", "600m"), ("128Mi", "256Mi"))},
        {"a": BURSTABLE, "b": BURSTABLE},
    )
    use = MemoryUse(0, {"a": USED, "b": 0})
    assert memory_objection(wanted, NONE, present(wanted.view, wanted), use), "resize:R66"

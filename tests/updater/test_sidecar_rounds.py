"""Whole rounds over pods with native sidecars: judged, resized in place and evicted like regular containers (B-16)."""

from __future__ import annotations

from dataclasses import replace

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.limitrange import LimitRangeItem, LimitType
from autoscaling.pod import Container, ContainerStatus, Pod, ResizePolicy, Termination
from autoscaling.sidecars import with_sidecars
from autoscaling.vpa import UpdateMode
from tests.builders import container, limit_range, pod, recommended, sidecar, with_init_containers
from tests.updater.situations import (
    GATES_ON,
    GUARDED,
    IN_PLACE,
    IPOR,
    MINUTE,
    NOW,
    RECREATE,
    SKIPPING,
    UPSTREAM,
    Scene,
    annotated,
    circumstances,
    vpa_of,
)
from updater.acceptance import is_quick_oom
from updater.assessment import Assessor
from updater.decision import Action, Decision, Reason
from updater.in_place import is_restart_free
from updater.patches import in_place_patches

SETUP = container("setup", "1/1Gi")
ENTRIES = tuple(
    recommended(name, "250m/300Mi", lower="150m/250Mi", upper="400m/500Mi") for name in ("app", "proxy", "setup")
)
AS_UPSTREAM = replace(GATES_ON, behaviour=UPSTREAM)


def subject(proxy: str = "100m/200Mi", app: str = "250m/300Mi", name: str = "p0") -> Pod:
    """Return a pod as decoded: an app, a plain init container and a sidecar, with these requests."""
    return with_init_containers(pod(container("app", app), name=name), SETUP, sidecar("proxy", proxy))


def pair(proxy: str = "100m/200Mi") -> tuple[Pod, ...]:
    """Return two replicas, whose sidecars count."""
    return tuple(with_sidecars(subject(proxy, name=name)) for name in ("p0", "p1"))


def attempts(scene: Scene) -> list[Decision]:
    """Return the calls of a round."""
    return [d for d in scene.played().decisions if d.action in {Action.RESIZE, Action.EVICT}]


@pytest.mark.parametrize("mode", [IPOR, IN_PLACE])
def test_a_sidecar_out_of_its_bounds_is_resized_and_a_plain_init_container_is_not(mode: UpdateMode) -> None:
    """Spec: beyond:B-16, case:26, updater:K-24."""
    first = attempts(Scene(vpa_of(mode, *ENTRIES), pair(), settings=GUARDED))[0]
    assert (first.action, first.reason) == (Action.RESIZE, Reason.OUTSIDE_BOUNDS)
    assert first.patches is not None
    sent = [(each.verb.value, each.path, each.value) for each in first.patches.resize]
    assert sent == [
        ("test", "/metadata/uid", "uid-p0"),
        ("test", "/metadata/generation", 1),
        ("test", "/spec/containers/0/name", "app"),
        ("test", "/spec/initContainers/1/name", "proxy"),
        ("add", "/spec/containers/0/resources/requests/cpu", "250m"),
        ("add", "/spec/containers/0/resources/requests/memory", "300Mi"),
        ("add", "/spec/initContainers/1/resources/requests/cpu", "250m"),
        ("add", "/spec/initContainers/1/resources/requests/memory", "300Mi"),
    ]


def test_a_sidecar_out_of_its_bounds_is_a_reason_to_evict() -> None:
    """Spec: beyond:B-16, case:26."""
    calls = attempts(Scene(vpa_of(RECREATE, *ENTRIES), pair()))
    assert [(d.action, d.reason) for d in calls] == [(Action.EVICT, Reason.OUTSIDE_BOUNDS)]
    assert attempts(Scene(vpa_of(RECREATE, *ENTRIES), pair("250m/300Mi"))) == []


@pytest.mark.parametrize("mode", [IPOR, RECREATE])
def test_upstream_leaves_a_pod_alone_whose_sidecar_alone_is_off(mode: UpdateMode) -> None:
    """Spec: case:26, beyond:B-16 off."""
    pods = tuple(subject(name=name) for name in ("p0", "p1"))
    assert attempts(Scene(vpa_of(mode, *ENTRIES), pods, settings=AS_UPSTREAM)) == []


def test_a_sidecar_that_admission_did_not_see_does_not_count() -> None:
    """Spec: beyond:B-16, updater P-4: such as one that another webhook has injected later."""
    pods = tuple(annotated(each, vpaObservedContainers="app") for each in pair())
    assert attempts(Scene(vpa_of(RECREATE, *ENTRIES), pods)) == []


def test_a_quick_oom_of_a_sidecar_counts() -> None:
    """Spec: beyond:B-16, updater P-6."""
    ended = Termination("OOMKilled", NOW - 2 * MINUTE, NOW - MINUTE)
    statuses = (ContainerStatus("setup"), ContainerStatus("proxy", last_terminated=ended))
    as_decoded = replace(subject("250m/300Mi"), init_statuses=statuses)
    given_circumstances = circumstances(vpa_of(RECREATE, *ENTRIES))
    assert is_quick_oom(with_sidecars(as_decoded), given_circumstances)
    assert not is_quick_oom(as_decoded, given_circumstances)
    of_setup = replace(as_decoded, init_statuses=(ContainerStatus("setup", last_terminated=ended),))
    assert not is_quick_oom(with_sidecars(of_setup), given_circumstances)


def restarts(init: Container) -> Container:
    """Return a container that restarts for a resize of memory."""
    return replace(init, resize_policy=(ResizePolicy("memory", restarts_container=True),))


@pytest.mark.parametrize(
    ("row", "inits", "free"),
    [
        ("beyond:B-16 sidecar", (sidecar("proxy"),), True),
        ("beyond:B-16 sidecar that restarts", (restarts(sidecar("proxy")),), False),
        ("beyond:B-16 plain init container", (restarts(SETUP),), True),
    ],
)
def test_a_sidecar_that_restarts_makes_a_resize_a_disruption(
    row: str, inits: tuple[Container, ...], free: bool
) -> None:
    given_pod = with_init_containers(pod(container("app")), *inits)
    assert is_restart_free(with_sidecars(given_pod)) is free, row
    assert is_restart_free(given_pod), "updater:C-4"


def test_pods_whose_sidecars_restart_are_resized_within_the_budget() -> None:
    """Spec: beyond:B-16, updater C-4."""
    found: dict[str, int] = {}
    for name, init in (("quiet", sidecar("proxy", "100m/200Mi")), ("loud", restarts(sidecar("proxy", "100m/200Mi")))):
        pods = (with_init_containers(pod(container("app", "100m/200Mi"), name=f"p{n}"), init) for n in range(3))
        scene = Scene(vpa_of(IPOR, *ENTRIES), tuple(map(with_sidecars, pods)), settings=SKIPPING)
        found[name] = scene.played().count(Action.RESIZE)
    assert found == {"quiet": 3, "loud": 1}


@pytest.mark.parametrize(
    ("row", "other"),
    [
        (
            "beyond:B-16 another amount",
            (replace(SETUP, resources=container("x", "2/2Gi", "2/2Gi").resources), sidecar("s")),
        ),
        ("beyond:B-16 another order", (sidecar("s"), SETUP)),
        ("beyond:B-16 none", (sidecar("s"),)),
    ],
)
def test_pods_whose_totals_differ_are_assessed_apart(row: str, other: tuple[Container, ...]) -> None:
    base = pod(container("app", "1/1Gi", "1/1Gi"))
    shared = Assessor(circumstances(vpa_of(RECREATE, *ENTRIES)))
    first = shared.of(with_sidecars(with_init_containers(base, SETUP, sidecar("s"))))
    assert shared.of(with_sidecars(with_init_containers(base, *other))) is not first, row
    assert shared.of(with_sidecars(with_init_containers(base, SETUP, sidecar("s")))) is first, row


def test_totals_of_a_pod_reach_the_patch() -> None:
    """Spec: beyond:B-16: beside an init container of three cores a sidecar may have one of four."""
    limits: tuple[LimitRangeItem, ...] = (limit_range(LimitType.POD, maximum="4/-"),)
    vpa = vpa_of(IPOR, *(recommended(name, "2/1Gi") for name in ("app", "side")))
    base = pod(container("app", "1/1Gi", "1/1Gi"))
    inits = (sidecar("side", "1/1Gi", "1/1Gi"), container("init", "3/1Gi", "3/1Gi"))
    pods = tuple(with_sidecars(with_init_containers(replace(base, name=n), *inits)) for n in ("p0", "p1"))
    first = attempts(Scene(vpa, pods, limits=limits))[0]
    assert first.patches is not None
    cpu = {each.path: each.value for each in first.patches.resize if each.path.endswith("requests/cpu")}
    assert cpu == {
        "/spec/containers/0/resources/requests/cpu": "2",
        "/spec/initContainers/0/resources/requests/cpu": "1",
    }


def test_a_guarded_patch_knows_a_sidecar_by_its_place() -> None:
    """Spec: beyond:B-16, beyond:B-31."""
    patches = in_place_patches(with_sidecars(subject()), (), is_guarded=True)
    operations = [each.as_json() for each in patches.resize]
    tree = {
        "metadata": {"uid": "uid-p0", "generation": 1},
        "spec": {"containers": [{"name": "app"}], "initContainers": [{"name": "setup"}, {"name": "proxy"}]},
    }
    assert jsonpatch.apply_patch(tree, operations) == tree
    tree["spec"] = {"containers": [{"name": "app"}], "initContainers": [{"name": "proxy"}, {"name": "setup"}]}
    with pytest.raises(jsonpatch.JsonPatchTestFailed):
        jsonpatch.apply_patch(tree, operations)


SIZES = st.sampled_from(["-", "100m/200Mi", "250m/300Mi", "600m/-", "-/2Gi"])


@given(app=SIZES, proxy=SIZES, mode=st.sampled_from([IPOR, IN_PLACE, RECREATE]), oom=st.booleans())
def test_a_sidecar_is_judged_as_it_would_be_among_the_regular_containers(
    app: str, proxy: str, mode: UpdateMode, *, oom: bool
) -> None:
    """Spec: beyond:B-16: same decisions, same amounts; only the place in the patch differs."""
    beside: list[Pod] = []
    among: list[Pod] = []
    for name in ("p0", "p1"):
        one = with_sidecars(with_init_containers(pod(container("app", app), name=name), sidecar("proxy", proxy)))
        other = pod(container("app", app), container("proxy", proxy), name=name)
        ended = Termination("OOMKilled", NOW - 2 * MINUTE, NOW - MINUTE)
        statuses = (ContainerStatus("proxy", last_terminated=ended),) if oom else ()
        beside.append(replace(one, statuses=statuses))
        among.append(replace(other, statuses=statuses))
    vpa = vpa_of(mode, *ENTRIES[:2])
    ours, theirs = (Scene(vpa, tuple(pods)).played() for pods in (beside, among))
    assert ours.said == theirs.said
    for mine, its in zip(ours.decisions, theirs.decisions, strict=True):
        if mine.patches is not None and its.patches is not None:
            moved = [
                (each.path.replace("/spec/initContainers/0/", "/spec/containers/1/"), each.value)
                for each in mine.patches.resize
            ]
            assert moved == [(each.path, each.value) for each in its.patches.resize]

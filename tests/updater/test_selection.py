"""Which VPAs take part, and which pods are theirs."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from autoscaling.matching import EVERYTHING, NOTHING, SelectingVpa, Selector, of_labels
from autoscaling.ownership import ControllerKey, ScaleAnswer
from autoscaling.pod import Owner, Pod, PodPhase
from autoscaling.vpa import ContainerPolicy, StartupBoost, TargetRef, UpdateMode, Vpa
from autoscaling.workload import Workload
from tests.builders import T0
from tests.updater.situations import (
    AUTO,
    DEPLOYMENT,
    IN_PLACE,
    INITIAL,
    IPOR,
    OFF,
    RECREATE,
    SELECTOR,
    UPSTREAM,
    owned,
    pending,
    replica_set,
    small,
    vpa_of,
)
from updater.decision import Reason
from updater.selection import Selection, is_live, select
from updater.settings import Settings
from updater.snapshot import Snapshot

BOOSTED_CONTAINER = (ContainerPolicy("c", startup_boost=StartupBoost()),)


def snapshot(
    *vpas: Vpa,
    pods: tuple[Pod, ...] = (small(),),
    selector: Selector = SELECTOR,
    workloads: tuple[Workload, ...] = (DEPLOYMENT, replica_set(1)),
    scales: dict[ControllerKey, ScaleAnswer] | None = None,
) -> Snapshot:
    """Return a cluster."""
    return Snapshot.of((SelectingVpa(v, selector) for v in vpas), pods, workloads, scales or {}, ())


def pairs(selection: Selection) -> dict[str, list[str]]:
    """Return the names of pods by VPA."""
    return {c.vpa.name: [m.pod.name for m in c.members] for c in selection.controlled}


@pytest.mark.parametrize(
    ("row", "vpa", "reason"),
    [
        ("updater:M-8", vpa_of(RECREATE), None),
        ("updater:M-8", vpa_of(AUTO), None),
        ("updater:M-8", vpa_of(IPOR), None),
        ("updater:M-8", vpa_of(IN_PLACE), None),
        ("updater:M-8", vpa_of(None), None),
        ("updater:M-8", replace(vpa_of(None), update_policy=None), None),
        ("updater:D-4", vpa_of(OFF), Reason.UPDATES_OFF),
        ("updater:D-4", vpa_of(INITIAL), Reason.NEW_PODS_ONLY),
        ("updater:M-8", replace(vpa_of(OFF), startup_boost=StartupBoost()), None),
        ("updater:M-8", vpa_of(INITIAL, policies=BOOSTED_CONTAINER), None),
        ("updater:M-8", replace(vpa_of(RECREATE), namespace="ignored"), Reason.NAMESPACE_IGNORED),
        ("updater:M-8", replace(vpa_of(OFF), namespace="ignored"), Reason.NAMESPACE_IGNORED),
    ],
)
def test_vpas_that_take_part(row: str, vpa: Vpa, reason: Reason | None) -> None:
    # Whatever the gate of the boost says, which is off here.
    selection = select(snapshot(vpa), Settings(ignored_namespaces=frozenset({"ignored"})))
    assert [d.reason for d in selection.dropped] == ([] if reason is None else [reason])
    assert (selection.live_uids is None) is (reason is not None)
    assert pairs(selection) == ({"v": ["p0"]} if reason is None else {})


def test_an_unresolved_target_is_dropped_after_the_mode_was_looked_at() -> None:
    found = select(snapshot(vpa_of(RECREATE), vpa_of(OFF), selector=NOTHING), Settings())
    assert [d.reason for d in found.dropped] == [Reason.TARGET_UNRESOLVED, Reason.UPDATES_OFF]


@pytest.mark.parametrize(
    ("row", "subject", "live"),
    [
        ("updater:D-2", small(), True),
        ("updater:D-2", pending(small()), True),
        ("updater:D-2", replace(small(), phase=PodPhase.UNKNOWN), True),
        ("updater:D-2", replace(small(), is_terminating=True), False),
        ("updater:D-2", replace(pending(small()), node_name=""), False),
        ("updater:D-2", replace(small(), phase=PodPhase.SUCCEEDED), False),
        ("updater:D-2", replace(small(), phase=PodPhase.FAILED), False),
    ],
)
def test_live_pods(row: str, subject: Pod, live: bool) -> None:
    assert is_live(subject) is live
    selection = select(snapshot(vpa_of(RECREATE), pods=(subject,)), Settings())
    assert pairs(selection) == ({"v": ["p0"]} if live else {})
    assert selection.live_uids == (frozenset({"uid-p0"}) if live else frozenset())


AS_UPSTREAM = Settings(behaviour=UPSTREAM)
UNSAID = Owner("v1", "Note", "n")
OTHER = Owner("v1", "Note", "n", controller=False)
OWNER = small().owners[0]


@pytest.mark.parametrize(
    ("row", "owners", "controlled"),
    [
        ("updater:D-3", (), False),
        ("updater:D-3", (UNSAID,), False),
        ("updater:D-3", (OTHER,), False),
        ("updater:D-3", (Owner("v1", "Node", "node1", controller=True),), False),
        ("updater:D-3", (Owner("apps/v1", "ReplicaSet", "gone", controller=True),), False),
        # Upstream crashes at the first of these.
        ("updater:K-31a", (UNSAID, OWNER), True),
        ("updater:K-31a", (OWNER, UNSAID), True),
        ("updater:K-31a", (OTHER, UNSAID, OWNER), True),
    ],
)
def test_pods_without_a_controller_are_invisible(row: str, owners: tuple[Owner, ...], controlled: bool) -> None:
    subject = replace(small(), owners=owners)
    assert pairs(select(snapshot(vpa_of(RECREATE), pods=(subject,)), Settings())) == (
        {"v": ["p0"]} if controlled else {}
    )


@pytest.mark.parametrize(
    ("row", "vpa", "controlled"),
    [
        ("updater:M-9", vpa_of(RECREATE), True),
        ("updater:M-9", replace(vpa_of(RECREATE), target_ref=TargetRef("Deployment", "d", "other/v9")), True),
        ("updater:M-9", replace(vpa_of(RECREATE), target_ref=TargetRef("Deployment", "e")), False),
        ("updater:M-9", replace(vpa_of(RECREATE), target_ref=TargetRef("ReplicaSet", "rs")), False),
        ("updater:M-9", replace(vpa_of(RECREATE), target_ref=None), False),
        ("updater:M-9", replace(vpa_of(RECREATE), namespace="other"), False),
    ],
)
def test_the_target_is_the_topmost_controller(row: str, vpa: Vpa, controlled: bool) -> None:
    assert pairs(select(snapshot(vpa), AS_UPSTREAM)) == ({"v": ["p0"]} if controlled else {})


def test_the_selector_has_to_match_too() -> None:
    assert pairs(select(snapshot(vpa_of(RECREATE), selector=of_labels({"app": "b"})), Settings())) == {}


def named(name: str, age: timedelta, mode: UpdateMode = RECREATE) -> Vpa:
    """Return a VPA of an age."""
    return replace(vpa_of(mode), name=name, created=T0 - age)


DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("row", "vpas", "winner"),
    [
        ("updater:M-9", (named("a", DAY), named("b", 2 * DAY)), "b"),
        ("updater:M-9", (named("b", DAY), named("a", DAY)), "a"),
        # A VPA that takes no part wins nothing, however old it is.
        ("updater:M-9", (named("a", DAY), named("b", 2 * DAY, OFF)), "a"),
    ],
)
def test_the_strongest_vpa_wins(row: str, vpas: tuple[Vpa, ...], winner: str) -> None:
    for settings in (AS_UPSTREAM, Settings()):
        assert pairs(select(snapshot(*vpas), settings)) == {winner: ["p0"]}


@pytest.mark.parametrize(
    ("row", "vpas", "expected", "upstream"),
    [
        # The webhook would give the pod's replacement to the older one, whose mode leaves running pods alone.
        # So both agree here (admission:13.15).
        ("updater:K-27", (named("a", DAY), named("b", 2 * DAY, INITIAL)), {}, {"a": ["p0"]}),
        ("updater:K-27", (named("a", 2 * DAY), named("b", DAY, INITIAL)), {"a": ["p0"]}, {"a": ["p0"]}),
        # One in mode Off acts on nothing, not even where a boost keeps it in the round.
        ("updater:K-27", (named("a", DAY), named("b", 2 * DAY, OFF)), {"a": ["p0"]}, {"a": ["p0"]}),
        (
            "updater:K-27",
            (named("a", DAY), replace(named("b", 2 * DAY, OFF), startup_boost=StartupBoost())),
            {"a": ["p0"]},
            {"b": ["p0"]},
        ),
        (
            "updater:K-27",
            (replace(named("b", 2 * DAY, OFF), startup_boost=StartupBoost()),),
            {"b": ["p0"]},
            {"b": ["p0"]},
        ),
    ],
)
def test_the_controlling_vpa_is_chosen_before_modes_are_looked_at(
    row: str, vpas: tuple[Vpa, ...], expected: dict[str, list[str]], upstream: dict[str, list[str]]
) -> None:
    """Spec: beyond:B-30."""
    assert pairs(select(snapshot(*vpas), Settings())) == expected
    assert pairs(select(snapshot(*vpas), AS_UPSTREAM)) == upstream


def of_group(api_version: str, kind: str = "Deployment", name: str = "d") -> Vpa:
    """Return a VPA whose target is of an API group."""
    return replace(vpa_of(RECREATE), target_ref=TargetRef(kind, name, api_version))


@pytest.mark.parametrize(
    ("row", "vpa", "expected"),
    [
        ("updater:K-28", of_group("apps/v1"), True),
        ("updater:K-28", of_group("apps/v1beta1"), True),
        ("updater:K-28", of_group("extensions/v1beta1"), True),
        ("updater:K-28", of_group(""), True),
        ("updater:K-28", of_group("example.com/v1"), False),
        ("updater:K-28", of_group("v1"), False),
    ],
)
def test_a_target_is_told_by_its_group_too(row: str, vpa: Vpa, *, expected: bool) -> None:
    """Spec: beyond:B-30."""
    assert pairs(select(snapshot(vpa), Settings())) == ({"v": ["p0"]} if expected else {})
    assert pairs(select(snapshot(vpa), AS_UPSTREAM)) == {"v": ["p0"]}


def test_custom_kinds_of_the_same_name_are_told_apart() -> None:
    """Spec: beyond:B-30, updater:K-28."""
    scales = {ControllerKey("default", "Gang", "g", "one.com/v1"): ScaleAnswer(is_found=True)}
    pods = (owned(small(), "Gang", "g", "one.com/v1"),)
    one, two = of_group("one.com/v2", "Gang", "g"), replace(of_group("two.com/v1", "Gang", "g"), name="other")
    assert pairs(select(snapshot(one, two, pods=pods, scales=scales), Settings())) == {"v": ["p0"]}
    assert pairs(select(snapshot(two, pods=pods, scales=scales), Settings())) == {}


@pytest.mark.parametrize(
    ("row", "vpas", "expected"),
    [
        (
            "case:23",
            (named("a", DAY), named("b", 2 * DAY)),
            {"a": "b; as the older one b", "b": "a; as the older one this"},
        ),
        ("case:23", (named("a", DAY, INITIAL), named("b", DAY)), {"a": "b; as the older one this", "b": "a; as"}),
        ("case:23", (named("a", DAY), named("b", 2 * DAY, OFF)), {}),
        ("case:23", (named("a", DAY), replace(named("b", DAY), target_ref=TargetRef("Deployment", "e"))), {}),
        ("case:23", (named("a", DAY), replace(named("b", DAY), namespace="other")), {}),
        ("case:23", (named("a", DAY), replace(of_group("apps/v1beta1"), name="b")), {"a": "b; as", "b": "a; as"}),
        ("case:23", (named("a", DAY), replace(of_group("example.com/v1", "Gang"), name="b")), {}),
    ],
)
def test_vpas_that_share_a_target_are_told(row: str, vpas: tuple[Vpa, ...], expected: dict[str, str]) -> None:
    """Spec: beyond:B-30."""
    dropped = select(snapshot(*vpas), Settings()).dropped
    found = {d.vpa.name: d.detail for d in dropped if d.reason is Reason.TARGET_CONFLICT}
    assert found.keys() == expected.keys()
    assert all(found[name].startswith(text) for name, text in expected.items())
    assert not any(d.reason is Reason.TARGET_CONFLICT for d in select(snapshot(*vpas), AS_UPSTREAM).dropped)


def test_custom_controllers_count_where_they_scale() -> None:
    gang = ControllerKey("default", "Gang", "g", "example.com/v1")
    vpa = replace(vpa_of(RECREATE), target_ref=TargetRef("Gang", "g"))
    pods = (owned(small(), "Gang", "g", "example.com/v1"),)
    for found, expected in ((True, {"v": ["p0"]}), (False, {})):
        scales = {gang: ScaleAnswer(is_found=found)}
        assert pairs(select(snapshot(vpa, pods=pods, scales=scales), Settings())) == expected
    # A controller whose scale has not been read yet leaves its pods out for now.
    assert pairs(select(snapshot(vpa, pods=pods), Settings())) == {}


def test_groups_are_direct_controllers_of_whatever_api_version() -> None:
    pods = (small("p0"), owned(small("p1"), "ReplicaSet", "rs", "apps/v2"), owned(small("p2"), "ReplicaSet", "new"))
    workloads = (DEPLOYMENT, replica_set(1), replica_set(1, "new"))
    (controlled,) = select(snapshot(vpa_of(RECREATE), pods=pods, workloads=workloads), Settings()).controlled
    assert [str(m.group) for m in controlled.members] == [
        "ReplicaSet default/rs",
        "ReplicaSet default/rs",
        "ReplicaSet default/new",
    ]


def test_runs_of_a_cron_job_are_told_by_their_owners() -> None:
    """Spec: case:22, beyond:B-19: the selector of such a target leaves all to the owners."""
    cron_job = Workload("CronJob", "default", "nightly", NOTHING, "batch/v1")
    job = Workload(
        "Job", "default", "run", SELECTOR, owners=(Owner("batch/v1", "CronJob", "nightly", controller=True),)
    )
    nightly = replace(vpa_of(RECREATE), target_ref=TargetRef("CronJob", "nightly", "batch/v1"))
    of_run = replace(owned(small("p0"), "Job", "run", "batch/v1"), labels={})
    cluster = snapshot(nightly, pods=(of_run, small("p1")), selector=EVERYTHING, workloads=(cron_job, job, DEPLOYMENT))
    assert pairs(select(cluster, Settings())) == {nightly.name: ["p0"]}

"""Which pods share histograms, and which VPA gets them, told by controllers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from autoscaling.behaviour import Behaviour, Profile
from autoscaling.matching import NOTHING, Selector, of_labels, parse_selector
from autoscaling.ownership import ControllerKey, OwnerNotCachedError, ScaleAnswer
from autoscaling.pod import Owner, Pod
from autoscaling.targets import KnownControllers, ResolvedTarget, WorkloadKey, resolve_target
from autoscaling.vpa import TargetRef, UpdateMode, UpdatePolicy, Vpa
from autoscaling.workload import Workload
from recommender.aggregation import UPDATE_MODES, Basis, by_all_labels
from recommender.cluster_model import ClusterModel
from recommender.label_sets import TrackedVpa
from recommender.owner_keys import CONTROLLER, OwnerKeys, SharingRules, is_of_runs
from recommender.settings import ModelSettings
from tests.builders import T0
from tests.recommender.scene import MINUTE, columns, filled
from tests.recommender.scene import pod as bare_pod
from tests.recommender.scene import vpa as bare_vpa

APP = of_labels({"app": "a"})
EVENKEEL = SharingRules(by_controller=True, runs_by_owner=True)
BY_LABELS = SharingRules(by_controller=False, runs_by_owner=False)


def owned(kind: str, name: str, api_version: str = "apps/v1") -> tuple[Owner, ...]:
    return (Owner(api_version, kind, name, controller=True),)


def workload(kind: str, name: str, selector: Selector = APP, owners: tuple[Owner, ...] = ()) -> Workload:
    return Workload(kind, "default", name, selector, "apps/v1", owners=owners)


def pod(name: str, owners: tuple[Owner, ...] = (), **labels: str) -> Pod:
    return replace(bare_pod(name, labels=labels or {"app": "a"}), uid=f"uid-{name}", owners=owners)


@dataclass
class World:
    """Controllers, and a model that goes by them."""

    rules: SharingRules = EVENKEEL
    workloads: dict[WorkloadKey, Workload] = field(default_factory=dict)
    scales: dict[ControllerKey, ScaleAnswer] = field(default_factory=dict)
    settings: ModelSettings = field(default_factory=ModelSettings)
    keys: OwnerKeys = field(init=False)
    model: ClusterModel = field(init=False)

    def __post_init__(self) -> None:
        self.keys = OwnerKeys(self.rules, self.known)
        self.model = ClusterModel(self.settings, self.keys)

    def known(self) -> KnownControllers:
        return KnownControllers(self.workloads, self.scales, self.rules.runs_by_owner)

    def put(self, *workloads: Workload) -> World:
        self.workloads |= {(each.namespace, each.kind, each.name): each for each in workloads}
        return self

    def follow(self, name: str, target: TargetRef) -> TrackedVpa:
        """Let the model see a VPA as a round does."""
        resolved = resolve_target(self.vpa(name, target), self.known())
        tracked = self.model.observe_vpa(self.vpa(name, target), self.keys.selector_of(resolved))
        tracked.controllers, tracked.pod_selector = resolved.controllers, resolved.selector
        return tracked

    def vpa(self, name: str, target: TargetRef) -> Vpa:
        return replace(bare_vpa(name), target_ref=target)

    def observe(self, *pods: Pod) -> World:
        """Let the model see pods as a round does."""
        for controller in self.keys.doubtful(pods):
            self.keys.settle(controller, self.known())
        for each in pods:
            self.model.observe_pod(each, T0)
        return self

    def row(self, name: str, container: str = "main") -> int:
        row = self.model.row_of("default", name, container)
        assert row is not None
        return row

    def aggregate(self, name: str) -> int:
        return int(self.model.containers.aggregate[self.row(name)])

    def cpu(self, name: str, minute: int, millicores: int) -> None:
        self.model.take_cpu(columns([self.row(name)], [T0 + minute * MINUTE], [millicores]), T0)

    def memory(self, name: str, minute: int, amount: int) -> None:
        self.model.take_memory(columns([self.row(name)], [T0 + minute * MINUTE], [amount]), T0)


def deployment(world: World, name: str = "web", selector: Selector = APP) -> World:
    set_name = f"{name}-1"
    return world.put(
        workload("Deployment", name, selector),
        workload("ReplicaSet", set_name, selector, owned("Deployment", name)),
    )


WEB = TargetRef("Deployment", "web", "apps/v1")
SET_1 = owned("ReplicaSet", "web-1")


@pytest.mark.parametrize(
    ("row", "behaviour", "expected"),
    [
        ("evenkeel", Behaviour.of(Profile.EVENKEEL), EVENKEEL),
        ("upstream", Behaviour.of(Profile.UPSTREAM), BY_LABELS),
        (
            "beyond:B-19 alone",
            Behaviour.of(Profile.UPSTREAM).with_overrides({"jobs_and_cronjobs_match_by_owner": "true"}),
            SharingRules(by_controller=False, runs_by_owner=True),
        ),
    ],
)
def test_what_a_behaviour_means(row: str, behaviour: Behaviour, expected: SharingRules) -> None:
    assert SharingRules.of(behaviour) == expected, row


def test_pods_of_one_workload_share_whatever_their_labels() -> None:
    """Spec: beyond:B-3, recommender:13.12."""
    world = deployment(World()).put(workload("ReplicaSet", "web-2", APP, owned("Deployment", "web")))
    tracked = world.follow("v", WEB)
    one = pod("p1", SET_1, app="a", **{"pod-template-hash": "1", "version": "1"})
    two = pod("p2", owned("ReplicaSet", "web-2"), app="a", **{"pod-template-hash": "2", "version": "2"})
    world.observe(one, two)
    assert world.aggregate("p1") == world.aggregate("p2")
    assert tracked.linked == {"main": [world.aggregate("p1")]}
    assert (tracked.pod_count, len(world.model.matching), world.model.aggregate_count) == (2, 1, 1)


def test_upstreams_way_has_one_history_for_each_set_of_labels() -> None:
    world = deployment(World(BY_LABELS))
    tracked = world.follow("v", WEB)
    one, two = (pod(f"p{n}", SET_1, app="a", **{"pod-template-hash": str(n)}) for n in (1, 2))
    world.observe(one, two)
    assert world.keys(one) == by_all_labels(one)
    assert tracked.selector is tracked.pod_selector
    assert (len(tracked.linked["main"]), len(world.keys)) == (2, 0)
    assert world.keys.doubtful([one]) == []


def test_replicas_that_share_their_labels_share_their_key() -> None:
    """Spec: recommender:3.1; performance R-6: the key that is kept is that of no other labels."""
    keys = World(BY_LABELS).keys
    first, other = pod("p", app="a", tier="web"), pod("r", app="b")
    assert keys(first) == keys(replace(first, name="q")) == by_all_labels(first)
    assert keys(other) == by_all_labels(other)
    assert keys(replace(first, namespace="elsewhere")) == by_all_labels(first)


def test_two_workloads_with_the_same_labels_are_kept_apart() -> None:
    """Spec: case:23."""
    world = World().put(workload("StatefulSet", "sts0"), workload("StatefulSet", "sts1"))
    zero, one = (world.follow(f"v{n}", TargetRef("StatefulSet", f"sts{n}", "apps/v1")) for n in (0, 1))
    world.observe(*(pod(f"sts{s}-{n}", owned("StatefulSet", f"sts{s}"), app="a") for s in (0, 1) for n in range(s + 1)))
    assert (zero.pod_count, one.pod_count) == (1, 2)
    assert zero.linked == {"main": [world.aggregate("sts0-0")]}
    assert one.linked == {"main": [world.aggregate("sts1-0")]}
    assert world.aggregate("sts0-0") != world.aggregate("sts1-0")
    assert not zero.is_shared


@pytest.mark.parametrize(
    ("row", "rules", "found"),
    [("recommender:13.9", EVENKEEL, ("INITIAL", True)), ("upstream", BY_LABELS, (None, False))],
)
def test_a_vpa_that_goes_takes_nothing_from_another_of_the_same_labels(
    row: str, rules: SharingRules, found: tuple[str | None, bool]
) -> None:
    world = World(rules).put(workload("StatefulSet", "sts0"), workload("StatefulSet", "sts1"))
    for number, mode in enumerate((UpdateMode.INITIAL, UpdateMode.OFF)):
        target = TargetRef("StatefulSet", f"sts{number}", "apps/v1")
        seen = replace(world.vpa(f"v{number}", target), update_policy=UpdatePolicy(mode))
        resolved = resolve_target(seen, world.known())
        world.model.observe_vpa(seen, world.keys.selector_of(resolved))
    world.observe(*(pod(f"sts{n}-0", owned("StatefulSet", f"sts{n}"), app="a") for n in (0, 1)))
    row_of_first, aggregates = world.aggregate("sts0-0"), world.model.aggregates

    def state() -> tuple[str | None, bool]:
        mode = UPDATE_MODES[int(aggregates.update_mode[row_of_first])]
        return None if mode is None else mode.name, bool(aggregates.is_under_vpa[row_of_first])

    # Where both select all pods the one that was linked last has the say.
    assert state() == (("INITIAL", True) if rules is EVENKEEL else ("OFF", True)), row
    world.model.forget_vpa("default", "v1")
    assert state() == found, row


def test_a_selector_may_name_a_label_that_changes_with_every_run() -> None:
    """Spec: beyond:B-3: a Job's own selector asks for its controller-uid; here owners of Jobs do not count."""
    rules = SharingRules(by_controller=True, runs_by_owner=False)
    world = World(rules).put(workload("Job", "once", of_labels({"controller-uid": "7"})))
    tracked = world.follow("v", TargetRef("Job", "once", "batch/v1"))
    world.observe(
        pod("once-abcde", owned("Job", "once"), **{"controller-uid": "7"}),
        pod("once-fghij", owned("Job", "once"), **{"controller-uid": "8"}),
    )
    assert tracked.pod_count == 1
    assert tracked.linked == {"main": [world.aggregate("once-abcde")]}
    assert world.aggregate("once-fghij") != world.aggregate("once-abcde")


def cron_job(world: World, selector: Selector = NOTHING, runs: int = 1) -> World:
    world.put(workload("CronJob", "nightly", selector))
    for run in range(runs):
        job = f"nightly-2930000{run}"
        world.put(workload("Job", job, of_labels({"controller-uid": str(run)}), owned("CronJob", "nightly")))
    return world


def run_pod(run: int) -> Pod:
    return pod(f"nightly-2930000{run}-abcde", owned("Job", f"nightly-2930000{run}"), **{"controller-uid": str(run)})


NIGHTLY = TargetRef("CronJob", "nightly", "batch/v1")


@pytest.mark.parametrize(
    ("row", "rules", "selector", "pods"),
    [
        ("case:22 no labels", EVENKEEL, NOTHING, 3),
        ("case:22 other labels by now", EVENKEEL, APP, 3),
        ("case:22 alone", SharingRules(by_controller=False, runs_by_owner=True), NOTHING, 3),
        ("upstream", BY_LABELS, NOTHING, 0),
        ("beyond:B-3 alone", SharingRules(by_controller=True, runs_by_owner=False), NOTHING, 0),
    ],
)
def test_the_runs_of_a_cron_job_are_told_by_their_owners(
    row: str, rules: SharingRules, selector: Selector, pods: int
) -> None:
    world = cron_job(World(rules), selector, runs=3)
    tracked = world.follow("v", NIGHTLY)
    others = pod("other", owned("ReplicaSet", "web-1"), app="a")
    deployment(world).observe(*(run_pod(run) for run in range(3)), others)
    assert tracked.pod_count == pods, row
    assert bool(tracked.linked) is bool(pods), row


def test_runs_share_one_history_unless_labels_count() -> None:
    """Spec: beyond:B-19."""
    for rules, histories in ((EVENKEEL, 1), (SharingRules(by_controller=False, runs_by_owner=True), 3)):
        world = cron_job(World(rules), runs=3)
        tracked = world.follow("v", NIGHTLY)
        world.observe(*(run_pod(run) for run in range(3)))
        assert len(tracked.linked["main"]) == histories
        assert all(is_of_runs(label_set.key) for label_set in world.model.matching)


def test_with_labels_for_all_but_jobs_a_deployment_is_told_by_its_selector() -> None:
    world = deployment(World(SharingRules(by_controller=False, runs_by_owner=True)))
    tracked = world.follow("v", WEB)
    nodes_own = pod("static", (Owner("v1", "Node", "n", controller=True),))
    lost = pod("lost", owned("ReplicaSet", "unknown"))
    world.observe(pod("p", SET_1), pod("bare"), lost, nodes_own, pod("x", SET_1, app="b"))
    assert tracked.pod_count == 4
    assert not any(is_of_runs(label_set.key) for label_set in world.model.matching)


def test_a_run_that_outlives_its_job_stays_with_its_cron_job() -> None:
    """Spec: beyond:B-19."""
    world = cron_job(World())
    tracked = world.follow("v", NIGHTLY)
    world.observe(run_pod(0))
    del world.workloads["default", "Job", "nightly-29300000"]
    world.observe(run_pod(0), run_pod(1))
    assert tracked.pod_count == 2
    assert world.aggregate(run_pod(0).name) == world.aggregate(run_pod(1).name)


def test_a_pod_waits_until_the_way_up_is_known_and_brings_along_what_it_has_shown() -> None:
    """Spec: beyond:B-3: a ReplicaSet whose Deployment is not known yet."""
    world = World().put(workload("ReplicaSet", "web-1", APP, owned("Deployment", "web")))
    pods = (pod("p1", SET_1), pod("p2", SET_1))
    world.observe(*pods)
    assert world.keys(pods[0]).basis is Basis.UNSETTLED
    assert world.aggregate("p1") == world.aggregate("p2")
    for minute, name in enumerate(("p1", "p2")):
        world.cpu(name, minute, 100)
        world.memory(name, minute, 10**8)
    deployment(world)
    tracked = world.follow("v", WEB)
    assert tracked.linked == {}
    assert world.keys.doubtful(()) == [ControllerKey("default", "ReplicaSet", "web-1", "apps/v1")]
    world.observe(*pods)
    (row,) = tracked.linked["main"]
    assert world.aggregate("p1") == world.aggregate("p2") == row
    aggregates = world.model.aggregates
    assert int(aggregates.sample_count[row]) == 2
    assert sum(filled(aggregates.memory, row).values()) == pytest.approx(2.0, rel=0.01)
    assert (len(world.model.matching), world.model.aggregate_count, len(aggregates.rows)) == (1, 1, 1)
    world.memory("p1", 3, 10**9)
    assert sum(filled(aggregates.memory, row).values()) == pytest.approx(2.0, rel=0.01), "a peak was replaced"


def test_what_waited_in_vain_leaves_nothing_behind() -> None:
    """Spec: case:39: pods of Jobs that are gone before they were ever known."""
    world = World()
    for number in range(20):
        lost = pod(f"p{number}", owned("Job", f"gone-{number}"))
        world.observe(lost)
        world.cpu(lost.name, number, 100)
        world.model.forget_pod("default", lost.name)
    assert (len(world.model.matching), world.model.aggregate_count, len(world.model.aggregates.rows)) == (0, 0, 0)


def test_a_pod_whose_way_up_was_known_stays_where_it_is() -> None:
    """Spec: beyond:B-3: an owner that cannot be told for a while."""
    world = deployment(World())
    tracked = world.follow("v", WEB)
    world.observe(pod("p", SET_1))
    row = world.aggregate("p")
    del world.workloads["default", "ReplicaSet", "web-1"]
    (controller,) = world.keys.doubtful(())
    assert world.keys.settle(controller, world.known())
    world.observe(pod("p", SET_1, app="b"))
    assert (world.aggregate("p"), tracked.pod_count) == (row, 1)


def test_a_pod_that_changes_its_controller_leaves_its_history_but_takes_its_peak_along() -> None:
    """Spec: beyond:B-3: adoption by another controller."""
    world = deployment(deployment(World()), "api", of_labels({"app": "b"}))
    web, api = world.follow("v", WEB), world.follow("w", TargetRef("Deployment", "api", "apps/v1"))
    world.observe(pod("p", SET_1), pod("q", owned("ReplicaSet", "api-1"), app="b"))
    world.cpu("p", 0, 100)
    world.memory("p", 0, 10**8)
    world.memory("q", 0, 10**8)
    world.observe(pod("p", owned("ReplicaSet", "api-1"), app="b"))
    (old,), (new,) = web.linked["main"], api.linked["main"]
    aggregates = world.model.aggregates
    assert (int(aggregates.sample_count[old]), int(aggregates.sample_count[new])) == (1, 0)
    assert (filled(aggregates.memory, old), len(filled(aggregates.memory, new))) == ({}, 1)
    world.memory("p", 1, 10**9)
    assert len(filled(aggregates.memory, new)) == 2, "only its own peak was replaced"
    assert not world.model.containers.is_held[world.row("p")]


@pytest.mark.parametrize(
    ("row", "owners", "selected"),
    [
        ("bare", (), 0),
        ("not the controller", (Owner("apps/v1", "ReplicaSet", "web-1", controller=False),), 0),
        ("not scalable", (Owner("example.com/v1", "Thing", "t", controller=True),), 0),
        ("a node's", (Owner("v1", "Node", "n", controller=True),), 0),
        ("scalable", (Owner("example.com/v1", "Rollout", "r", controller=True),), 1),
        ("scalable, without a selector", (Owner("example.com/v1", "Rollout", "blank", controller=True),), 0),
    ],
)
def test_pods_that_nothing_or_something_else_controls(row: str, owners: tuple[Owner, ...], selected: int) -> None:
    """Spec: beyond:B-3, case:23."""
    found = ScaleAnswer(is_found=True, selector="app=a")
    scales = {
        ControllerKey("default", "Thing", "t", "example.com/v1"): ScaleAnswer(is_found=False),
        ControllerKey("default", "Rollout", "r", "example.com/v1"): found,
        ControllerKey("default", "Rollout", "r", "example.com/v2"): found,
        ControllerKey("default", "Rollout", "blank", "example.com/v1"): ScaleAnswer(is_found=True),
    }
    world = deployment(World(scales=scales))
    tracked = [world.follow("v", WEB), world.follow("w", TargetRef("Rollout", "r", "example.com/v2"))]
    world.observe(pod("p", owners), pod("p2", owners))
    assert sum(each.pod_count for each in tracked) == 2 * selected, row
    assert world.aggregate("p") == world.aggregate("p2"), row


def test_a_custom_controller_may_select_some_of_its_pods_only() -> None:
    """Spec: beyond:B-3: the selector of a scale."""
    key = ControllerKey("default", "Database", "db", "example.com/v1")
    world = World(scales={key: ScaleAnswer(is_found=True, selector="role=primary")})
    tracked = world.follow("v", TargetRef("Database", "db", "example.com/v1"))
    owners = owned("Database", "db", "example.com/v1")
    first, second = pod("db-0", owners, role="primary"), pod("db-1", owners, role="replica")
    world.observe(first, second)
    assert (tracked.pod_count, tracked.linked) == (1, {"main": [world.aggregate("db-0")]})
    world.observe(replace(second, labels={"role": "primary"}))
    assert (tracked.pod_count, world.aggregate("db-1")) == (2, world.aggregate("db-0"))
    world.scales[key] = ScaleAnswer(is_found=True, selector="role=replica")
    (controller,) = world.keys.doubtful(())
    assert world.keys.settle(controller, world.known()), "another selector"
    world.observe(first, second)
    assert tracked.pod_count == 1


def test_a_scale_that_was_not_looked_up_is_asked_for() -> None:
    world = World()
    asked = pod("p", owned("Rollout", "r", "example.com/v1"))
    (controller,) = world.keys.doubtful([asked])
    with pytest.raises(OwnerNotCachedError):
        world.keys.settle(controller, world.known())
    assert world.keys(asked).basis is Basis.UNSETTLED
    assert len(world.keys) == 0, "nothing is remembered until it is known"


def test_a_controller_is_climbed_from_again_only_where_something_above_it_has_changed() -> None:
    world = deployment(World())
    world.observe(pod("p", SET_1))
    assert world.keys.doubtful([pod("p", SET_1)]) == []
    world.put(replace(world.workloads["default", "Deployment", "web"], replicas=3))
    (controller,) = world.keys.doubtful(())
    assert not world.keys.settle(controller, world.known()), "more replicas make no other owner"
    assert world.keys.doubtful(()) == []


def test_controllers_without_pods_are_forgotten() -> None:
    """Spec: case:39."""
    world = cron_job(World())
    for number in range(500):
        job = f"nightly-{29300000 + number}"
        world.put(workload("Job", job, owners=owned("CronJob", "nightly")))
        alive = pod(f"{job}-abcde", owned("Job", job))
        world.observe(alive)
        world.keys.prune([alive])
        del world.workloads["default", "Job", job]
    assert len(world.keys) <= 67


def test_a_target_that_cannot_be_used_or_is_not_covered_keeps_its_selector() -> None:
    keys = World(SharingRules(by_controller=False, runs_by_owner=True)).keys
    web, job = (ControllerKey("default", kind, "x", "v1") for kind in ("Deployment", "Job"))
    assert keys.selector_of(ResolvedTarget(APP, "", (web,))) is APP
    assert keys.selector_of(ResolvedTarget(APP, "", (job,))) == of_labels({CONTROLLER: "batch/Job/x"})
    assert keys.selector_of(ResolvedTarget(NOTHING, "gone", (job,))) is NOTHING
    assert keys.selector_of(ResolvedTarget(APP)) is APP


def test_pods_of_the_past_are_given_to_whom_they_belonged() -> None:
    """Spec: beyond:B-3, case:22, case:23."""
    world = cron_job(World()).put(workload("StatefulSet", "sts0"), workload("StatefulSet", "sts1"))
    tracked = [
        world.follow("c", NIGHTLY),
        *(world.follow(f"v{n}", TargetRef("StatefulSet", f"sts{n}", "apps/v1")) for n in (0, 1)),
    ]
    for name in ("nightly-29300000-abcde", "sts0-0", "sts1-0", "sts1-1", "stranger"):
        world.model.observe_pod(replace(pod(name), uid=""), T0)
    assert [each.pod_count for each in tracked] == [1, 1, 2]
    world.observe(pod("sts0-0", owned("StatefulSet", "sts0")))
    assert tracked[1].pod_count == 1, "the living pod goes on where its past was"


def test_pods_of_the_past_that_belonged_to_nobody_share_by_what_does_not_change() -> None:
    world = World()
    one, two = (replace(pod(f"x{n}", (), app="z", **{"pod-template-hash": str(n)}), uid="") for n in (1, 2))
    assert world.keys(one) == world.keys(two)
    assert world.keys(one).labels == {}
    alone = World(SharingRules(by_controller=False, runs_by_owner=True))
    assert alone.keys(one) == by_all_labels(one)


def test_targets_of_other_kinds_own_pods_of_the_past_as_well() -> None:
    key = ControllerKey("default", "Rollout", "r", "example.com/v1")
    world = World(scales={key: ScaleAnswer(is_found=True, selector="app=a")})
    world.keys.targets = ((key, parse_selector("app=a")),)
    assert world.keys(replace(pod("r-1"), uid="")).labels == {CONTROLLER: "example.com/Rollout/r"}


def test_the_memory_saver_leaves_out_what_is_not_known_yet() -> None:
    world = World(settings=ModelSettings(memory_saver=True))
    world.put(workload("ReplicaSet", "web-1", APP, owned("Deployment", "web")))
    assert not world.model.observe_pod(pod("p", SET_1), T0)
    deployment(world)
    world.follow("v", WEB)
    world.observe(pod("p", SET_1))
    assert ("default", "p") in world.model.pods


def test_selectors_of_former_targets_are_forgotten() -> None:
    keys = World().keys
    first = keys.selector_of(ResolvedTarget(APP, "", (ControllerKey("default", "Job", "j", "batch/v1"),)))
    assert keys.selector_of(ResolvedTarget(APP, "", (ControllerKey("other", "Job", "j", "batch/v1"),))) is first
    for number in range(64):
        keys.selector_of(ResolvedTarget(APP, "", (ControllerKey("default", "Job", str(number), "batch/v1"),)))
        keys.forget_selectors(0)
    again = keys.selector_of(ResolvedTarget(APP, "", (ControllerKey("default", "Job", "j", "batch/v1"),)))
    assert again is not first
    assert again == first

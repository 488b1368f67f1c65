from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autoscaling.matching import EVERYTHING, NOTHING, parse_selector
from autoscaling.pod import Container, ContainerStatus, Pod, PodPhase
from autoscaling.quantity import Quantity
from autoscaling.resources import ContainerResources
from autoscaling.vpa import ContainerPolicy, ScalingMode, UpdateMode, UpdatePolicy, Vpa
from recommender.aggregation import UPDATE_MODES, SharingKey
from recommender.cluster_model import ClusterModel
from recommender.container_table import NO_AGGREGATE
from recommender.garbage import collect
from recommender.instants import instant
from recommender.settings import ModelSettings
from tests.builders import T0, amounts
from tests.recommender.scene import APP, DAY, HOUR, Scene, filled, integers, of_one_container, pod, vpa

HASHED = {"app": "a", "pod-template-hash": "1"}


def mode(one: Scene, container: str = "main", name: str = "p") -> UpdateMode | None:
    return UPDATE_MODES[int(one.model.aggregates.update_mode[one.aggregate(container, name)])]


def flags(one: Scene, name: str = "p") -> tuple[bool, bool]:
    """Return whether the aggregate of ``main`` is under a VPA and scaled."""
    aggregates, row = one.model.aggregates, one.aggregate(pod=name)
    return bool(aggregates.is_under_vpa[row]), bool(aggregates.is_scaled[row])


def test_pods_of_one_label_set_share_an_aggregate_for_each_container_name() -> None:
    """Spec: recommender:3.1."""
    one = Scene().observe(pod("p", "main", "side"), pod("q", "main"), pod("r", "main", labels=HASHED))
    assert one.aggregate() == one.aggregate(pod="q")
    assert len({one.aggregate(), one.aggregate("side"), one.aggregate(pod="r")}) == 3
    assert one.model.aggregate_count == 3
    one.model.observe_pod(replace(pod(), namespace="other"), T0)
    assert one.model.aggregate_count == 4


def test_another_key_lets_rollouts_share_an_aggregate() -> None:
    """The key is a function: one that leaves the template's hash out keeps history over rollouts."""

    def without_hash(of: Pod) -> SharingKey:
        labels = {name: value for name, value in of.labels.items() if name != "pod-template-hash"}
        return SharingKey(str(sorted(labels.items())), labels)

    one = Scene(ClusterModel(key_of=without_hash)).follow(vpa())
    one.observe(pod("p", labels=HASHED), pod("q", labels=HASHED | {"pod-template-hash": "2"}))
    assert one.aggregate() == one.aggregate(pod="q")
    assert one.tracked().pod_count == 2


def test_an_aggregate_is_linked_to_vpas_that_come_before_or_after_it() -> None:
    """Spec: recommender:3.2."""
    one = Scene().follow(vpa("early")).observe(pod()).follow(vpa("late"))
    one.follow(vpa("elsewhere"), selector=parse_selector("app=b"))
    assert one.tracked("early").linked == one.tracked("late").linked == {"main": [one.aggregate()]}
    assert one.tracked("elsewhere").linked == {}
    assert flags(one) == (True, True)


def test_linking_applies_mode_and_policy_and_the_last_linker_wins() -> None:
    """Spec: recommender:3.2."""
    off = ContainerPolicy("*", mode=ScalingMode.OFF)
    first = vpa("first", update_policy=UpdatePolicy(UpdateMode.INITIAL))
    second = vpa("second", off, update_policy=UpdatePolicy(UpdateMode.OFF))
    one = Scene().observe(pod()).follow(first)
    assert (mode(one), flags(one)) == (UpdateMode.INITIAL, (True, True))
    one.follow(second)
    assert (mode(one), flags(one)) == (UpdateMode.OFF, (True, False))


def test_an_unchanged_vpa_does_not_win_its_aggregates_back() -> None:
    """Spec: recommender:3.2."""
    first = vpa("first", ContainerPolicy("*"), update_policy=UpdatePolicy(UpdateMode.INITIAL))
    second = vpa("second", ContainerPolicy("*", mode=ScalingMode.OFF), update_policy=UpdatePolicy(UpdateMode.OFF))
    one = Scene().observe(pod()).follow(first, second, first)
    assert (mode(one), flags(one)) == (UpdateMode.OFF, (True, False))
    one.follow(replace(first))
    assert (mode(one), flags(one)) == (UpdateMode.INITIAL, (True, True))


def test_an_absent_update_policy_is_applied_every_time() -> None:
    """Spec: recommender:3.2."""
    silent, loud = vpa("silent"), vpa("loud", update_policy=UpdatePolicy(UpdateMode.OFF))
    one = Scene().observe(pod()).follow(silent, loud)
    assert mode(one) is UpdateMode.OFF
    one.follow(silent)
    assert mode(one) is None


def test_an_update_policy_without_a_mode_is_not_applied_again() -> None:
    """Spec: recommender:3.2."""
    silent, loud = vpa("silent", update_policy=UpdatePolicy()), vpa("loud", update_policy=UpdatePolicy(UpdateMode.OFF))
    one = Scene().observe(pod()).follow(silent, loud, replace(silent))
    assert mode(one) is UpdateMode.OFF


@pytest.mark.parametrize("generation", [0, 7])
def test_a_changed_policy_reaches_the_aggregates(generation: int) -> None:
    """Spec: recommender:3.2."""
    before = replace(vpa(update_policy=UpdatePolicy(UpdateMode.OFF)), generation=generation)
    one = Scene().observe(pod()).follow(before)
    after = replace(
        vpa("v", ContainerPolicy("main", mode=ScalingMode.OFF), update_policy=UpdatePolicy(UpdateMode.RECREATE)),
        generation=generation and generation + 1,
    )
    version = one.model.links_version
    one.follow(after)
    assert (mode(one), flags(one)) == (UpdateMode.RECREATE, (True, False))
    assert one.model.links_version > version
    one.follow(replace(after, container_policies=None))
    assert flags(one) == (True, generation == 0)


def test_a_new_status_alone_changes_no_link() -> None:
    before = replace(vpa("v", ContainerPolicy("*")), generation=3)
    one = Scene().observe(pod()).follow(before)
    version = one.model.links_version
    one.follow(replace(before, observed_generation=3))
    assert one.model.links_version == version
    assert one.tracked().vpa.observed_generation == 3


@pytest.mark.parametrize(
    ("before", "after", "is_kept"),
    [("app=a", "app=a", True), ("app=a", "app in (a)", False), ("app=a", "app=b", False)],
)
def test_a_vpa_whose_selector_reads_otherwise_starts_anew(before: str, after: str, is_kept: bool) -> None:
    """Spec: recommender:3.2."""
    one = Scene().follow(vpa(), selector=parse_selector(before)).observe(pod())
    old = one.tracked()
    row = one.model.set_initial(old, "main", T0)
    old.checkpoint_written = 5
    one.follow(replace(vpa()), selector=parse_selector(after))
    assert (one.tracked() is old) is is_kept
    assert one.tracked().initial == ({"main": row} if is_kept else {})
    assert one.tracked().linked == ({} if after == "app=b" else {"main": [one.aggregate()]})
    assert flags(one)[0] is (after != "app=b")


def test_nothing_and_everything_read_the_same() -> None:
    """Spec: recommender:13.16."""
    one = Scene().follow(vpa(), selector=NOTHING).observe(pod())
    one.follow(vpa(), selector=EVERYTHING)
    assert one.tracked().pod_count == 0


def test_a_removed_vpa_leaves_its_aggregates_unmanaged() -> None:
    """Spec: recommender:3.2."""
    settings = ModelSettings(per_vpa_config=True)
    policy = ContainerPolicy(
        "main",
        oom_bump_up_ratio=Quantity.parse("2"),
        memory_aggregation_interval_seconds=60,
        memory_aggregation_interval_count=3,
    )
    one = Scene(ClusterModel(settings)).follow(vpa("v", policy, update_policy=UpdatePolicy(UpdateMode.OFF)))
    one.observe(pod())
    one.recommendation()
    aggregates, row = one.model.aggregates, one.aggregate()
    assert (int(aggregates.last_cpu[row]), int(aggregates.last_memory[row])) == (25, 262144000)
    loaded = one.model.set_initial(one.tracked(), "main", T0)
    one.model.forget_vpa("default", "v")
    one.model.forget_vpa("default", "v")
    assert (mode(one), flags(one)) == (None, (False, False))
    assert (int(aggregates.last_cpu[row]), int(aggregates.last_memory[row])) == (0, 0)
    assert (float(aggregates.oom_ratio[row]), int(aggregates.interval[row])) == (2.0, 60 * 10**9)
    assert int(aggregates.interval_count[row]) == 3
    assert len(one.model.groups()) == 0
    assert aggregates.create(0) == loaded


def test_removing_a_field_of_a_policy_does_not_restore_the_default() -> None:
    """Spec: recommender:13.7."""
    policy = ContainerPolicy("main", memory_aggregation_interval_seconds=60)
    one = Scene(ClusterModel(ModelSettings(per_vpa_config=True))).follow(vpa("v", policy)).observe(pod())
    one.follow(vpa("v", ContainerPolicy("main")))
    assert int(one.model.aggregates.interval[one.aggregate()]) == 60 * 10**9


def test_pods_are_counted_when_they_come_go_or_change_their_labels() -> None:
    """Spec: recommender:3.2."""
    one = Scene().follow(vpa())
    one.observe(pod("p"), pod("q", labels=HASHED), pod("r", labels={"app": "b"}), pod("p"))
    assert one.tracked().pod_count == 2
    one.observe(pod("s", phase=PodPhase.SUCCEEDED), pod("r"))
    assert one.tracked().pod_count == 4
    one.observe(pod("q", labels={"app": "b"}))
    one.model.forget_pod("default", "p")
    one.model.forget_pod("default", "p")
    assert one.tracked().pod_count == 2
    one.follow(vpa("w"))
    assert one.tracked("w").pod_count == 2


def test_a_relabelled_pod_feeds_the_aggregate_of_its_new_labels() -> None:
    """Spec: recommender:3.2."""
    one = of_one_container()
    one.cpu(T0, 100)
    old = one.aggregate()
    one.observe(pod("p", labels={"app": "b"}))
    new = one.aggregate()
    assert new != old
    one.cpu(T0 + HOUR, 100)
    assert one.model.aggregates.sample_count[[old, new]].tolist() == [1, 1]
    assert one.tracked().linked == {"main": [old]}
    assert [len(label_set.aggregates) for label_set in one.model.matching] == [1, 1]


def test_containers_that_left_the_pod_stay_known() -> None:
    """Spec: recommender:3.2."""
    one = Scene().observe(pod("p", "main"), pod("p", "side"))
    assert one.model.pods["default", "p"].names == ("main", "side")
    assert one.row("main") != one.row("side")


def test_the_memory_request_is_the_one_in_force() -> None:
    """Spec: recommender:3.3."""
    spec = Container("main", ContainerResources(amounts("-/1Gi")))
    one = Scene().observe(replace(pod(), containers=(spec,)))
    assert int(one.model.containers.memory_request[one.row()]) == 2**30
    status = ContainerStatus("main", resources=ContainerResources(amounts("-/1500m")))
    one.observe(replace(pod(), containers=(spec,), statuses=(status,)))
    assert int(one.model.containers.memory_request[one.row()]) == 2
    silent = replace(status, resources=ContainerResources())
    one.observe(replace(pod(), containers=(spec,), statuses=(silent,)))
    assert int(one.model.containers.memory_request[one.row()]) == 0


def test_init_containers_are_known_by_name_only() -> None:
    """Spec: recommender:3.3."""
    inits = (Container("setup"), Container("proxy", is_sidecar=True))
    one = Scene().observe(replace(pod(), init_containers=inits))
    for name in ("setup", "proxy"):
        assert one.model.is_init_container("default", "p", name)
        assert one.model.row_of("default", "p", name) is None
    assert not one.model.is_init_container("default", "p", "main")
    assert not one.model.is_init_container("default", "q", "setup")
    assert one.model.row_of("default", "q", "main") is None


def test_the_memory_saver_leaves_out_what_no_vpa_selects() -> None:
    """Spec: recommender:3.3."""
    one = Scene(ClusterModel(ModelSettings(memory_saver=True))).follow(vpa())
    assert one.model.observe_pod(pod("p"), T0)
    assert not one.model.observe_pod(pod("q", labels={"app": "b"}), T0)
    assert list(one.model.pods) == [("default", "p")]
    assert len(one.model.matching) == 1
    lost = pod("p", labels={"app": "b"}, phase=PodPhase.FAILED)
    assert not one.model.observe_pod(lost, T0)
    assert one.model.pods["default", "p"].phase is PodPhase.RUNNING
    assert one.tracked().pod_count == 1


def test_the_last_entry_for_all_containers_counts_where_none_is_named() -> None:
    """Spec: recommender:3.2."""
    policies = (
        ContainerPolicy("*", mode=ScalingMode.AUTO),
        ContainerPolicy("main", mode=ScalingMode.AUTO),
        ContainerPolicy("main", mode=ScalingMode.OFF),
        ContainerPolicy("*", mode=ScalingMode.OFF),
    )
    one = Scene().follow(vpa("v", *policies)).observe(pod("p", "main", "side"))
    assert one.model.aggregates.is_scaled[[one.aggregate("main"), one.aggregate("side")]].tolist() == [True, False]


def test_rows_of_a_forgotten_pod_are_used_again_and_start_afresh() -> None:
    one = of_one_container()
    one.cpu(T0, 100)
    one.memory(T0, 2**30)
    row, version = one.row(), one.model.containers_version
    one.model.forget_pod("default", "p")
    assert one.model.containers_version > version
    one.observe(pod("q"))
    assert one.row(pod="q") == row
    assert one.cpu(T0 - HOUR, 100, pod="q")
    assert one.memory(T0 - HOUR, 2**20, pod="q")
    assert int(one.model.containers.window_end[row]) == instant(T0 + 23 * HOUR)


def test_the_next_sample_makes_a_collected_aggregate_anew() -> None:
    """Spec: recommender:3.4."""
    one = of_one_container()
    one.cpu(T0, 100)
    assert collect(one.model, (), T0 + 8 * DAY) == 1
    assert one.aggregate() == NO_AGGREGATE
    assert one.tracked().linked == {}
    assert not one.cpu(T0, 100)
    assert one.aggregate() == NO_AGGREGATE
    assert one.cpu(T0 + 8 * DAY, 100)
    assert one.tracked().linked == {"main": [one.aggregate()]}
    assert filled(one.model.aggregates.cpu, one.aggregate()) == {8: 0.1}


def test_a_kill_makes_a_collected_aggregate_anew_even_if_it_is_too_old() -> None:
    one = of_one_container()
    one.memory(T0, 100)
    collect(one.model, (), T0 + 8 * DAY)
    one.oom(T0 - 2 * DAY, 100)
    assert one.tracked().linked == {"main": [one.aggregate()]}


def test_a_relabelled_container_goes_on_feeding_its_collected_aggregate() -> None:
    """Spec: recommender:13.13."""
    one = Scene().follow(vpa()).observe(pod("p", labels={"app": "b"}), pod("p"), pod("q"))
    held = one.aggregate()
    one.cpu(T0, 100)
    assert held == one.aggregate(pod="q")
    collect(one.model, (), T0 + 8 * DAY)
    assert one.model.orphans == {held: 1}
    one.cpu(T0 + 8 * DAY, 100, pod="q")
    one.cpu(T0 + 8 * DAY, 100, pod="p")
    assert (one.aggregate(), one.aggregate(pod="q") != held) == (held, True)
    assert one.tracked().linked == {"main": [one.aggregate(pod="q")]}
    rows = integers(one.row(), one.row(pod="q"))
    assert one.model.keyed_aggregates(rows).tolist() == [one.aggregate(pod="q")] * 2
    used = len(one.model.aggregates.rows)
    one.model.forget_pod("default", "p")
    assert (one.model.orphans, len(one.model.aggregates.rows)) == ({}, used - 1)


def test_two_containers_that_hold_one_collected_aggregate() -> None:
    one = Scene().observe(*(pod(name, labels={"app": "b"}) for name in "pq"), pod("p"), pod("q"))
    held = one.aggregate()
    collect(one.model, (), T0 + 8 * DAY)
    assert one.model.orphans == {held: 2}
    one.observe(pod("p", labels={"app": "c"}))
    assert one.model.orphans == {held: 1}
    one.model.forget_pod("default", "q")
    assert one.model.orphans == {}


def test_the_model_grows_over_its_first_capacity() -> None:
    one = Scene().follow(vpa(), selector=EVERYTHING)
    one.observe(*(pod(f"p{i}", labels={"app": f"a{i}"}) for i in range(200)))
    for place in (0, 63, 64, 199):
        assert one.cpu(T0, 100 + place, pod=f"p{place}")
    assert one.model.aggregates.rows.end == one.model.containers.rows.end == 200
    assert int(np.sum(one.model.aggregates.sample_count)) == 4
    assert one.tracked().pod_count == 200


def test_a_vpa_keeps_its_record_while_its_object_changes() -> None:
    one = Scene()
    first: Vpa = vpa()
    tracked = one.model.observe_vpa(first, APP, "v1beta2")
    assert (tracked.vpa, tracked.api_version, tracked.key) == (first, "v1beta2", ("default", "v"))
    second = replace(first, annotations={"a": "b"})
    assert one.model.observe_vpa(second, APP) is tracked
    assert tracked.vpa is second

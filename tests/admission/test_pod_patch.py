"""The patch of a new pod: operations in order, annotations, escaping (spec: admission:7)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import jsonpatch
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admission.patch_operation import PatchOperation, pointer_segment
from admission.pod_patch import PodToPatch, new_resources, pod_patch
from autoscaling.capping import process
from autoscaling.errors import InvalidObjectError
from autoscaling.limitrange import NO_LIMITS, LimitType, NamespaceLimits
from autoscaling.pod import Container, ContainerStatus, Pod
from autoscaling.quantity import Quantity
from autoscaling.resources import ContainerResources
from autoscaling.target_resources import NOTHING, ContainerTarget, container_targets
from autoscaling.vpa import ContainerPolicy, ControlledValues, ScalingMode, StartupBoost, UpdateMode, Vpa
from autoscaling.wire.pods import decode_pod
from autoscaling.wire.review import containers_with_resources
from tests.builders import amounts, container, limit_range, pod, printed, recommended, vpa

EMPTY_ANNOTATIONS: tuple[str, Mapping[str, str]] = ("/metadata/annotations", {})


def operations(
    given_pod: Pod,
    given_vpa: Vpa,
    *,
    limits: NamespaceLimits = NO_LIMITS,
    present: tuple[bool, ...] | None = None,
) -> list[tuple[str, str | Mapping[str, str]]]:
    targets = new_resources(given_pod, given_vpa, limits)
    patch = pod_patch(PodToPatch(given_pod, present), given_vpa.name, targets)
    return [(operation.path, operation.value) for operation in patch]


def observed(names: str) -> tuple[str, str]:
    return ("/metadata/annotations/vpaObservedContainers", names)


def updates(parts: str) -> tuple[str, str]:
    return ("/metadata/annotations/vpaUpdates", f"Pod resources updated by v: {parts}")


def test_the_worked_example() -> None:
    """Spec: admission:7.3.1, admission:7.3.2, admission:7.2.2."""
    got = operations(pod(container("c", "50m/32Mi", "500m/64Mi")), vpa(recommended("c", "400m/100Mi")))
    assert got == [
        EMPTY_ANNOTATIONS,
        ("/spec/containers/0/resources/requests/cpu", "400m"),
        ("/spec/containers/0/resources/requests/memory", "100Mi"),
        ("/spec/containers/0/resources/limits/cpu", "4"),
        ("/spec/containers/0/resources/limits/memory", "200Mi"),
        updates("container 0: cpu request, memory request, cpu limit, memory limit"),
        observed("c"),
    ]


def test_absent_maps_are_made_before_they_are_filled() -> None:
    """Spec: admission:7.2.2 a, b, d."""
    default = NamespaceLimits(container=limit_range(LimitType.CONTAINER, default="1/-"))
    got = operations(pod(container("c")), vpa(recommended("c", "100m/10Mi")), limits=default)
    assert got == [
        EMPTY_ANNOTATIONS,
        ("/spec/containers/0/resources", {}),
        ("/spec/containers/0/resources/requests", {}),
        ("/spec/containers/0/resources/requests/cpu", "100m"),
        ("/spec/containers/0/resources/requests/memory", "10Mi"),
        ("/spec/containers/0/resources/limits", {}),
        ("/spec/containers/0/resources/limits/cpu", "100m"),
        updates(
            "container 0: memory: limit NOT set since originalLimit is nil or 0, "
            "cpu request, memory request, cpu limit",
        ),
        observed("c"),
    ]


def test_empty_maps_count_as_present() -> None:
    """Spec: admission:7.2.1, admission:7.2.2."""
    bare = Container("c", ContainerResources(requests={}, limits={}))
    got = operations(replace(pod(bare), annotations={}), vpa(recommended("c", "100m/-")))
    assert got == [
        ("/spec/containers/0/resources/requests/cpu", "100m"),
        updates("container 0: cpu request"),
        observed("c"),
    ]


def test_only_the_annotation_of_observed_containers_where_nothing_is_recommended() -> None:
    """Spec: admission:7.2.3, admission:7.2.4."""
    got = operations(pod(container("c", "1/1Gi")), vpa(recommended("other", "1/1Gi")))
    assert got == [EMPTY_ANNOTATIONS, observed("c")]


def test_a_container_that_only_gets_an_empty_object_has_an_empty_part() -> None:
    """Spec: admission:7.2.3."""
    got = operations(pod(container("a", "1/1Gi"), container("b"), container("c")), vpa(recommended("c", "1/-")))
    assert got == [
        EMPTY_ANNOTATIONS,
        ("/spec/containers/1/resources", {}),
        ("/spec/containers/2/resources", {}),
        ("/spec/containers/2/resources/requests", {}),
        ("/spec/containers/2/resources/requests/cpu", "1"),
        updates("container 1: ; container 2: cpu request"),
        observed("a, b, c"),
    ]


@pytest.mark.parametrize(
    ("present", "made"),
    [((True,), False), ((False,), True), (None, True)],
)
def test_a_resources_object_that_is_there_is_kept(present: tuple[bool, ...] | None, *, made: bool) -> None:
    """Spec: admission:13.5: upstream replaces it, and with it the claims."""
    got = operations(pod(container("c")), vpa(recommended("c", "1/-")), present=present)
    assert (("/spec/containers/0/resources", {}) in got) is made
    assert ("/spec/containers/0/resources/requests/cpu", "1") in got


@pytest.mark.parametrize("present", [(True,), (False,)])
def test_no_resources_object_is_made_for_nothing(present: tuple[bool, ...]) -> None:
    """Spec: admission:13.5."""
    got = operations(pod(container("c")), vpa(recommended("other", "1/-")), present=present)
    assert got == [EMPTY_ANNOTATIONS, observed("c")]


def test_notes_on_capping_come_first() -> None:
    """Spec: admission:7.3.1, admission:13.19."""
    policy = ContainerPolicy("c", max_allowed=amounts("200m/-"))
    got = operations(pod(container("c", "50m/32Mi")), vpa(recommended("c", "400m/100Mi"), policies=[policy]))
    assert updates("container 0: cpu capped to maxAllowed, cpu request, memory request") in got


def test_requests_only_leaves_limits_alone() -> None:
    """Spec: admission:7.1.4."""
    policy = ContainerPolicy("*", controlled_values=ControlledValues.REQUESTS_ONLY)
    got = operations(pod(container("c", "50m/32Mi", "1/1Gi")), vpa(recommended("c", "2/100Mi"), policies=[policy]))
    assert got == [
        EMPTY_ANNOTATIONS,
        ("/spec/containers/0/resources/requests/cpu", "1"),
        ("/spec/containers/0/resources/requests/memory", "100Mi"),
        updates("container 0: cpu capped to container limit, cpu request, memory request"),
        observed("c"),
    ]


def test_policies_count_for_nothing_without_a_recommendation() -> None:
    """Spec: admission:7.1.1."""
    policy = ContainerPolicy("c", min_allowed=amounts("1/1Gi"))
    limits = NamespaceLimits(pod=limit_range(LimitType.POD, minimum="4/4Gi"))
    got = operations(pod(container("c", "50m/32Mi", "1/1Gi")), vpa(policies=[policy]), limits=limits)
    assert got == [EMPTY_ANNOTATIONS, observed("c")]


def test_a_container_with_mode_off_still_gets_what_is_recommended() -> None:
    """Spec: admission:7.1.4, gate for start-up boosts off."""
    policy = ContainerPolicy("c", mode=ScalingMode.OFF)
    got = operations(pod(container("c", "50m/-")), vpa(recommended("c", "400m/-"), policies=[policy]))
    assert ("/spec/containers/0/resources/requests/cpu", "400m") in got


def test_mode_off_with_a_boost_only_notes_the_containers() -> None:
    """Spec: admission:6.6, admission:7.1.5."""
    off = replace(vpa(recommended("a", "1/1Gi"), mode=UpdateMode.OFF), startup_boost=StartupBoost())
    got = operations(pod(container("a", "50m/32Mi"), container("b")), off)
    assert got == [
        EMPTY_ANNOTATIONS,
        ("/spec/containers/1/resources", {}),
        updates("container 1: "),
        observed("a, b"),
    ]


@pytest.mark.parametrize("mode", [None, *(mode for mode in UpdateMode if mode is not UpdateMode.OFF)])
def test_all_other_modes_are_alike(mode: UpdateMode | None) -> None:
    """Spec: admission:6.11."""
    got = operations(pod(container("c", "50m/-")), vpa(recommended("c", "400m/-"), mode=mode))
    assert ("/spec/containers/0/resources/requests/cpu", "400m") in got


@pytest.mark.parametrize(
    ("row", "default", "limits"),
    [
        ("admission:7.1.2", "1/500Mi", {"limits/cpu": "2", "limits/memory": "1000Mi"}),
        ("admission:7.1.2", "-/500Mi", {"limits/memory": "1000Mi"}),
        ("admission:7.1.2", None, {}),
    ],
)
def test_the_default_of_a_limit_range_makes_a_limit(row: str, default: str | None, limits: dict[str, str]) -> None:
    bounds = NamespaceLimits(container=limit_range(LimitType.CONTAINER, default=default, minimum="1m/-"))
    got = operations(pod(container("c", "100m/100Mi")), vpa(recommended("c", "200m/200Mi")), limits=bounds)
    prefix = "/spec/containers/0/resources/"
    assert {path.removeprefix(prefix): value for path, value in got if f"{prefix}limits/" in path} == limits, row


@pytest.mark.parametrize(
    ("row", "mode", "limits"),
    [
        ("admission:7.1.3", UpdateMode.RECREATE, {}),
        ("admission:7.1.3", UpdateMode.OFF, {"cpu": "2"}),
    ],
)
def test_limits_follow_in_mode_off_whatever_the_policy_says(row: str, mode: UpdateMode, limits: dict[str, str]) -> None:
    subject = pod(container("c", "1", "2"))
    policy = ContainerPolicy("c", controlled_values=ControlledValues.REQUESTS_ONLY)
    the_vpa = vpa(recommended("c", "1"), policies=[policy], mode=mode)
    (target,) = container_targets(subject, the_vpa, process(subject, the_vpa, NO_LIMITS), NO_LIMITS)
    assert printed(target.limits) == limits, row


def test_another_resource_gets_a_request_and_no_limit() -> None:
    """Spec: admission:7.1.7, as upstream does."""
    target = {**amounts("1/-"), "example.com/gpu": Quantity.parse("2")}
    got = operations(pod(container("c", "1/-", "2/-")), vpa(replace(recommended("c", "-"), target=target)))
    paths = [path for path, _ in got if "/resources/" in path]
    assert paths == [
        f"/spec/containers/0/resources/{place}" for place in ("requests/cpu", "requests/example.com~1gpu", "limits/cpu")
    ]


def test_a_submitted_status_is_taken_as_in_force() -> None:
    """Spec: admission:7.1.4, as upstream reads it."""
    status = ContainerStatus("c", ContainerResources(amounts("100m/-"), amounts("200m/-")))
    given_pod = replace(pod(container("c", "1/-", "1/-")), statuses=(status,))
    got = operations(given_pod, vpa(recommended("c", "300m/-")))
    assert ("/spec/containers/0/resources/limits/cpu", "600m") in got


def test_a_pod_that_cannot_be_fitted_is_an_error_that_names_it() -> None:
    """Spec: limits:35, beyond:B-32."""
    limits = NamespaceLimits(pod=limit_range(LimitType.POD, maximum="2/2Gi"))
    given_pod = pod(container("a", "1/1Gi", "1/1Gi"), container("b"))
    with pytest.raises(InvalidObjectError, match=r"Pod default/p: .*'b'"):
        new_resources(given_pod, vpa(recommended("a", "4/4Gi")), limits)


def test_names_are_escaped_and_nameless_resources_dropped() -> None:
    """Spec: admission:7.2.2, admission:7.1.4."""
    target = ContainerTarget(requests={"": Quantity(1), "b/c~d": Quantity.parse("2"), **amounts("1/1Ki")})
    patch = pod_patch(PodToPatch(replace(pod(container("c", "1/1Ki")), annotations={})), "v", (target,))
    assert [operation.path for operation in patch[:3]] == [
        "/spec/containers/0/resources/requests/cpu",
        "/spec/containers/0/resources/requests/memory",
        "/spec/containers/0/resources/requests/b~1c~0d",
    ]
    assert pointer_segment("~1/") == "~01~1"


def test_a_pod_without_containers_gets_an_empty_list() -> None:
    assert operations(replace(pod(), annotations={}), vpa(recommended("c", "1/-"))) == [observed("")]


def test_an_operation_as_json() -> None:
    assert PatchOperation("/a", {}).as_json() == {"op": "add", "path": "/a", "value": {}}
    assert json.dumps(PatchOperation("/a", "1").as_json()) == '{"op": "add", "path": "/a", "value": "1"}'


Tree = dict[str, object]
QUANTITIES = {
    "cpu": st.sampled_from(["1500u", "10m", "0.1", "333m", "1", "2500m", "7"]),
    "memory": st.sampled_from(["1000", "100M", "32Mi", "0.3Gi", "2Gi", "1e6"]),
}
SHORT_LISTS = st.fixed_dictionaries({}, optional=QUANTITIES)
RESOURCES = st.fixed_dictionaries(
    {},
    optional={"requests": SHORT_LISTS, "limits": SHORT_LISTS, "claims": st.just([{"name": "gpu"}])},
)
CONTAINERS = st.lists(st.fixed_dictionaries({"image": st.just("i")}, optional={"resources": RESOURCES}), max_size=4)
ANNOTATIONS = st.dictionaries(st.sampled_from(["a/b", "vpaUpdates", "c"]), st.just("x"), max_size=2)
TARGETS = st.lists(st.one_of(st.none(), SHORT_LISTS), min_size=4, max_size=4)


def pod_tree(containers: list[Tree], annotations: dict[str, str] | None) -> Tree:
    metadata: Tree = {"name": "p", "namespace": "default"}
    if annotations is not None:
        metadata["annotations"] = annotations
    named = [{"name": f"c{index}", **fields} for index, fields in enumerate(containers)]
    return {"metadata": metadata, "spec": {"containers": named}}


def vpa_for(targets: list[dict[str, str] | None], values: ControlledValues) -> Vpa:
    entries = [
        replace(recommended(f"c{index}", "-"), target={name: Quantity.parse(text) for name, text in target.items()})
        for index, target in enumerate(targets)
        if target is not None
    ]
    return vpa(*entries, policies=[ContainerPolicy("*", controlled_values=values)])


def patched(tree: Tree, given_vpa: Vpa, *, keeps: bool) -> tuple[Tree, tuple[ContainerTarget, ...]]:
    raw = msgspec.json.encode(tree)
    given_pod = decode_pod(raw)
    targets = new_resources(given_pod, given_vpa, NO_LIMITS)
    present = containers_with_resources(raw)[0] if keeps else None
    patch = pod_patch(PodToPatch(given_pod, present), given_vpa.name, targets)
    return jsonpatch.apply_patch(tree, [operation.as_json() for operation in patch]), targets


def leaves(value: object, path: str = "") -> dict[str, object]:
    if isinstance(value, dict):
        return {k: v for name, child in value.items() for k, v in leaves(child, f"{path}/{name}").items()}
    if isinstance(value, list):
        return {k: v for index, child in enumerate(value) for k, v in leaves(child, f"{path}/{index}").items()}
    return {path: value}


def container_lists(tree: Tree, index: int) -> dict[str, dict[str, Quantity]]:
    given_container = decode_pod(msgspec.json.encode(tree)).containers[index].resources
    return {"requests": dict(given_container.requests or {}), "limits": dict(given_container.limits or {})}


@given(CONTAINERS, st.one_of(st.none(), ANNOTATIONS), TARGETS, st.sampled_from(ControlledValues), st.booleans())
def test_the_patched_pod_has_exactly_the_computed_resources(
    containers: list[Tree],
    annotations: dict[str, str] | None,
    targets: list[dict[str, str] | None],
    values: ControlledValues,
    keeps: bool,
) -> None:
    before = pod_tree(containers, annotations)
    after, computed = patched(before, vpa_for(targets, values), keeps=keeps)
    for index, target in enumerate(computed):
        old, new = container_lists(before, index), container_lists(after, index)
        assert new["requests"] == old["requests"] | dict(target.requests)
        assert new["limits"] == old["limits"] | dict(target.limits)


@given(CONTAINERS, st.one_of(st.none(), ANNOTATIONS), TARGETS, st.sampled_from(ControlledValues))
def test_the_patch_removes_nothing_and_touches_only_resources_and_its_own_annotations(
    containers: list[Tree],
    annotations: dict[str, str] | None,
    targets: list[dict[str, str] | None],
    values: ControlledValues,
) -> None:
    before = pod_tree(containers, annotations)
    after, _ = patched(before, vpa_for(targets, values), keeps=True)
    old, new = leaves(before), leaves(after)
    assert old.keys() <= new.keys()
    for path, value in new.items():
        assert "vpaInPlaceUpdated" not in path, "admission:7.3.4"
        is_ours = "/requests/" in path or "/limits/" in path or path.startswith("/metadata/annotations/vpa")
        assert is_ours or value == old.get(path), path


@given(CONTAINERS, TARGETS, st.sampled_from(ControlledValues))
def test_a_pod_that_is_right_already_keeps_its_resources(
    containers: list[Tree],
    targets: list[dict[str, str] | None],
    values: ControlledValues,
) -> None:
    given_vpa = vpa_for(targets, values)
    once, _ = patched(pod_tree(containers, None), given_vpa, keeps=True)
    twice, _ = patched(once, given_vpa, keeps=True)
    assert twice["spec"] == once["spec"]


def test_nothing_to_set_is_nothing() -> None:
    assert new_resources(pod(container("c")), vpa(), NO_LIMITS) == (NOTHING,)

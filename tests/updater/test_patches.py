"""The patches of an in-place update."""

from __future__ import annotations

from dataclasses import replace

import jsonpatch
import pytest

from autoscaling.quantity import Quantity
from autoscaling.resources import ContainerResources
from autoscaling.target_resources import NOTHING, ContainerTarget
from tests.builders import amounts, container, pod
from tests.updater.situations import annotated, sent, small
from updater.patches import (
    Patch,
    PatchOperation,
    PatchVerb,
    annotation_patch,
    annotations_set,
    in_place_patches,
    is_already_requested,
    is_carried_out,
    pointer_token,
    resize_patch,
    writes_anything,
)

R = "/spec/containers/0/resources"


def target(requests: str = "-", limits: str = "-") -> ContainerTarget:
    """Return a target written as ``cpu/memory``."""
    return ContainerTarget(amounts(requests), amounts(limits))


def added(path: str, value: object) -> dict[str, object]:
    """Return an operation as it is sent."""
    return {"op": "add", "path": path, "value": value}


@pytest.mark.parametrize(
    ("row", "resources", "wanted", "operations"),
    [
        (
            "updater:X-3",
            ContainerResources(amounts("50m/32Mi"), amounts("500m/64Mi")),
            target("400m/100Mi", "4/200Mi"),
            [
                added(f"{R}/requests/cpu", "400m"),
                added(f"{R}/requests/memory", "100Mi"),
                added(f"{R}/limits/cpu", "4"),
                added(f"{R}/limits/memory", "200Mi"),
            ],
        ),
        (
            "updater:X-3",
            ContainerResources(),
            target("25m/-", "50m/-"),
            [
                added(R, {}),
                added(f"{R}/requests", {}),
                added(f"{R}/requests/cpu", "25m"),
                added(f"{R}/limits", {}),
                added(f"{R}/limits/cpu", "50m"),
            ],
        ),
        ("updater:X-3", ContainerResources(), NOTHING, [added(R, {})]),
        ("updater:X-3", ContainerResources({}, None), NOTHING, []),
        ("updater:X-3", ContainerResources({}, None), target("25m/-"), [added(f"{R}/requests/cpu", "25m")]),
        (
            "updater:X-3",
            ContainerResources(None, amounts("1/-")),
            target("25m/-"),
            [added(f"{R}/requests", {}), added(f"{R}/requests/cpu", "25m")],
        ),
        ("updater:X-3", ContainerResources(amounts("1/1Gi")), NOTHING, []),
        # What stays as it is is sent as well.
        ("updater:X-3", ContainerResources(amounts("1/-")), target("1/-"), [added(f"{R}/requests/cpu", "1")]),
        ("updater:X-3", ContainerResources({}), target("0.5/-"), [added(f"{R}/requests/cpu", "500m")]),
    ],
)
def test_resize_patch(
    row: str, resources: ContainerResources, wanted: ContainerTarget, operations: list[dict[str, object]]
) -> None:
    subject = pod(replace(container("c"), resources=resources))
    assert sent(resize_patch(subject, (wanted,))) == operations


def test_each_container_has_its_own_index() -> None:
    subject = pod(container("a", "1/-"), container("b", "1/-"), container("c", "1/-"))
    patch = resize_patch(subject, (target("2/-"), NOTHING, target("3/-")))
    assert [operation.path for operation in patch] == [
        "/spec/containers/0/resources/requests/cpu",
        "/spec/containers/2/resources/requests/cpu",
    ]


def test_a_resource_name_is_escaped() -> None:
    subject = pod(container("c", "1/-"))
    patch = resize_patch(subject, (ContainerTarget({"example.com/g~x": Quantity.of_units(1)}),))
    assert patch[0].path == f"{R}/requests/example.com~1g~0x"


@pytest.mark.parametrize(
    ("row", "annotations", "boosts", "operations"),
    [
        (
            "updater:X-5",
            None,
            (),
            [added("/metadata/annotations", {}), added("/metadata/annotations/vpaInPlaceUpdated", "true")],
        ),
        ("updater:X-5", {}, (), [added("/metadata/annotations/vpaInPlaceUpdated", "true")]),
        (
            "updater:X-5",
            {"vpaCpuStartupBoost/c": "{}"},
            ("c",),
            [
                added("/metadata/annotations/vpaInPlaceUpdated", "true"),
                {"op": "remove", "path": "/metadata/annotations/vpaCpuStartupBoost~1c", "value": None},
            ],
        ),
    ],
)
def test_annotation_patch(
    row: str, annotations: dict[str, str] | None, boosts: tuple[str, ...], operations: list[dict[str, object]]
) -> None:
    """Spec: admission:7.3.4."""
    assert sent(annotation_patch(replace(small(), annotations=annotations), boosts)) == operations


MARK = ["/metadata/annotations/vpaInPlaceUpdated"]
BOOST = "/metadata/annotations/vpaCpuStartupBoost~1c"


@pytest.mark.parametrize(
    ("row", "annotations", "boosts", "once", "written"),
    [
        ("updater:X-5", {"vpaInPlaceUpdated": "true"}, (), True, []),
        ("updater:X-5", {"vpaInPlaceUpdated": "true"}, (), False, MARK),
        ("updater:X-5", {"vpaInPlaceUpdated": "false"}, (), True, MARK),
        ("updater:X-5", {"other": "true"}, (), True, MARK),
        ("updater:X-5", {}, (), True, MARK),
        ("updater:X-5", None, (), True, ["/metadata/annotations", *MARK]),
        # A boost that ends is taken off in any case.
        ("updater:X-5", {"vpaInPlaceUpdated": "true", "vpaCpuStartupBoost/c": "{}"}, ("c",), True, [*MARK, BOOST]),
        ("updater:X-5", {"vpaInPlaceUpdated": "true", "vpaCpuStartupBoost/c": "{}"}, (), True, []),
    ],
)
@pytest.mark.parametrize("is_guarded", [True, False])
def test_a_pod_is_marked_once(
    row: str,
    annotations: dict[str, str] | None,
    boosts: tuple[str, ...],
    *,
    once: bool,
    written: list[str],
    is_guarded: bool,
) -> None:
    subject = replace(small(), annotations=annotations)
    patches = in_place_patches(subject, (), is_guarded=is_guarded, marks_once=once, expired_boosts=boosts)
    tested = [operation.path for operation in patches.annotations if operation.verb is PatchVerb.TEST]
    assert [o.path for o in patches.annotations if o.verb is not PatchVerb.TEST] == written, row
    assert tested == (["/metadata/uid"] if is_guarded else []), "beyond:B-31"
    assert writes_anything(patches.annotations) is bool(written), row


@pytest.mark.parametrize(("text", "token"), [("a/b", "a~1b"), ("a~b", "a~0b"), ("~1", "~01"), ("plain", "plain")])
def test_pointer_tokens(text: str, token: str) -> None:
    assert pointer_token(text) == token


def document(uid: str, *names: str) -> dict[str, object]:
    """Return a pod as the API server has it."""
    containers = [{"name": name, "resources": {"requests": {"cpu": "1"}}} for name in names]
    return {"metadata": {"uid": uid, "generation": 1, "annotations": {}}, "spec": {"containers": containers}}


def test_a_guarded_patch_hits_only_the_pod_it_was_made_for() -> None:
    subject = annotated(pod(container("a", "1/-"), container("b", "1/-")))
    patches = in_place_patches(subject, resize_patch(subject, (NOTHING, target("2/-"))), is_guarded=True)
    assert [o.verb for o in patches.resize] == [*[PatchVerb.TEST] * 4, PatchVerb.ADD]
    assert patches.annotations[0] == PatchOperation(PatchVerb.TEST, "/metadata/uid", "uid-p")
    made = jsonpatch.apply_patch(document("uid-p", "a", "b"), sent(patches.resize))
    assert made["spec"]["containers"][1]["resources"]["requests"] == {"cpu": "2"}
    marked = jsonpatch.apply_patch(made, sent(patches.annotations))
    assert marked["metadata"]["annotations"] == {"vpaInPlaceUpdated": "true"}
    for other in (document("uid-q", "a", "b"), document("uid-p", "b", "a")):
        with pytest.raises(jsonpatch.JsonPatchTestFailed):
            jsonpatch.apply_patch(other, sent(patches.resize))


@pytest.mark.parametrize(("row", "generation", "applies"), [("beyond:B-31", 1, True), ("beyond:B-31", 2, False)])
def test_a_guarded_resize_that_comes_late_is_refused(row: str, generation: int, *, applies: bool) -> None:
    """Where somebody has changed the spec since, be it the next leader."""
    subject = replace(annotated(pod(container("a", "1/-"))), generation=generation)
    patches = in_place_patches(subject, resize_patch(subject, (target("2/-"),)), is_guarded=True)
    if applies:
        assert jsonpatch.apply_patch(document("uid-p", "a"), sent(patches.resize)), row
    else:
        with pytest.raises(jsonpatch.JsonPatchTestFailed):
            jsonpatch.apply_patch(document("uid-p", "a"), sent(patches.resize))
    # Annotations are not the spec: what follows an accepted resize is written to what that has made of the pod.
    assert jsonpatch.apply_patch(document("uid-p", "a"), sent(patches.annotations)), row


@pytest.mark.parametrize(
    ("row", "cpu", "document_of", "done"),
    [
        ("beyond:B-42", "1", document("uid-p", "a"), True),
        ("beyond:B-42", "2", document("uid-p", "a"), False),
        ("beyond:B-42", "1", document("uid-q", "a"), False),
        ("beyond:B-42", "1", document("uid-p", "b"), False),
        ("beyond:B-42", "1", document("uid-p"), False),
        ("beyond:B-42", "1", {"metadata": {"uid": "uid-p"}}, False),
        ("beyond:B-42", "1", "no object", False),
    ],
)
def test_a_resize_whose_answer_was_lost_is_told_by_what_the_pod_asks_for(
    row: str, cpu: str, document_of: object, *, done: bool
) -> None:
    subject = replace(annotated(pod(container("a", "500m/-"))), generation=2)
    patches = in_place_patches(subject, resize_patch(subject, (target(f"{cpu}/-"),)), is_guarded=True)
    assert is_carried_out(patches.resize, document_of) is done, row
    assert not is_carried_out((), document_of), row


def test_an_unguarded_patch_only_adds() -> None:
    subject = pod(container("a", "1/-"))
    resize = resize_patch(subject, (target("2/-"),))
    assert in_place_patches(subject, resize).resize == resize
    assert in_place_patches(subject, resize).annotations == annotation_patch(subject)


NAME = PatchOperation(PatchVerb.ADD, f"/metadata/annotations/{pointer_token('a~b/c')}", "d")


@pytest.mark.parametrize(
    ("row", "patch", "expected"),
    [
        ("updater:X-5", (), {}),
        ("updater:X-5", annotation_patch(pod(container("a"))), {"vpaInPlaceUpdated": "true"}),
        ("updater:X-5", annotation_patch(annotated(pod(container("a")))), {"vpaInPlaceUpdated": "true"}),
        ("beyond:B-31", in_place_patches(small(), (), is_guarded=True).annotations, {"vpaInPlaceUpdated": "true"}),
        ("beyond:B-20", (NAME, replace(NAME, path="/metadata/annotations/x")), {"a~b/c": "d", "x": "d"}),
        ("updater:U-5", annotation_patch(annotated(small(), boost="{}"), ["c"]), None),
    ],
)
def test_the_texts_that_a_patch_sets(row: str, patch: Patch, expected: dict[str, str] | None) -> None:
    assert annotations_set(patch) == expected, row


@pytest.mark.parametrize(
    ("row", "wanted", "requested"),
    [
        ("updater:K-11", target("1/1Gi", "2/2Gi"), True),
        ("updater:K-11", target("1000m/1024Mi", "-/2048Mi"), True),
        ("updater:K-11", NOTHING, True),
        ("updater:K-11", target("999m/1Gi"), False),
        ("updater:K-11", target("1/1Gi", "2/3Gi"), False),
        ("updater:K-11", ContainerTarget({"other": Quantity.of_units(1)}), False),
    ],
)
def test_what_the_spec_asks_for_already(row: str, wanted: ContainerTarget, requested: bool) -> None:
    subject = pod(container("c", "1/1Gi", "2/2Gi"), container("d"))
    assert is_already_requested(subject, (wanted, NOTHING)) is requested


def test_nothing_is_requested_by_an_empty_spec() -> None:
    assert not is_already_requested(pod(container("c")), (target("0/-"),))

"""Pods on their way in: what they ask for as a whole, from their JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.errors import InvalidObjectError
from autoscaling.placement import Placement
from autoscaling.wire.pods import decode_pod, decode_submitted_pod, template_text
from autoscaling.wire.review import containers_with_resources
from tests.builders import amounts

BOTH = {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}}


def raw(**spec: object) -> bytes:
    return json.dumps({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}], **spec}}).encode()


CASES: list[tuple[str, bytes, Placement | None]] = [
    ("beyond:B-17", raw(), None),
    ("beyond:B-17", raw(resources=None, overhead=None), None),
    ("beyond:B-17", raw(resources={"requests": {}}, overhead={}), None),
    ("beyond:B-17", raw(resources=BOTH),
     Placement(has_pod_resources=True, requests=amounts("1"), limits=amounts("-/1Gi"))),
    ("beyond:B-17", raw(overhead={"cpu": "1"}), Placement(overhead=amounts("1"))),
]  # fmt: skip


@pytest.mark.parametrize(("row", "text", "expected"), CASES)
def test_what_a_pod_asks_for_as_a_whole(row: str, text: bytes, expected: Placement | None) -> None:
    pod = decode_submitted_pod(text)
    assert pod.placement == expected, row
    assert pod.containers == decode_pod(text).containers, row


def test_pods_of_one_workload_share_it() -> None:
    """Spec: performance A-2: a patch is remembered by it."""
    one, other = (decode_submitted_pod(raw(resources=BOTH)) for _ in range(2))
    assert one.placement is other.placement


@pytest.mark.parametrize("spec", [{"resources": {"requests": {"cpu": "x"}}}, {"overhead": {"cpu": []}}])
def test_what_cannot_be_read_says_whose_it_is(spec: dict[str, object]) -> None:
    with pytest.raises(InvalidObjectError, match="p"):
        decode_submitted_pod(raw(**spec))


def drawn(metadata: dict[str, object], spec: dict[str, object]) -> bytes:
    return json.dumps({"metadata": {"generateName": "rs-", **metadata}, "spec": spec, "status": {}}).encode()


METADATA: st.SearchStrategy[dict[str, object]] = st.fixed_dictionaries(
    {},
    optional={
        "namespace": st.sampled_from(["a", "b"]),
        "generateName": st.sampled_from(["rs-", "x-"]),
        "labels": st.sampled_from([None, {}, {"a": "b"}]),
        "annotations": st.sampled_from([None, {}, {"a": "b"}]),
        "ownerReferences": st.sampled_from([[], [{"kind": "K", "name": "n"}], None]),
        "generation": st.integers(0, 1),
        "uid": st.sampled_from(["", "u"]),
        "resourceVersion": st.sampled_from(["", "7"]),
        "managedFields": st.sampled_from([[], [{"manager": "m"}]]),
    },
)
AMOUNTS: st.SearchStrategy[dict[str, object] | None] = st.sampled_from(
    [None, {}, {"requests": {}}, {"requests": {"cpu": "1"}}, {"limits": {"cpu": "1.0"}}]
)
CONTAINERS = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["c", "d"])},
        optional={
            "resources": AMOUNTS,
            "resizePolicy": st.sampled_from([None, [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]]),
            "restartPolicy": st.sampled_from([None, "Always", "Never"]),
            "image": st.sampled_from(["one", "other"]),
        },
    ),
    max_size=2,
)
SPECS: st.SearchStrategy[dict[str, object]] = st.fixed_dictionaries(
    {},
    optional={
        "containers": CONTAINERS,
        "initContainers": CONTAINERS,
        "nodeName": st.sampled_from(["", "n"]),
        "resources": AMOUNTS,
        "overhead": st.sampled_from([None, {"cpu": "1"}]),
        "volumes": st.sampled_from([[], [{"name": "v"}]]),
    },
)


@given(one=st.builds(drawn, METADATA, SPECS), metadata=METADATA, spec=SPECS, by=st.data())
def test_pods_of_the_same_template_text_are_read_alike(
    one: bytes, metadata: dict[str, object], spec: dict[str, object], by: st.DataObject
) -> None:
    """Spec: performance A-2; the other pod is the first one with some parts exchanged, often none that counts."""
    whole = json.loads(one)
    for part, others in (("metadata", metadata), ("spec", spec)):
        names = by.draw(st.sets(st.sampled_from(sorted(others)))) if others else set()
        whole[part].update({name: others[name] for name in names})
    other = json.dumps(whole).encode()
    if template_text(one) == template_text(other):
        assert decode_submitted_pod(one) == decode_submitted_pod(other)
        assert containers_with_resources(one) == containers_with_resources(other)


def test_what_nobody_reads_is_not_in_the_template_text() -> None:
    """Spec: performance A-2; the API server names a volume in each pod anew."""
    texts = [
        template_text(drawn({"managedFields": [{"time": name}]}, {"volumes": [{"name": name}], "containers": []}))
        for name in ("kube-api-access-x7f2k", "kube-api-access-9d4tq")
    ]
    assert texts[0] is not None
    assert texts[0] == texts[1]


UNIQUE: list[tuple[str, dict[str, object]]] = [
    ("a name", {"metadata": {"name": "p"}}),
    ("a deletion", {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}),
    ("a status", {"status": {"phase": "Running"}}),
    ("statuses of containers", {"status": {"containerStatuses": []}}),
    ("a part of the wrong type", {"spec": 1}),
    ("long annotations", {"metadata": {"annotations": {"a": "x" * 8185}}}),
]


@pytest.mark.parametrize(("what", "pod"), UNIQUE)
def test_a_pod_that_is_like_no_other_has_no_template_text(what: str, pod: dict[str, object]) -> None:
    """Spec: performance A-2."""
    assert template_text(json.dumps(pod).encode()) is None, what


def test_annotations_of_the_usual_length_are_part_of_the_template_text() -> None:
    """Spec: performance A-2."""
    pods = ({"metadata": {"annotations": {"a": letter * 8183}}} for letter in "xyx")
    one, other, again = (template_text(json.dumps(pod).encode()) for pod in pods)
    assert one is not None
    assert one == again
    assert one != other

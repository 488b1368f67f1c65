"""What a new pod asked for, noted on it and read again (spec: case:46)."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.asked_resources import ASKED_ANNOTATION, asked_template, asked_text
from autoscaling.limitrange import LimitRange, LimitRangeItem, LimitType, NamespaceLimits, merge
from autoscaling.pod import Container, Pod
from autoscaling.resources import ContainerResources
from tests.builders import container, limit_range, pod, with_init_containers
from tests.updater.drawing import containers

ASKING = with_init_containers(pod(container("c", "100m/-", "1/1Gi")), container("setup", "1/-", "1/1Gi"))
NOTE = {
    "c": {"requests": {"cpu": "100m"}, "limits": {"cpu": "1", "memory": "1Gi"}},
    "setup": {"requests": {"cpu": "1"}, "limits": {"cpu": "1", "memory": "1Gi"}},
}


def within(*items: LimitRangeItem) -> NamespaceLimits:
    return merge([LimitRange("default", "l", items)])


@pytest.mark.parametrize(
    ("row", "limits", "noted"),
    [
        ("case:46 no LimitRange", within(), False),
        ("case:46 as much as is allowed", within(limit_range(LimitType.CONTAINER, maximum="1/1Gi")), False),
        ("case:46 a millicore too much", within(limit_range(LimitType.CONTAINER, maximum="999m/1Gi")), True),
        ("case:46 the pod as a whole", within(limit_range(LimitType.POD, maximum="999m/1Gi")), True),
        ("case:46 too little", within(limit_range(LimitType.CONTAINER, minimum="101m/-")), True),
    ],
)
def test_it_is_noted_where_the_pod_could_not_be_created_as_it_is(
    row: str, limits: NamespaceLimits, noted: bool
) -> None:
    text = asked_text(ASKING, limits)
    assert (json.loads(text) == NOTE if text else None) is (True if noted else None), row


@given(containers("c"), containers("d"))
def test_what_is_noted_is_read_again(first: Container, second: Container) -> None:
    subject = pod(first, second)
    noted = asked_text(subject, within(limit_range(LimitType.POD, minimum="1000/-")))
    read = asked_template(replace(subject, annotations={ASKED_ANNOTATION: noted}))
    written = {
        each.name: ContainerResources(each.resources.requests or {}, each.resources.limits or {})
        for each in subject.containers
    }
    assert read == written, "case:46"
    texts = [str(amount) for each in read.values() for amount in (each.requests or {}).values()]
    assert texts == [str(amount) for each in written.values() for amount in (each.requests or {}).values()], "case:46"


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ("case:46 none", None),
        ("case:46 empty", ""),
        ("case:46 no JSON", "{"),
        ("case:46 a list", "[1]"),
        ("case:46 no object", '{"c": 1}'),
        ("case:46 half of it", '{"c": {"requests": {}}}'),
        ("case:46 amounts of no kind", '{"c": {"requests": {"cpu": 1}, "limits": {}}}'),
        ("case:46 no amount", '{"c": {"requests": {"cpu": "much"}, "limits": {}}}'),
        ("case:46 no map", '{"c": {"requests": ["cpu"], "limits": {}}}'),
        ("case:46 very deep", "[" * 100_000),
    ],
)
def test_what_cannot_be_read_counts_as_unknown(row: str, text: str | None) -> None:
    subject: Pod = replace(ASKING, annotations=None if text is None else {ASKED_ANNOTATION: text})
    assert asked_template(subject) == {}, row


@given(st.text())
def test_any_text_is_borne(text: str) -> None:
    asked_template(replace(ASKING, annotations={ASKED_ANNOTATION: text}))

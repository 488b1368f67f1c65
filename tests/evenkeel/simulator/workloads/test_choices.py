"""How pods choose their behaviour, and which replica they are."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.workloads.choices import REPLICA_KEY, USAGE_KEY, chosen_name, chosen_names, replica_of


def pod(annotations: dict[str, str] | None = None, labels: dict[str, str] | None = None) -> JsonObject:
    metadata: JsonObject = {"name": "a", "namespace": "default"}
    return {"metadata": metadata | {"annotations": annotations or {}, "labels": labels or {}}}


NAMES: list[tuple[str, JsonObject, str, str]] = [
    ("nothing", pod(), "app", ""),
    ("annotation", pod({USAGE_KEY: "web"}), "app", "web"),
    ("label", pod(labels={USAGE_KEY: "web"}), "app", "web"),
    ("annotation before label", pod({USAGE_KEY: "web"}, {USAGE_KEY: "db"}), "app", "web"),
    ("by container", pod({USAGE_KEY: "app=web, proxy=small"}), "proxy", "small"),
    ("another container", pod({USAGE_KEY: "app=web,proxy=small"}), "third", ""),
]


@pytest.mark.parametrize(("case", "body", "container", "name"), NAMES, ids=[row[0] for row in NAMES])
def test_how_a_pod_chooses(case: str, body: JsonObject, container: str, name: str) -> None:
    assert chosen_name(body, container) == name


REPLICAS: list[tuple[str, JsonObject, int]] = [
    ("annotation", pod({REPLICA_KEY: "7"}), 7),
    ("label", pod(labels={REPLICA_KEY: "8"}), 8),
    ("ordinal of a stateful pod", pod(labels={"apps.kubernetes.io/pod-index": "2"}), 2),
]


@pytest.mark.parametrize(("case", "body", "number"), REPLICAS, ids=[row[0] for row in REPLICAS])
def test_the_number_of_a_replica(case: str, body: JsonObject, number: int) -> None:
    assert replica_of(body) == number


def test_a_replica_without_number_is_told_apart_by_name() -> None:
    other = pod()
    other["metadata"] = {"name": "b", "namespace": "default"}
    assert replica_of(pod()) == replica_of(pod()) != replica_of(other)


@pytest.mark.parametrize(
    ("body", "names"),
    [
        (pod(), ()),
        (pod({USAGE_KEY: "web"}), ("web",)),
        (pod({USAGE_KEY: "app=web, proxy=small,third=web"}), ("web", "small")),
        (pod({USAGE_KEY: "app="}), ()),
    ],
)
def test_all_that_a_pod_chooses(body: JsonObject, names: tuple[str, ...]) -> None:
    assert chosen_names(body) == names

"""How pods choose their behaviour, and what the catalogue makes of time."""

from __future__ import annotations

from datetime import timedelta

import pytest

from evenkeel.simulator.api.fields import JsonObject, child
from evenkeel.simulator.clock import EPOCH
from evenkeel.simulator.workloads.catalogue import (
    REPLICA_KEY,
    USAGE_KEY,
    Catalogue,
    UnknownBehaviourError,
    chosen_name,
    replica_of,
)
from evenkeel.simulator.workloads.demand import NOTHING, Behaviour, Demand
from evenkeel.simulator.workloads.functions import Constant, Ramp

SECOND = timedelta(seconds=1)


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


def test_age_and_time_count_from_different_moments() -> None:
    catalogue = Catalogue()
    ramp = Ramp(NOTHING, Demand(10.0), 10 * SECOND)
    catalogue.add("web", Behaviour(ramp, ramp))
    body = pod({USAGE_KEY: "web"})
    assert catalogue.demand_of(body, "app", EPOCH + 3 * SECOND, EPOCH + 5 * SECOND).cpu_cores == pytest.approx(2 + 5)


def test_a_pod_may_change_its_mind() -> None:
    catalogue = Catalogue()
    for name, cores in (("one", 1.0), ("two", 2.0)):
        catalogue.add(name, Behaviour(Constant(Demand(cores))))
    for name, cores in (("one", 1.0), ("two", 2.0), ("one", 1.0)):
        body = pod({USAGE_KEY: name})
        child(body, "metadata")["uid"] = "uid-a"
        for _ in range(2):
            assert catalogue.demand_of(body, "app", EPOCH, EPOCH).cpu_cores == cores


def test_a_behaviour_can_be_replaced() -> None:
    catalogue = Catalogue(default=Behaviour(Constant(Demand(3.0))))
    body = pod({USAGE_KEY: "web"})
    for cores in (1.0, 2.0):
        catalogue.add("web", Behaviour(Constant(Demand(cores))))
        assert catalogue.demand_of(body, "app", EPOCH, EPOCH).cpu_cores == cores
    assert catalogue.demand_of(pod(), "app", EPOCH, EPOCH).cpu_cores == 3.0


def test_an_unknown_name_is_complained_about() -> None:
    with pytest.raises(UnknownBehaviourError, match=r"default/a: container 'app' .*'web'.*add it"):
        Catalogue().behaviour_of(pod({USAGE_KEY: "web"}), "app")

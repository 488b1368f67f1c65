"""What the catalogue makes of time, of changes, and of loads that pods bear together."""

from __future__ import annotations

from datetime import timedelta

import pytest

from evenkeel.simulator.api.fields import JsonObject, child
from evenkeel.simulator.clock import EPOCH
from evenkeel.simulator.workloads.catalogue import Catalogue, UnknownBehaviourError
from evenkeel.simulator.workloads.choices import USAGE_KEY
from evenkeel.simulator.workloads.demand import NOTHING, Behaviour, Demand
from evenkeel.simulator.workloads.functions import Constant, Ramp

SECOND = timedelta(seconds=1)


def pod(annotations: dict[str, str] | None = None, labels: dict[str, str] | None = None) -> JsonObject:
    metadata: JsonObject = {"name": "a", "namespace": "default"}
    return {"metadata": metadata | {"annotations": annotations or {}, "labels": labels or {}}}


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


class Thirds:
    """Gives every pod a third of one behaviour's load, and nothing of another's."""

    def share(self, name: str, pod: JsonObject) -> float:
        del pod
        return 1 / 3 if name == "web" else 0.0


def test_a_shared_load_comes_on_top_by_the_time_of_the_simulation() -> None:
    catalogue = Catalogue(sharing=Thirds())
    own, shared = Constant(Demand(0.5, 10)), Ramp(NOTHING, Demand(9.0, 90), 9 * SECOND)
    for name in ("web", "db"):
        catalogue.add(name, Behaviour(own, own, shared))
    now = EPOCH + 3 * SECOND
    assert catalogue.demand_of(pod({USAGE_KEY: "app=web"}), "app", now, now) == Demand(2.0, 30)
    assert catalogue.demand_of(pod({USAGE_KEY: "db"}), "app", now, now) == Demand(1.0, 20)


def test_without_anybody_to_share_with_a_pod_bears_it_all() -> None:
    catalogue = Catalogue()
    catalogue.add("web", Behaviour(shared=Constant(Demand(2.0))))
    assert catalogue.demand_of(pod({USAGE_KEY: "web"}), "app", EPOCH, EPOCH) == Demand(2.0)

"""Objects for settings that were replayed (beyond:B-36)."""

from __future__ import annotations

import json

import pytest
import yaml

from autoscaling.quantity import Quantity
from autoscaling.vpa import ContainerPolicy, ControlledValues, UpdateMode
from autoscaling.wire.objects import decode_vpa
from evenkeel.replay.autoscalers import (
    Setting,
    Workload,
    WorkloadKind,
    autoscaler,
    file_name,
    needs,
    setting_of,
    text_of,
    workloads,
)
from evenkeel.replay.variants import Variant

WEB = Workload("shop", "web", ("main", "proxy"))
POLICY = ContainerPolicy(
    "*",
    min_allowed={"cpu": Quantity.parse("50m")},
    max_allowed={"memory": Quantity.parse("2Gi")},
    controlled_values=ControlledValues.REQUESTS_ONLY,
)
NO_MINIMUM = ("--pod-recommendation-min-cpu-millicores=0", "--pod-recommendation-min-memory-mb=0")


def test_workloads_with_their_containers() -> None:
    """beyond:B-36."""
    found, problems = workloads(["shop/web/proxy", "b/x.y/main", "shop/web/main", "shop/web/main"])
    assert found == (Workload("b", "x.y", ("main",)), WEB)
    assert problems == ()


@pytest.mark.parametrize("name", ["web", "shop/web", "a/b/c/d", "Shop/web/main", "shop/web/", "shop/../main", "/web/x"])
def test_series_that_are_no_containers(name: str) -> None:
    """beyond:B-36: they are named, and nothing is written for them."""
    found, (problem,) = workloads([name])
    assert found == ()
    assert problem.startswith(f"series {name}: is not called namespace/workload/container")


def test_the_object_is_what_the_product_reads() -> None:
    """beyond:B-36, api:1.2."""
    body = autoscaler(WEB, Setting("calm", "vpa-default", POLICY), WorkloadKind.STATEFUL_SET)
    vpa = decode_vpa(json.dumps(body).encode())
    assert (vpa.namespace, vpa.name, vpa.strategy) == ("shop", "web", "vpa-default")
    assert vpa.update_mode is UpdateMode.IN_PLACE_OR_RECREATE
    assert vpa.container_policies is not None
    assert [each.container_name for each in vpa.container_policies] == ["main", "proxy"]
    for each in vpa.container_policies:
        assert (each.min_allowed, each.max_allowed) == (POLICY.min_allowed, POLICY.max_allowed)
        assert each.controlled_values is ControlledValues.REQUESTS_ONLY


@pytest.mark.parametrize(
    ("row", "flags", "strategy", "left"),
    [
        ("beyond:B-36 no flags", (), "vpa-default", ()),
        ("beyond:B-36 no minimum is a strategy", NO_MINIMUM, "vpa-min0", ()),
        ("beyond:B-36 one minimum is a flag", NO_MINIMUM[:1], "vpa-default", NO_MINIMUM[:1]),
        ("beyond:B-36 both", ("--a=1", *NO_MINIMUM), "vpa-min0", ("--a=1",)),
    ],
)
def test_what_objects_ask_for(row: str, flags: tuple[str, ...], strategy: str, left: tuple[str, ...]) -> None:
    setting = setting_of(Variant("calm", flags=flags, policy=POLICY))
    assert (setting.strategy, setting.flags, setting.policy) == (strategy, left, POLICY), row


def test_flags_stand_in_a_comment() -> None:
    """beyond:B-36: what no object can say is not lost."""
    setting = Setting("calm", "vpa-default", POLICY, ("--target-cpu-percentile=0.95",))
    text = text_of(WEB, setting, WorkloadKind.DEPLOYMENT)
    assert text.splitlines()[:2] == [f"# {line}" for line in needs(setting)]
    assert "--target-cpu-percentile=0.95" in text.splitlines()[1]
    assert yaml.safe_load(text) == autoscaler(WEB, setting, WorkloadKind.DEPLOYMENT)
    assert needs(Setting("weekly-peak", "weekly-peak")) == ()


def test_names_of_files_do_not_clash() -> None:
    """beyond:B-36: neither part of a name can hold what stands between them."""
    names = {file_name(each) for each in (Workload("a-b", "c", ()), Workload("a", "b-c", ()))}
    assert names == {"a-b_c.yaml", "a_b-c.yaml"}

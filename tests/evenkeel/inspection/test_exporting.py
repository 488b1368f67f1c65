"""Recommendations in the form that manifests take."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml

from admission.review import SubmittedPod
from autoscaling.behaviour import Behaviour, Profile
from autoscaling.errors import ConfigurationError
from autoscaling.limitrange import NO_LIMITS, LimitRange, LimitType, merge
from autoscaling.vpa import ContainerPolicy, ControlledValues, TargetRef, UpdateMode, Vpa
from evenkeel.inspection.documents import Json
from evenkeel.inspection.exporting import (
    ExportedWorkload,
    export_table,
    exported,
    file_name,
    helm_values,
    kustomization,
    patch_of,
)
from tests.builders import amounts, container, limit_range, pod, recommended, sidecar, vpa, with_init_containers

BEHAVIOUR = Behaviour.of(Profile.EVENKEEL)
POD = pod(container("main", "100m/100Mi", "200m/200Mi"), container("other"))
TEMPLATE = SubmittedPod(POD, (True, False))
MAIN = recommended("main", "250m/150Mi")
REQUESTS_ONLY = (ContainerPolicy("*", controlled_values=ControlledValues.REQUESTS_ONLY),)


def workload(of: Vpa | None = None, name: str = "d") -> ExportedWorkload:
    given = of or vpa(MAIN)
    found = exported(
        replace(given, target_ref=TargetRef("Deployment", name, "apps/v1")), TEMPLATE, NO_LIMITS, BEHAVIOUR
    )
    assert found is not None
    return found


def told(value: Json) -> dict[str, Any]:
    assert isinstance(value, dict)
    return value


def resources(found: ExportedWorkload) -> Any:  # noqa: ANN401 - JSON to be looked into
    return told(patch_of(found))["spec"]["template"]["spec"]["containers"]


BOTH = ({"cpu": "250m", "memory": "150Mi"}, {"cpu": "500m", "memory": "300Mi"})

AMOUNTS = [
    ("beyond:B-38", vpa(MAIN), *BOTH),
    ("beyond:B-38 mode Off", vpa(MAIN, mode=UpdateMode.OFF), *BOTH),
    ("beyond:B-38 limits stay", vpa(MAIN, policies=REQUESTS_ONLY), {"cpu": "200m", "memory": "150Mi"}, None),
]


@pytest.mark.parametrize(("row", "of", "requests", "limits"), AMOUNTS, ids=[row[0] for row in AMOUNTS])
def test_amounts_are_the_webhooks(row: str, of: Vpa, requests: dict[str, str], limits: dict[str, str] | None) -> None:
    wanted = {"requests": requests} | ({"limits": limits} if limits else {})
    assert resources(workload(of)) == [{"name": "main", "resources": wanted}]


def test_limit_ranges_count() -> None:
    """beyond:B-12, beyond:B-38."""
    item = limit_range(LimitType.CONTAINER, maximum="300m/-", default="300m/-")
    limits = merge([LimitRange("default", "l", (replace(item, default_request=amounts("300m/-")),))])
    found = exported(vpa(MAIN), TEMPLATE, limits, BEHAVIOUR)
    assert found is not None
    assert resources(found)[0]["resources"]["limits"]["cpu"] == "300m"


@pytest.mark.parametrize("of", [vpa(recommended("gone", "1/1Gi")), replace(vpa(MAIN), target_ref=None)])
def test_nothing_to_set(of: Vpa) -> None:
    assert exported(of, TEMPLATE, NO_LIMITS, BEHAVIOUR) is None


def test_sidecars_stand_under_init_containers() -> None:
    """beyond:B-16, beyond:B-38."""
    with_proxy = with_init_containers(POD, container("setup"), sidecar("proxy", "10m/10Mi"))
    template = SubmittedPod(with_proxy, (True, False), (False, True))
    found = exported(vpa(MAIN, recommended("proxy", "20m/20Mi")), template, NO_LIMITS, BEHAVIOUR)
    assert found is not None
    patch = told(patch_of(found))
    assert patch["spec"]["template"]["spec"]["initContainers"] == [
        {"name": "proxy", "resources": {"requests": {"cpu": "20m", "memory": "20Mi"}}}
    ]


def test_a_cron_job_has_its_template_deeper() -> None:
    """beyond:B-38."""
    found = replace(workload(), target=TargetRef("CronJob", "c", "batch/v1"))
    patch = told(patch_of(found))
    assert patch["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]


def test_a_kustomize_component() -> None:
    """beyond:B-38."""
    component = told(kustomization((workload(),)))
    assert (component["apiVersion"], component["kind"]) == ("kustomize.config.k8s.io/v1alpha1", "Component")
    (patch,) = component["patches"]
    target = {"group": "apps", "version": "v1", "kind": "Deployment", "name": "d"}
    assert patch["target"] == target, "manifests need not have their namespace yet"
    assert yaml.safe_load(patch["patch"]) == patch_of(workload())
    core = told(kustomization((replace(workload(), target=TargetRef("ReplicationController", "r", "v1")),)))
    assert "group" not in core["patches"][0]["target"]
    both = told(kustomization((workload(), replace(workload(), namespace="shop"))))
    assert [each["target"] for each in both["patches"]] == [
        {**target, "namespace": namespace} for namespace in ("default", "shop")
    ]


def test_a_kustomize_component_whose_patches_are_files() -> None:
    """beyond:B-38."""
    (patch,) = told(kustomization((workload(),), in_files=True))["patches"]
    assert (patch["path"], patch["target"]["name"]) == (file_name(workload()), "d")
    assert "patch" not in patch


KEYS = [
    ("beyond:B-38 default", "{name}.{container}.resources", ("d", "main", "resources")),
    ("beyond:B-38 plain", "resources", ("resources",)),
    ("beyond:B-38 all", "{namespace}.{kind}-{name}.{container}", ("default", "deployment-d", "main")),
]


@pytest.mark.parametrize(("row", "key", "place"), KEYS, ids=[row[0] for row in KEYS])
def test_helm_values(row: str, key: str, place: tuple[str, ...]) -> None:
    values: object = helm_values((workload(),), key)
    for part in place:
        assert isinstance(values, dict)
        assert list(values) == [part]
        values = values[part]
    assert values == {"requests": {"cpu": "250m", "memory": "150Mi"}, "limits": {"cpu": "500m", "memory": "300Mi"}}


def test_a_name_with_a_dot_stays_one_part() -> None:
    assert list(told(helm_values((workload(name="a.b"),)))) == ["a.b"]


WRONG = [
    ("beyond:B-38 shared", "resources", "stands; use more of"),
    ("beyond:B-38 within", "{container}", "stands; use more of"),
    ("beyond:B-38 unknown", "{pod}.resources", "may use {namespace}"),
    ("beyond:B-38 empty part", "{name}..resources", "may use {namespace}"),
    ("beyond:B-38 a number", "{0}", "may use {namespace}"),
    ("beyond:B-38 no end", "{name", "write for example"),
]


@pytest.mark.parametrize(("row", "key", "said"), WRONG, ids=[row[0] for row in WRONG])
def test_keys_that_are_none(row: str, key: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=f"--helm-key .*{said}"):
        helm_values((workload(), workload(name="e")), key)


def test_the_table_shows_what_changes() -> None:
    rows = export_table((workload(),)).rows
    assert rows[0] == ("default", "Deployment/d", "main", "cpu request", "100m", "250m")
    assert len(rows) == 4
    bare = workload(vpa(recommended("other", "1/-")))
    assert export_table((bare,)).rows == (("default", "Deployment/d", "other", "cpu request", "-", "1"),)


def test_files_of_workloads_of_one_name_are_apart() -> None:
    kinds = (
        TargetRef("Deployment", "d", "apps/v1"),
        TargetRef("Deployment", "d", "x.io/v1"),
        TargetRef("Pod", "d", "v1"),
    )
    names = {file_name(replace(workload(), target=target)) for target in kinds}
    assert names == {"default_apps_deployment_d.yaml", "default_x.io_deployment_d.yaml", "default_pod_d.yaml"}

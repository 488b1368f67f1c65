"""Boosts in the patch of a new pod; the rows were also compared with upstream's own process."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from admission.boosting import BoostRules, with_boosts
from admission.pod_patch import PodToPatch, new_resources, pod_patch
from autoscaling.errors import InvalidObjectError
from autoscaling.limitrange import NO_LIMITS
from autoscaling.pod import Pod
from autoscaling.quantity import Quantity
from autoscaling.sidecars import with_sidecars
from autoscaling.vpa import (
    BoostType,
    ContainerPolicy,
    ControlledValues,
    CpuBoost,
    ScalingMode,
    StartupBoost,
    UpdateMode,
    Vpa,
)
from tests.builders import container, pod, recommended, sidecar, vpa, with_init_containers

TWICE = StartupBoost(CpuBoost(BoostType.FACTOR, factor=2))
BOOSTS = "/metadata/annotations/vpaCpuStartupBoost~1"
ANNOTATION = f"{BOOSTS}c"


def boosting(the_vpa: Vpa, boost: StartupBoost = TWICE) -> Vpa:
    return replace(the_vpa, startup_boost=boost)


def patch_of(the_pod: Pod, the_vpa: Vpa, rules: BoostRules | None = None) -> list[tuple[str, object]]:
    """Return path and value of each operation."""
    targets = new_resources(the_pod, the_vpa, NO_LIMITS)
    targets, boosts = with_boosts(the_pod, the_vpa, targets, rules or BoostRules())
    return [(op.path, op.value) for op in pod_patch(PodToPatch(the_pod), the_vpa.name, targets, boosts)]


def resources(operations: list[tuple[str, object]]) -> dict[str, object]:
    """Return the amounts that a patch sets, by the end of their paths."""
    prefix = "/spec/containers/0/resources/"
    return {path.removeprefix(prefix): value for path, value in operations if path.startswith(prefix) and value != {}}


def test_the_recommendation_is_boosted_and_the_original_kept() -> None:
    operations = patch_of(pod(container("c", "100m/1Gi", "200m/2Gi")), boosting(vpa(recommended("c", "150m/1Gi"))))
    paths = [path for path, _ in operations]
    assert paths[:2] == ["/metadata/annotations", ANNOTATION], "admission:8.7"
    assert json.loads(str(operations[1][1])) == {
        "requests": {"cpu": "100m", "memory": "1Gi"},
        "limits": {"cpu": "200m", "memory": "2Gi"},
    }, "admission:7.3.3"
    assert resources(operations) == {
        "requests/cpu": "300m",
        "requests/memory": "1Gi",
        "limits/cpu": "600m",
        "limits/memory": "2Gi",
    }, "admission:8.9"


@pytest.mark.parametrize(
    ("row", "the_vpa", "wanted"),
    [
        ("admission:8.2 own request without a recommendation", vpa(), {"requests/cpu": "200m", "limits/cpu": "400m"}),
        (
            "admission:8.9 mode Off boosts the pod's own values only",
            vpa(recommended("c", "1/2Gi"), mode=UpdateMode.OFF),
            {"requests/cpu": "200m", "limits/cpu": "400m"},
        ),
        (
            "admission:8.9 mode Off with RequestsOnly caps",
            vpa(policies=[ContainerPolicy("*", controlled_values=ControlledValues.REQUESTS_ONLY)], mode=UpdateMode.OFF),
            {"requests/cpu": "200m"},
        ),
        (
            "admission:8.1 policy mode Off",
            vpa(recommended("c", "1"), policies=[ContainerPolicy("c", ScalingMode.OFF)]),
            {},
        ),
    ],
)
def test_what_is_boosted(row: str, the_vpa: Vpa, wanted: dict[str, str]) -> None:
    operations = patch_of(pod(container("c", "100m/1Gi", "200m/2Gi")), boosting(the_vpa))
    assert resources(operations) == wanted, row
    assert any(path == ANNOTATION for path, _ in operations) is bool(wanted), row


def test_a_quantity_is_added_to_the_recommendation() -> None:
    """Spec: api:7.3, admission:8.3."""
    more = StartupBoost(CpuBoost(BoostType.QUANTITY, quantity=Quantity.parse("250m")))
    operations = patch_of(pod(container("c", "100m", "200m")), boosting(vpa(recommended("c", "1")), more))
    assert resources(operations) == {"requests/cpu": "1250m", "limits/cpu": "2500m"}


def test_a_container_without_a_request_gets_an_explicit_zero_by_a_factor() -> None:
    operations = patch_of(pod(container("c")), boosting(vpa(mode=UpdateMode.OFF)))
    assert resources(operations) == {"requests/cpu": "0"}, "admission:8.9"


def test_a_factor_of_one_is_annotated_all_the_same() -> None:
    once = StartupBoost(CpuBoost(BoostType.FACTOR, factor=1))
    operations = patch_of(pod(container("c", "100m", "200m")), boosting(vpa(recommended("c", "100m")), once))
    assert operations[1][0] == ANNOTATION, "admission:8.7"


def test_the_cap_of_the_process_counts() -> None:
    rules = BoostRules(Quantity.parse("150m"))
    operations = patch_of(pod(container("c", "100m")), boosting(vpa()), rules)
    assert resources(operations) == {"requests/cpu": "150m"}, "admission:8.4"


def test_one_bad_boost_leaves_the_whole_pod_alone() -> None:
    bad = [ContainerPolicy("b", startup_boost=StartupBoost())]
    with pytest.raises(InvalidObjectError, match="container 'b' is empty"):
        patch_of(pod(container("a", "1"), container("b", "1")), boosting(vpa(policies=bad)))


def test_a_sidecar_is_boosted_as_a_regular_container_is() -> None:
    """Spec: beyond:B-16: it starts before the others, and its boost ends with theirs."""
    init = sidecar("side.car", "100m", "200m")
    subject = with_sidecars(with_init_containers(pod(container("c", "100m", "200m")), container("setup", "1"), init))
    operations = dict(patch_of(subject, boosting(vpa())))
    boosted = {path: value for path, value in operations.items() if "/resources/" in path}
    places = ("/spec/containers/0", "/spec/initContainers/1")
    wanted = {"requests/cpu": "200m", "limits/cpu": "400m"}
    assert boosted == {f"{place}/resources/{name}": value for place in places for name, value in wanted.items()}
    assert json.loads(str(operations[f"{BOOSTS}side.car"]))["requests"] == {"cpu": "100m"}
    assert f"{BOOSTS}setup" not in operations

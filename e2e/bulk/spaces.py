"""The namespaces that pods are put into: LimitRanges, workloads of no pods, and VPAs with recommendations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from e2e.api_socket import Answer, ApiSocket
from e2e.cluster.documents import JsonObject, JsonValue, text_at
from e2e.installation import Group
from e2e.parity.admission.drawing import limit_ranges, vpa
from e2e.parity.dice import Dice

_TAKEN: Final = (200, 201)
_WORKLOADS: Final = 6


@dataclass(frozen=True, slots=True)
class Space:
    """A namespace with VPAs, and one with the same LimitRanges and without.

    Args:
        name: Of the first.
        workloads: References to the workloads that own its pods.
        vpas: The VPA of each, as it was submitted, for whoever reads of a failure.
    """

    name: str
    workloads: tuple[JsonObject, ...]
    vpas: tuple[JsonObject, ...]

    @property
    def plain(self) -> str:
        """Name of the second."""
        return f"{self.name}-plain"


def labels_of(workload: str) -> JsonObject:
    """Return the labels by which a workload selects its pods."""
    return {"app": workload}


@contextmanager
def spaces(api: ApiSocket, seed: int, count: int) -> Iterator[list[Space]]:
    """Fill some namespaces for the time of a ``with`` block; what the API server refuses of a drawing is left out."""
    made = [_filled(api, Dice(f"{seed}/space/{number}"), f"bulk-{number}") for number in range(count)]
    try:
        yield made
    finally:
        for space in made:
            api.delete(f"/api/v1/namespaces/{space.name}")
            api.delete(f"/api/v1/namespaces/{space.plain}")


def _filled(api: ApiSocket, dice: Dice, name: str) -> Space:
    space = Space(name, (), ())
    for namespace in (space.name, space.plain):
        _made(api.post("/api/v1/namespaces", {"metadata": {"name": namespace}}))
        account = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        answer = api.post(account, {"metadata": {"name": "default"}})
        assert answer.code in {*_TAKEN, 409}, answer.message
    for drawn in limit_ranges(dice):
        limit_range = _limit_range(dice, drawn)
        for namespace in (space.name, space.plain):
            api.post(f"/api/v1/namespaces/{namespace}/limitranges", limit_range)
    found = [_workload(api, dice, space.name, f"w{number}") for number in range(_WORKLOADS)]
    return Space(name, tuple(owner for owner, _ in found), tuple(scaler for _, scaler in found))


def _limit_range(dice: Dice, drawn: dict[str, object]) -> JsonObject:
    """Return a drawn LimitRange, now and then with a bound on the ratio of limits to requests."""
    metadata, spec = drawn["metadata"], drawn["spec"]
    assert isinstance(metadata, dict)
    assert isinstance(spec, dict)
    items: list[JsonValue] = []
    for item in spec["limits"]:
        ratio: JsonObject = {dice.pick("cpu", "memory"): dice.pick("1", "2", "2500m", "10")}
        is_bound = item["type"] != "PersistentVolumeClaim" and dice.chance(0.15)
        items.append({**item, "maxLimitRequestRatio": ratio} if is_bound else item)
    return {"metadata": {"name": str(metadata["name"])}, "spec": {"limits": items}}


def _workload(api: ApiSocket, dice: Dice, namespace: str, name: str) -> tuple[JsonObject, JsonObject]:
    """Make a StatefulSet without pods and a VPA for it; return the owner reference and the VPA."""
    template: JsonObject = {
        "metadata": {"labels": labels_of(name)},
        "spec": {"containers": [{"name": "c0", "image": "registry.invalid/i"}]},
    }
    spec: JsonObject = {"replicas": 0, "selector": {"matchLabels": labels_of(name)}, "template": template}
    made = _made(
        api.post(f"/apis/apps/v1/namespaces/{namespace}/statefulsets", {"metadata": {"name": name}, "spec": spec})
    )
    owner: JsonObject = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "name": name,
        "uid": text_at(made, "metadata", "uid"),
        "controller": True,
    }
    return owner, _autoscaler(api, dice, namespace, name)


def _autoscaler(api: ApiSocket, dice: Dice, namespace: str, name: str) -> JsonObject:
    """Draw VPAs until the API server takes one and its status."""
    path = f"/apis/{Group.OWN.value}/v1/namespaces/{namespace}/verticalpodautoscalers"
    while True:
        drawn = _of_own_group(vpa(dice, name), name)
        answer = api.post(path, {key: value for key, value in drawn.items() if key != "status"})
        if answer.code not in _TAKEN:
            continue
        status: list[JsonValue] = [{"op": "add", "path": "/status", "value": drawn.get("status", {})}]
        if api.patch(f"{path}/{name}/status", status).code in _TAKEN:
            return drawn
        api.delete(f"{path}/{name}")


def _of_own_group(drawn: dict[str, object], name: str) -> JsonObject:
    spec, status = drawn["spec"], drawn.get("status", {})
    assert isinstance(spec, dict)
    assert isinstance(status, dict)
    target: JsonObject = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": name}
    return {
        "apiVersion": f"{Group.OWN.value}/v1",
        "kind": "VerticalPodAutoscaler",
        "metadata": {"name": name},
        "spec": {**spec, "targetRef": target, "recommenders": [{"name": "by-hand"}]},
        "status": status,
    }


def _made(answer: Answer) -> JsonObject:
    assert answer.code in _TAKEN, answer.message
    return answer.body

"""Pods as people and programs write them, drawn: most are sound, some are odd in one way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from autoscaling.quantity import Quantity
from e2e.cluster.documents import JsonObject, JsonValue
from e2e.parity.amounts import cpu, memory
from e2e.parity.dice import Dice

CONTAINERS: Final = ("c0", "c1", "c2", "c3")
_ODD_SHARE: Final = 0.25
_MANY: Final = 100
_ODD_QUANTITIES: Final[tuple[JsonValue, ...]] = (
    "-1", "-100m", "abc", "", "1 ", "1e30", "1e999", "0x10", "\u0661", "1Mi1", "9223372036854775807", "1n",
    "0.0000000001", "99999999999999999999999", "1E", 1, 1.5, 0, None, True, [], {},
)  # fmt: skip
_ODD_TEXTS: Final = ("", "c0", "ünïcode", "a" * 64, "a\nb", "\ud7ff", "C0", "a/b", "\u202etxt", "x" * 300)


def drawn_pod(dice: Dice, owner: JsonObject, labels: JsonObject) -> JsonObject:
    """Draw a pod.

    Args:
        owner: The reference to its controller.
        labels: That its controller selects by.
    """
    names = [f"c{n}" for n in range(_MANY)] if dice.chance(0.005) else CONTAINERS[: dice.pick(1, 1, 1, 2, 2, 3, 4)]
    spec: JsonObject = {"containers": [_container(dice, name) for name in names]}
    if dice.chance(0.2):
        spec["initContainers"] = [_init_container(dice, name) for name in ("i0", "i1")[: dice.pick(1, 1, 2)]]
    if dice.chance(0.1):
        spec["resources"] = _pod_level(dice, len(names))
    metadata: JsonObject = {"generateName": "p-", "labels": dict(labels), "ownerReferences": [owner]}
    if dice.chance(0.3):
        already: JsonObject = dice.pick({}, {"a": "b"}, {"vpaUpdates": "x"}, {"vpaObservedContainers": "c0"})
        metadata["annotations"] = already
    pod: JsonObject = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    if dice.chance(_ODD_SHARE):
        dice.among(_ODDITIES)(dice, pod)
    return pod


def _container(dice: Dice, name: str) -> JsonObject:
    drawn: JsonObject = {"name": name, "image": "registry.invalid/i"}
    if dice.chance(0.9):
        drawn["resources"] = _resources(dice)
    if dice.chance(0.15):
        policy = dice.pick("NotRequired", "RestartContainer")
        drawn["resizePolicy"] = [{"resourceName": "memory", "restartPolicy": policy}]
    return drawn


def _init_container(dice: Dice, name: str) -> JsonObject:
    drawn = _container(dice, name)
    drawn.pop("resizePolicy", None)
    if dice.chance(0.5):
        drawn["restartPolicy"] = "Always"
    return drawn


def _resources(dice: Dice) -> JsonObject:
    """Draw requests and limits of which the first never exceed the second."""
    requests: JsonObject = {}
    limits: JsonObject = {}
    for resource, draw in (("cpu", cpu), ("memory", memory)):
        low, high = sorted((_whole(draw(dice)), _whole(draw(dice))), key=Quantity.parse)
        shape = dice.pick("both", "both", "both", "request", "limit", "equal", "none")
        if shape in {"both", "request"}:
            requests[resource] = low
        if shape in {"both", "limit", "equal"}:
            limits[resource] = high
        if shape == "equal":
            requests[resource] = high
    if dice.chance(0.03):
        requests["example.com/gpu"] = limits["example.com/gpu"] = dice.pick("1", "2")
    if dice.chance(0.03):
        requests["hugepages-2Mi"] = limits["hugepages-2Mi"] = dice.pick("2Mi", "4Mi")
    if dice.chance(0.05):
        requests["ephemeral-storage"] = "1Gi"
    return dice.pick(
        {"requests": requests, "limits": limits}, {"requests": requests, "limits": limits}, {"limits": limits}
    )


def _whole(text: str) -> str:
    """Return an amount that the API server takes as it is: no fraction of a byte or of a millicore."""
    return text if text[-1:] not in {"u", "n"} and text != "1500m" else "1"


def _pod_level(dice: Dice, containers: int) -> JsonObject:
    """Draw requests and limits of the pod as a whole, mostly large enough for its containers."""
    room = dice.pick(1, 8, 64)
    amounts: JsonObject = {"cpu": f"{room * containers}", "memory": f"{room * containers}Gi"}
    return dice.pick({"limits": amounts}, {"requests": amounts, "limits": amounts}, {"requests": amounts})


def _first(pod: JsonObject) -> JsonObject:
    """Return the first container."""
    spec = pod["spec"]
    assert isinstance(spec, dict)
    containers = spec["containers"]
    assert isinstance(containers, list)
    container = containers[0]
    assert isinstance(container, dict)
    return container


def _odd_amount(dice: Dice, pod: JsonObject) -> None:
    where, resource = dice.pick("requests", "limits"), dice.pick("cpu", "memory", "example.com/gpu", "a b", "")
    _first(pod)["resources"] = {where: {resource: dice.among(_ODD_QUANTITIES)}}


def _request_above_limit(dice: Dice, pod: JsonObject) -> None:
    resource = dice.pick("cpu", "memory")
    _first(pod)["resources"] = {"requests": {resource: "4G"}, "limits": {resource: "1G"}}


def _odd_resources(dice: Dice, pod: JsonObject) -> None:
    odd: tuple[JsonValue, ...] = (None, {}, [], "x", 1, {"requests": None}, {"limits": []}, {"requests": {"cpu": {}}})
    _first(pod)["resources"] = dice.among(odd)


def _odd_name(dice: Dice, pod: JsonObject) -> None:
    _first(pod)["name"] = dice.among(_ODD_TEXTS)


def _same_name_twice(dice: Dice, pod: JsonObject) -> None:  # noqa: ARG001 one of several
    spec = pod["spec"]
    assert isinstance(spec, dict)
    spec["containers"] = [_first(pod), dict(_first(pod))]


def _odd_containers(dice: Dice, pod: JsonObject) -> None:
    odd: tuple[JsonValue, ...] = (None, [], {}, "x", [None], [1], [{}], [[]])
    spec = pod["spec"]
    assert isinstance(spec, dict)
    spec[dice.pick("containers", "initContainers", "ephemeralContainers")] = dice.among(odd)


def _odd_spec(dice: Dice, pod: JsonObject) -> None:
    odd: tuple[JsonValue, ...] = (None, [], "x", 1, {})
    pod[dice.pick("spec", "metadata")] = dice.among(odd)


def _odd_annotations(dice: Dice, pod: JsonObject) -> None:
    odd: tuple[JsonValue, ...] = (
        None, [], {"a": "x" * 262_080}, {"a": "ü" * 131_000}, {"a": 1},
        {"a": None}, {"": "x"}, {"ü": "x"}, {"a": "\u202e\ud7ff"}, {"a": "x" * 200_000},
        {"a": "x" * 300_000}, {"vpaUpdates": "y" * 1000}, {"vpaCpuStartupBoost~1c0": "{"},
    )  # fmt: skip
    metadata = pod["metadata"]
    assert isinstance(metadata, dict)
    metadata["annotations"] = dice.among(odd)


def _odd_owner(dice: Dice, pod: JsonObject) -> None:
    sound: JsonObject = {"apiVersion": "example.com/v1", "kind": "Foo", "name": "f", "uid": "u", "controller": True}
    odd: tuple[JsonValue, ...] = (
        None, [], [sound], [sound, sound], [{}], [{**sound, "kind": ""}], [{**sound, "uid": ""}], "x",
        [{**sound, "name": 1}], [{**sound, "kind": "Node", "apiVersion": "v1"}], [{**sound, "controller": "true"}],
    )  # fmt: skip
    metadata = pod["metadata"]
    assert isinstance(metadata, dict)
    metadata["ownerReferences"] = dice.among(odd)


def _unknown_fields(dice: Dice, pod: JsonObject) -> None:
    _first(pod)["nonsense"] = {"a": [1, 2, dice.whole(0, 9)]}
    pod["other"] = "\u0000" if dice.chance(0.5) else 1


_ODDITIES: Final[tuple[Callable[[Dice, JsonObject], None], ...]] = (
    _odd_amount,
    _odd_amount,
    _request_above_limit,
    _odd_resources,
    _odd_name,
    _same_name_twice,
    _odd_containers,
    _odd_spec,
    _odd_annotations,
    _odd_owner,
    _unknown_fields,
)

"""The pods and the recommendations of a cluster as tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from autoscaling.quantity import Quantity
from autoscaling.runtime.api_group import ApiGroup
from evenkeel.simulator.api.fields import JsonObject, child, number, quantity, rows, text
from evenkeel.simulator.api.objects import ObjectStore
from evenkeel.simulator.api.pod_amounts import is_sidecar
from evenkeel.simulator.scenarios.chronicle import RESIZE_CONDITIONS, listed
from evenkeel.simulator.scenarios.objects import WORKLOAD_LABEL

MOST_PODS = 12
_BAR = 6
_FULL, _HALF = 0.9, 0.5


def pod_table(store: ObjectStore, metrics: Sequence[JsonObject]) -> Table:
    """Return one row for each container of the workloads' pods.

    Args:
        store: Where the pods are.
        metrics: What the metrics API says.
    """
    table = Table(box=None, pad_edge=False, expand=True)
    table.add_column("pod", no_wrap=True, overflow="ellipsis", ratio=1, min_width=12)
    for name in ("node", "phase", "restarts", "cpu", "memory"):
        table.add_column(name, no_wrap=True)
    table.add_column("resize", no_wrap=True, overflow="ellipsis")
    usage = {(_key(row), text(one, "name")): child(one, "usage") for row in metrics for one in rows(row, "containers")}
    pods = [pod for pod in store.list("v1", "Pod") if text(pod, "metadata", "labels", WORKLOAD_LABEL)]
    for pod in pods[:MOST_PODS]:
        sidecars = [container for container in rows(pod, "spec", "initContainers") if is_sidecar(container)]
        for container in rows(pod, "spec", "containers") + sidecars:
            table.add_row(*_cells(pod, container, usage.get((_key(pod), text(container, "name")), {})))
    if len(pods) > MOST_PODS:
        table.add_row(f"and {len(pods) - MOST_PODS} more")
    return table


def _cells(pod: JsonObject, container: JsonObject, used: JsonObject) -> list[str | Text]:
    """Return the cells of one container."""
    statuses = rows(pod, "status", "containerStatuses") + rows(pod, "status", "initContainerStatuses")
    status = next((row for row in statuses if row.get("name") == container.get("name")), {})
    resources = child(status, "resources") or child(container, "resources")
    requests, limits = child(resources, "requests"), child(resources, "limits")
    phase = "Terminating" if text(pod, "metadata", "deletionTimestamp") else text(pod, "status", "phase")
    return [
        text(pod, "metadata", "name"),
        text(pod, "spec", "nodeName") or "-",
        phase,
        str(number(status, "restartCount")),
        bar(*(amounts.get("cpu") for amounts in (used, requests, limits))),
        bar(*(amounts.get("memory") for amounts in (used, requests, limits))),
        _resize(pod),
    ]


def bar(used: object, request: object, limit: object) -> Text:
    """Return a usage with request and limit, behind a bar that is full at the limit, or at the request without one."""
    amounts = "/".join("-" if amount is None else str(amount) for amount in (request, limit))
    if used is None:
        return Text(f"{'':{_BAR}} -/{amounts}")
    amount, full = quantity(used), limit if limit is not None else request
    share = min(1.0, amount.nano / max(1, quantity(full).nano)) if full is not None else 0.0
    filled = round(share * _BAR)
    style = "red" if share >= _FULL else "yellow" if share >= _HALF else "green"
    return Text.assemble(("█" * filled, style), "░" * (_BAR - filled), f" {short(amount)}/{amounts}")


def short(amount: Quantity) -> str:
    """Return an amount in thousandths below a thousand, in MiB from one on."""
    mebibytes = amount.nano / 10**9 / 2**20
    return f"{round(mebibytes)}Mi" if mebibytes >= 1 else str(Quantity.of_milli(round(amount.nano / 10**6)))


def _resize(pod: JsonObject) -> str:
    """Return what the kubelet says of a resize."""
    said = [
        f"{text(row, 'type').removeprefix('PodResize')} {text(row, 'reason')}".rstrip()
        for row in rows(pod, "status", "conditions")
        if text(row, "type") in RESIZE_CONDITIONS and text(row, "status") == "True"
    ]
    return ", ".join(said)


def recommendation_table(store: ObjectStore) -> Table:
    """Return one row for each container that is recommended something."""
    table = Table(box=None, pad_edge=False, expand=True)
    for name in ("VPA", "container", "lower", "target", "upper", "uncapped"):
        table.add_column(name, no_wrap=True, overflow="ellipsis")
    kinds = [(f"{group.value}/v1", "VerticalPodAutoscaler") for group in ApiGroup]
    vpas = [vpa for kind in kinds if store.registry.named(*kind) is not None for vpa in store.list(*kind)]
    for vpa in vpas:
        for entry in rows(vpa, "status", "recommendation", "containerRecommendations"):
            vectors = [listed(child(entry, key)) for key in ("lowerBound", "target", "upperBound", "uncappedTarget")]
            table.add_row(text(vpa, "metadata", "name"), text(entry, "containerName"), *vectors)
    return table


def _key(row: JsonObject) -> tuple[str, str]:
    return text(row, "metadata", "namespace"), text(row, "metadata", "name")

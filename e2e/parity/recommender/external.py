"""One fetch of usage from the external metrics API: what is asked for, and which samples come of it.

Spec: recommender 8.2.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote

import msgspec

from autoscaling.errors import InvalidObjectError
from autoscaling.kube.paths import external_metric
from autoscaling.matching import parse_selector
from autoscaling.objectref import ObjectRef
from autoscaling.pod import Pod, PodPhase
from autoscaling.vpa import TargetRef, Vpa
from e2e.parity.dice import Dice
from e2e.parity.kinds import BEGIN, Case, Kind
from recommender.cluster_model import ClusterModel
from recommender.external_usage import ExternalAnswer, ExternalMetrics, PodQuestion, questions_of, usage_of
from recommender.instants import moment
from recommender.wire.external_metrics import decode_external

_NAMESPACES: Final = ("n1", "n1", "n1", "n2")
_APPS: Final = ("a", "b")
_TIERS: Final = ("front", "back")
_METRICS: Final = {"cpu": ("cpu_cores", "custom.example.com|cpu"), "memory": ("memory_bytes", "working.set")}
_SELECTORS: Final = (
    "app=a",
    "app=b",
    "app in (a,b)",
    "app in (b)",
    "app!=a",
    "app=a,tier notin (back)",
    "tier",
    "!tier",
    "",
    "pod=p1",
    "zone!=x,app=a",
)
_CPU: Final = ("100m", "123456n", "1500u", "1", "0.25", "0", "1e-3", "-5", "2.5k", "33.3333333", "1Ki")
_MEMORY: Final = ("300Mi", "1073741824", "1500m", "1.2Ki", "0", "1e9", "-1", "2G", "1.0000000001", "1Pi")
_UNREADABLE: Final[tuple[object, ...]] = ("much", "1x", {})
_LONG: Final = 70


class _Value(msgspec.Struct):
    namespace: str
    value: Case


class _Pod(msgspec.Struct):
    namespace: str
    name: str
    labels: dict[str, str]
    phase: PodPhase


class _Vpa(msgspec.Struct):
    namespace: str
    name: str
    selector: str


class _Fetch(msgspec.Struct, rename="camel"):
    namespace: str
    metrics: dict[str, str]
    container_label: str
    pods: list[_Pod]
    vpas: list[_Vpa]
    values: dict[str, list[_Value]]


def draw(dice: Dice) -> Case:
    """Draw pods, VPAs and the values of their metrics."""
    pods = [_pod(dice, number) for number in range(dice.whole(1, 6))]
    metrics = {name: dice.among(names) for name, names in _METRICS.items() if dice.chance(0.85)}
    served = [name for name in metrics.values() if not dice.chance(0.03)]
    return {
        "namespace": dice.pick("", "", "", "n1", "n2"),
        "metrics": metrics,
        "containerLabel": dice.pick("name", "container"),
        "pods": pods,
        "vpas": [
            {"namespace": dice.among(_NAMESPACES), "name": f"v{number}", "selector": dice.among(_SELECTORS)}
            for number in range(dice.pick(0, 1, 2, 2, 3))
        ],
        "values": {name: _values(dice, name, pods) for name in served},
    }


def _pod(dice: Dice, number: int) -> Case:
    labels = {"app": dice.among(_APPS)} if dice.chance(0.9) else {}
    if dice.chance(0.4):
        labels["tier"] = dice.among(_TIERS)
    if dice.chance(0.05):
        labels["pod"] = f"p{number}"
    name = f"p{number}"
    if dice.chance(0.02):
        name = "p" * dice.pick(63, 64, _LONG)
    phase = dice.pick("Running", "Running", "Running", "Succeeded", "Failed", "Unknown")
    return {"namespace": dice.among(_NAMESPACES), "name": name, "labels": labels, "phase": phase}


def _values(dice: Dice, metric: str, pods: list[Case]) -> list[Case]:
    """Draw what there is of a metric: a value for most containers, two for some, and some of strangers."""
    return [
        {"namespace": pod["namespace"], "value": _value(dice, metric, pod, container)}
        for pod in pods
        for container in dice.some(("main", "side", "main", "init"), 3)
    ]


def _value(dice: Dice, metric: str, pod: Case, container: str) -> Case:
    texts = _CPU if metric in _METRICS["cpu"] else _MEMORY
    own = pod["labels"]
    assert isinstance(own, dict)
    labels = {**own, "pod": pod["name"] if dice.chance(0.97) else "stranger"}
    for label in ("name", "container"):
        if dice.chance(0.9):
            labels[label] = container
    drawn: Case = {
        "metricName": metric,
        "metricLabels": labels,
        "timestamp": f"2026-01-01T00:0{dice.whole(0, 3)}:00{dice.pick('Z', 'Z', '+02:00')}",
        "value": dice.among(texts) if dice.chance(0.995) else dice.among(_UNREADABLE),
    }
    if dice.chance(0.5):
        drawn["window"] = 30
    if dice.chance(0.02):
        drawn["value"] = dice.pick(2, None)
    return drawn


def answer(question: Case) -> object:
    """Fetch."""
    asked = msgspec.convert(question, _Fetch)
    external = ExternalMetrics(asked.metrics.get("cpu", ""), asked.metrics.get("memory", ""), asked.container_label)
    questions = questions_of(_model(asked), asked.namespace)
    if questions.unaskable:
        return {"failed": True}
    try:
        answers = {
            resource: [_told(asked, question, resource, metric) for question in questions.askable]
            for resource, metric in external.named
        }
    except (LookupError, InvalidObjectError):
        return {"failed": True}
    table = usage_of(questions.askable, answers, gaps_are_zero=True).table
    pods = [place for place, size in enumerate(table.sizes) for _ in range(size)]
    snapshots = [
        {
            "namespace": table.namespaces[place],
            "pod": table.pods[place],
            "container": container,
            "at": _text(int(table.instants[place])),
            "cpu": cpu,
            "memory": memory,
        }
        for place, container, cpu, memory in zip(
            pods, table.containers, table.millicores.tolist(), table.memory_bytes.tolist(), strict=True
        )
    ]
    requests = [
        f"{unquote(external_metric(metric).path(question.namespace))}?{question.selector}"
        for _, metric in external.named
        for question in questions.askable
    ]
    return {"failed": False, "requests": sorted(requests), "snapshots": sorted(snapshots, key=_order)}


def _model(asked: _Fetch) -> ClusterModel:
    model = ClusterModel()
    for pod in asked.pods:
        model.observe_pod(Pod(pod.namespace, pod.name, labels=pod.labels, phase=pod.phase), BEGIN)
    for vpa in asked.vpas:
        made = Vpa(vpa.namespace, vpa.name, target_ref=TargetRef("Deployment", vpa.name))
        model.observe_vpa(made, parse_selector(vpa.selector))
    return model


def _told(asked: _Fetch, question: PodQuestion, resource: str, metric: str) -> ExternalAnswer:
    """Answer as the API would.

    Raises:
        LookupError: The metric is not served.
        InvalidObjectError: The answer cannot be read.
    """
    selector = parse_selector(question.selector)
    items = [
        each.value
        for each in asked.values[metric]
        if each.namespace == question.namespace and selector.matches(_labels(each.value))
    ]
    ref = ObjectRef("ExternalMetricValueList", question.namespace, metric)
    return decode_external(msgspec.json.encode({"items": items}), ref, resource, asked.container_label)


def _labels(value: Case) -> dict[str, str]:
    labels = value["metricLabels"]
    assert isinstance(labels, dict)
    return labels


def _text(instant: int) -> str:
    at = moment(instant)
    assert at is not None
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _order(snapshot: Case) -> list[object]:
    return list(snapshot.values())


def read(question: Case, given: object) -> object:  # noqa: ARG001 one of several
    """Return upstream's answer in our order."""
    assert isinstance(given, dict)
    return {**given, "snapshots": sorted(given["snapshots"], key=_order)} if not given["failed"] else given


EXTERNAL: Final = Kind("external", draw, answer, read)

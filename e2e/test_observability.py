"""Alerts and dashboard on a real cluster: every expression is asked while resizes go well, wait and fail.

A real Prometheus scrapes Evenkeel's processes, the kubelets and kube-state-metrics.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
import yaml

from e2e.cluster.binaries import build
from e2e.cluster.cluster import Cluster
from e2e.cluster.commands import run
from e2e.cluster.documents import JsonValue, objects_at, text_at
from e2e.cluster.kube import Kube
from e2e.deployment import CHART
from e2e.installation import NAMESPACE, Flags, Group, installed, recommendation, vpa
from e2e.prometheus.everything import MONITORING, PROCESSES, Observer, observing, page
from e2e.prometheus.programs import find_programs
from e2e.updater_lab import Workload, pending_reason
from e2e.workloads import BURN_SCRIPT, amounts, container, deployment
from tests.manifests.promql import names
from tests.manifests.rendering import as_one_line, reference, rendered

_INTERVAL = "1m"
"""What Grafana would put in for its rate interval, at least four scrapes."""

_SETTLING_SECONDS = 120.0
FLAGS = Flags(
    recommender=("--recommender-interval=5s",),
    updater=("--updater-interval=3s", "--in-place-deferred-timeout=10m"),
    admission=("--status-lease-update-interval=2s",),
)

EMPTY_PANELS = {
    "Infeasible, by reason/B": "nothing that was deferred has been accepted",
    "Attempts that failed/A": "every resize that was sent was accepted",
    "Attempts that failed/B": "every eviction that was sent was accepted",
    "OOM kills/A": "no container was killed",
}
"""Queries of the dashboard that have no data here, each with the reason."""

EMPTY_ALERTS = {
    "EvenkeelResizeInfeasible/updater": "what is infeasible here has no autoscaler",
    "EvenkeelInfeasibleResizesRising": "one resize is infeasible, and more than three would be too many",
    "EvenkeelResizesNotDraining": "resizes are completed",
    "EvenkeelResizeDurationRegressed": "there is no day before",
    "EvenkeelWebhookCertificateExpiring/warning": "the certificates are new",
    "EvenkeelWebhookCertificateExpiring/critical": "the certificates are new",
    "EvenkeelRecommendationStale/rounds": "rounds end",
    "EvenkeelRecommendationStale/usage": "usage comes in",
    "EvenkeelRecommendationStale/absent": "a recommender is there",
    "EvenkeelEvictionLoop/updater": "no eviction was in vain",
    "EvenkeelEvictionLoop/evictions": "evictions have not gone on for hours",
}
"""Alerts that do not hold here, each with the reason."""

UPSTREAMS_NAMES = {
    "vpa_quality_usage_sample_missing_recommendation_count",
    "vpa_recommender_aggregate_container_states_count",
    "vpa_recommender_metric_server_responses",
    "vpa_recommender_prometheus_client_api_requests_count",
    "vpa_recommender_vpa_objects_count",
    "vpa_resources_get_resources_count",
    "vpa_updater_controlled_pods_total",
    "vpa_updater_evictable_pods_total",
    "vpa_updater_in_place_updatable_pods_total",
    "vpa_updater_vpas_with_evictable_pods_total",
    "vpa_updater_vpas_with_evicted_pods_total",
    "vpa_updater_vpas_with_in_place_updatable_pods_total",
    "vpa_updater_vpas_with_in_place_updated_pods_total",
}
"""Names that promtool finds fault with, and that are kept all the same: upstream's dashboards ask for them."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A cluster on which resizes go well, wait and fail, and what sees it."""

    kube: Kube
    observer: Observer

    def filled(self, expression: str) -> str:
        """Return a query of the dashboard with its variables put in."""
        values = {"__rate_interval": _INTERVAL, "namespace": self.kube.namespace, "pod": ".*", "autoscaler": ".*"}
        for name, value in values.items():
            expression = expression.replace(f"${name}", value)
        return expression


@pytest.fixture(scope="module")
def scene(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Evenkeel, and a pod for each way that a resize can go."""
    kube = Kube(cluster, "e2e-observability")
    cluster.kubectl("create", "namespace", kube.namespace)
    try:
        kube.wait_for(lambda: kube.find("serviceaccount", "default"), "the default service account")
        with (
            installed(cluster, Group.OWN, FLAGS),
            observing(cluster, find_programs(), tmp_path_factory.mktemp("observability")) as observer,
        ):
            _deploy(kube)
            made = Scene(kube, observer)
            kube.wait_for(partial(_is_complete, made), "what is to be seen", timeout_seconds=_SETTLING_SECONDS)
            yield made
    finally:
        kube.delete("namespace", kube.namespace, wait=False)


def _deploy(kube: Kube) -> None:
    """Have one pod resized, one recommended for, one deferred, one infeasible and one held back, in this order."""
    small = amounts("50m", "32Mi", limit_cpu="500m", limit_memory="64Mi")
    kube.apply(deployment("burn", container(BURN_SCRIPT, small)), vpa(Group.OWN, "burn", [], updateMode="Off"))
    kube.apply(*Workload(prefers="node1").documents("resized"))
    for name in ("deferred", "infeasible"):
        kube.apply(Workload(prefers="node1").documents(name)[0])
    kube.apply(*Workload(prefers="node2").documents("held"))
    for name in ("burn", "resized", "deferred", "infeasible", "held"):
        kube.wait_for_pods(f"app={name}")
    _recommend(kube, "resized", "150m")
    pod = _only_pod(kube, "resized")
    kube.wait_for(lambda: kube.events(pod, "ResizeCompleted"), "the kubelet's ResizeCompleted")
    for name, cpu, reason in (("deferred", "1950m", "Deferred"), ("infeasible", "64", "Infeasible")):
        kube.resize(_only_pod(kube, name), "main", {"requests": {"cpu": cpu}, "limits": {"cpu": "64"}})
        kube.wait_for(partial(_is_pending, kube, name, reason), f"the kubelet's {reason}")
    _recommend(kube, "held", "3900m")


def _recommend(kube: Kube, name: str, cpu: str) -> None:
    kube.patch(Group.OWN.resource, name, recommendation("main", cpu, "32Mi"), subresource="status", style="merge")


def _only_pod(kube: Kube, name: str) -> str:
    (pod,) = kube.pods(f"app={name}")
    return text_at(pod, "metadata", "name")


def _is_pending(kube: Kube, name: str, reason: str) -> bool:
    (pod,) = kube.pods(f"app={name}")
    return pending_reason(pod) == reason


def _is_complete(scene: Scene) -> bool:
    """Say whether what comes last has been scraped, and often enough for rates."""
    missing = [key for key, expression in queries().items() if not scene.observer.ask(scene.filled(expression)).series]
    late = [key for key in missing if key not in EMPTY_PANELS]
    assert not late, f"no data yet: {late}"
    return True


def queries() -> dict[str, str]:
    """The dashboard's queries by panel and letter."""
    dashboard: JsonValue = json.loads((MONITORING / "dashboard.json").read_text())
    return {
        f"{text_at(panel, 'title')}/{text_at(target, 'refId')}": text_at(target, "expr")
        for panel in objects_at(dashboard, "panels")
        for target in objects_at(panel, "targets")
    }


def alerts() -> dict[str, str]:
    """The expressions of the alerts, by name and by what tells two of one name apart."""
    rules: JsonValue = yaml.safe_load((MONITORING / "rules.yaml").read_text())
    found: dict[str, str] = {}
    for rule in (rule for group in objects_at(rules, "groups") for rule in objects_at(group, "rules")):
        labels, name = rule["labels"], text_at(rule, "alert")
        assert isinstance(labels, dict)
        kind = labels.get("seen_by") or labels.get("cause")
        if kind is None and name == "EvenkeelWebhookCertificateExpiring":
            kind = labels["severity"]
        found[f"{name}/{kind}" if kind else name] = text_at(rule, "expr")
    return found


def test_every_query_of_the_dashboard_has_data_or_is_empty_for_a_reason(scene: Scene) -> None:
    """Spec: product:9."""
    answers = {key: scene.observer.ask(scene.filled(expression)) for key, expression in queries().items()}
    assert {key for key, answer in answers.items() if not answer.series} <= set(EMPTY_PANELS)
    assert set(EMPTY_PANELS) <= set(answers)


def test_every_alert_has_data_or_is_empty_for_a_reason(scene: Scene) -> None:
    """Those that hold are the ones that were provoked; of the others every series is there (spec: product:9)."""
    answers = {key: scene.observer.ask(expression) for key, expression in alerts().items()}
    assert {key for key, answer in answers.items() if not answer.series} == set(EMPTY_ALERTS)
    for key, expression in alerts().items():
        for name in names(expression):
            assert scene.observer.ask(name).series, f"{key}: nothing is told as {name}"


def test_what_was_provoked_is_seen(scene: Scene) -> None:
    """Spec: in-place-resize:3.12, product:10."""
    ask = scene.observer.ask
    assert ask("kubelet_pod_pending_resizes > 0").labels("reason") == {"deferred", "infeasible"}
    assert ask("kubelet_container_requested_resizes_total").labels("operation") >= {"increase"}
    assert ask('kubelet_pod_resize_duration_milliseconds_count{success="true"}').series
    assert ask("kubelet_pod_infeasible_resizes_total").labels("reason_detail")
    held = ask(f'evenkeel_updater_held_back_pods{{vpa_namespace="{scene.kube.namespace}"}}')
    assert held.labels("vpa_name") == {"held"}
    told = ask('kube_verticalpodautoscaler_recommendation_target_cpu_cores{verticalpodautoscaler="resized"}')
    assert [text_at(each, "value", 1) for each in told.series] == ["0.15"]
    conditions = ask('kube_verticalpodautoscaler_status_condition{verticalpodautoscaler="held"} == 1')
    assert "ResizeBlocked" in conditions.labels("type")


def test_the_rules_are_evaluated_without_a_fault_and_what_holds_is_pending(scene: Scene) -> None:
    rules = scene.observer.rules()
    assert len(rules) == len(alerts())
    assert {text_at(rule, "name"): text_at(rule, "lastError") for rule in rules if rule["health"] != "ok"} == {}
    holding = {text_at(rule, "name") for rule in rules if rule["state"] != "inactive"}
    assert holding == {"EvenkeelResizeInfeasible", "EvenkeelResizeDeferred"}


def test_the_variables_of_the_dashboard_have_values(scene: Scene) -> None:
    dashboard: JsonValue = json.loads((MONITORING / "dashboard.json").read_text())
    asked = {text_at(each, "name"): each for each in objects_at(dashboard, "templating", "list")}
    for name in ("namespace", "pod", "autoscaler"):
        found = re.fullmatch(r"label_values\((.+), (\w+)\)", text_at(asked[name], "query", "query"))
        assert found is not None
        assert scene.observer.ask(scene.filled(found[1])).labels(found[2]) - {""}, name


@pytest.mark.parametrize("process", PROCESSES)
def test_promtool_finds_no_fault_with_metrics_but_with_upstreams_names(scene: Scene, process: str) -> None:
    command = [str(find_programs().promtool), "check", "metrics"]
    text = page(scene.kube.cluster, process)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=60)
    said = (done.stdout + done.stderr).splitlines()
    assert done.returncode in {0, 3}, said
    assert {line.split()[0] for line in said} <= UPSTREAMS_NAMES, said


def test_promtool_takes_the_rules_and_sees_each_alert_fire() -> None:
    program = str(find_programs().promtool)
    run([program, "check", "rules", str(MONITORING / "rules.yaml")], remedy="see what promtool says")
    told = run([program, "test", "rules", str(MONITORING / "rules.test.yaml")], remedy="see what promtool says")
    assert "SUCCESS" in told


def test_the_dashboard_is_valid_by_the_schema_of_grafana(tmp_path: Path) -> None:
    """Spec: product:9."""
    program, shipped = str(build("dashboard") / "dashboard"), MONITORING / "dashboard.json"
    run([program, str(shipped)], remedy="see what it says")
    wrong = tmp_path / "dashboard.json"
    wrong.write_text(shipped.read_text().replace('"expr"', '"expression"'))
    done = subprocess.run([program, str(wrong)], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1, "a mistake is noticed"
    assert "unexpected field 'expression'" in done.stderr


def test_the_chart_makes_what_kustomize_makes() -> None:
    """Spec: product:9."""
    switches = ",".join(f"monitoring.{name}=true" for name in ("rules", "serviceMonitors", "dashboard"))
    command = [str(build("helm") / "helm"), "template", "evenkeel", str(CHART), f"--namespace={NAMESPACE}"]
    only = ["--show-only=templates/monitoring.yaml", f"--set={switches}"]
    text = run([*command, *only], remedy="see the message of helm")
    made = {reference(document): document for document in yaml.safe_load_all(text) if document}
    expected = {reference(document): document for document in rendered("monitoring")}
    assert set(made) == set(expected)
    for name, item in expected.items():
        assert as_one_line(made[name]) == as_one_line(item), name


def test_a_collector_takes_the_example(tmp_path: Path) -> None:
    """Spec: product:9."""
    program = str(build("collector") / "collector")
    example = MONITORING / "collector.yaml"
    environment = {"BACKEND_ENDPOINT": "127.0.0.1:4317", "PATH": "/usr/bin"}
    run([program, "validate", f"--config={example}"], remedy="see what it says", environment=environment)
    wrong = tmp_path / "collector.yaml"
    wrong.write_text(example.read_text().replace("check_interval", "interval"))
    command = [program, "validate", f"--config={wrong}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=60)
    assert done.returncode != 0, "a mistake is noticed"
    assert "interval" in done.stderr

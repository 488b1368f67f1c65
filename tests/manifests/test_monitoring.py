"""Alerts, dashboard, ServiceMonitors and what stands beside them, without Prometheus (spec: product:9, product:10).

e2e/test_observability.py asks a real Prometheus every expression, and runs promtool.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
import yaml

from evenkeel.cli.document_metrics import families
from evenkeel.crd.schema import Json, Schema
from tests.manifests.promql import names, selectors
from tests.manifests.rendering import MANIFESTS, OWN, as_one_line, of_kind, rendered, texts
from tests.manifests.structural import as_list, as_object, at

FOLDER = MANIFESTS / "monitoring"
DASHBOARD = as_object(json.loads((FOLDER / "dashboard.json").read_text()))
RULES = as_object(yaml.safe_load((FOLDER / "rules.yaml").read_text()))
CASES = as_object(yaml.safe_load((FOLDER / "rules.test.yaml").read_text()))
STATES = as_object(yaml.safe_load((FOLDER / "kube-state-metrics.yaml").read_text()))
ALERTS = {
    "EvenkeelResizeInfeasible",
    "EvenkeelResizeDeferred",
    "EvenkeelInfeasibleResizesRising",
    "EvenkeelResizesNotDraining",
    "EvenkeelResizeDurationRegressed",
    "EvenkeelWebhookCertificateExpiring",
    "EvenkeelRecommendationStale",
    "EvenkeelEvictionLoop",
}
SCRAPED = {"job", "instance"}
_BUILT_IN = {"datasource", "__rate_interval"}

PODS = frozenset({"namespace", "pod", "container"})
CLUSTERS: dict[str, frozenset[str]] = {
    "container_cpu_usage_seconds_total": PODS,
    "container_memory_working_set_bytes": PODS,
    "kube_pod_container_resource_requests": PODS | {"resource"},
    "kube_pod_container_resource_limits": PODS | {"resource"},
}
"""What kubelets and kube-state-metrics tell of every cluster, with the labels that are used."""


def objects(value: Json) -> list[Schema]:
    return [as_object(item) for item in as_list(value)]


def panels() -> list[Schema]:
    """Every panel, those inside of rows, too."""
    found: list[Schema] = []
    for panel in objects(DASHBOARD["panels"]):
        found += [panel, *objects(panel.get("panels", []))]
    return found


def targets() -> Iterator[tuple[Schema, Schema]]:
    """Each query with its panel."""
    return ((panel, target) for panel in panels() for target in objects(panel.get("targets", [])))


def variables() -> dict[str, Schema]:
    return {str(each["name"]): each for each in objects(at(DASHBOARD, "templating", "list"))}


def rules() -> list[Schema]:
    return [rule for group in objects(RULES["groups"]) for rule in objects(group["rules"])]


def expressions() -> list[str]:
    queries = [str(at(each, "query", "query")) for each in variables().values() if each["type"] == "query"]
    return [
        *(str(target["expr"]) for _, target in targets()),
        *(str(rule["expr"]) for rule in rules()),
        *(query.removeprefix("label_values(").rsplit(",", 1)[0] for query in queries),
    ]


def known() -> dict[str, frozenset[str]]:
    """Labels by the names of all series that may be asked for."""
    found = dict(CLUSTERS)
    for declared in (family for of_one in families().values() for family in of_one):
        ends = ("_bucket", "_sum", "_count") if declared.kind == "histogram" else ("",)
        found |= dict.fromkeys((f"{declared.name}{end}" for end in ends), frozenset(declared.labels))
    for resource in objects(at(STATES, "spec", "resources")):
        shared = set(as_object(resource["labelsFromPath"]))
        for metric in objects(resource["metrics"]):
            labels = shared | set(as_object(at(metric, "each", "gauge", "labelsFromPath")))
            found[f"{resource['metricNamePrefix']}_{metric['name']}"] = frozenset(labels)
    return found


@pytest.mark.parametrize("expression", expressions())
def test_only_series_that_exist_are_asked_for_by_labels_that_they_have(expression: str) -> None:
    found = known()
    assert names(expression) <= set(found), "product:9"
    assert names(expression)
    for selector in selectors(expression):
        assert selector.labels <= found[selector.name] | SCRAPED, selector


def test_panels_have_ids_of_their_own_and_places_that_do_not_overlap() -> None:
    identities = [panel["id"] for panel in panels()]
    assert len(set(map(str, identities))) == len(identities) > 20
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        place = {name: int(str(value)) for name, value in as_object(panel["gridPos"]).items()}
        assert place["x"] + place["w"] <= 24, panel["title"]
        cells = {(place["x"] + dx, place["y"] + dy) for dx in range(place["w"]) for dy in range(place["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells


def test_every_panel_says_what_it_shows_and_has_queries() -> None:
    for panel in panels():
        assert panel["title"]
        assert panel["type"] in {"row", "timeseries", "stat"}
        if panel["type"] == "row":
            continue
        asked = objects(panel["targets"])
        assert panel["description"], panel["title"]
        assert [target["refId"] for target in asked] == [chr(65 + number) for number in range(len(asked))]
        assert all(target["expr"] and target["legendFormat"] for target in asked)
        assert at(panel, "fieldConfig", "defaults", "unit")


def test_the_panels_are_those_that_are_promised() -> None:
    """Resize rate by operation, in progress, infeasible by reason, p50 and p95, requests and usage, then the rest."""
    rows = [panel["title"] for panel in panels() if panel["type"] == "row"]
    assert rows == ["Resizes", "Requests and usage", "Recommendation", "Decisions", "Evenkeel itself"]
    asked = " ".join(str(target["expr"]) for _, target in targets())
    for name in (
        "kubelet_container_requested_resizes_total",
        "kubelet_pod_in_progress_resizes",
        "kubelet_pod_infeasible_resizes_total",
        "kubelet_pod_resize_duration_milliseconds_bucket",
        "kube_pod_container_resource_requests",
        "container_memory_working_set_bytes",
        "kube_verticalpodautoscaler_recommendation_upper_bound_cpu_cores",
        "evenkeel_updater_decisions",
    ):
        assert name in asked, "product:9"
    for share in ("0.5", "0.95"):
        assert f"histogram_quantile({share}, sum by (le) (rate(kubelet_pod_resize_duration_milliseconds_bucket" in asked


def test_every_query_goes_to_the_data_source_that_is_chosen() -> None:
    chosen: Json = {"type": "prometheus", "uid": "${datasource}"}
    assert variables()["datasource"]["type"] == "datasource"
    assert variables()["datasource"]["query"] == "prometheus"
    for panel, target in targets():
        assert panel["datasource"] == target["datasource"] == chosen
    for variable in variables().values():
        assert variable["type"] == "datasource" or variable["datasource"] == chosen


def test_variables_are_defined_and_used() -> None:
    text = json.dumps(DASHBOARD)
    used = set(re.findall(r"\$\{?(\w+)", text))
    assert used <= set(variables()) | _BUILT_IN
    assert set(variables()) <= used


def test_the_dashboard_is_one_that_is_new_to_its_grafana() -> None:
    assert isinstance(DASHBOARD["schemaVersion"], int)
    assert DASHBOARD["uid"] == "evenkeel"
    assert "id" not in DASHBOARD, "a number that only the Grafana it was saved in knows"
    assert "__inputs" not in DASHBOARD, "a ConfigMap is loaded without asking"


def test_the_alerts_are_those_that_are_promised() -> None:
    assert {str(rule["alert"]) for rule in rules()} == ALERTS, "product:9"


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: f"{rule['alert']}-{len(str(rule['expr']))}")
def test_an_alert_says_what_is_wrong_how_bad_it_is_and_where_to_read_on(rule: Schema) -> None:
    assert at(rule, "labels", "severity") in {"info", "warning", "critical"}
    assert re.fullmatch(r"\d+[mh]", str(rule["for"]))
    annotations = as_object(rule["annotations"])
    assert set(annotations) == {"summary", "description", "runbook_url"}
    assert annotations["runbook_url"] == f"docs/operations.md#alert-{str(rule['alert']).lower()}"
    for text in (str(annotations["summary"]), str(annotations["description"])):
        assert text.endswith(".")
        assert text == " ".join(text.split())


def test_two_alerts_of_one_name_differ_in_their_labels() -> None:
    kinds = [(rule["alert"], json.dumps(rule["labels"], sort_keys=True)) for rule in rules()]
    assert len(set(kinds)) == len(kinds)


def test_each_rule_is_seen_to_fire_and_not_to_fire_before() -> None:
    fired: set[str] = set()
    for case in objects(CASES["tests"]):
        before, after = objects(case["alert_rule_test"])
        assert as_list(before["exp_alerts"]) == []
        (expected,) = objects(after["exp_alerts"])
        fired |= {
            json.dumps([rule["alert"], rule["labels"]], sort_keys=True)
            for rule in rules()
            if rule["alert"] == after["alertname"]
            and as_object(rule["labels"]).items() <= as_object(expected["exp_labels"]).items()
        }
    assert fired == {json.dumps([rule["alert"], rule["labels"]], sort_keys=True) for rule in rules()}


def test_the_operators_rules_are_the_plain_ones() -> None:
    written = as_object(yaml.safe_load((FOLDER / "prometheusrule.yaml").read_text()))
    assert written["spec"] == RULES
    (rule,) = of_kind("monitoring", "PrometheusRule").values()
    assert as_one_line(rule["spec"]) == as_one_line(RULES), "Kustomize folds anew, which PromQL does not care for"


@pytest.mark.parametrize("name", ["rules.yaml", "dashboard.json"])
def test_the_chart_has_the_same_files(name: str) -> None:
    """A chart can read no file outside of itself; e2e/test_observability.py renders it."""
    copied = MANIFESTS / "helm" / "evenkeel" / "monitoring" / name
    assert copied.read_text() == (FOLDER / name).read_text(), f"copy manifests/monitoring/{name} to {copied.parent}"


def test_the_dashboard_comes_as_a_config_map_for_the_sidecar() -> None:
    (found,) = of_kind("monitoring", "ConfigMap").values()
    assert at(found, "metadata", "labels", "grafana_dashboard") == "1"
    assert json.loads(str(at(found, "data", "evenkeel.json"))) == DASHBOARD


def test_every_process_is_scraped_by_the_port_of_its_service() -> None:
    """A ServiceMonitor selects Services by labels, of which the webhook's has those of its process, too."""
    monitors = of_kind("monitoring", "ServiceMonitor")
    assert set(monitors) == set(of_kind(OWN, "Deployment"))
    for name, monitor in monitors.items():
        wanted = as_object(at(monitor, "spec", "selector", "matchLabels"))
        services = [
            service
            for service in of_kind(OWN, "Service").values()
            if wanted.items() <= as_object(at(service, "metadata", "labels")).items()
        ]
        ports = [port["name"] for service in services for port in objects(at(service, "spec", "ports"))]
        (endpoint,) = objects(at(monitor, "spec", "endpoints"))
        assert ports.count(endpoint["port"]) == 1, name


def test_everything_is_in_the_namespace_and_carries_the_labels() -> None:
    for item in rendered("monitoring"):
        assert at(item, "metadata", "namespace") == "evenkeel-system"
        assert at(item, "metadata", "labels", "app.kubernetes.io/part-of") == "evenkeel"


def test_each_bound_is_told_of_both_resources_under_a_name_of_its_own() -> None:
    """Of two metrics with one name kube-state-metrics would leave out others, without a word."""
    (resource,) = objects(at(STATES, "spec", "resources"))
    told = [str(metric["name"]) for metric in objects(resource["metrics"])]
    assert len(set(told)) == len(told)
    pairs = [
        (metric["name"], texts(at(metric, "each", "gauge", "valueFrom")))
        for metric in objects(resource["metrics"])
        if metric["name"] != "status_condition"
    ]
    assert [tuple(path) for _, path in pairs] == [
        (bound, name)
        for bound in ("target", "lowerBound", "upperBound", "uncappedTarget")
        for name in ("cpu", "memory")
    ]


def test_the_collector_keeps_within_its_memory_and_sends_in_batches() -> None:
    """e2e/test_observability.py has a real Collector read it."""
    collector = as_object(yaml.safe_load((FOLDER / "collector.yaml").read_text()))
    pipeline = as_object(at(collector, "service", "pipelines", "traces"))
    assert texts(pipeline["processors"]) == ["memory_limiter", "batch"], "the limiter comes first"
    for part in ("receivers", "processors", "exporters"):
        assert set(texts(pipeline[part])) == set(as_object(collector[part]))

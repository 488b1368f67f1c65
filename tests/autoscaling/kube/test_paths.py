"""Request paths."""

from __future__ import annotations

import pytest

from autoscaling.kube import paths
from autoscaling.kube.paths import Resource, Selection

OWN = paths.vertical_pod_autoscalers("autoscaling.evenkeel.dev")


@pytest.mark.parametrize(
    ("resource", "arguments", "path"),
    [
        (paths.PODS, (), "/api/v1/pods"),
        (paths.PODS, ("shop",), "/api/v1/namespaces/shop/pods"),
        (paths.PODS, ("shop", "web-1"), "/api/v1/namespaces/shop/pods/web-1"),
        (paths.PODS, ("shop", "web-1", "resize"), "/api/v1/namespaces/shop/pods/web-1/resize"),
        (paths.NODES, ("", "n1"), "/api/v1/nodes/n1"),
        (paths.NODES, ("ignored", "n1"), "/api/v1/nodes/n1"),
        (paths.DEPLOYMENTS, ("shop", "web", "scale"), "/apis/apps/v1/namespaces/shop/deployments/web/scale"),
        (
            OWN,
            ("shop", "web", "status"),
            "/apis/autoscaling.evenkeel.dev/v1/namespaces/shop/verticalpodautoscalers/web/status",
        ),
        (
            paths.checkpoints("autoscaling.k8s.io"),
            ("shop",),
            "/apis/autoscaling.k8s.io/v1/namespaces/shop/verticalpodautoscalercheckpoints",
        ),
        (paths.NODES, ("", "a/b c"), "/api/v1/nodes/a%2Fb%20c"),
        (paths.POD_METRICS, (), "/apis/metrics.k8s.io/v1beta1/pods"),
    ],
)
def test_path(resource: Resource, arguments: tuple[str, ...], path: str) -> None:
    assert resource.path(*arguments) == path


def test_a_namespaced_object_needs_its_namespace() -> None:
    with pytest.raises(ValueError, match="Pod web: a namespaced object needs its namespace"):
        paths.PODS.path("", "web")


def test_a_subresource_needs_its_object() -> None:
    with pytest.raises(ValueError, match="pods/status: a subresource needs the name"):
        paths.PODS.path("shop", "", "status")


@pytest.mark.parametrize(
    ("resource", "api_version", "title"),
    [
        (paths.PODS, "v1", "pods"),
        (paths.JOBS, "batch/v1", "jobs.batch"),
        (OWN, "autoscaling.evenkeel.dev/v1", f"{OWN.plural}.{OWN.group}"),
    ],
)
def test_names(resource: Resource, api_version: str, title: str) -> None:
    assert (resource.api_version, resource.title) == (api_version, title)


@pytest.mark.parametrize(
    ("selection", "path", "query", "text"),
    [
        (Selection(paths.PODS), "/api/v1/pods", {}, "pods"),
        (
            Selection(paths.PODS, "shop", "app=web", "status.phase!=Failed"),
            "/api/v1/namespaces/shop/pods",
            {"labelSelector": "app=web", "fieldSelector": "status.phase!=Failed"},
            "pods in namespace shop",
        ),
    ],
)
def test_selection(selection: Selection, path: str, query: dict[str, str], text: str) -> None:
    assert (selection.path, selection.query, str(selection)) == (path, query, text)

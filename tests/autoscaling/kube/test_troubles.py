"""What is said about a collection that cannot be followed."""

from __future__ import annotations

import pytest

from autoscaling.errors import ApiError, ApiRefusedError, ApiUnreachableError, StatusCause
from autoscaling.kube import paths
from autoscaling.kube.paths import Selection
from autoscaling.kube.troubles import explain

VPAS = Selection(paths.vertical_pod_autoscalers("autoscaling.evenkeel.dev"))


@pytest.mark.parametrize(
    ("selection", "code", "remedy"),
    [
        (
            Selection(paths.PODS),
            403,
            'the verbs list and watch on resource pods of API group "" in the whole cluster (the roles',
        ),
        (
            Selection(paths.JOBS, "shop"),
            403,
            "the verbs list and watch on resource jobs of API group batch in namespace shop",
        ),
        (
            VPAS,
            404,
            "CustomResourceDefinition verticalpodautoscalers.autoscaling.evenkeel.dev (under manifests/crd), or",
        ),
        (
            Selection(paths.HORIZONTAL_POD_AUTOSCALERS),
            404,
            "does not serve horizontalpodautoscalers.autoscaling in version v2: it may be too old",
        ),
        (Selection(paths.PODS), 401, "renew the token or the client certificate"),
    ],
)
def test_remedies(selection: Selection, code: int, remedy: str) -> None:
    causes = (StatusCause("a", "b", "c"),)
    error = ApiRefusedError("GET /x", code, reason="R", message="said so", causes=causes, retry_after_seconds=2.0)
    explained = explain(selection, error)
    assert isinstance(explained, ApiRefusedError)
    assert (explained.request, explained.code, explained.reason) == ("GET /x", code, "R")
    assert (explained.causes, explained.retry_after_seconds) == (causes, 2.0)
    assert explained.message.startswith("said so; ")
    assert remedy in explained.message


def test_a_refusal_without_a_text_is_explained_as_well() -> None:
    explained = explain(Selection(paths.PODS), ApiRefusedError("GET /x", 401))
    assert "no explanation was given; the server does not accept" in str(explained)


@pytest.mark.parametrize("error", [ApiUnreachableError("gone"), ApiRefusedError("GET /x", 500)])
def test_what_explains_itself_is_left_alone(error: ApiError) -> None:
    assert explain(VPAS, error) is error

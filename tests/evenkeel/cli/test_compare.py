"""``evenkeel compare`` against the embedded API server."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoscaling.runtime.api_group import ApiGroup
from evenkeel.crd.definitions import definitions
from evenkeel.simulator.api.metrics import StaticMetrics, Window
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.faults import Fault, Refuse
from recommender.checkpoint import ContainerCheckpoint
from recommender.wire.checkpoints import checkpoint_json
from tests.builders import T0
from tests.embedded import Json, deploy, recommended_status, vpa_object
from tests.evenkeel.cli.running import Answer, evenkeel
from tests.evenkeel.comparison.shell.test_prometheus import Prometheus, serving
from tests.evenkeel.comparison.states import checkpoint

OURS, THEIRS = (f"{group}/v1" for group in (ApiGroup.EVENKEEL, ApiGroup.UPSTREAM))
KIND = "VerticalPodAutoscaler"


@pytest.fixture
def both(server: ApiServer) -> ApiServer:
    """A cluster that has both groups, a workload and its use."""
    for definition in definitions(ApiGroup.UPSTREAM).values():
        server.store.create(dict(definition))
    deploy(server, "web")
    source = StaticMetrics()
    source.put_pod(("default", "web-0"), {"main": ("130m", "200Mi")}, Window(T0))
    server.metrics = source
    return server


def put(server: ApiServer, version: str, cpu: str, stored: ContainerCheckpoint | None = None, **spec: object) -> None:
    """Put the autoscaler of one side, and what it has stored, in the cluster."""
    server.store.create(vpa_object("web", status=recommended_status(cpu, "250Mi"), **spec) | {"apiVersion": version})
    if stored is not None:
        body: Json = {**checkpoint_json(stored, version)}
        server.store.create(body)


def install(server: ApiServer, *arguments: str) -> None:
    """Put the Deployment of upstream's recommender in the cluster."""
    template: Json = {
        "metadata": {"labels": {"app": "vpa"}},
        "spec": {"containers": [{"name": "recommender", "args": [*arguments]}]},
    }
    server.store.create(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "vpa-recommender", "namespace": "kube-system"},
            "spec": {"selector": {"matchLabels": {"app": "vpa"}}, "template": template},
        }
    )


def rows(answer: Answer) -> list[Json]:
    assert isinstance(answer.document, dict)
    found: list[Json] = answer.document["rows"]
    return found


def test_both_sides_use_and_the_first_difference_are_told(both: ApiServer, cluster: str) -> None:
    put(both, OURS, "126m", checkpoint(100, 100))
    put(both, THEIRS, "247m", checkpoint(200, 100))
    answer = evenkeel("compare", cluster, "-o", "json")
    assert answer.status == 0, answer.errors
    cpu, memory = rows(answer)
    told = {name: cpu[name] for name in ("name", "container", "ours", "theirs", "distancePercent", "used", "nearer")}
    assert told == {
        "name": "web",
        "container": "main",
        "ours": "126m",
        "theirs": "247m",
        "distancePercent": pytest.approx(48.99, abs=0.01),
        "used": "130m",
        "nearer": "ours",
    }, "beyond:B-35"
    assert (cpu["verdict"], cpu["step"]) == ("ours is lower", "samples")
    assert (memory["verdict"], memory["step"], memory["used"]) == ("same", None, "200Mi")
    assert isinstance(answer.document, dict)
    assert answer.document["measure"] == {
        "source": "from one look at the metrics API",
        "percentile": 90.0,
        "thresholdPercent": None,
    }


@pytest.mark.parametrize(
    ("spec_id", "ours", "words", "status"),
    [
        ("beyond:B-35", "100m", (), 0),
        ("beyond:B-35", "100m", ("--threshold=0",), 0),
        ("beyond:B-35", "90m", ("--threshold=10",), 0),
        ("beyond:B-35", "89m", ("--threshold=10",), 3),
        ("beyond:B-35", "89m", (), 0),
        ("beyond:B-35", "", (), 0),
        ("beyond:B-35", "", ("--threshold=100",), 3),
    ],
)
def test_the_status_says_whether_anything_is_too_far_apart(
    both: ApiServer, cluster: str, spec_id: str, ours: str, words: tuple[str, ...], status: int
) -> None:
    if ours:
        put(both, OURS, ours)
    put(both, THEIRS, "100m")
    answer = evenkeel("compare", cluster, *words)
    assert answer.status == status, (spec_id, answer.errors)
    assert "default" in answer.output


def test_flags_of_both_recommenders_count(both: ApiServer, cluster: str) -> None:
    put(both, OURS, "126m", checkpoint(100, 100))
    put(both, THEIRS, "132m", checkpoint(100, 100))
    plain = evenkeel("compare", cluster, "-o", "json")
    assert rows(plain)[0]["step"] == "unknown", "beyond:B-35"
    flags = "--their-flags=--recommendation-margin-fraction=0.2"
    assert rows(evenkeel("compare", cluster, flags, "-o", "json"))[0]["step"] == "margin"
    install(both, "--v=4", "--recommendation-margin-fraction=0.2")
    assert rows(evenkeel("compare", cluster, "-o", "json"))[0]["step"] == "margin", "by its Deployment"
    wrong = evenkeel("compare", cluster, "--our-flags=--no-such-flag")
    assert (wrong.status, wrong.errors.startswith("evenkeel: --our-flags: unknown flag")) == (2, True)


@pytest.mark.parametrize("words", ["--no-such-flag", "--help"])
def test_a_deployment_whose_flags_make_no_sense_is_told_of(both: ApiServer, cluster: str, words: str) -> None:
    put(both, THEIRS, "100m")
    install(both, words)
    answer = evenkeel("compare", cluster)
    assert answer.status == 0, "beyond:B-35"
    assert "as those of Deployment kube-system/vpa-recommender make no sense: " in answer.errors


def test_a_page_is_written_beside_the_table(both: ApiServer, cluster: str, tmp_path: Path) -> None:
    put(both, THEIRS, "100m")
    page = tmp_path / "compare.html"
    answer = evenkeel("compare", cluster, f"--html={page}")
    assert answer.status == 0, answer.errors
    assert "<svg" in page.read_text(), "beyond:B-35"
    assert f"{KIND} default/web: has no twin in our own group" in answer.errors
    lost = evenkeel("compare", cluster, f"--html={tmp_path / 'no' / 'page.html'}")
    assert (lost.status, "name a file that can be written" in lost.errors) == (1, True)


def test_an_object_that_cannot_be_read_is_named_and_the_rest_compared(both: ApiServer, cluster: str) -> None:
    put(both, THEIRS, "100m")
    put(both, OURS, "100m")
    broken = vpa_object("broken", updatePolicy={"updateMode": "Sometimes"})
    both.store.create(broken | {"apiVersion": THEIRS})
    answer = evenkeel("compare", cluster, "-o", "json")
    assert answer.status == 1, "beyond:B-35"
    assert [row["name"] for row in rows(answer)] == ["web", "web"]
    assert f"{KIND} default/broken" in answer.errors


def test_without_a_metrics_api_use_is_left_out_unless_it_was_asked_for(both: ApiServer, cluster: str) -> None:
    put(both, THEIRS, "100m")
    both.faults.add(Fault(Refuse(503), path="/apis/metrics.k8s.io/", count=None))
    answer = evenkeel("compare", cluster, "-o", "json")
    assert answer.status == 0, answer.errors
    assert rows(answer)[0]["used"] is None, "beyond:B-35"
    assert isinstance(answer.document, dict)
    assert answer.document["notes"][0].startswith("use was not looked at: ")
    assert "recommender of autoscaling.k8s.io: default flags are assumed" in answer.document["notes"][2]
    assert evenkeel("compare", cluster, "--window=1s").status == 1


@pytest.mark.parametrize(
    ("spec_id", "words", "problem"),
    [
        ("beyond:B-35", ("--prometheus=http://127.0.0.1:1",), "check --prometheus"),
        ("beyond:B-35", ("--prometheus-token-file=nowhere",), "name a readable file"),
    ],
)
def test_a_prometheus_that_cannot_be_asked_is_said_in_one_line(
    both: ApiServer, cluster: str, spec_id: str, words: tuple[str, ...], problem: str
) -> None:
    put(both, THEIRS, "100m")
    answer = evenkeel("compare", cluster, *words)
    assert answer.status == 1, spec_id
    assert problem in answer.errors
    assert answer.errors.count("\n") == 1


def test_prometheus_is_asked_in_the_place_of_the_metrics_api(both: ApiServer, cluster: str) -> None:
    put(both, THEIRS, "100m")
    labels = {"namespace": "default", "pod": "web-0", "container": "main"}
    cpu: Json = {"metric": labels, "values": [[T0.timestamp(), "0.2"]]}
    prometheus = Prometheus({"cpu_usage": [cpu], "memory": []})
    with serving(prometheus) as address:
        answer = evenkeel("compare", cluster, f"--prometheus={address}", "--window=1h", "-o", "json")
    assert answer.status == 0, answer.errors
    assert [row["used"] for row in rows(answer)] == ["200m", None], "beyond:B-35"
    assert isinstance(answer.document, dict)
    assert answer.document["measure"]["source"] == "from Prometheus over 1:00:00"


def test_without_checkpoints_the_rest_is_compared(both: ApiServer, cluster: str) -> None:
    put(both, OURS, "126m")
    put(both, THEIRS, "247m")
    both.faults.add(Fault(Refuse(403), path="/verticalpodautoscalercheckpoints$", count=None))
    answer = evenkeel("compare", cluster, "-o", "json")
    assert answer.status == 0, answer.errors
    assert (rows(answer)[0]["step"], rows(answer)[0]["detail"]) == ("samples", "both nothing stored"), "beyond:B-35"
    assert isinstance(answer.document, dict)
    assert [note for note in answer.document["notes"] if note.startswith("no checkpoints of autoscaling.k8s.io")]


def test_a_cluster_without_upstreams_group_is_told_of(cluster: str) -> None:
    answer = evenkeel("compare", cluster)
    assert answer.status == 1, "beyond:B-35"
    assert "verticalpodautoscalers.autoscaling.k8s.io: not served" in answer.errors

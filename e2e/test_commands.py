"""The commands on a real node, as they are installed and as a kubectl plugin, around one resize by our own updater."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from e2e.cluster.cluster import Cluster
from e2e.cluster.control_plane import METRICS_API
from e2e.cluster.documents import JsonObject, JsonValue, at, is_condition_true, number_at, objects_at, text_at
from e2e.cluster.kube import Kube
from e2e.cluster.layout import HOST_ADDRESS
from e2e.command_lab import Console, Ended, Following, declared
from e2e.installation import Flags, Group, Installation, installed, resources_of, vpa
from e2e.workloads import BURN_SCRIPT, IDLE_SCRIPT, amounts, container, deployment

_PORT = 8000
_FLAGS = Flags(
    recommender=("--recommender-interval=5s", "--pod-recommendation-min-memory-mb=100", "--v=4"),
    updater=("--updater-interval=3s",),
    admission=(
        "--status-lease-update-interval=2s",
        "--register-by-url",
        f"--webhook-address=https://{HOST_ADDRESS}",
        f"--webhook-port={_PORT}",
    ),
)
_POLICY: JsonObject = {
    "containerName": "*",
    "maxAllowed": {"cpu": "200m", "memory": "256Mi"},
    "controlledValues": "RequestsAndLimits",
}
_BEFORE = amounts("20m", "32Mi", limit_cpu="500m", limit_memory="64Mi")
_AFTER = amounts("200m", "100Mi", limit_cpu="5", limit_memory="200Mi")
_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Stage:
    """A burning pod under a VPA, our processes, and somebody who looks at them.

    Args:
        pod: Name of the pod.
        node: That it is on.
    """

    kube: Kube
    installation: Installation
    console: Console
    pod: str
    node: str

    def burning(self) -> JsonObject:
        """Read the pod."""
        return self.kube.read("pod", self.pod)


@pytest.fixture(scope="module")
def stage(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Install Evenkeel, and deploy a pod that asks for far too little, under a VPA that changes nothing yet."""
    kube = Kube(cluster, "commands")
    cluster.kubectl("create", "namespace", kube.namespace)
    try:
        with installed(cluster, Group.OWN, _FLAGS) as installation, declared(installation):
            kube.wait_for(lambda: kube.find("serviceaccount", "default"), "the default service account")
            kube.apply(
                deployment("burn", container(BURN_SCRIPT, _BEFORE)),
                vpa(Group.OWN, "burn", [_POLICY], minReplicas=1, updateMode="Off"),
            )
            (pod,) = kube.wait_for_pods("app=burn")
            console = Console(kube, tmp_path_factory.mktemp("home"))
            name, node = text_at(pod, "metadata", "name"), text_at(pod, "spec", "nodeName")
            yield Stage(kube, installation, console, name, node)
    finally:
        kube.delete("namespace", kube.namespace, wait=False)


@dataclass(frozen=True, slots=True)
class Resized:
    """The pod after our updater has resized it, and what was told meanwhile."""

    stage: Stage
    following: Following


@pytest.fixture(scope="module")
def resized(stage: Stage) -> Resized:
    """Let the updater resize the pod while somebody observes it."""
    kube = stage.kube
    kube.wait_for(lambda: recommended(kube), "a recommendation", timeout_seconds=120)
    with stage.console.following("observe", "deployment/burn", "--interval=1s") as following:
        kube.wait_for(lambda: following.told("pod"), "the pod to be told of")
        mode: JsonObject = {"spec": {"updatePolicy": {"updateMode": "InPlaceOrRecreate"}}}
        kube.patch(Group.OWN.resource, "burn", mode, style="merge")

        def is_told() -> bool:
            assert "inProgress→converged" in "".join(following.told("verdict")), following.file.read_text()
            assert any("duration" in text for text in following.told("metric")), following.file.read_text()
            return bool(following.told("restart"))

        kube.wait_for(is_told, "the whole resize to be told of", timeout_seconds=_SECONDS)
    assert following.process.returncode == 0, "Ctrl-C is how it is ended"
    return Resized(stage, following)


def recommended(kube: Kube) -> JsonObject | None:
    """Return what the VPA's status recommends for the one container."""
    found = objects_at(kube.read(Group.OWN.resource, "burn"), "status", "recommendation", "containerRecommendations")
    return found[0] if found else None


OBSERVED = [
    ("resize:3.2 desired", "amount", r"main cpu request: desired 20m→200m"),
    ("resize:3.2 allocated", "amount", r"main memory request: allocated 32Mi→100Mi"),
    ("resize:3.2 actual", "amount", r"main cpu limit: actual 500m→5"),
    ("resize:3.4 condition", "condition", r"PodResizeInProgress"),
    ("resize:3.4 condition gone", "condition", r"PodResizeInProgress is gone"),
    ("resize:3.11 started", "event", r'ResizeStarted: .*"generation":2\}'),
    ("resize:3.11 completed", "event", r'ResizeCompleted: .*"generation":2\}'),
    ("beyond:B-42 the updater's", "event", r"InPlaceResizedByVPA: Resize requested: main cpu 20m→200m, .*"),
    ("resize:5 requested", "metric", r'kubelet_container_requested_resizes_total\{.*resource="cpu"\} \d+→\d+'),
    ("resize:5 duration", "metric", r'kubelet_pod_resize_duration_milliseconds_count\{success="true"\} \d+→\d+'),
    ("resize:3.7 restart", "restart", r"main was restarted, 1 times so far"),
]


@pytest.mark.parametrize(("row", "about", "text"), OBSERVED, ids=[row[0] for row in OBSERVED])
def test_observe_tells_of_a_resize_as_it_happens(resized: Resized, row: str, about: str, text: str) -> None:
    told = resized.following.told(about)
    assert any(re.fullmatch(text, each) for each in told), (row, told)


def test_list_has_the_recommendation_and_the_pod(resized: Resized) -> None:
    stage = resized.stage
    answer = stage.console.plugin("list", "--output=json")
    assert answer.status == 0, answer.errors
    assert isinstance(answer.document, list)
    (listed,) = answer.document
    stated = recommended(stage.kube)
    (target,) = objects_at(listed, "containers")
    assert (at(target, "target"), at(target, "upperBound")) == (at(stated, "target"), at(stated, "upperBound"))
    assert at(target, "target") == _AFTER["requests"]
    assert at(listed, "pods") == {"live": 1, "pending": 0, "blocked": 0}
    table = stage.console.evenkeel("list")
    assert table.words[1][:5] == ["commands", "burn", "Deployment/burn", "InPlaceOrRecreate", "main"]
    assert "\x1b" not in table.output


def test_the_history_has_the_resize_once(resized: Resized) -> None:
    """beyond:B-42: both the Event and the updater's log tell of it."""
    stage = resized.stage
    log = stage.kube.cluster.layout.log("evenkeel-updater")
    for words in ((), (f"--log={log}",)):
        answer = stage.console.evenkeel("list", "--history", "--output=json", *words)
        assert answer.status == 0, answer.errors
        assert isinstance(answer.document, list)
        (change,) = answer.document
        assert text_at(change, "pod").endswith(f"commands/{stage.pod}")
        assert (text_at(change, "vpa"), text_at(change, "action")) == ("burn", "resize")
        changes = "main cpu 20m→200m, memory 32Mi→100Mi, cpu limit 500m→5, memory limit 64Mi→200Mi"
        assert at(change, "changes") == [changes]


def test_explain_agrees_with_the_status(resized: Resized) -> None:
    """beyond:B-34: with the flags of the recommender's Deployment the same comes out as the recommender has written."""
    stage = resized.stage
    with stage.installation.stalled("recommender"):
        answer = stage.console.evenkeel("explain", "vpa", "burn", "--output=json")
        stated = recommended(stage.kube)
    assert answer.status == 0, answer.errors
    (explained,) = objects_at(answer.document, "containers")
    assert at(explained, "stated") == stated
    for vector in ("target", "upperBound"):
        assert at(explained, "reckoned", vector) == at(stated, vector)
    assert number_at(explained, "samples", "count") >= 1
    assert text_at(explained, "histograms", "cpu", "bars", 0, "end") != ""
    assert "cpu capped to maxAllowed" in str(at(explained, "caps"))
    notes = at(answer.document, "notes")
    assert isinstance(notes, list)
    assert "recommender: flags of Deployment evenkeel-system/evenkeel-recommender" in notes
    values = {text_at(f, "field"): text_at(f, "value") for f in objects_at(answer.document, "admission", "changes")}
    assert values["spec.containers[main].resources.requests.cpu"] == "200m"


def test_explain_says_what_becomes_of_a_pod(resized: Resized) -> None:
    """beyond:B-34."""
    stage = resized.stage
    answer = stage.console.plugin("explain", "pod", stage.pod, "--whole-cluster")
    assert answer.status == 0, answer.errors
    assert answer.output.startswith(f"Pod commands/{stage.pod}")
    assert ["cpu", "in", "the", "status", "200m"] in [words[:5] for words in answer.words]
    assert ["memory", "recommended", "100Mi"] in [words[:3] for words in answer.words]
    assert ["Pod", f"commands/{stage.pod}", "skip", "too_young"] in [words[:4] for words in answer.words]


def test_verify_resize_finds_the_pod_converged(resized: Resized) -> None:
    stage = resized.stage
    answer = stage.console.plugin("verify-resize", stage.pod, "--output=json")
    assert answer.status == 0, answer.errors
    assert text_at(answer.document, "verdict") == "converged"
    (state,) = objects_at(answer.document, "containers")
    assert number_at(state, "restartCount") == 1
    requests, limits = resources_of(stage.burning())
    assert (requests, limits) == (_AFTER["requests"], _AFTER["limits"])
    rows = [words for words in stage.console.evenkeel("verify-resize", stage.pod).words if words[:1] == ["main"]]
    assert ["main", "cpu", "request", "200m", "200m", "200m"] in rows


def idle(stage: Stage) -> None:
    """Deploy a pod beside the burning one, whose CPU has no limit."""
    resources: JsonObject = {"requests": {"cpu": "50m", "memory": "16Mi"}, "limits": {"memory": "32Mi"}}
    spec: JsonObject = {
        "nodeName": stage.node,
        "terminationGracePeriodSeconds": 1,
        "containers": [container(IDLE_SCRIPT, resources)],
    }
    metadata: JsonObject = {"name": "idle", "labels": {"app": "idle"}}
    stage.kube.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    stage.kube.wait_for_pods("app=idle")


def test_verify_resize_waits_as_long_as_it_may(stage: Stage) -> None:
    """What no node can give, what this one cannot give now, and what it gives while somebody waits."""
    kube, console = stage.kube, stage.console
    idle(stage)
    all_of_it = text_at(kube.read("node", stage.node), "status", "allocatable", "cpu")

    def ask(cpu: str) -> None:
        kube.resize("idle", "main", {"requests": {"cpu": cpu}})

    def verify(*words: str) -> tuple[int, str]:
        answer = console.evenkeel("verify-resize", "idle", "--output=json", *words)
        return answer.status, text_at(answer.document, "verdict")

    with console.following("observe", "pod/idle", "--interval=1s") as following:
        kube.wait_for(lambda: following.told("pod"), "the pod to be told of")
        ask("100")
        assert verify("--timeout=20s") == (5, "infeasible")
        ask(all_of_it)
        assert verify("--timeout=3s") == (4, "deferred")
        with console.following("verify-resize", "idle", "--timeout=30s") as waiting:
            ask("60m")
            waiting.process.wait(_SECONDS)
        assert waiting.process.returncode == 0
        assert '"verdict": "converged"' in waiting.file.read_text()
        told = following.told("condition")
    assert any(text.startswith("PodResizePending: Infeasible") or "Infeasible" in text for text in told), told
    assert any("Deferred" in text for text in told), told


def test_doctor_finds_all_right(resized: Resized) -> None:
    """beyond:B-39."""
    kube = resized.stage.kube
    # The resize restarted the only pod; metrics-server tells of a container once it has seen it twice.
    kube.wait_for(lambda: kube.objects("podmetrics"), "the usage of the pod that was restarted")
    answer = resized.stage.console.plugin("doctor")
    assert answer.status == 0, answer.output
    assert answer.words[-1][:4] == ["0", "problems,", "0", "warnings,"]
    for found in ("feature gate InPlacePodVerticalScaling is on", "the metrics API answers", "has all"):
        assert found in answer.output
    assert f"the webhook answers at {HOST_ADDRESS}:{_PORT}" in answer.output
    assert f"the certificate that {HOST_ADDRESS}:{_PORT} shows is valid until" in answer.output


def findings(answer: Ended) -> dict[str, str]:
    """Return the remedies of the problems by what was found."""
    problems = [each for each in objects_at(answer.document, "findings") if text_at(each, "level") == "problem"]
    return {text_at(each, "message"): text_at(each, "remedy") for each in problems}


def test_doctor_finds_that_the_webhook_is_gone(resized: Resized) -> None:
    """beyond:B-39."""
    stage = resized.stage
    with stage.installation.without("admission-controller"):
        answer = stage.console.evenkeel("doctor", "--only=webhook", "--output=json")
    assert answer.status == 4, answer.output
    ((message, remedy),) = findings(answer).items()
    assert message.startswith(f"the webhook does not answer at {HOST_ADDRESS}:{_PORT}: ")
    assert "look at the admission controller's pods and log" in remedy


def test_doctor_finds_that_the_metrics_api_is_gone(stage: Stage) -> None:
    """beyond:B-39."""
    cluster, system = stage.kube.cluster, Kube(stage.kube.cluster)
    name = text_at(METRICS_API, "metadata", "name")
    system.delete("apiservice", name)
    try:
        answer = stage.console.evenkeel("doctor", "--only=metrics", "--output=json")
    finally:
        cluster.apply(METRICS_API)
        system.wait_for(lambda: is_condition_true(system.read("apiservice", name), "Available"), "the metrics API")
    assert answer.status == 4, answer.output
    ((message, remedy),) = findings(answer).items()
    assert message.startswith("the metrics API does not answer: ")
    assert name in remedy


def write(folder: Path, name: str, document: JsonValue) -> Path:
    """Write a document as YAML."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump(document))
    return file


def would_be(answer: Ended) -> JsonValue:
    """Return the resources that a Deployment would have, as the server answers a dry run."""
    assert answer.status == 0, answer.errors
    return at(answer.document, "spec", "template", "spec", "containers", 0, "resources")


def test_exported_patches_and_values_are_what_is_recommended(resized: Resized) -> None:
    """beyond:B-38: by a server-side dry run of the real kubectl."""
    console, folder = resized.stage.console, resized.stage.console.folder
    patch = write(folder, "patch.yaml", yaml.safe_load(console.evenkeel("export", "burn").output))
    words = ("--dry-run=server", "--output=json")
    assert would_be(console.kubectl("patch", "deployment", "burn", f"--patch-file={patch}", *words)) == _AFTER

    values = yaml.safe_load(console.plugin("export", "--format=helm").output)
    template = container(BURN_SCRIPT, values["burn"]["main"]["resources"])
    manifest = write(folder, "chart.yaml", deployment("burn", template))
    assert would_be(console.kubectl("apply", f"--filename={manifest}", *words)) == _AFTER


@pytest.mark.parametrize("has_files", [True, False])
def test_an_exported_component_is_what_is_recommended(resized: Resized, has_files: bool) -> None:
    """beyond:B-38: by kustomize as it is in kubectl, and a server-side dry run."""
    console = resized.stage.console
    overlay = console.folder / f"overlay-{has_files}"
    write(overlay, "burn.yaml", deployment("burn", container(BURN_SCRIPT, _BEFORE)))
    write(overlay, "kustomization.yaml", {"resources": ["burn.yaml"], "components": ["sizes"]})
    if has_files:
        assert console.evenkeel("export", "--format=kustomize", f"--directory={overlay / 'sizes'}").status == 0
    else:
        component = console.evenkeel("export", "--format=kustomize")
        write(overlay, "sizes/kustomization.yaml", yaml.safe_load(component.output))
    answer = console.kubectl("apply", f"--kustomize={overlay}", "--dry-run=server", "--output=json")
    assert would_be(answer) == _AFTER
    assert at(resized.stage.kube.read("deployment", "burn"), "metadata", "generation") == 1, "it was a dry run"


COMPLETED = [
    ("product:1 VPAs", ("explain", "vpa", "-n", "commands", ""), ["burn"]),
    ("product:1 namespaces", ("list", "--namespace=comm"), ["commands"]),
    ("product:1 workloads", ("observe", "-n", "commands", "dep"), ["deployment/burn"]),
]


@pytest.mark.parametrize(("row", "words", "offered"), COMPLETED, ids=[row[0] for row in COMPLETED])
def test_kubectl_completes_names(stage: Stage, row: str, words: tuple[str, ...], offered: list[str]) -> None:
    def complete() -> bool:
        answer = stage.console.run("kubectl", "__complete", "evenkeel", *words)
        assert answer.output.splitlines() == [*offered, ":4"], row
        return True

    stage.kube.wait_for(complete, "words, which a busy machine may be too late with", timeout_seconds=_SECONDS)


def test_errors_name_the_way_out(stage: Stage) -> None:
    wrong = stage.console.plugin("explain", "vpa", "bunr")
    assert (wrong.status, "did you mean burn?" in wrong.errors) == (1, True), wrong.errors
    stranger = stage.console.as_user("default")
    refused = stranger.evenkeel("list")
    assert refused.status == 1
    assert "evenkeel: you may not list " in refused.errors
    assert "ask for a role that allows it" in refused.errors
    assert stranger.run("kubectl", "__complete", "evenkeel", "list", "-n", "").output == ":0\n"


def test_every_process_lives_within_its_rights(resized: Resized) -> None:
    installation = resized.stage.installation
    assert installation.ended() == []
    assert installation.forbidden() == []

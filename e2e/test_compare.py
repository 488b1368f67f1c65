"""Shadow mode and ``evenkeel compare`` on a real node: upstream's recommender on its own objects, ours on their twins.

Both commands run with the rights that their documentation asks for and no others.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from e2e.cluster import binaries
from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject, JsonValue, at, number_at, objects_at, text_at
from e2e.cluster.kube import Kube
from e2e.command_lab import Ended
from e2e.installation import Flags, Group, Installation, define, installed, resources_of, vpa
from e2e.workloads import BURN_SCRIPT, amounts, container, deployment

_PAGE = Path(__file__).parent.parent / "docs" / "compare.md"
_FAST = ("--recommender-interval=10s",)
# One bucket is 5 % wide, and the two engines do not fetch at the same moment.
_NEAR = "--threshold=15"
_SECONDS = 60.0
_WRITES = frozenset({"create", "update", "patch", "delete"})


@dataclass(frozen=True, slots=True)
class Beside:
    """A burning pod that both recommenders know."""

    kube: Kube
    installation: Installation

    def run(self, account: str, *words: str) -> Ended:
        """Run a command in the namespace with the rights of a service account."""
        cluster = self.kube.cluster
        kubeconfig = cluster.token_kubeconfig(self.kube.namespace, account)
        program = str(Path(sys.executable).parent / "evenkeel")
        command = [program, *words, f"--kubeconfig={kubeconfig}", f"--namespace={self.kube.namespace}"]
        words_there = cluster.namespace_command(command)
        done = subprocess.run(words_there, capture_output=True, text=True, check=False, timeout=_SECONDS)
        return Ended(done.returncode, done.stdout, done.stderr)

    def compare(self, *words: str) -> Ended:
        """Compare, with JSON for the answer."""
        return self.run("compare", "compare", "--output=json", *words)

    def twins(self) -> list[JsonObject]:
        """Read the objects of our own group."""
        return self.kube.objects(Group.OWN.resource)


def documented_rules() -> list[list[JsonValue]]:
    """Return the rules that the page of both commands asks for: those of ``compare``, then those of ``shadow``."""
    blocks = re.findall(r"```yaml\n(.*?)```", _PAGE.read_text(), re.DOTALL)
    loaded = [yaml.safe_load(block) for block in blocks]
    return [rules for rules in loaded if isinstance(rules, list)]


def grant(kube: Kube, name: str, rules: list[JsonValue]) -> None:
    """Create a service account that may do what rules say in its namespace."""
    metadata: JsonObject = {"name": name, "namespace": kube.namespace}
    group = "rbac.authorization.k8s.io"
    role: JsonObject = {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": metadata, "rules": rules}
    subject: JsonObject = {"kind": "ServiceAccount", "name": name, "namespace": kube.namespace}
    binding: JsonObject = {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": group, "kind": "Role", "name": name},
        "subjects": [subject],
    }
    kube.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}, role, binding)


def row_of(answer: Ended, resource: str) -> JsonObject:
    """Return the row of one resource of the only container."""
    found = [row for row in objects_at(answer.document, "rows") if text_at(row, "resource") == resource]
    assert len(found) == 1, answer.output
    return found[0]


@pytest.fixture(scope="module")
def beside(cluster: Cluster) -> Iterator[Beside]:
    """Everything of ours for our own group, upstream's recommender for upstream's, and one burning pod."""
    kube = Kube(cluster, "compare")
    cluster.kubectl("create", "namespace", kube.namespace)
    peer = binaries.build("vpa") / "vpa-recommender"
    define(cluster, Group.UPSTREAM)
    try:
        with installed(cluster, Group.OWN, Flags(recommender=_FAST, updater=("--updater-interval=10s",))) as ours:
            kube.wait_for(lambda: kube.find("serviceaccount", "default"), "the default service account")
            for account, rules in zip(("compare", "shadow"), documented_rules(), strict=True):
                grant(kube, account, rules)
            resources = amounts("50m", "32Mi", limit_cpu="500m", limit_memory="64Mi")
            kube.apply(deployment("burn", container(BURN_SCRIPT, resources)))
            kube.apply(vpa(Group.UPSTREAM, "burn", [{"containerName": "*"}], minReplicas=1))
            kube.wait_for_pods("app=burn")
            flags = [*_FAST, "--address=:8952", f"--kubeconfig={cluster.kubeconfig}"]
            process = cluster.start_process("vpa-recommender", [str(peer), *flags])
            try:
                yield Beside(kube, ours)
            finally:
                cluster.stop_process(process)
    finally:
        kube.delete("namespace", kube.namespace, wait=False)


def near(beside: Beside) -> Ended:
    """Compare until both sides have seen the burning and recommend about the same."""

    def alike() -> Ended:
        answer = beside.compare(_NEAR)
        assert answer.status == 0, (answer.output, answer.errors)
        # Below that is what a pod gets that was seen to do nothing.
        assert text_at(row_of(answer, "cpu"), "theirs") not in {"", "25m"}, answer.output
        return answer

    return beside.kube.wait_for(alike, "targets that are near each other", timeout_seconds=120)


def test_upstream_and_our_twins_side_by_side(
    beside: Beside, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kube = beside.kube
    offset = kube.cluster.audit_offset()
    (before,) = kube.pods("app=burn")
    made = beside.run("shadow", "shadow", "sync")
    assert made.status == 0, made.errors
    (twin,) = beside.twins()
    assert at(twin, "metadata", "labels") == {"evenkeel.dev/shadow": "true"}
    assert text_at(twin, "spec", "updatePolicy", "updateMode") == "Off"
    assert beside.run("shadow", "shadow", "sync").output == ""

    answer = near(beside)
    assert text_at(row_of(answer, "cpu"), "used") != "", "beyond:B-35"
    page = tmp_path / "compare.html"
    assert beside.compare(f"--html={page}", "--window=20s").status == 0
    assert page.read_text().count('role="img"') == 2
    with capsys.disabled():
        print(f"\n{answer.output}")

    _let_caps_differ(beside)
    assert beside.run("shadow", "shadow", "sync").output.count("patched") == 1
    near(beside)
    _nothing_was_touched(beside, offset, before)
    assert beside.run("shadow", "shadow", "remove").status == 0
    assert beside.twins() == []
    assert kube.find(Group.UPSTREAM.resource, "burn") is not None


def _let_caps_differ(beside: Beside) -> None:
    """Cap upstream's object and leave the twin as it is: that is the first difference, and too large."""
    policies: list[JsonValue] = [{"containerName": "*", "maxAllowed": {"cpu": "100m"}}]
    patch: JsonObject = {"spec": {"resourcePolicy": {"containerPolicies": policies}}}
    beside.kube.patch(Group.UPSTREAM.resource, "burn", patch, style="merge")

    def apart() -> JsonObject:
        answer = beside.compare(_NEAR)
        assert answer.status == 3, (answer.output, answer.errors)
        row = row_of(answer, "cpu")
        assert text_at(row, "step") == "caps", row
        return row

    row = beside.kube.wait_for(apart, "targets that are too far apart", timeout_seconds=60)
    assert (text_at(row, "theirs"), text_at(row, "verdict")) == ("100m", "ours is higher"), "beyond:B-35"
    assert text_at(row, "detail") == "ours no bounds, theirs maxAllowed 100m"


def _nothing_was_touched(beside: Beside, offset: int, before: JsonObject) -> None:
    """Neither the pod nor upstream's object was written to by anything of ours, and nobody lacked a right."""
    kube = beside.kube
    (after,) = kube.pods("app=burn")
    assert text_at(after, "metadata", "uid") == text_at(before, "metadata", "uid")
    assert resources_of(after) == resources_of(before)
    original = kube.read(Group.UPSTREAM.resource, "burn")
    assert number_at(original, "metadata", "generation") == 2, "written once more, by this test"
    accounts = tuple(f"system:serviceaccount:{kube.namespace}:{name}" for name in ("compare", "shadow"))
    asked = [entry for entry in kube.cluster.audit_entries(offset=offset) if entry.user in accounts]
    asked += beside.installation.requests()
    written = {(e.group, e.resource) for e in asked if e.verb in _WRITES and e.namespace == kube.namespace}
    assert Group.UPSTREAM.value not in {group for group, _ in written}, "beyond:B-35"
    assert ("", "pods") not in written
    assert beside.installation.forbidden() == []
    # For their flags it looks at Deployments of other namespaces, and does without.
    refused = {entry.resource for entry in asked if entry.code == 403}
    assert refused == {"deployments"}

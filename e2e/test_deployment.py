"""Install, work, upgrade and uninstall on a real cluster, all three processes as restricted pods.

For each way of installing the tests follow each other: the first ones look at what is installed, the later ones upgrade
and remove it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from pathlib import Path
from threading import Event

import pytest

from e2e.api_socket import Answer, ApiSocket, api_socket
from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject, JsonValue, at, objects_at, text_at
from e2e.cluster.errors import ClusterError
from e2e.cluster.kube import Kube
from e2e.cluster.rights import granted, rights_use
from e2e.deployment import (
    CHART,
    FAST,
    PROCESSES,
    RELEASE,
    REPOSITORY,
    WORKLOAD,
    Setting,
    await_processes,
    await_resize,
    deploy_workload,
    helm,
    install,
    names_of,
    uninstall,
)
from e2e.image.oci import TAG
from e2e.installation import MANIFESTS, NAMESPACE, Group, restarts
from tests.manifests.rendering import rendered

_NEXT_REPOSITORY = "local.test/evenkeel-next"
_NEXT_FLAG = "--updater-interval=15s"
_NEXT_FLAGS = {**FAST, "evenkeel-updater": (_NEXT_FLAG,)}
# Everything that the manifests make and name as theirs, but for what a Deployment makes of itself.
_KINDS = (
    "deployment,service,poddisruptionbudget,networkpolicy,serviceaccount,secret,role,rolebinding,"
    "clusterrole,clusterrolebinding,validatingadmissionpolicy,validatingadmissionpolicybinding"
)
_OURS = "app.kubernetes.io/part-of=evenkeel"
_FAILURES = {"BackOff", "Failed", "FailedCreate"}
_END_SECONDS = 120.0
_TRIAL_PAUSE_SECONDS = 0.05
_FEWEST_TRIALS = 20


class Way(Enum):
    """How it is installed, and for which objects."""

    KUSTOMIZE = "kustomize"
    HELM = "helm"
    DROP_IN = "drop-in"

    @property
    def group(self) -> Group:
        """API group that is served."""
        return Group.UPSTREAM if self is Way.DROP_IN else Group.OWN

    @property
    def rolled_by_the_upgrade(self) -> tuple[str, ...]:
        """Processes whose pods the upgrade replaces: with Helm a flag of one changes, else the image of all."""
        return ("evenkeel-updater",) if self is Way.HELM else PROCESSES


@dataclass(frozen=True, slots=True)
class System:
    """Evenkeel as it is installed.

    Args:
        way: How.
        kube: The namespace of its processes.
        archive: The image.
        began: Where the audit log ended when the installation began.
    """

    way: Way
    kube: Kube
    archive: Path
    began: int

    @property
    def cluster(self) -> Cluster:
        """Where."""
        return self.kube.cluster

    def install(self) -> None:
        """Install it as a person would, and wait until all of it is there."""
        if self.way is not Way.HELM:
            install(self.cluster, self.archive, Setting(self.way.group))
            return
        self.cluster.import_image(self.archive, repository=REPOSITORY)
        self.cluster.kubectl("apply", "--server-side", "-k", str(MANIFESTS / "namespace"))
        helm(self.cluster, "install", RELEASE, str(CHART), values=_values(FAST))
        await_processes(self.cluster)

    def upgrade(self) -> None:
        """Change a flag of the updater, and without Helm the image of all."""
        if self.way is not Way.HELM:
            install(self.cluster, self.archive, Setting(self.way.group, _NEXT_REPOSITORY, _NEXT_FLAGS))
            return
        helm(self.cluster, "upgrade", RELEASE, str(CHART), values=_values(_NEXT_FLAGS))
        await_processes(self.cluster)

    def pods(self) -> dict[str, JsonObject]:
        """The running pods of the three processes by name."""
        return {text_at(pod, "metadata", "name"): pod for pod in self.kube.pods()}

    def failures(self) -> list[str]:
        """What controllers and kubelets have to complain of about pods of the processes."""
        told = [event for event in self.kube.events() if event.type == "Warning"]
        return [f"{event.name}: {event.message}" for event in told if event.reason in _FAILURES]


def _values(flags: Mapping[str, Sequence[str]]) -> JsonObject:
    """Values of the chart for the imported image and some flags."""
    return {
        "image": {"repository": REPOSITORY, "tag": TAG},
        "recommender": {"extraArgs": list[JsonValue](flags["evenkeel-recommender"])},
        "updater": {"extraArgs": list[JsonValue](flags["evenkeel-updater"])},
    }


@pytest.fixture(scope="module", params=Way, ids=lambda way: way.value)
def system(cluster: Cluster, image_archive: Path, request: pytest.FixtureRequest) -> Iterator[System]:
    """Evenkeel installed where nothing is left of another installation, as it leaves nothing itself."""
    way = request.param
    for group in Group:
        uninstall(cluster, group)
    running = System(way, Kube(cluster, NAMESPACE), image_archive, cluster.audit_offset())
    try:
        running.install()
        yield running
    finally:
        if way is Way.HELM:
            helm(cluster, "uninstall", RELEASE, "--ignore-not-found")
        uninstall(cluster, way.group)


@pytest.fixture(scope="module")
def burning(cluster: Cluster, system: System) -> Iterator[Kube]:
    """A namespace with the burn workload and its VPA."""
    kube = Kube(cluster, f"as-pods-{system.way.value}")
    kube.delete("namespace", kube.namespace)
    cluster.kubectl("create", "namespace", kube.namespace)
    try:
        kube.wait_for(lambda: kube.find("serviceaccount", "default"), "the default service account")
        deploy_workload(kube, system.way.group)
        yield kube
    finally:
        kube.delete("namespace", kube.namespace, wait=False)


def test_every_process_is_two_restricted_pods(system: System, burning: Kube) -> None:
    """Spec: product:9."""
    assert burning.namespace
    labels = at(system.kube.read("namespace", NAMESPACE), "metadata", "labels")
    assert isinstance(labels, dict)
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    pods = system.pods()
    assert sorted(name.rsplit("-", 2)[0] for name in pods) == sorted(2 * PROCESSES)
    for name, pod in pods.items():
        assert at(pod, "spec", "containers", 0, "securityContext", "readOnlyRootFilesystem") is True, name
        assert restarts(pod) == 0, name
    assert system.failures() == []
    with pytest.raises(ClusterError, match="violates PodSecurity"):
        system.kube.run("run", "careless", "--image=local.test/busybox:1", "--dry-run=server")


def test_their_leases_are_held_by_pods(system: System) -> None:
    """Spec: product:1, product:2."""
    names = names_of(system.way.group)
    shared = Kube(system.cluster, names.namespace)

    def is_held(name: str) -> bool:
        holder = text_at(shared.find("lease", name), "spec", "holderIdentity")
        assert any(holder.startswith(pod) for pod in system.pods()), f"held by {holder or 'nobody'}"
        return True

    for name in (names.recommender_lease, names.updater_lease, names.status_lease):
        shared.wait_for(partial(is_held, name), f"the holder of {name}")


def test_they_resize_a_pod_in_place(system: System, burning: Kube) -> None:
    """Spec: product:6."""
    (before,) = burning.pods(f"app={WORKLOAD}")
    after = await_resize(burning, before)
    assert text_at(after, "metadata", "uid") == text_at(before, "metadata", "uid")
    assert restarts(after) == 1, "memory is resized with a restart, and only once"
    told = burning.events(text_at(after, "metadata", "name"), "InPlaceResizedByVPA")
    component = "vpa-updater" if system.way is Way.DROP_IN else "evenkeel-updater"
    assert [event.source for event in told] == [component]


def test_they_admit_a_pod_with_what_is_recommended(burning: Kube) -> None:
    """Spec: product:1."""
    (before,) = burning.pods(f"app={WORKLOAD}")
    burning.delete("pod", text_at(before, "metadata", "name"))
    (after,) = burning.wait_for_pods(f"app={WORKLOAD}")
    assert at(after, "spec", "containers", 0, "resources", "requests") == {"cpu": "200m", "memory": "100Mi"}
    assert text_at(after, "metadata", "annotations", "vpaUpdates")


@dataclass(slots=True)
class Trials:
    """Pods that were tried, and which of them came out without the webhook's mark."""

    count: int = 0
    unmarked: list[str] = field(default_factory=list)

    def note(self, answer: Answer) -> None:
        """Note what became of one."""
        self.count += 1
        if not text_at(answer.body, "metadata", "annotations", "vpaUpdates"):
            self.unmarked.append(f"try {self.count}: {answer.code} {answer.message}")


@contextmanager
def _trying_pods(kube: Kube) -> Iterator[Trials]:
    """Have the API server try a new pod of the workload again and again for the time of a ``with`` block."""
    found = kube.read("deployment", WORKLOAD)
    owner: JsonObject = {"apiVersion": "apps/v1", "kind": "Deployment", "controller": True}
    owner |= {key: text_at(found, "metadata", key) for key in ("name", "uid")}
    labels = at(found, "spec", "template", "metadata", "labels")
    metadata: JsonObject = {"generateName": "tried-", "labels": labels, "ownerReferences": [owner]}
    spec = at(found, "spec", "template", "spec")
    pod: JsonObject = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    trials, is_over = Trials(), Event()

    def go_on(api: ApiSocket) -> None:
        while not is_over.wait(_TRIAL_PAUSE_SECONDS):
            trials.note(api.post(f"/api/v1/namespaces/{kube.namespace}/pods?dryRun=All", pod))

    with api_socket(kube.cluster, "trial-proxy") as api, ThreadPoolExecutor(1) as executor:
        trying = executor.submit(go_on, api)
        try:
            yield trials
        finally:
            is_over.set()
        trying.result()


def test_an_upgrade_changes_the_pods_and_keeps_what_they_have_made(system: System, burning: Kube) -> None:
    """Spec: product:9."""
    secret = names_of(system.way.group).webhook_secret
    certificates, before = at(system.kube.read("secret", secret), "data"), set(system.pods())
    assert isinstance(certificates, dict)

    def has_no_pods_left_over() -> bool:
        assert len(system.kube.objects("pods")) == 2 * len(PROCESSES), sorted(system.pods())
        return True

    with _trying_pods(burning) as trials:
        system.upgrade()
        system.kube.wait_for(has_no_pods_left_over, "the end of the pods of before", timeout_seconds=_END_SECONDS)
    assert trials.count > _FEWEST_TRIALS
    assert trials.unmarked == [], f"{len(trials.unmarked)} of {trials.count} pods not sized"
    after = system.pods()
    replaced = {name.rsplit("-", 2)[0] for name in before - set(after)}
    assert replaced == set(system.way.rolled_by_the_upgrade), "who was not changed runs on"
    assert len(before & set(after)) == 2 * (len(PROCESSES) - len(replaced))
    for name, pod in after.items():
        assert restarts(pod) == 0, name
        repository = REPOSITORY if system.way is Way.HELM else _NEXT_REPOSITORY
        assert at(pod, "spec", "containers", 0, "image") == f"{repository}:{TAG}"
        assert (at(pod, "spec", "containers", 0, "args", -1) == _NEXT_FLAG) is name.startswith("evenkeel-updater-")
    assert system.failures() == []
    assert at(system.kube.read("secret", secret), "data") == certificates
    assert burning.read(system.way.group.resource, WORKLOAD)


@pytest.mark.parametrize("process", PROCESSES)
def test_their_own_roles_are_all_they_need(system: System, process: str) -> None:
    """Spec: product:9; which of the rights are used is seen in test_rights.py, where everything happens."""
    rights = granted(rendered(str(system.way.group.overlay.relative_to(MANIFESTS))), NAMESPACE, process)
    user = f"system:serviceaccount:{NAMESPACE}:{process}"
    asked = [entry for entry in system.cluster.audit_entries(offset=system.began) if entry.user == user]
    use = rights_use(rights, asked)
    assert any(use.counts.values())
    assert [str(right) for right in use.refused] == []
    assert [str(right) for right in use.elsewhere] == [], "allowed by other roles"


def test_uninstalling_leaves_nothing_but_what_is_kept_on_purpose(system: System, burning: Kube) -> None:
    """Spec: product:9."""
    kept = _shared(system) | {"namespace", *_definitions(system)}
    assert _labelled(system.cluster)
    assert _present(system) == kept

    if system.way is Way.HELM:
        helm(system.cluster, "uninstall", RELEASE)
        system.kube.wait_for(
            lambda: not system.kube.objects("pods"), "the end of the pods", timeout_seconds=_END_SECONDS
        )
        assert not _labelled(system.cluster)
        assert _present(system) == kept, "what the processes have made, and what users own"
        assert burning.read(system.way.group.resource, WORKLOAD)

    uninstall(system.cluster, system.way.group)

    assert not _labelled(system.cluster)
    assert _present(system) == set()
    (pod,) = burning.wait_for_pods(f"app={WORKLOAD}")
    assert text_at(pod, "metadata", "name"), "workloads run on"


def _shared(system: System) -> set[str]:
    """What the processes make themselves, which neither Helm nor Kustomize knows of."""
    names = names_of(system.way.group)
    leases = (names.recommender_lease, names.updater_lease, names.status_lease)
    return {f"mutatingwebhookconfiguration {names.webhook_configuration}", *(f"lease {name}" for name in leases)}


def _definitions(system: System) -> set[str]:
    return {f"crd {name}" for name in (system.way.group.resource, system.way.group.checkpoints)}


def _present(system: System) -> set[str]:
    """Which of the namespace, the definitions and what the processes make is there."""
    shared = Kube(system.cluster, names_of(system.way.group).namespace)
    objects = _shared(system) | _definitions(system)
    found = {each for each in objects if shared.find(*each.split())}
    return found | ({"namespace"} if shared.find("namespace", NAMESPACE) else set())


def _labelled(cluster: Cluster) -> list[str]:
    """Kind and name of the objects of the manifests that are there."""
    listed = json.loads(cluster.kubectl("get", _KINDS, "-A", "-l", _OURS, "--output=json"))
    return [f"{text_at(item, 'kind')} {text_at(item, 'metadata', 'name')}" for item in objects_at(listed, "items")]

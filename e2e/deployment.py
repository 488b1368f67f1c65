"""Evenkeel on a running cluster as it is meant to run: three Deployments from the image, by Kustomize or by Helm.

``python -m e2e.deployment install|verify|observe|uninstall [--root FOLDER]`` does this on a cluster that is up.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import yaml

from autoscaling.runtime.api_group import ApiGroup, ClusterNames, cluster_names
from e2e.cluster import binaries
from e2e.cluster.cluster import Cluster
from e2e.cluster.commands import run
from e2e.cluster.documents import JsonObject, at, number_at, objects_at, text_at
from e2e.cluster.errors import ClusterError
from e2e.cluster.kube import Kube
from e2e.cluster.layout import DEFAULT_ROOT
from e2e.cluster.waiting import wait_for
from e2e.image.__main__ import DEFAULT_FOLDER, LAYOUT
from e2e.image.oci import TAG
from e2e.installation import MANIFESTS, NAMESPACE, Group, define, resources_of, vpa
from e2e.workloads import BURN_SCRIPT, amounts, container, deployment

REPOSITORY = "local.test/evenkeel"
"""What the image is called on the nodes; a name without a dot would be taken for one in a public registry."""
RELEASE = "evenkeel"
CHART = MANIFESTS / "helm" / "evenkeel"
PROCESSES = ("evenkeel-recommender", "evenkeel-updater", "evenkeel-admission-controller")
WORKLOAD = "burn"
_VERIFIED_IN = "default"

# The nodes' containerd copies the whole image for each container, and all share two cores.
_ROLLOUT_SECONDS = 420.0
_RESIZE_SECONDS = 300.0
_REMOVAL_SECONDS = 180.0
_ONLY_WARNINGS = 3
"""Exit status of ``evenkeel doctor``: such as of nodes that are small, which a local cluster's may be."""
FAST: Mapping[str, Sequence[str]] = {
    "evenkeel-recommender": ("--recommender-interval=10s", "--pod-recommendation-min-memory-mb=100"),
    "evenkeel-updater": ("--updater-interval=10s",),
}
_POLICY: JsonObject = {"containerName": "*", "maxAllowed": {"cpu": "200m", "memory": "256Mi"}}


def names_of(group: Group) -> ClusterNames:
    """Return the names that the processes of an API group share with each other."""
    return cluster_names(ApiGroup(group.value))


@dataclass(frozen=True, slots=True)
class Setting:
    """What a person says of an installation beside what the manifests do.

    Args:
        group: API group that it serves.
        repository: Of the image.
        flags: Of each process by name, after those of its Deployment.
    """

    group: Group = Group.OWN
    repository: str = REPOSITORY
    flags: Mapping[str, Sequence[str]] = field(default_factory=lambda: FAST)

    @property
    def image(self) -> str:
        """Name of the image on the nodes."""
        return f"{self.repository}:{TAG}"


IMAGE = Setting().image
"""What the image is called where nobody says otherwise."""


def helm(cluster: Cluster, *arguments: str, values: Mapping[str, object] | None = None) -> str:
    """Run helm as the administrator, in the namespace of the processes.

    Args:
        cluster: Where.
        arguments: After ``helm``.
        values: Values of the chart beyond its defaults.

    Raises:
        ClusterError: It fails.
    """
    program = binaries.build("helm") / "helm"
    command = [str(program), f"--kubeconfig={cluster.kubeconfig}", f"--namespace={NAMESPACE}", *arguments]
    # Helm keeps nothing of its own here, and finds nothing that somebody else keeps.
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(cluster.layout.root)}
    stated = ["--values=-"] if values is not None else []
    return run(
        cluster.namespace_command([*command, *stated]),
        remedy="see the message of helm",
        stdin=json.dumps(values) if values is not None else None,
        environment=environment,
        timeout_seconds=_ROLLOUT_SECONDS + 60,
    )


def install(cluster: Cluster, archive: Path, setting: Setting | None = None) -> None:
    """Import the image, apply definitions and manifests and wait for the three Deployments; again is an upgrade.

    Raises:
        ClusterError: A Deployment does not become available.
    """
    chosen = setting or Setting()
    cluster.import_image(archive, repository=chosen.repository)
    define(cluster, chosen.group)
    rendered = cluster.kubectl("kustomize", str(chosen.group.overlay))
    documents = [_adapted(document, chosen) for document in yaml.safe_load_all(rendered)]
    ordered = sorted(documents, key=lambda document: document["kind"] != "Namespace")
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=yaml.safe_dump_all(ordered))
    await_processes(cluster, chosen.group)


def _adapted(document: JsonObject, setting: Setting) -> JsonObject:
    """Have a Deployment take the imported image, and the flags of the setting."""
    if document["kind"] == "Deployment":
        (process,) = objects_at(document, "spec", "template", "spec", "containers")
        process["image"] = setting.image
        arguments = at(process, "args")
        assert isinstance(arguments, list)
        arguments.extend(setting.flags.get(text_at(document, "metadata", "name"), ()))
    return document


def await_processes(cluster: Cluster, group: Group = Group.OWN) -> None:
    """Wait until every replica of the three Deployments is available and the webhook is registered.

    Raises:
        ClusterError: It takes too long; the message holds the pods' Events.
    """
    kube = Kube(cluster, NAMESPACE)
    try:
        for name in PROCESSES:
            wait_for(partial(_is_rolled_out, kube, name), _ROLLOUT_SECONDS, f"the pods of {name}", every_seconds=1)
        wait_for(partial(_is_registered, cluster, group), 60, "the webhook's registration with a bundle")
    except ClusterError as error:
        told = [f"{event.name}: {event.reason}: {event.message}" for event in kube.events() if event.type == "Warning"]
        error.add_note("\n".join(told[-20:]))
        raise


def _is_rolled_out(kube: Kube, name: str) -> bool:
    """Say whether all replicas of a Deployment are of its present template, and available."""
    found = kube.read("deployment", name)
    status, wanted = at(found, "status"), at(found, "spec", "replicas")
    assert at(status, "observedGeneration") == at(found, "metadata", "generation"), status
    counts = [number_at(status, count) for count in ("replicas", "updatedReplicas", "availableReplicas")]
    assert counts == [wanted, wanted, wanted], status
    return True


def _is_registered(cluster: Cluster, group: Group) -> bool:
    webhook = Kube(cluster).find("mutatingwebhookconfiguration", names_of(group).webhook_configuration)
    return webhook is not None and bool(text_at(webhook, "webhooks", 0, "clientConfig", "caBundle"))


def deploy_workload(kube: Kube, group: Group = Group.OWN) -> JsonObject:
    """Deploy a pod that burns CPU, with its VPA, and return it."""
    resources = amounts("50m", "32Mi", limit_cpu="500m", limit_memory="64Mi")
    kube.apply(deployment(WORKLOAD, container(BURN_SCRIPT, resources)), vpa(group, WORKLOAD, [_POLICY], minReplicas=1))
    return kube.wait_for_pods(f"app={WORKLOAD}")[0]


def await_resize(kube: Kube, pod: JsonObject) -> JsonObject:
    """Wait until a pod of the workload has what is recommended, and return it as it is then.

    Raises:
        ClusterError: It is not resized in time.
    """
    name = text_at(pod, "metadata", "name")

    def settled() -> JsonObject | None:
        seen = kube.read("pod", name)
        expected = ({"cpu": "200m", "memory": "100Mi"}, {"cpu": "2", "memory": "200Mi"})
        assert resources_of(seen) == expected, resources_of(seen)
        return seen

    return kube.wait_for(settled, f"the resize of {name} in place", timeout_seconds=_RESIZE_SECONDS)


def uninstall(cluster: Cluster, group: Group = Group.OWN) -> None:
    """Remove everything that was installed, by Kustomize or by Helm, the definitions and what processes made included.

    Raises:
        ClusterError: The namespace or the definitions do not end.
    """
    for folder in (group.overlay, group.definitions):
        cluster.kubectl("delete", "--ignore-not-found", "--wait=false", "-k", str(folder))
    wait_for(
        partial(_is_gone, cluster, group), _REMOVAL_SECONDS, "the end of namespace and definitions", every_seconds=1
    )
    # Last, since processes that still run would make them anew.
    names = names_of(group)
    Kube(cluster).delete("mutatingwebhookconfiguration", names.webhook_configuration)
    if names.namespace != NAMESPACE:
        for lease in (names.recommender_lease, names.updater_lease, names.status_lease):
            Kube(cluster, names.namespace).delete("lease", lease)


def _is_gone(cluster: Cluster, group: Group) -> bool:
    """Say whether what takes longest to end has ended."""
    kube = Kube(cluster)
    definitions = (group.resource, group.checkpoints)
    return not kube.find("namespace", NAMESPACE) and not any(kube.find("crd", name) for name in definitions)


def main() -> int:
    """Do what the arguments say; an error is one message and exit code 1."""
    parser = argparse.ArgumentParser(prog="python -m e2e.deployment", description="Evenkeel as pods on a real cluster.")
    parser.add_argument("command", choices=("install", "verify", "observe", "uninstall"))
    parser.add_argument(
        "--root", type=Path, default=DEFAULT_ROOT, help=f"the cluster's folder (default {DEFAULT_ROOT})"
    )
    options = parser.parse_args()
    cluster = Cluster(options.root)
    if not cluster.is_healthy():
        print(f"error: {options.root}: no healthy cluster runs there; start it: make cluster-up", file=sys.stderr)
        return 1
    try:
        return _carry_out(options.command, cluster)
    except ClusterError as error:
        print(f"error: {error}", *getattr(error, "__notes__", []), sep="\n", file=sys.stderr)
        return 1


def _carry_out(command: str, cluster: Cluster) -> int:
    match command:
        case "install":
            install(cluster, (DEFAULT_FOLDER / LAYOUT).with_suffix(".tar"))
            print(f"install: {', '.join(PROCESSES)} run in {NAMESPACE} as {IMAGE}")
        case "verify":
            return _verify(cluster)
        case "observe":
            return _evenkeel(
                cluster, "observe", f"deployment/{WORKLOAD}", f"--namespace={_VERIFIED_IN}", "--duration=60s"
            )
        case _:
            uninstall(cluster)
            Kube(cluster, _VERIFIED_IN).delete("deployment", WORKLOAD)
            print("uninstall: nothing of Evenkeel is left")
    return 0


def _verify(cluster: Cluster) -> int:
    """Size a burning pod in place, then have the doctor look at everything."""
    kube = Kube(cluster, _VERIFIED_IN)
    resized = await_resize(kube, deploy_workload(kube))
    print(f"verify: {text_at(resized, 'metadata', 'name')} was resized in place to {resources_of(resized)}")
    status = _evenkeel(cluster, "doctor")
    return 0 if status == _ONLY_WARNINGS else status


def _evenkeel(cluster: Cluster, *arguments: str) -> int:
    """Run the command line against the cluster, its output on ours, and return its exit status."""
    program = str(Path(sys.executable).parent / "evenkeel")
    command = cluster.namespace_command([program, *arguments, f"--kubeconfig={cluster.kubeconfig}"])
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

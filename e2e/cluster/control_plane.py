"""The control plane: its keys, files and command lines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from e2e.cluster import certificates
from e2e.cluster.certificates import Authority, Subject
from e2e.cluster.documents import JsonObject
from e2e.cluster.layout import API_PORT, API_SERVICE_ADDRESS, HOST_ADDRESS, METRICS_PORT, SERVICE_RANGE, Layout

SERVER = f"https://{HOST_ADDRESS}:{API_PORT}"
_ETCD_CLIENTS = "http://127.0.0.1:2379"
_ETCD_PEERS = "http://127.0.0.1:2380"
_FRONT_PROXY = "front-proxy-client"
_API_HOSTS = (
    HOST_ADDRESS,
    API_SERVICE_ADDRESS,
    "127.0.0.1",
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)


@dataclass(frozen=True, slots=True)
class Component:
    """A process of the control plane that runs in the cluster's network namespace.

    Args:
        name: Of its log and its record.
        argv: Program and arguments.
        environment: Variables that it has beyond the usual ones, or with other values.
    """

    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


def make_keys(layout: Layout, nodes: tuple[str, ...]) -> None:
    """Make all keys, certificates and kubeconfigs of the cluster, and the audit policy.

    Each component has a user of its own: the real RBAC rules apply to all but the administrator and metrics-server.
    """
    folder = layout.certificates
    authority, front_proxy = Authority.create("evenkeel-e2e"), Authority.create("evenkeel-e2e-front-proxy")
    authority.pair.write(folder, "ca")
    front_proxy.pair.write(folder, "front-proxy-ca")
    front_proxy.issue(Subject(_FRONT_PROXY)).write(folder, "front-proxy")
    authority.issue(Subject("kube-apiserver", hosts=_API_HOSTS)).write(folder, "apiserver")
    certificates.write_secret(folder / "service-account.key", certificates.service_account_key())
    users = {
        layout.kubeconfig: Subject("evenkeel-e2e-admin", ("system:masters",)),
        folder / "metrics-server.kubeconfig": Subject("metrics-server", ("system:masters",)),
        folder / "controller-manager.kubeconfig": Subject("system:kube-controller-manager"),
        folder / "scheduler.kubeconfig": Subject("system:kube-scheduler"),
    }
    for name in nodes:
        users[layout.node(name).folder / "kubeconfig"] = Subject(f"system:node:{name}", ("system:nodes",))
    for file, subject in users.items():
        user = certificates.client_user(authority.issue(subject))
        certificates.write_kubeconfig(file, SERVER, authority.pair.certificate, user)
    (folder / "audit-policy.json").write_text(json.dumps(_AUDIT_POLICY))


_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}


METRICS_API: JsonObject = {
    "apiVersion": "apiregistration.k8s.io/v1",
    "kind": "APIService",
    "metadata": {"name": "v1beta1.metrics.k8s.io"},
    "spec": {
        "group": "metrics.k8s.io",
        "version": "v1beta1",
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
        "insecureSkipTLSVerify": True,
        "service": {"name": "metrics-server", "namespace": "kube-system"},
    },
}
"""Leads to metrics-server through a Service of the same name in kube-system."""


def etcd(layout: Layout) -> Component:
    """The store."""
    return Component(
        "etcd",
        (
            "/usr/bin/etcd",
            f"--data-dir={layout.root / 'etcd'}",
            f"--listen-client-urls={_ETCD_CLIENTS}",
            f"--advertise-client-urls={_ETCD_CLIENTS}",
            f"--listen-peer-urls={_ETCD_PEERS}",
            f"--initial-advertise-peer-urls={_ETCD_PEERS}",
            f"--initial-cluster=default={_ETCD_PEERS}",
            "--unsafe-no-fsync",
        ),
    )


def api_server(binaries: Path, layout: Layout) -> Component:
    """The API server, with aggregation, Node and RBAC authorization, and an audit log."""
    folder = layout.certificates
    options = {
        "etcd-servers": _ETCD_CLIENTS,
        "secure-port": API_PORT,
        "bind-address": "0.0.0.0",
        "advertise-address": HOST_ADDRESS,
        "service-cluster-ip-range": SERVICE_RANGE,
        "tls-cert-file": folder / "apiserver.crt",
        "tls-private-key-file": folder / "apiserver.key",
        "client-ca-file": folder / "ca.crt",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": folder / "service-account.key",
        "service-account-signing-key-file": folder / "service-account.key",
        "authorization-mode": "Node,RBAC",
        "enable-admission-plugins": "NodeRestriction",
        "allow-privileged": "true",
        "enable-aggregator-routing": "true",
        "kubelet-preferred-address-types": "InternalIP",
        "requestheader-client-ca-file": folder / "front-proxy-ca.crt",
        "requestheader-allowed-names": _FRONT_PROXY,
        "requestheader-username-headers": "X-Remote-User",
        "requestheader-group-headers": "X-Remote-Group",
        "requestheader-extra-headers-prefix": "X-Remote-Extra-",
        "proxy-client-cert-file": folder / "front-proxy.crt",
        "proxy-client-key-file": folder / "front-proxy.key",
        "audit-policy-file": folder / "audit-policy.json",
        "audit-log-path": layout.audit_log,
        "audit-log-format": "json",
        # One file for the whole life of the cluster, so that readers need not follow a rotation.
        "audit-log-maxsize": 100_000,
    }
    return _component(binaries, "kube-apiserver", options)


def controller_manager(binaries: Path, layout: Layout) -> Component:
    """All controllers, each with its own service account."""
    folder = layout.certificates
    options = {
        "kubeconfig": folder / "controller-manager.kubeconfig",
        "service-account-private-key-file": folder / "service-account.key",
        "root-ca-file": folder / "ca.crt",
        "use-service-account-credentials": "true",
        "leader-elect": "false",
        "bind-address": "127.0.0.1",
    }
    return _component(binaries, "kube-controller-manager", options)


def scheduler(binaries: Path, layout: Layout) -> Component:
    """The scheduler."""
    options = {
        "kubeconfig": layout.certificates / "scheduler.kubeconfig",
        "leader-elect": "false",
        "bind-address": "127.0.0.1",
    }
    return _component(binaries, "kube-scheduler", options)


def metrics_server(binaries: Path, layout: Layout) -> Component:
    """The metrics API's server, fresh every ten seconds."""
    kubeconfig = layout.certificates / "metrics-server.kubeconfig"
    options = {
        "kubeconfig": kubeconfig,
        "authentication-kubeconfig": kubeconfig,
        "authorization-kubeconfig": kubeconfig,
        "cert-dir": layout.certificates / "metrics-server",
        "secure-port": METRICS_PORT,
        "kubelet-insecure-tls": "true",
        "kubelet-preferred-address-types": "InternalIP",
        "metric-resolution": "10s",
        # Has to be shorter than the resolution.
        "kubelet-request-timeout": "5s",
    }
    return _component(binaries, "metrics-server", options)


def _component(binaries: Path, name: str, options: dict[str, object]) -> Component:
    return Component(name, (str(binaries / name), *(f"--{option}={value}" for option, value in options.items())))

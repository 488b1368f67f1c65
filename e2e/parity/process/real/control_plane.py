"""One real API server on a port of this machine, storing below a path of its own in an etcd that others use as well."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster import certificates
from e2e.cluster.certificates import Authority, Subject
from e2e.parity.process.client import Client, connected
from e2e.parity.process.copies import LAB, Access
from e2e.parity.process.engines import Program
from e2e.parity.process.real.programs import started, until_it_answers
from e2e.parity.process.real.storage import Storage
from evenkeel.simulator.api.serving import LOOPBACK
from evenkeel.simulator.processes.ports import free_port

_ADMINISTRATORS = "system:masters"
_PROGRAM_NAMES = [program.value for program in Program]
_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [
        {"level": "Request", "users": _PROGRAM_NAMES, "verbs": ["create", "update", "patch", "delete"]},
        {"level": "Metadata", "users": _PROGRAM_NAMES, "verbs": ["get", "list"]},
        {"level": "None"},
    ],
}


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """A running API server.

    Args:
        folder: Its files.
        url: Where it listens.
        ca_pem: Certificate of the authority that signed its own.
        client: Sends requests of the comparison itself.
    """

    folder: Path
    url: str
    ca_pem: bytes
    client: Client

    @property
    def access(self) -> Access:
        """How the comparison itself sends requests to it."""
        return Access(self.url, self.ca_pem, LAB)

    @property
    def audit_log(self) -> Path:
        """What the programs have asked, one entry per line."""
        return self.folder / "audit.jsonl"

    def kubeconfig(self, program: Program) -> Path:
        """Write a kubeconfig by which a program is known under its own name, and return the path."""
        file = self.folder / f"{program.value}.kubeconfig"
        certificates.write_kubeconfig(file, self.url, self.ca_pem, {"token": program.value})
        return file


@asynccontextmanager
async def control_plane(programs: Path, storage: Storage, path: str, folder: Path) -> AsyncIterator[ControlPlane]:
    """Run an API server while the context lasts.

    Args:
        programs: Folder with Kubernetes' programs.
        storage: Where it stores.
        path: Below which path there.
        folder: For its files; it need not exist.

    Raises:
        EngineEndedError: It ends by itself.
        TimeoutError: It does not become ready.
    """
    port, authority = free_port(), Authority.create("evenkeel-parity")
    await asyncio.to_thread(_write_files, folder, authority)
    options = {"etcd-servers": storage.url, "etcd-prefix": path, "secure-port": str(port), **_options(folder)}
    words = (str(programs / "kube-apiserver"), *(f"--{name}={value}" for name, value in options.items()))
    access = Access(f"https://{LOOPBACK}:{port}", authority.pair.certificate, LAB)
    async with started("kube-apiserver", words, folder) as running, connected(access) as client:
        await until_it_answers(running, client.session, "/readyz")
        yield ControlPlane(folder, access.url, access.ca_pem, client)


def _write_files(folder: Path, authority: Authority) -> None:
    """Write keys, tokens and the audit policy."""
    folder.mkdir(parents=True, exist_ok=True)
    authority.pair.write(folder, "ca")
    authority.issue(Subject("kube-apiserver", hosts=(LOOPBACK, "localhost"))).write(folder, "apiserver")
    authority.issue(Subject("front-proxy-client")).write(folder, "front-proxy")
    certificates.write_secret(folder / "service-account.key", certificates.service_account_key())
    tokens = (f'{name},{name},{name},"{_ADMINISTRATORS}"\n' for name in (LAB, *_PROGRAM_NAMES))
    certificates.write_secret(folder / "tokens.csv", "".join(tokens).encode())
    (folder / "audit-policy.json").write_text(json.dumps(_AUDIT_POLICY))


def _options(folder: Path) -> Mapping[str, object]:
    """Return the flags that do not depend on ports."""
    return {
        "bind-address": LOOPBACK,
        # Nobody asks for its Endpoints, and a loopback address may not be in any.
        "endpoint-reconciler-type": "none",
        "service-cluster-ip-range": "10.96.0.0/16",
        "tls-cert-file": folder / "apiserver.crt",
        "tls-private-key-file": folder / "apiserver.key",
        "client-ca-file": folder / "ca.crt",
        "token-auth-file": folder / "tokens.csv",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": folder / "service-account.key",
        "service-account-signing-key-file": folder / "service-account.key",
        "authorization-mode": "RBAC",
        "proxy-client-cert-file": folder / "front-proxy.crt",
        "proxy-client-key-file": folder / "front-proxy.key",
        "audit-policy-file": folder / "audit-policy.json",
        "audit-log-path": folder / "audit.jsonl",
        "audit-log-maxsize": 100_000,
    }

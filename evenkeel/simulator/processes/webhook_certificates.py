"""Certificates for an admission controller that is given its own, as upstream's has to be."""

from __future__ import annotations

from pathlib import Path

from evenkeel.simulator.api.certificates import Authority


def certificate_flags(folder: Path, host: str, prefix: str = "") -> tuple[str, ...]:
    """Write a certificate with its key and its authority, readable by the owner alone; return the flags that name them.

    Args:
        folder: Where they are written.
        host: Whom the certificate is for.
        prefix: What the names of the files begin with.
    """
    authority = Authority()
    issued = authority.issue(host)
    files = {
        "client-ca-file": authority.certificate_pem,
        "tls-cert-file": issued.certificate_pem,
        "tls-private-key": issued.key_pem,
    }
    flags: list[str] = []
    for name, content in files.items():
        path = folder / f"{prefix}{name}.pem"
        path.touch(mode=0o600)
        path.write_bytes(content)
        flags.append(f"--{name}={path}")
    return tuple(flags)

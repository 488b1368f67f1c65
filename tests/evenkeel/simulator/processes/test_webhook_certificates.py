"""Certificates for an admission controller that is given its own."""

from __future__ import annotations

from pathlib import Path

from cryptography import x509

from evenkeel.simulator.processes.webhook_certificates import certificate_flags


def test_the_flags_name_files_that_only_the_owner_may_read(tmp_path: Path) -> None:
    flags = dict(flag.split("=") for flag in certificate_flags(tmp_path, "webhook.ns.svc", "peer-"))
    assert list(flags) == ["--client-ca-file", "--tls-cert-file", "--tls-private-key"]
    assert {Path(path).name for path in flags.values()} == {
        "peer-client-ca-file.pem",
        "peer-tls-cert-file.pem",
        "peer-tls-private-key.pem",
    }
    assert {Path(path).stat().st_mode & 0o777 for path in flags.values()} == {0o600}
    certificate = x509.load_pem_x509_certificate(Path(flags["--tls-cert-file"]).read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["webhook.ns.svc"]

"""Certificates in files that somebody else provides and swaps: the rows of admission section 2."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from admission.shell.certificate_store import CertificateFiles
from admission.shell.certificates import CertificateInUse, ProvidedCertificates
from admission.shell.issuing import CertificateSet
from admission.shell.measures import AdmissionMeasures
from admission.shell.registration import Registration
from admission.shell.tls import ServingContext, tls_rules
from admission.shell.upkeep import NEXT_LOOKS_SECONDS, Upkeep
from admission.vpa_matching import ClusterView
from admission.webhook_configuration import NamespaceScope, RegistrationSettings, ServiceTarget
from autoscaling.kube.client import KubeClient
from autoscaling.targets import KnownControllers
from tests.admission.shell.webhooks import Webhook, fresh_certificates, pod_review, post, running_webhook, session
from tests.autoscaling.kube.clocks import HeldPacing

pytestmark = pytest.mark.anyio

FIRST, SECOND = fresh_certificates(), fresh_certificates()
NAMES = ("caCert.pem", "serverCert.pem", "serverKey.pem")


def contents(certificates: CertificateSet) -> dict[str, bytes]:
    """Return the files' contents by their names."""
    texts = (certificates.authorities, certificates.serving, certificates.serving_key)
    return dict(zip(NAMES, texts, strict=True))


@dataclass
class Volume:
    """A volume as a kubelet makes it of a Secret: names lead to a link, and the link to one folder after the other."""

    root: Path
    version: int = 0

    def put(self, files: dict[str, bytes]) -> None:
        """Show these files from now on, all at once."""
        self.version += 1
        folder = self.root / f"..{self.version}"
        folder.mkdir()
        for name, content in files.items():
            (folder / name).write_bytes(content)
        fresh = self.root / "..data_tmp"
        fresh.symlink_to(folder.name)
        fresh.rename(self.root / "..data")
        for name in NAMES:
            if not (self.root / name).is_symlink():
                (self.root / name).symlink_to(f"..data/{name}")

    @property
    def files(self) -> CertificateFiles:
        """The paths that flags name."""
        return CertificateFiles(*(self.root / name for name in NAMES))


def swapped(volume: Volume) -> None:
    volume.put(contents(SECOND))


def written_in_place(volume: Volume) -> None:
    for name, content in contents(SECOND).items():
        (volume.root / name).write_bytes(content)


def removed_and_put_back(volume: Volume) -> None:
    for name, content in contents(SECOND).items():
        (volume.root / name).unlink()
        (volume.root / name).write_bytes(content)


def half_written(volume: Volume) -> None:
    volume.put(contents(SECOND) | {"serverKey.pem": SECOND.serving_key[:100]})


def of_two_pairs(volume: Volume) -> None:
    volume.put(contents(SECOND) | {"serverCert.pem": FIRST.serving})


def emptied(volume: Volume) -> None:
    volume.put(contents(SECOND) | {"serverCert.pem": b""})


def without_authorities(volume: Volume) -> None:
    volume.put(contents(SECOND) | {"caCert.pem": b""})


def removed(volume: Volume) -> None:
    (volume.root / "serverCert.pem").unlink()


CHANGES: list[tuple[str, Callable[[Volume], None], bool, CertificateSet]] = [
    ("admission:2.6", swapped, True, SECOND),
    ("admission:2.5", swapped, False, FIRST),
    ("admission:2.7 swapped by a link", swapped, True, SECOND),
    ("admission:2.7 written", written_in_place, True, SECOND),
    ("admission:2.7 removed and put back", removed_and_put_back, True, SECOND),
    ("admission:2.8 half written", half_written, True, FIRST),
    ("admission:2.8 a pair that does not match", of_two_pairs, True, FIRST),
    ("admission:2.8 emptied", emptied, True, FIRST),
    ("admission:2.8 removed", removed, True, FIRST),
]


def view() -> ClusterView:
    return ClusterView(True, {}, KnownControllers({}, {}), {})


async def convinces(webhook: Webhook, certificates: CertificateSet) -> bool:
    """Say whether a new caller that trusts these authorities alone, and shows no certificate, gets an answer."""
    async with session(keeps_alive=False) as made:
        try:
            status, _ = await post(made, webhook, pod_review({"metadata": {"name": "p"}}), certificates.authorities)
        except aiohttp.ClientConnectorCertificateError:
            return False
    return status == 200


@asynccontextmanager
async def serving(
    volume: Volume, measures: AdmissionMeasures, *, follows_changes: bool
) -> AsyncIterator[tuple[Webhook, HeldPacing]]:
    """Run a webhook that shows the first certificates of a volume, and what comes there later if it follows changes."""
    held = HeldPacing()
    volume.put(contents(FIRST))
    async with running_webhook(view, None) as webhook:
        in_use = CertificateInUse(webhook.context, measures, held.now)
        source = ProvidedCertificates(volume.files, follows_changes=follows_changes)
        in_use.require(await source.load())
        following = asyncio.create_task(Upkeep(source, in_use, None, held).follow())
        await held.asleep()
        yield webhook, held
        following.cancel()
        await asyncio.wait([following])


@pytest.mark.parametrize(("row", "change", "follows", "shown"), CHANGES)
async def test_what_is_shown_after_a_change(
    tmp_path: Path,
    measures: AdmissionMeasures,
    row: str,
    change: Callable[[Volume], None],
    follows: bool,
    shown: CertificateSet,
) -> None:
    """Spec: admission:2.1, admission:2.2."""
    volume = Volume(tmp_path)
    async with serving(volume, measures, follows_changes=follows) as (webhook, held):
        assert await convinces(webhook, FIRST), row
        change(volume)
        await held.advance(NEXT_LOOKS_SECONDS)
        await held.asleep()
        other = SECOND if shown is FIRST else FIRST
        assert (await convinces(webhook, shown), await convinces(webhook, other)) == (True, False), row


async def test_a_pair_that_was_broken_for_a_while_is_shown_once_it_is_whole(
    tmp_path: Path, measures: AdmissionMeasures
) -> None:
    """Spec: admission:2.8, admission:13.21."""
    volume = Volume(tmp_path)
    async with serving(volume, measures, follows_changes=True) as (webhook, held):
        for change in (removed, half_written, swapped):
            change(volume)
            await held.advance(NEXT_LOOKS_SECONDS)
            await held.asleep()
        assert await convinces(webhook, SECOND)


async def test_other_authorities_are_registered_once_they_are_there(
    tmp_path: Path, client: KubeClient, measures: AdmissionMeasures
) -> None:
    """Spec: admission:2.9."""
    held, volume = HeldPacing(), Volume(tmp_path)
    target = ServiceTarget("kube-system", "vpa-webhook")
    settings = RegistrationSettings(
        "vpa-webhook-config", "vpa.k8s.io", "autoscaling.k8s.io", "kube-system", target, NamespaceScope()
    )
    registration = Registration(client, settings, (), measures)
    volume.put(contents(FIRST))
    in_use = CertificateInUse(ServingContext(tls_rules("", "")), measures, held.now)
    upkeep = Upkeep(ProvidedCertificates(volume.files, follows_changes=True), in_use, registration, held)
    found = []
    for change in (None, None, swapped, without_authorities):
        if change is not None:
            change(volume)
        await upkeep.round()
        found.append((await registration.read()).authorities)
    assert found[:2] == [FIRST.authorities] * 2
    # The old ones may stay beside them for a while.
    assert SECOND.authorities in found[2]
    # A file that is emptied before it is written again is no reason to be believed by nobody.
    assert SECOND.authorities in found[3]


def test_nobody_is_asked_for_a_certificate() -> None:
    """Spec: admission:2.2."""
    assert ServingContext(tls_rules("", "")).listening.verify_mode is ssl.CERT_NONE


@pytest.mark.parametrize(
    ("row", "flag", "lowest"),
    [
        ("admission:2.3 none", "", ssl.TLSVersion.TLSv1_2),
        ("admission:2.3", "tls1_2", ssl.TLSVersion.TLSv1_2),
        ("admission:2.3", "tls1_3", ssl.TLSVersion.TLSv1_3),
    ],
)
def test_the_lowest_version(row: str, flag: str, lowest: ssl.TLSVersion) -> None:
    assert ServingContext(tls_rules(flag, "")).listening.minimum_version is lowest, row


@pytest.mark.parametrize(
    ("row", "flag", "suites"),
    [
        ("admission:2.4 none", "", ""),
        ("admission:2.4 commas", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,NO_SUCH", "ECDHE-RSA-AES128-GCM-SHA256"),
        (
            "admission:2.4 colons",
            "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256:TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
            "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384",
        ),
        ("admission:2.4 insecure", "TLS_RSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_RC4_128_SHA", ""),
        ("admission:2.4 OpenSSL's names", "ECDHE-RSA-AES128-GCM-SHA256", ""),
    ],
)
def test_suites_by_the_names_of_iana(row: str, flag: str, suites: str) -> None:
    assert tls_rules("tls1_2", flag).ciphers == suites, row

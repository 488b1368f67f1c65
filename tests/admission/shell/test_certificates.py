"""Certificates over time: made, shared, renewed, provided by others (spec: admission:2, case:36)."""

from __future__ import annotations

import base64
from datetime import timedelta
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from admission.certificate_plan import (
    AUTHORITY_LIFETIME,
    AUTHORITY_RENEWAL,
    PUBLICATION,
    RETIREMENT,
    SERVING_LIFETIME,
    SERVING_RENEWAL,
)
from admission.shell.certificate_store import CertificateFiles, CertificateSecret
from admission.shell.certificates import (
    CertificateInUse,
    OwnCertificates,
    ProvidedCertificates,
    choose_source,
)
from admission.shell.issuing import NO_SET, CertificateSet, certificates_in, facts_of
from admission.shell.measures import AdmissionMeasures
from admission.shell.tls import ServingContext, tls_rules
from autoscaling.errors import ConfigurationError
from autoscaling.kube.client import KubeClient
from evenkeel.simulator.api.certificates import Authority
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.faults import Fault, Refuse
from tests.admission.shell.webhooks import fresh_certificates
from tests.autoscaling.kube.clocks import InstantPacing

pytestmark = pytest.mark.anyio

NAMES = frozenset({"evenkeel-webhook.evenkeel-system.svc"})
NAMESPACE, NAME = "kube-system", "evenkeel-tls-certs"
DAY = timedelta(days=1)


@pytest.fixture
def own(client: KubeClient, pacing: InstantPacing, measures: AdmissionMeasures) -> OwnCertificates:
    return OwnCertificates(CertificateSecret(client, NAMESPACE, NAME), NAMES, pacing.now, measures)


def pass_time(pacing: InstantPacing, by: timedelta) -> None:
    pacing.seconds += by.total_seconds()


async def test_first_certificates_are_made_once_and_seen_by_every_replica(
    client: KubeClient, own: OwnCertificates, pacing: InstantPacing, measures: AdmissionMeasures
) -> None:
    assert await own.load() is None
    made = await own.maintain(b"")
    assert made is not None
    other = OwnCertificates(CertificateSecret(client, NAMESPACE, NAME), NAMES, pacing.now, measures)
    assert await other.load() == made
    assert await other.maintain(b"") == made


async def test_a_serving_certificate_is_renewed_before_it_ends(own: OwnCertificates, pacing: InstantPacing) -> None:
    first = await own.maintain(b"")
    assert first is not None
    pass_time(pacing, SERVING_LIFETIME - SERVING_RENEWAL)
    assert await own.maintain(first.authorities) == first
    pass_time(pacing, timedelta(seconds=1))
    assert await own.maintain(b"") == first, "nobody would believe it yet"
    assert await own.maintain(first.authorities) == first, "not everybody may have heard"
    pass_time(pacing, PUBLICATION - timedelta(seconds=1))
    assert await own.maintain(first.authorities) == first
    pass_time(pacing, timedelta(seconds=1))
    second = await own.maintain(first.authorities)
    assert second is not None
    assert second.serving != first.serving
    assert second.authorities == first.authorities


async def test_an_authority_is_renewed_in_steps_that_overlap(
    own: OwnCertificates, pacing: InstantPacing, registry: CollectorRegistry
) -> None:
    """Spec: case:36; the old authority stays in the bundle while its certificate may still be shown."""
    first = await own.maintain(b"")
    assert first is not None
    pass_time(pacing, AUTHORITY_LIFETIME - AUTHORITY_RENEWAL - SERVING_LIFETIME + 2 * SERVING_RENEWAL)
    first = await own.maintain(first.authorities)
    assert first is not None
    pass_time(pacing, SERVING_RENEWAL + timedelta(seconds=1))

    announced = await own.maintain(first.authorities)
    assert announced is not None
    assert announced.serving == first.serving
    assert certificates_in(announced.authorities)[1:] == certificates_in(first.authorities)

    pass_time(pacing, PUBLICATION)
    assert await own.maintain(first.authorities) == announced, "not registered yet"
    assert await own.maintain(announced.authorities) == announced, "not everybody may have heard"
    pass_time(pacing, PUBLICATION)
    moved = await own.maintain(announced.authorities)
    assert moved is not None
    assert moved.authorities == announced.authorities
    serving = facts_of(moved).serving
    assert serving is not None
    assert serving.signer == 0

    pass_time(pacing, RETIREMENT)
    retired = await own.maintain(moved.authorities)
    assert retired is not None
    assert certificates_in(retired.authorities) == certificates_in(moved.authorities)[:1]
    assert registry.get_sample_value("evenkeel_admission_certificate_steps_total", {"step": "retire authorities"}) == 1


async def test_where_nobody_registers_certificates_are_renewed_all_the_same(
    own: OwnCertificates, pacing: InstantPacing
) -> None:
    first = await own.maintain(None)
    assert first is not None
    pass_time(pacing, SERVING_LIFETIME - SERVING_RENEWAL + timedelta(seconds=1))
    second = await own.maintain(None)
    assert second is not None
    assert second.serving != first.serving


async def test_a_replica_that_was_slower_takes_the_others_certificates(
    cluster: ApiServer, own: OwnCertificates
) -> None:
    cluster.faults.add(Fault(Refuse(409, reason="AlreadyExists"), verb="create", path="/secrets"))
    assert await own.maintain(b"") is None
    assert await own.maintain(b"") is not None


async def test_certificates_that_somebody_else_put_there_are_shown_and_never_changed(
    client: KubeClient, cluster: ApiServer, own: OwnCertificates
) -> None:
    theirs = fresh_certificates()
    await CertificateSecret(client, NAMESPACE, NAME).write(theirs, "")
    cluster.store.merge(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": NAME, "namespace": NAMESPACE, "annotations": {"evenkeel.dev/made-by": None}},
        }
    )
    cluster.requests.clear()
    assert await own.maintain(b"") == theirs
    assert {call.verb for call in cluster.requests.calls()} == {"get"}


async def test_what_cert_manager_renews_in_the_secret_is_shown_at_the_next_look(
    cluster: ApiServer, own: OwnCertificates, in_use: CertificateInUse
) -> None:
    """Spec: admission:2, reload; a Secret of type TLS under our name, as a Certificate of cert-manager fills it."""
    metadata = {"name": NAME, "namespace": NAMESPACE}
    for given in (provided(), provided()):
        pairs = {"ca.crt": given.authorities, "tls.crt": given.serving, "tls.key": given.serving_key}
        data = {key: base64.b64encode(value).decode() for key, value in pairs.items()}
        secret: dict[str, object] = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "data": data}
        secret["metadata"] = metadata
        if cluster.store.find("v1", "Secret", NAME, NAMESPACE) is None:
            cluster.store.create(secret)
        else:
            cluster.store.merge(secret)
        assert await own.load() == given
        assert await own.maintain(b"") == given, "nobody else renews it"
        assert in_use.use(given)
        assert in_use.certificates == given


def files(folder: Path, certificates: CertificateSet | None = None) -> CertificateFiles:
    made = CertificateFiles(folder / "caCert.pem", folder / "serverCert.pem", folder / "serverKey.pem")
    if certificates is not None:
        made.authorities.write_bytes(certificates.authorities)
        made.serving.write_bytes(certificates.serving)
        made.serving_key.write_bytes(certificates.serving_key)
    return made


def provided() -> CertificateSet:
    authority = Authority()
    pair = authority.issue("hook.ns.svc")
    return CertificateSet(authority.certificate_pem, b"", pair.certificate_pem, pair.key_pem)


async def test_files_that_somebody_provides_are_the_source(tmp_path: Path, own: OwnCertificates) -> None:
    """Spec: admission:2."""
    assert await choose_source(files(tmp_path), own, follows_changes=False) is own
    given = provided()
    source = await choose_source(files(tmp_path, given), own, follows_changes=False)
    assert isinstance(source, ProvidedCertificates)
    assert await source.load() == given
    assert await source.maintain(b"") == given


async def test_files_that_are_a_copy_of_our_own_are_not(tmp_path: Path, own: OwnCertificates) -> None:
    made = await own.maintain(b"")
    assert await choose_source(files(tmp_path, made), own, follows_changes=True) is own


@pytest.mark.parametrize("follows", [False, True])
async def test_changed_files_count_with_reload_only(tmp_path: Path, *, follows: bool) -> None:
    """Spec: admission:2, reload."""
    first, second = provided(), provided()
    source = ProvidedCertificates(files(tmp_path, first), follows_changes=follows)
    assert await source.load() == first
    files(tmp_path, second)
    assert await source.load() == (second if follows else first)


@pytest.fixture
def in_use(measures: AdmissionMeasures, pacing: InstantPacing) -> CertificateInUse:
    return CertificateInUse(ServingContext(tls_rules("", "")), measures, pacing.now)


def test_what_is_in_force_is_told(in_use: CertificateInUse, registry: CollectorRegistry) -> None:
    """Spec: admission:13.21, a metric for the age of certificates."""
    before = (in_use.is_there, in_use.authorities)
    certificates = fresh_certificates()
    assert in_use.use(certificates)
    assert before == (False, b"")
    assert (in_use.is_there, in_use.authorities) == (True, certificates.authorities)
    name = "evenkeel_admission_certificate_not_after_timestamp_seconds"
    for kind, pem in (("serving", certificates.serving), ("authority", certificates.authorities)):
        end = certificates_in(pem)[0].not_valid_after_utc.timestamp()
        assert registry.get_sample_value(name, {"certificate": kind}) == end


DAYS_LEFT: list[tuple[str, timedelta, float, float]] = [
    ("admission:13.21 new", timedelta(0), 90, 730),
    ("admission:13.21 half a day later", DAY / 2, 89.5, 729.5),
    ("admission:13.21 the last moment", 90 * DAY, 0, 640),
    ("admission:13.21 over", 91 * DAY, -1, 639),
]


async def test_the_time_to_expiry_goes_by_the_clock(
    own: OwnCertificates, in_use: CertificateInUse, pacing: InstantPacing, registry: CollectorRegistry
) -> None:
    """They fall from one scrape to the next, with nothing else happening."""
    in_use.require(await own.maintain(b""))
    name = "evenkeel_admission_certificate_seconds_to_expiry"
    for row, passed, serving, authority in DAYS_LEFT:
        pacing.seconds = passed.total_seconds()
        assert registry.get_sample_value(name, {"certificate": "serving"}) == serving * DAY.total_seconds(), row
        assert registry.get_sample_value(name, {"certificate": "authority"}) == authority * DAY.total_seconds(), row


def test_the_first_certificate_is_announced_once(measures: AdmissionMeasures, pacing: InstantPacing) -> None:
    announced: list[str] = []
    context = ServingContext(tls_rules("", ""))
    in_use = CertificateInUse(context, measures, pacing.now, lambda: announced.append("there"))
    assert not in_use.use(NO_SET)
    for certificates in (fresh_certificates(), fresh_certificates()):
        in_use.require(certificates)
    assert announced == ["there"]


def test_what_cannot_be_used_leaves_the_old_in_force(in_use: CertificateInUse, registry: CollectorRegistry) -> None:
    """Spec: admission:2, reload failure."""
    certificates = fresh_certificates()
    in_use.require(certificates)
    half_written = CertificateSet(certificates.authorities, b"", b"", certificates.serving_key)
    with capture_logs() as events:
        assert not in_use.use(half_written)
    assert [(event["event"], event["log_level"]) for event in events] == [("certificate not usable", "error")]
    problems = "evenkeel_admission_certificate_problems_total"
    assert registry.get_sample_value(problems, {"problem": "unusable"}) == 1
    assert in_use.is_there
    assert in_use.use(certificates)


@pytest.mark.parametrize("certificates", [None, NO_SET])
def test_a_start_needs_certificates_that_can_be_used(
    in_use: CertificateInUse, certificates: CertificateSet | None
) -> None:
    """Spec: admission:1.5."""
    with pytest.raises(ConfigurationError):
        in_use.require(certificates)

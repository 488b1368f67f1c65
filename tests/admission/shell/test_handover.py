"""When certificates of another authority are shown, and what is published by then (spec: admission:13 (9), case:36)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from admission.certificate_plan import AUTHORITY_LIFETIME, PUBLICATION, SERVING_LIFETIME, Step
from admission.shell.certificates import CertificateInUse
from admission.shell.handover import OVERLAP, Handover
from admission.shell.issuing import NO_SET, CertificateSet, carry_out
from admission.shell.measures import AdmissionMeasures
from admission.shell.registration import Registration
from admission.shell.tls import ServingContext, tls_rules
from admission.webhook_configuration import NamespaceScope, RegistrationSettings, ServiceTarget
from autoscaling.kube.client import KubeClient
from evenkeel.simulator.api.certificates import Authority
from tests.admission.shell.webhooks import GROUP, NAMES
from tests.autoscaling.kube.clocks import T0, InstantPacing

pytestmark = pytest.mark.anyio

SECOND = timedelta(seconds=1)
SETTINGS = RegistrationSettings("c", "w.example.com", GROUP, "ns", ServiceTarget("ns", "hook"), NamespaceScope())


def provided() -> CertificateSet:
    authority = Authority()
    pair = authority.issue(*NAMES)
    return CertificateSet(authority.certificate_pem, b"", pair.certificate_pem, pair.key_pem)


def made(now: datetime = T0) -> CertificateSet:
    return carry_out(Step.START_OVER, NO_SET, NAMES, now)


OLD, NEW = provided(), provided()


class Stage:
    """A handover with the registration that it goes by."""

    def __init__(self, client: KubeClient, pacing: InstantPacing, measures: AdmissionMeasures) -> None:
        self.pacing = pacing
        self.registration = Registration(client, SETTINGS, (), measures)
        self.in_use = CertificateInUse(ServingContext(tls_rules("", "")), measures, pacing.now)
        self.handover = Handover(self.in_use, self.registration, pacing.now)

    def passes(self, time: timedelta) -> None:
        self.pacing.seconds += time.total_seconds()

    async def shows(self, certificates: CertificateSet) -> bool:
        """Offer certificates that can be used, and say whether they are shown now."""
        assert await self.handover.take(certificates)
        return self.in_use.certificates == certificates


@pytest.fixture
async def stage(client: KubeClient, pacing: InstantPacing, measures: AdmissionMeasures) -> Stage:
    played = Stage(client, pacing, measures)
    assert await played.shows(OLD)
    await played.registration.ensure(OLD.authorities)
    return played


async def test_what_callers_do_not_know_is_not_shown_yet(stage: Stage) -> None:
    assert not await stage.shows(NEW)
    stage.passes(10 * PUBLICATION)
    assert not await stage.shows(NEW)
    await stage.registration.ensure(OLD.authorities + NEW.authorities)
    assert not await stage.shows(NEW)
    stage.passes(PUBLICATION - SECOND)
    assert not await stage.shows(NEW)
    stage.passes(SECOND)
    assert await stage.shows(NEW)


async def test_the_time_counts_from_when_it_was_registered_for_good(stage: Stage) -> None:
    both = OLD.authorities + NEW.authorities
    for registered in (both, OLD.authorities, both):
        await stage.registration.ensure(registered)
        assert not await stage.shows(NEW)
        stage.passes(PUBLICATION / 2)
    stage.passes(PUBLICATION / 2 - SECOND)
    assert not await stage.shows(NEW)
    stage.passes(SECOND)
    assert await stage.shows(NEW)


async def test_the_time_counts_for_each_certificate(stage: Stage) -> None:
    await stage.registration.ensure(OLD.authorities + NEW.authorities)
    assert not await stage.shows(NEW)
    stage.passes(PUBLICATION)
    other = provided()
    await stage.registration.ensure(OLD.authorities + other.authorities)
    assert not await stage.shows(other)


async def test_nothing_is_waited_for_where_nobody_can_tell(
    stage: Stage, measures: AdmissionMeasures, pacing: InstantPacing
) -> None:
    """Without a registration of ours, as when cert-manager publishes the authority, or without an authority at all."""
    assert await stage.shows(replace(NEW, authorities=b""))
    in_use = CertificateInUse(ServingContext(tls_rules("", "")), measures, pacing.now)
    alone = Handover(in_use, None, pacing.now)
    for certificates in (OLD, NEW):
        assert await alone.take(certificates)
        assert in_use.certificates == certificates


async def test_of_the_same_authority_the_next_certificate_is_shown_at_once(stage: Stage) -> None:
    authority = Authority()
    first, second = (authority.issue(*NAMES) for _ in range(2))
    both = [
        CertificateSet(authority.certificate_pem, b"", pair.certificate_pem, pair.key_pem) for pair in (first, second)
    ]
    await stage.registration.ensure(OLD.authorities + authority.certificate_pem)
    assert not await stage.shows(both[0])
    stage.passes(PUBLICATION)
    assert await stage.shows(both[0])
    assert await stage.shows(both[1])


async def test_only_the_authorities_may_change(stage: Stage) -> None:
    assert await stage.shows(replace(OLD, authorities=OLD.authorities + NEW.authorities))


@pytest.mark.parametrize(("left", "shown"), [(SECOND, False), (timedelta(0), True)])
async def test_what_has_expired_is_replaced_at_once(
    client: KubeClient, pacing: InstantPacing, measures: AdmissionMeasures, left: timedelta, *, shown: bool
) -> None:
    played = Stage(client, pacing, measures)
    assert await played.shows(made())
    played.passes(SERVING_LIFETIME - left)
    assert await played.shows(NEW) is shown


async def test_what_cannot_be_shown_is_not_published_either(stage: Stage) -> None:
    """Spec: admission:2, reload failure."""
    assert not await stage.handover.take(replace(NEW, serving_key=OLD.serving_key))
    assert stage.in_use.certificates == OLD


async def test_what_is_published_before_and_after(stage: Stage) -> None:
    """Spec: admission:2, CA change."""
    bundle, both = stage.handover.bundle, NEW.authorities + OLD.authorities
    assert bundle(OLD, OLD.authorities) == OLD.authorities
    assert not await stage.shows(NEW)
    assert bundle(NEW, OLD.authorities) == both
    await stage.registration.ensure(both)
    assert not await stage.shows(NEW)
    stage.passes(10 * OVERLAP)
    assert bundle(NEW, both) == both, "still shown here"
    assert await stage.shows(NEW)
    assert bundle(NEW, both) == NEW.authorities


@pytest.mark.parametrize(("passed", "kept"), [(OVERLAP - SECOND, True), (OVERLAP, False)])
async def test_what_is_not_needed_any_more_stays_for_a_while(stage: Stage, passed: timedelta, *, kept: bool) -> None:
    """Others may still show what it signed, also where this process was not there before."""
    third = provided()
    registered = OLD.authorities + third.authorities
    assert stage.handover.bundle(OLD, registered) == registered
    stage.passes(passed)
    assert stage.handover.bundle(OLD, registered) == (registered if kept else OLD.authorities)


async def test_what_comes_back_begins_anew(stage: Stage) -> None:
    registered = OLD.authorities + NEW.authorities
    stage.handover.bundle(OLD, registered)
    stage.passes(OVERLAP)
    assert stage.handover.bundle(OLD, OLD.authorities) == OLD.authorities
    assert stage.handover.bundle(OLD, registered) == registered


async def test_bundles_are_not_run_together(stage: Stage) -> None:
    bare = replace(OLD, authorities=OLD.authorities.rstrip())
    assert stage.handover.bundle(bare, OLD.authorities) == bare.authorities
    assert stage.handover.bundle(bare, NEW.authorities) == OLD.authorities + NEW.authorities


async def test_without_authorities_callers_trust_their_own(stage: Stage) -> None:
    assert stage.handover.bundle(replace(NEW, authorities=b""), OLD.authorities) == b""


async def test_expired_authorities_go(stage: Stage) -> None:
    past = made(T0 - AUTHORITY_LIFETIME).authorities
    assert stage.handover.bundle(OLD, OLD.authorities + past) == OLD.authorities


async def test_certificates_that_are_made_here_bring_their_overlap_along(
    client: KubeClient, pacing: InstantPacing, measures: AdmissionMeasures
) -> None:
    """What has been retired is not published any longer."""
    played, first = Stage(client, pacing, measures), made()
    assert await played.shows(first)
    both = carry_out(Step.ADD_AUTHORITY, first, NAMES, T0)
    assert await played.shows(both)
    moved = carry_out(Step.ISSUE_SERVING, both, NAMES, T0)
    assert await played.shows(moved), "the plan has waited already"
    retired = carry_out(Step.RETIRE_AUTHORITIES, moved, NAMES, T0 + timedelta(days=7))
    assert await played.shows(retired)
    assert played.handover.bundle(retired, moved.authorities) == retired.authorities

"""Certificates as they are made, read back and checked by a real handshake library."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from cryptography import x509

from admission.certificate_plan import (
    AUTHORITY_LIFETIME,
    CLOCK_SKEW,
    NO_CERTIFICATES,
    RETIREMENT,
    SERVING_LIFETIME,
    Step,
)
from admission.shell.issuing import (
    NO_SET,
    CertificateSet,
    carry_out,
    certificates_in,
    facts_of,
    is_own_authority,
)
from evenkeel.simulator.api.certificates import Authority
from tests.builders import T0

NAMES = frozenset({"hook.ns.svc", "10.1.2.3"})


def made(now: datetime = T0) -> CertificateSet:
    return carry_out(Step.START_OVER, NO_SET, NAMES, now)


def test_a_first_set_is_complete() -> None:
    facts = facts_of(made())
    assert facts.can_sign
    (authority,) = facts.authorities
    assert (authority.made, authority.not_after) == (T0, T0 + AUTHORITY_LIFETIME)
    assert facts.serving is not None
    assert facts.serving.names == NAMES
    assert (facts.serving.signer, facts.serving.has_key) == (0, True)
    assert facts.serving.not_before == T0 - CLOCK_SKEW
    assert facts.serving.not_after == T0 + SERVING_LIFETIME
    assert is_own_authority(made().authorities)


def test_a_serving_certificate_ends_no_later_than_its_authority() -> None:
    late = T0 + AUTHORITY_LIFETIME - timedelta(days=1)
    serving = facts_of(carry_out(Step.ISSUE_SERVING, made(), NAMES, late)).serving
    assert serving is not None
    assert serving.not_after == T0 + AUTHORITY_LIFETIME


def test_a_new_authority_comes_first_and_signs_nothing_yet() -> None:
    first = made()
    second = carry_out(Step.ADD_AUTHORITY, first, NAMES, T0 + timedelta(days=600))
    assert (second.serving, second.serving_key) == (first.serving, first.serving_key)
    facts = facts_of(second)
    assert len(facts.authorities) == 2
    assert facts.can_sign
    assert facts.serving is not None
    assert facts.serving.signer == 1
    third = facts_of(carry_out(Step.ISSUE_SERVING, second, NAMES, T0 + timedelta(days=601)))
    assert third.serving is not None
    assert third.serving.signer == 0


def test_an_expired_authority_is_not_carried_along() -> None:
    now = T0 + AUTHORITY_LIFETIME
    assert len(facts_of(carry_out(Step.START_OVER, made(), NAMES, now)).authorities) == 1
    earlier = now - timedelta(seconds=1)
    assert len(facts_of(carry_out(Step.START_OVER, made(), NAMES, earlier)).authorities) == 2


def test_retiring_leaves_the_newest_and_the_signer() -> None:
    later = T0 + timedelta(days=600)
    both = carry_out(Step.ADD_AUTHORITY, made(), NAMES, later)
    kept = carry_out(Step.RETIRE_AUTHORITIES, both, NAMES, later + RETIREMENT)
    assert kept.authorities == both.authorities
    moved = carry_out(Step.ISSUE_SERVING, both, NAMES, later)
    retired = carry_out(Step.RETIRE_AUTHORITIES, moved, NAMES, later + RETIREMENT)
    assert certificates_in(retired.authorities) == certificates_in(both.authorities)[:1]


def test_keeping_changes_nothing() -> None:
    first = made()
    assert carry_out(Step.KEEP, first, NAMES, T0) is first


def test_a_key_of_another_certificate_does_not_count() -> None:
    first, second = made(), made()
    mixed = CertificateSet(first.authorities, second.authority_key, first.serving, second.serving_key)
    facts = facts_of(mixed)
    assert not facts.can_sign
    assert facts.serving is not None
    assert not facts.serving.has_key


def test_a_key_that_is_none_does_not_count() -> None:
    first = made()
    facts = facts_of(CertificateSet(first.authorities, b"rubbish", first.serving, b""))
    assert not facts.can_sign
    assert facts.serving is not None
    assert not facts.serving.has_key


def test_a_strangers_certificate_has_no_signer() -> None:
    first, second = made(), made()
    facts = facts_of(CertificateSet(first.authorities, first.authority_key, second.serving, second.serving_key))
    assert facts.serving is not None
    assert facts.serving.signer is None


@pytest.mark.parametrize(
    "rubbish", [b"", b"rubbish", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
)
def test_what_cannot_be_read_is_absent(rubbish: bytes) -> None:
    assert facts_of(CertificateSet(rubbish, rubbish, rubbish, rubbish)) == NO_CERTIFICATES
    assert not is_own_authority(rubbish)


def test_a_certificate_without_names_has_none() -> None:
    first = made()
    authority_as_leaf = CertificateSet(first.authorities, first.authority_key, first.authorities, first.authority_key)
    serving = facts_of(authority_as_leaf).serving
    assert serving is not None
    assert serving.names == frozenset()


def test_another_authority_is_not_ours() -> None:
    assert not is_own_authority(Authority().certificate_pem)


def test_extensions_are_those_that_strict_clients_ask_for() -> None:
    first = made()
    (authority,), (leaf,) = certificates_in(first.authorities), certificates_in(first.serving)
    constraints = authority.extensions.get_extension_for_class(x509.BasicConstraints)
    assert (constraints.critical, constraints.value.ca) == (True, True)
    assert authority.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign
    signer = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    named = leaf.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
    assert named.key_identifier == signer.digest
    assert not leaf.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_keys_are_not_printed() -> None:
    assert "PRIVATE" not in repr(made())

"""When certificates are made, renewed and retired; both sides of every boundary."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from admission.certificate_plan import (
    AUTHORITY_LIFETIME,
    AUTHORITY_RENEWAL,
    CLOCK_SKEW,
    NO_CERTIFICATES,
    PUBLICATION,
    RETIREMENT,
    SERVING_LIFETIME,
    SERVING_RENEWAL,
    AuthorityFacts,
    CertificateFacts,
    ServingFacts,
    Step,
    Surroundings,
    kept,
    next_step,
)
from tests.builders import T0

SECOND = timedelta(seconds=1)
NAMES = frozenset({"evenkeel-webhook.evenkeel-system.svc"})


def authority(age: timedelta) -> AuthorityFacts:
    made = T0 - age
    return AuthorityFacts(made - CLOCK_SKEW, made + AUTHORITY_LIFETIME)


def serving(left: timedelta = SERVING_LIFETIME, *, signer: int | None = 0) -> ServingFacts:
    return ServingFacts(T0 - SECOND, T0 + left, NAMES, signer)


DAY = timedelta(days=1)
SETTLED = CertificateFacts((authority(30 * DAY),), can_sign=True, serving=serving())
YOUNG = authority(PUBLICATION - SECOND)
GROWN = authority(PUBLICATION)
OLD = authority(600 * DAY)


def around(*, published: bool = True, names: frozenset[str] = NAMES, now: datetime = T0) -> Surroundings:
    return Surroundings(names, published, now)


STEPS: list[tuple[str, CertificateFacts, Surroundings, Step]] = [
    ("nothing yet", NO_CERTIFICATES, around(), Step.START_OVER),
    ("key lost", replace(SETTLED, can_sign=False), around(), Step.ADD_AUTHORITY),
    ("both keys lost", CertificateFacts(SETTLED.authorities, False, None), around(), Step.START_OVER),
    (
        "authority expired",
        replace(SETTLED, authorities=(authority(AUTHORITY_LIFETIME),)),
        around(),
        Step.START_OVER,
    ),
    ("all well", SETTLED, around(), Step.KEEP),
    ("all well, not registered", SETTLED, around(published=False), Step.KEEP),
    ("no serving certificate", replace(SETTLED, serving=None), around(published=False), Step.ISSUE_SERVING),
    ("serving key lost", replace(SETTLED, serving=replace(serving(), has_key=False)), around(), Step.ISSUE_SERVING),
    ("stranger's certificate", replace(SETTLED, serving=serving(signer=None)), around(), Step.ISSUE_SERVING),
    ("another name wanted", SETTLED, around(names=NAMES | {"10.0.0.1"}), Step.ISSUE_SERVING),
    ("fewer names wanted", SETTLED, around(names=frozenset()), Step.KEEP),
    ("serving expired", replace(SETTLED, serving=serving(timedelta(0))), around(published=False), Step.ISSUE_SERVING),
    ("serving due", replace(SETTLED, serving=serving(SERVING_RENEWAL - SECOND)), around(), Step.ISSUE_SERVING),
    ("serving not due", replace(SETTLED, serving=serving(SERVING_RENEWAL)), around(), Step.KEEP),
    (
        "serving due, authority unpublished",
        replace(SETTLED, serving=serving(SERVING_RENEWAL - SECOND)),
        around(published=False),
        Step.KEEP,
    ),
    (
        "authority due",
        replace(SETTLED, authorities=(authority(AUTHORITY_LIFETIME - AUTHORITY_RENEWAL + SECOND),)),
        around(),
        Step.ADD_AUTHORITY,
    ),
    (
        "authority not due",
        replace(SETTLED, authorities=(authority(AUTHORITY_LIFETIME - AUTHORITY_RENEWAL),)),
        around(),
        Step.KEEP,
    ),
    ("successor too young", CertificateFacts((YOUNG, OLD), True, serving(signer=1)), around(), Step.KEEP),
    ("successor grown", CertificateFacts((GROWN, OLD), True, serving(signer=1)), around(), Step.ISSUE_SERVING),
    (
        "successor grown, unpublished",
        CertificateFacts((GROWN, OLD), True, serving(signer=1)),
        around(published=False),
        Step.KEEP,
    ),
    ("predecessor still kept", CertificateFacts((GROWN, OLD), True, serving()), around(), Step.KEEP),
    (
        "predecessor to go",
        CertificateFacts((authority(RETIREMENT), OLD), True, serving()),
        around(),
        Step.RETIRE_AUTHORITIES,
    ),
    (
        "predecessor not to go yet",
        CertificateFacts((authority(RETIREMENT - SECOND), OLD), True, serving()),
        around(),
        Step.KEEP,
    ),
]


@pytest.mark.parametrize(("case", "facts", "surroundings", "step"), STEPS)
def test_next_step(case: str, facts: CertificateFacts, surroundings: Surroundings, step: Step) -> None:
    assert next_step(facts, surroundings) is step, case


def test_the_signer_stays_published_however_old_its_successor_is() -> None:
    facts = CertificateFacts((authority(RETIREMENT), OLD), True, serving(signer=1))
    assert list(kept(facts, T0)) == [0, 1]


def test_an_expired_authority_does_not_stay() -> None:
    facts = CertificateFacts((authority(timedelta(0)), authority(AUTHORITY_LIFETIME)), True, serving(signer=1))
    assert list(kept(facts, T0)) == [0]
    assert list(kept(replace(facts, serving=None), T0)) == [0]


def test_a_life_without_a_gap() -> None:
    """Spec: case:36; looked at daily for ten years, somebody trusted always vouches for what is served."""
    now, facts = T0, NO_CERTIFICATES
    steps: list[Step] = []
    for _ in range(3650):
        for _ in range(3):
            facts, step = _carried_out(facts, now)
            steps.append(step)
        assert facts.serving is not None
        assert facts.serving.not_after > now
        assert facts.serving.signer is not None
        signer = facts.authorities[facts.serving.signer]
        assert signer.not_after > now
        # What is shown was published for a day, or there was never anything before it.
        assert facts.serving.signer != 0 or len(facts.authorities) == 1 or now - signer.made >= DAY
        now += DAY
    assert steps.count(Step.START_OVER) == 1
    assert steps.count(Step.ADD_AUTHORITY) >= 5
    assert steps.count(Step.ISSUE_SERVING) >= 50


def _carried_out(facts: CertificateFacts, now: datetime) -> tuple[CertificateFacts, Step]:
    step = next_step(facts, around(now=now))
    new = AuthorityFacts(now - CLOCK_SKEW, now + AUTHORITY_LIFETIME)
    shown = ServingFacts(now - CLOCK_SKEW, now + SERVING_LIFETIME, NAMES, 0)
    match step:
        case Step.START_OVER:
            return CertificateFacts((new,), True, shown), step
        case Step.ADD_AUTHORITY:
            assert facts.serving is not None
            older = None if facts.serving.signer is None else facts.serving.signer + 1
            return replace(
                facts, authorities=(new, *facts.authorities), serving=replace(facts.serving, signer=older)
            ), step
        case Step.ISSUE_SERVING:
            return replace(facts, serving=shown), step
        case Step.RETIRE_AUTHORITIES:
            left = tuple(facts.authorities[place] for place in kept(facts, now))
            return replace(facts, authorities=left), step
        case Step.KEEP:
            return facts, step

"""Checks of the admission webhook."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from evenkeel.inspection.findings import Area, Level
from evenkeel.inspection.webhook_checks import (
    CertificateFacts,
    Hook,
    HookConfiguration,
    HookRule,
    Reach,
    certificate_findings,
    reach_finding,
    registration_findings,
    rival_findings,
)
from tests.builders import T0

OK, NOTE, WARNING, PROBLEM = Level.OK, Level.NOTE, Level.WARNING, Level.PROBLEM
GROUP, NAME = "autoscaling.evenkeel.dev", "evenkeel-webhook-config"
PODS = HookRule(("",), ("pods",), ("CREATE",))
VPAS = HookRule((GROUP,), ("verticalpodautoscalers",), ("CREATE", "UPDATE"))
HOOK = Hook("pods.autoscaling.evenkeel.dev", (PODS, VPAS), fails_closed=False, timeout_seconds=10)

REGISTRATIONS = [
    ("beyond:B-39", (HOOK,), [OK]),
    ("beyond:B-39 none", None, [PROBLEM]),
    ("beyond:B-39 no pods", (replace(HOOK, rules=(VPAS,)),), [PROBLEM, OK]),
    ("beyond:B-39 no VPAs", (replace(HOOK, rules=(PODS,)),), [PROBLEM, OK]),
    ("beyond:B-39 two hooks", (replace(HOOK, rules=(PODS,)), replace(HOOK, rules=(VPAS,))), [OK]),
    ("beyond:B-39 fails closed", (replace(HOOK, fails_closed=True),), [WARNING, OK]),
    ("beyond:B-39 slow", (replace(HOOK, timeout_seconds=11),), [WARNING, OK]),
]


@pytest.mark.parametrize(("row", "hooks", "levels"), REGISTRATIONS, ids=[row[0] for row in REGISTRATIONS])
def test_registrations(row: str, hooks: tuple[Hook, ...] | None, levels: list[Level]) -> None:
    found = HookConfiguration(NAME, hooks) if hooks is not None else None
    assert [each.level for each in registration_findings(NAME, GROUP, found)] == levels


@pytest.mark.parametrize(("answers", "level"), [(True, OK), (False, PROBLEM), (None, NOTE)])
def test_reach(answers: bool | None, level: Level) -> None:
    """beyond:B-39."""
    assert reach_finding(Reach("h:1", answers, "why")).level is level


CERTIFICATES = [
    ("beyond:B-39", T0 + timedelta(days=7, seconds=1), "", [OK]),
    ("beyond:B-39 soon", T0 + timedelta(days=7), "", [WARNING]),
    ("beyond:B-39 a second left", T0 + timedelta(seconds=1), "", [WARNING]),
    ("beyond:B-39 over", T0, "", [PROBLEM]),
    ("beyond:B-39 not accepted", None, "is not accepted", [PROBLEM]),
    ("beyond:B-39 nothing known", None, "", []),
]


@pytest.mark.parametrize(("row", "end", "problem", "levels"), CERTIFICATES, ids=[row[0] for row in CERTIFICATES])
def test_certificates(row: str, end: object, problem: str, levels: list[Level]) -> None:
    facts = CertificateFacts("it", end, problem)  # type: ignore[arg-type]
    assert [each.level for each in certificate_findings((facts,), T0)] == levels


RULES = [
    ("beyond:B-39", PODS, True),
    ("beyond:B-39 all", HookRule(("*",), ("*",), ("*",)), True),
    ("beyond:B-39 subresources too", HookRule(("",), ("*/*",), ("CREATE",)), True),
    ("beyond:B-39 subresources only", HookRule(("",), ("pods/*",), ("CREATE",)), False),
    ("beyond:B-39 updates", HookRule(("",), ("pods",), ("UPDATE",)), False),
    ("beyond:B-39 other group", HookRule(("apps",), ("pods",), ("CREATE",)), False),
]


@pytest.mark.parametrize(("row", "rule", "is_rival"), RULES, ids=[row[0] for row in RULES])
def test_rules(row: str, rule: HookRule, is_rival: bool) -> None:
    other = HookConfiguration("z", (replace(HOOK, rules=(rule,)),))
    assert bool(list(rival_findings(NAME, (other,)))) is is_rival


ORDER = [("beyond:B-39 behind", "istio", WARNING), ("beyond:B-39 before", "a", NOTE), ("beyond:B-39 ours", NAME, None)]


@pytest.mark.parametrize(("row", "name", "level"), ORDER, ids=[row[0] for row in ORDER])
def test_who_has_the_last_word(row: str, name: str, level: Level | None) -> None:
    found = list(rival_findings(NAME, (HookConfiguration(name, (HOOK,)),)))
    assert [each.level for each in found] == ([level] if level else [])
    assert all(each.area is Area.CONFLICTS for each in found)


def test_a_subresource_is_covered_by_its_name_and_by_all_of_its_parent() -> None:
    for resource, is_covered in (("pods/resize", True), ("pods/*", True), ("*/*", True), ("pods", False), ("*", False)):
        assert HookRule(("",), (resource,), ("UPDATE",)).covers("", "pods/resize", "UPDATE") is is_covered

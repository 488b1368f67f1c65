"""Admission policies and their bindings on their way into the store: defaults, and what they must say."""

from __future__ import annotations

from collections.abc import Iterator

from evenkeel.simulator.api.admission_matching import condition_faults
from evenkeel.simulator.api.admission_policies import POLICY_NAMES, policy_faults, unsupported
from evenkeel.simulator.api.fields import JsonObject, as_object, child, rows, text, texts
from evenkeel.simulator.api.status import Cause, CauseType
from evenkeel.simulator.api.strategies import Strategy

_ACTIONS = ("Audit", "Deny", "Warn")
_FAILURE_POLICIES = ("Fail", "Ignore")
_REQUIRED = "Required value"


def _default_match(match: JsonObject) -> None:
    """Fill in what a match leaves open, in place."""
    match.setdefault("matchPolicy", "Equivalent")
    match.setdefault("namespaceSelector", {})
    match.setdefault("objectSelector", {})
    for field in ("resourceRules", "excludeResourceRules"):
        for rule in rows(match, field):
            rule.setdefault("scope", "*")


class PolicyStrategy(Strategy):
    """ValidatingAdmissionPolicies."""

    def set_defaults(self, body: JsonObject) -> list[str]:
        """Fail when undecided, unless told otherwise; match everywhere."""
        spec = child(body, "spec")
        if spec:
            spec.setdefault("failurePolicy", "Fail")
        if isinstance(spec.get("matchConstraints"), dict):
            _default_match(as_object(spec["matchConstraints"]))
        return []

    def validate_create(self, body: JsonObject) -> list[Cause]:
        """Check what a policy is about, and that its expressions can be read."""
        return list(_policy_causes(body))

    def validate_update(self, body: JsonObject, old: JsonObject, subresource: str) -> list[Cause]:
        """Check as at creation."""
        del old
        return [] if subresource else self.validate_create(body)


def _policy_causes(body: JsonObject) -> Iterator[Cause]:
    """Yield what is wrong with a policy."""
    spec = child(body, "spec")
    if not rows(spec, "matchConstraints", "resourceRules"):
        field = "spec.matchConstraints" + (".resourceRules" if child(spec, "matchConstraints") else "")
        yield Cause(CauseType.REQUIRED, field, _REQUIRED)
    if not rows(spec, "validations"):
        for field in ("spec.validations", "spec.auditAnnotations"):
            yield Cause(CauseType.REQUIRED, field, f"{_REQUIRED}: one of the two must have an entry")
    if text(spec, "failurePolicy") not in _FAILURE_POLICIES:
        yield unsupported("spec.failurePolicy", text(spec, "failurePolicy"), _FAILURE_POLICIES)
    for field in ("paramKind", "auditAnnotations"):
        if spec.get(field):
            yield Cause(CauseType.FORBIDDEN, f"spec.{field}", "Forbidden: this server offers policies without it only")
    yield from condition_faults(spec, "spec.", POLICY_NAMES)
    yield from policy_faults(body)


class PolicyBindingStrategy(Strategy):
    """ValidatingAdmissionPolicyBindings."""

    def set_defaults(self, body: JsonObject) -> list[str]:
        """Match all that the policy matches, unless told otherwise."""
        match = child(body, "spec").get("matchResources")
        if isinstance(match, dict):
            _default_match(as_object(match))
        return []

    def validate_create(self, body: JsonObject) -> list[Cause]:
        """Check that a binding names a policy and what to do."""
        return list(_binding_causes(body))

    def validate_update(self, body: JsonObject, old: JsonObject, subresource: str) -> list[Cause]:
        """Check as at creation."""
        del old, subresource
        return self.validate_create(body)


def _binding_causes(body: JsonObject) -> Iterator[Cause]:
    """Yield what is wrong with a binding."""
    spec = child(body, "spec")
    if not text(spec, "policyName"):
        yield Cause(CauseType.REQUIRED, "spec.policyName", _REQUIRED)
    if spec.get("paramRef"):
        yield Cause(
            CauseType.FORBIDDEN, "spec.paramRef", "Forbidden: this server offers policies without parameters only"
        )
    actions = texts(spec, "validationActions")
    if not actions:
        yield Cause(CauseType.REQUIRED, "spec.validationActions", f"{_REQUIRED}: at least one action")
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            yield unsupported(f"spec.validationActions[{index}]", action, _ACTIONS)
    if {"Deny", "Warn"} <= set(actions):
        message = "Invalid value: to refuse says as much as to warn; name only one of Deny and Warn"
        yield Cause(CauseType.INVALID, "spec.validationActions", message)

"""ValidatingAdmissionPolicies with their bindings: which writes they refuse or warn of, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from evenkeel.simulator.api.admission_matching import (
    conditions_hold,
    expression_faults,
    is_exempt,
    is_selected,
    namespace_of,
    rule_matches,
    values_of,
)
from evenkeel.simulator.api.admission_request import Review
from evenkeel.simulator.api.builtin import POLICIES, POLICY_BINDINGS
from evenkeel.simulator.api.expressions import (
    BOOLEAN,
    DYNAMIC,
    TEXT,
    Expression,
    ExpressionError,
    read_expression,
)
from evenkeel.simulator.api.fields import JsonObject, child, rows, text, texts
from evenkeel.simulator.api.objects import ObjectStore
from evenkeel.simulator.api.status import Cause, CauseType, StatusError

POLICY_NAMES: Mapping[str, str] = {
    "object": DYNAMIC,
    "oldObject": DYNAMIC,
    "request": DYNAMIC,
    "namespaceObject": DYNAMIC,
}
"""What a policy's expressions can speak of, besides its variables."""

_DEFAULT_REASON = "Invalid"
_CODES = {"Invalid": 422, "Forbidden": 403, "RequestEntityTooLarge": 413}
REASONS = tuple(sorted(_CODES))
"""Reasons that a policy can refuse with."""


@dataclass(frozen=True, slots=True)
class Objection:
    """What a policy has against a write.

    Args:
        reason: Reason of the refusal.
        message: Why.
    """

    reason: str
    message: str


def variable_types(policy: JsonObject) -> dict[str, str]:
    """Return the type of every name that a policy's validations can use.

    Raises:
        ExpressionError: A variable cannot be read.
    """
    types = dict(POLICY_NAMES)
    for row in rows(policy, "spec", "variables"):
        kind = read_expression(text(row, "expression"), types).type
        types[f"variables.{text(row, 'name')}"] = kind
    return types


@dataclass(frozen=True, slots=True)
class _Values:
    """What a policy's names stand for in one write, with the variables that have no value."""

    types: Mapping[str, str]
    values: Mapping[str, object]
    failures: Mapping[str, ExpressionError]

    def read(self, written: str) -> Expression:
        """Read an expression, once it is known to use only variables that have a value."""
        for name, failure in self.failures.items():
            if name in written:
                raise failure
        return read_expression(written, self.types)


@dataclass(slots=True)
class AdmissionPolicies:
    """The policies of one server.

    Args:
        objects: Where policies, bindings and namespaces are stored.
    """

    objects: ObjectStore

    def check(self, review: Review) -> None:
        """Ask every policy that is bound and concerns a write; warnings go to the call.

        Raises:
            StatusError: A policy refuses it.
        """
        if is_exempt(review):
            return
        for binding in self.objects.versions.snapshot(POLICY_BINDINGS):
            policy = self.objects.versions.read(POLICIES, ("", text(binding.body, "spec", "policyName")))
            if policy is None or not self._concerns(policy.body, binding.body, review):
                continue
            for objection in self._objections(policy.body, review):
                _act(objection, policy.body, binding.body, review)

    def _concerns(self, policy: JsonObject, binding: JsonObject, review: Review) -> bool:
        """Say whether a policy, as narrowed by a binding, is about a write."""
        constraints, narrower = child(policy, "spec", "matchConstraints"), child(binding, "spec", "matchResources")
        if not any(rule_matches(rule, review) for rule in rows(constraints, "resourceRules")):
            return False
        if rows(narrower, "resourceRules") and not any(
            rule_matches(r, review) for r in rows(narrower, "resourceRules")
        ):
            return False
        for part in (constraints, narrower):
            if any(rule_matches(rule, review) for rule in rows(part, "excludeResourceRules")):
                return False
            if not is_selected(self.objects, part, review):
                return False
        return True

    def _objections(self, policy: JsonObject, review: Review) -> Iterator[Objection]:
        """Yield what a policy has against a write; what cannot be decided counts as its failurePolicy says."""
        try:
            values = self._values(policy, review)
            if not conditions_hold(child(policy, "spec"), values.values, values.types):
                return
        except ExpressionError as error:
            yield from _undecided(policy, error)
            return
        for validation in rows(policy, "spec", "validations"):
            try:
                if not values.read(text(validation, "expression")).holds(values.values):
                    yield Objection(text(validation, "reason") or _DEFAULT_REASON, _message(validation, values))
            except ExpressionError as error:
                yield from _undecided(policy, error)

    def _values(self, policy: JsonObject, review: Review) -> _Values:
        """Return what a policy's names stand for in a write."""
        values = values_of(review, self.objects.new_uid())
        values["namespaceObject"] = namespace_of(self.objects, review)
        types, failures = variable_types(policy), dict[str, ExpressionError]()
        for row in rows(policy, "spec", "variables"):
            name = f"variables.{text(row, 'name')}"
            try:
                values[name] = read_expression(text(row, "expression"), types).value(values)
            except ExpressionError as error:
                failures[name] = error
        return _Values(types, values, failures)


def _undecided(policy: JsonObject, error: ExpressionError) -> Iterator[Objection]:
    """Yield the objection that a policy without an answer amounts to, unless it gives way."""
    if text(policy, "spec", "failurePolicy") != "Ignore":
        yield Objection(_DEFAULT_REASON, str(error))


def _message(validation: JsonObject, values: _Values) -> str:
    """Return what a validation that fails says."""
    written = text(validation, "messageExpression")
    otherwise = text(validation, "message").strip() or f"failed expression: {text(validation, 'expression')}"
    if not written:
        return otherwise
    try:
        made = values.read(written).value(values.values)
    except ExpressionError:
        return otherwise
    return made if isinstance(made, str) and made.strip() else otherwise


def _act(objection: Objection, policy: JsonObject, binding: JsonObject, review: Review) -> None:
    """Do with an objection what a binding says: refuse, warn, or only note.

    Raises:
        StatusError: The binding says refuse.
    """
    names = f'policy "{text(policy, "metadata", "name")}", bound by "{text(binding, "metadata", "name")}"'
    actions = texts(binding, "spec", "validationActions")
    if "Warn" in actions:
        review.call.warnings.append(f"{names}, objects to this: {objection.message}")
    if "Deny" not in actions:
        return
    target = review.call.target
    name = target.name or text(review.object or {}, "metadata", "name")
    subject = target.kind.subject(name)
    why = f"{names}, refuses this: {objection.message}"
    raise StatusError(
        _CODES.get(objection.reason, 422),
        objection.reason,
        f'{subject.qualified} "{name}" is forbidden: {why}',
        subject=subject,
        causes=(Cause(CauseType.UNTYPED, "", why),),
    )


def policy_faults(body: JsonObject) -> Iterator[Cause]:
    """Yield what is wrong with a policy's expressions."""
    types = dict(POLICY_NAMES)
    for index, row in enumerate(rows(body, "spec", "variables")):
        path = f"spec.variables[{index}].expression"
        found = list(expression_faults(text(row, "expression"), path, types, ()))
        yield from found
        if not found:
            kind = read_expression(text(row, "expression"), types).type
            types[f"variables.{text(row, 'name')}"] = kind
    for index, row in enumerate(rows(body, "spec", "validations")):
        path = f"spec.validations[{index}]"
        yield from expression_faults(text(row, "expression"), f"{path}.expression", types, (BOOLEAN,))
        if text(row, "messageExpression"):
            yield from expression_faults(text(row, "messageExpression"), f"{path}.messageExpression", types, (TEXT,))
        if text(row, "reason") and text(row, "reason") not in REASONS:
            yield unsupported(f"{path}.reason", text(row, "reason"), REASONS)


def unsupported(field: str, value: str, choices: tuple[str, ...]) -> Cause:
    """Return the cause of a value that is not among the possible ones."""
    listed = ", ".join(f'"{choice}"' for choice in choices)
    return Cause(CauseType.NOT_SUPPORTED, field, f'Unsupported value: "{value}": supported values: {listed}')

"""The options in a request's query: what they may be, and which go together."""

from __future__ import annotations

from evenkeel.simulator.api.calls import Call
from evenkeel.simulator.api.codec import is_apply
from evenkeel.simulator.api.status import Cause, CauseType, Subject, invalid

_GROUP = "meta.k8s.io"
_WRITE_OPTIONS = {"create": "CreateOptions", "update": "UpdateOptions", "patch": "PatchOptions"}
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_MATCHES = ("", "Exact", "NotOlderThan")
_LONGEST_MANAGER = 128


def check_options(call: Call) -> None:
    """Make sure that a call's options can be followed.

    Raises:
        StatusError: One has a value that it cannot have, or does not go with another (422).
    """
    kind = _WRITE_OPTIONS.get(call.verb, "")
    causes = _write_causes(call) if kind else []
    if call.verb in {"list", "deletecollection"}:
        kind, causes = "ListOptions", _list_causes(call)
    if causes:
        raise invalid(Subject(kind, _GROUP), causes)


def _write_causes(call: Call) -> list[Cause]:
    """Return what is wrong with the options of a write."""
    causes: list[Cause] = []
    dry_run, validation = call.query.get("dryRun", ""), call.query.get("fieldValidation", "")
    if dry_run not in {"", "All"}:
        causes.append(_unsupported("dryRun", dry_run, ("All",)))
    if validation not in _VALIDATIONS:
        causes.append(_unsupported("fieldValidation", validation, _VALIDATIONS))
    if call.verb == "patch" and "force" in call.query and not is_apply(call.request.content_type):
        message = "Forbidden: only an apply can be forced"
        causes.append(Cause(CauseType.FORBIDDEN, "force", message))
    if len(call.query.get("fieldManager", "")) > _LONGEST_MANAGER:
        message = f"Too long: may not be longer than {_LONGEST_MANAGER} characters"
        causes.append(Cause(CauseType.TOO_LONG, "fieldManager", message))
    return causes


def _list_causes(call: Call) -> list[Cause]:
    """Return what is wrong with the options of a list."""
    match, revision = call.query.get("resourceVersionMatch", ""), call.query.get("resourceVersion", "")
    if not match:
        return []
    if match not in _MATCHES:
        return [_unsupported("resourceVersionMatch", match, _MATCHES)]
    why = ""
    if call.query.get("continue", ""):
        why = "a continued list shows the state that its token names"
    elif not revision:
        why = "it says how to take a resourceVersion, and there is none"
    elif match == "Exact" and revision == "0":
        why = 'resourceVersion "0" is no exact state'
    return [Cause(CauseType.FORBIDDEN, "resourceVersionMatch", f"Forbidden: {why}")] if why else []


def _unsupported(field: str, value: str, supported: tuple[str, ...]) -> Cause:
    """Return the cause of a value that is not among the possible ones."""
    listed = ", ".join(f'"{choice}"' for choice in supported)
    return Cause(CauseType.NOT_SUPPORTED, field, f'Unsupported value: "{value}": supported values: {listed}')

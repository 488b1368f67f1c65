"""What becomes of the objects that a deleted one owns: the policy that a client asks for, and how it is kept.

A policy other than the usual one is a finalizer on the deleted object, which the garbage collector takes away once it
has done what the policy says.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.api.status import Cause, CauseType, Subject, invalid


class Propagation(StrEnum):
    """What becomes of owned objects."""

    BACKGROUND = "Background"
    """They go afterwards."""
    FOREGROUND = "Foreground"
    """They go first."""
    ORPHAN = "Orphan"
    """They stay, without an owner."""

    @property
    def finalizer(self) -> str:
        """The finalizer that keeps the policy; empty for the usual one."""
        return _FINALIZERS.get(self, "")


_FINALIZERS = {Propagation.FOREGROUND: "foregroundDeletion", Propagation.ORPHAN: "orphan"}


def asked_propagation(options: JsonObject) -> Propagation | None:
    """Return the policy that the options of a deletion ask for, None when they leave it open.

    Args:
        options: The object that clients send, or its fields from a query.

    Raises:
        StatusError: They ask for an unknown policy, or in two ways (422).
    """
    policy, orphan = options.get("propagationPolicy"), options.get("orphanDependents")
    if policy is not None and orphan is not None:
        message = "Invalid value: orphanDependents and propagationPolicy say the same; set one of them"
        raise _refusal(Cause(CauseType.INVALID, "propagationPolicy", message))
    if isinstance(orphan, bool):
        return Propagation.ORPHAN if orphan else Propagation.BACKGROUND
    if policy is None:
        return None
    if policy not in list(Propagation):
        listed = ", ".join(f'"{one}"' for one in sorted(Propagation))
        message = f'Unsupported value: "{policy}": supported values: {listed}'
        raise _refusal(Cause(CauseType.NOT_SUPPORTED, "propagationPolicy", message))
    return Propagation(str(policy))


def _refusal(cause: Cause) -> Exception:
    return invalid(Subject("DeleteOptions", "meta.k8s.io"), [cause])


def held_by(finalizers: Sequence[str], asked: Propagation | None, usual: Propagation) -> list[str]:
    """Return the finalizers of an object whose deletion is asked for.

    Args:
        finalizers: Those that it has.
        asked: The policy that is asked for; None leaves an earlier one in place.
        usual: The policy of its kind.
    """
    marks = list(_FINALIZERS.values())
    if asked is None and any(finalizer in marks for finalizer in finalizers):
        return list(finalizers)
    mark = (asked or usual).finalizer
    return [finalizer for finalizer in finalizers if finalizer not in marks] + ([mark] if mark else [])


def propagation_of(finalizers: Sequence[str]) -> Propagation:
    """Return the policy that an object's finalizers keep; to leave owned objects alone goes before all else."""
    kept = (policy for policy in (Propagation.ORPHAN, Propagation.FOREGROUND) if policy.finalizer in finalizers)
    return next(kept, Propagation.BACKGROUND)

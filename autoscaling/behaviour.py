"""Where Evenkeel decides otherwise than upstream 1.8.1: one named switch for each difference.

The pure core takes a ``Behaviour`` as an argument. A field is true where Evenkeel's own way is taken and false where
upstream's is; its metadata names the rule it answers and what a user sees, and is the source of the table in
``docs/parity.md``.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum

from autoscaling.errors import ConfigurationError


class Profile(Enum):
    """A named set of behaviours, chosen by ``--profile``."""

    EVENKEEL = "evenkeel"
    UPSTREAM = "upstream"


def _switch(rule: str, effect: str) -> bool:
    """Declare one switch, on by default, with the rule it answers and its effect for a user."""
    switch: bool = field(default=True, metadata={"rule": rule, "effect": effect})
    return switch


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Every wanted difference from upstream, each settable by ``--behaviour name=true|false``."""

    uid_preconditions: bool = _switch(
        "B-31, K-11, K-23",
        "A resize or an eviction names the pod's UID, so a replacement of the same name is never hit, and a resize "
        "whose values the pod already asks for is not sent again.",
    )
    resource_claims_kept: bool = _switch(
        "admission 13.5",
        "A new container without requests and limits keeps the resources object it has, and with it the device claims "
        "in it; a container for which there is nothing to set is not mentioned in the annotation vpaUpdates.",
    )
    submitted_status_ignored: bool = _switch(
        "admission 7.1",
        "A status that somebody submits along with a new pod has no say in its resources; the API server drops it.",
    )
    webhook_scope_narrowed: bool = _switch(
        "admission 13.4",
        "With --vpa-object-namespace only pods and autoscalers of that namespace are sent to the webhook.",
    )

    no_recommendation_without_samples: bool = _switch(
        "E4",
        "A resource of which no sample was seen is not recommended. Otherwise it gets the minimum, with bounds no "
        "wider, and running pods are shrunk to that at once, for example while the metrics API does not answer.",
    )

    @classmethod
    def of(cls, profile: Profile) -> Behaviour:
        """Return the behaviour of a whole profile."""
        on = profile is Profile.EVENKEEL
        return cls(**{f.name: on for f in fields(cls)})

    def with_overrides(self, overrides: Mapping[str, str]) -> Behaviour:
        """Return a copy with single switches set.

        Args:
            overrides: Field name to ``true`` or ``false``.

        Raises:
            ConfigurationError: A name is unknown or a value is neither true nor false.
        """
        known = {f.name for f in fields(self)}
        changes: dict[str, bool] = {}
        for name, value in overrides.items():
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"known names are {', '.join(sorted(known))}"
                raise ConfigurationError(f"--behaviour {name}={value}: no behaviour has this name; {hint}")
            if value not in {"true", "false"}:
                raise ConfigurationError(f"--behaviour {name}={value}: the value must be true or false")
            changes[name] = value == "true"
        return replace(self, **changes)

"""Checks of the admission webhook: its registration, its certificate, whether it answers, and who comes after it.

Spec: beyond:B-39.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from evenkeel.inspection.findings import Area, Finding, Level

LONGEST_TIMEOUT_SECONDS: Final = 10
"""What product and manifests ask for: every pod of the cluster waits for so long when nobody answers."""

SOON: Final = timedelta(days=7)
"""Time before the end of a certificate from which it should have been renewed."""


@dataclass(frozen=True, slots=True)
class HookRule:
    """What a webhook is called for."""

    groups: tuple[str, ...]
    resources: tuple[str, ...]
    operations: tuple[str, ...]

    def covers(self, group: str, resource: str, operation: str) -> bool:
        """Say whether a request is one of those."""
        parent = resource.partition("/")[0]
        named = {resource, "*/*", f"{parent}/*"} if "/" in resource else {resource, "*", "*/*"}
        return (
            bool({group, "*"} & set(self.groups))
            and bool(named & set(self.resources))
            and bool({operation, "*"} & set(self.operations))
        )


@dataclass(frozen=True, slots=True)
class Hook:
    """One webhook of a configuration.

    Args:
        fails_closed: Whether requests are refused while it does not answer.
    """

    name: str
    rules: tuple[HookRule, ...]
    fails_closed: bool
    timeout_seconds: int

    def covers(self, group: str, resource: str, operation: str) -> bool:
        """Say whether it is called for a request."""
        return any(rule.covers(group, resource, operation) for rule in self.rules)


@dataclass(frozen=True, slots=True)
class HookConfiguration:
    """A MutatingWebhookConfiguration."""

    name: str
    hooks: tuple[Hook, ...]


@dataclass(frozen=True, slots=True)
class CertificateFacts:
    """A certificate as it was found.

    Args:
        what: Whose it is, such as ``the certificate that 127.0.0.1:8000 shows``.
        end: When it is no longer valid.
        problem: Why it could not be looked at, or is not accepted; empty where it is.
    """

    what: str
    end: datetime | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Reach:
    """Whether a webhook answers.

    Args:
        address: Where it was tried.
        answers: None where it could not be tried.
        detail: Why not, or what came instead.
    """

    address: str
    answers: bool | None
    detail: str = ""


def registration_findings(name: str, vpa_group: str, found: HookConfiguration | None) -> Iterator[Finding]:
    """Yield what there is to say about the registration.

    Args:
        name: What the configuration is called.
        vpa_group: API group of the VPAs.
        found: The configuration, None where there is none.
    """
    if found is None:
        yield Finding(
            Area.WEBHOOK,
            Level.PROBLEM,
            f"MutatingWebhookConfiguration {name} is not there, so new pods are not changed",
            "start the admission controller, which registers itself, and look at its log",
        )
        return
    for group, resource, operation in (("", "pods", "CREATE"), (vpa_group, "verticalpodautoscalers", "UPDATE")):
        if not any(hook.covers(group, resource, operation) for hook in found.hooks):
            yield Finding(
                Area.WEBHOOK,
                Level.PROBLEM,
                f"MutatingWebhookConfiguration {name} has no rule for {operation} of {resource}",
                "delete it; the admission controller registers itself anew",
            )
    for hook in found.hooks:
        if hook.fails_closed:
            yield Finding(
                Area.WEBHOOK,
                Level.WARNING,
                f"webhook {hook.name} has failurePolicy Fail: no pod can be created while it does not answer",
                "start the admission controller without --webhook-failure-policy-fail",
            )
        if hook.timeout_seconds > LONGEST_TIMEOUT_SECONDS:
            yield Finding(
                Area.WEBHOOK,
                Level.WARNING,
                f"webhook {hook.name} is waited for {hook.timeout_seconds} s, by every new pod",
                f"start the admission controller with --webhook-timeout-seconds={LONGEST_TIMEOUT_SECONDS}",
            )
    yield Finding(Area.WEBHOOK, Level.OK, f"MutatingWebhookConfiguration {name} is there")


def reach_finding(reach: Reach) -> Finding:
    """Return whether the webhook answers."""
    if reach.answers is None:
        message = f"whether the webhook answers at {reach.address} is not known: {reach.detail}"
        return Finding(Area.WEBHOOK, Level.NOTE, message, "look at its Lease and at the Endpoints of its Service")
    if reach.answers:
        return Finding(Area.WEBHOOK, Level.OK, f"the webhook answers at {reach.address}")
    return Finding(
        Area.WEBHOOK,
        Level.PROBLEM,
        f"the webhook does not answer at {reach.address}: {reach.detail}",
        "look at the admission controller's pods and log, and at network policies between it and the API server",
    )


def certificate_findings(certificates: Iterable[CertificateFacts], now: datetime) -> Iterator[Finding]:
    """Yield what there is to say about certificates."""
    remedy = "look at the admission controller's log; docs/certificates.md says where its certificates come from"
    for each in certificates:
        if each.problem:
            yield Finding(Area.WEBHOOK, Level.PROBLEM, f"{each.what}: {each.problem}", remedy)
        elif each.end is None:
            continue
        elif each.end <= now:
            yield Finding(Area.WEBHOOK, Level.PROBLEM, f"{each.what} has expired at {each.end:%Y-%m-%d %H:%M}", remedy)
        elif each.end - now <= SOON:
            message = f"{each.what} expires at {each.end:%Y-%m-%d %H:%M} and has not been renewed"
            yield Finding(Area.WEBHOOK, Level.WARNING, message, remedy)
        else:
            yield Finding(Area.WEBHOOK, Level.OK, f"{each.what} is valid until {each.end:%Y-%m-%d %H:%M}")


def rival_findings(own: str, configurations: Iterable[HookConfiguration]) -> Iterator[Finding]:
    """Yield other webhooks that see new pods, and may set other requests.

    Webhooks are called in the order of the names of their configurations, so those behind ours have the last word.

    Args:
        own: Name of our configuration.
        configurations: All of them.
    """
    for each in configurations:
        names = [hook.name for hook in each.hooks if hook.covers("", "pods", "CREATE")]
        if each.name == own or not names:
            continue
        title = f"MutatingWebhookConfiguration {each.name} ({', '.join(names)})"
        if each.name > own:
            yield Finding(
                Area.CONFLICTS,
                Level.WARNING,
                f"{title} sees new pods after ours and may overwrite requests",
                "compare a new pod's requests with its annotation vpaUpdates; exclude the namespaces in one of the two",
            )
        else:
            message = f"{title} sees new pods before ours"
            yield Finding(Area.CONFLICTS, Level.NOTE, message, "nothing: ours sets requests after it")

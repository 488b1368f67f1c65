"""What an object counts for in the ResourceQuotas of its namespace, and which of them count it."""

from __future__ import annotations

from datetime import datetime, timedelta

from autoscaling.quantity import Quantity
from evenkeel.simulator.api.builtin import PODS
from evenkeel.simulator.api.containers import amounts, containers_of, qos_class
from evenkeel.simulator.api.fields import JsonObject, child, number, rows, text, texts
from evenkeel.simulator.api.kinds import Kind
from evenkeel.simulator.api.pod_amounts import Amounts, effective_limits, effective_requests
from evenkeel.simulator.clock import parse_rfc3339

ONE = Quantity.of_units(1)
_PLAIN_TOO = ("cpu", "memory", "ephemeral-storage", "hugepages-")
_LIMITED = ("cpu", "memory", "ephemeral-storage")
_COUNTED_BY_PLURAL = ("configmaps", "replicationcontrollers", "resourcequotas", "secrets", "services")
_EVERY_CONTAINER_SETS = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")


def usage_of(kind: Kind, body: JsonObject, now: datetime) -> Amounts:
    """Return what an object counts for, by the names that quotas use.

    Args:
        kind: Its kind.
        body: The object with its status.
        now: A terminating pod stops counting once its grace period is over.

    Spec: in-place-resize 1.6.
    """
    usage: Amounts = {f"count/{kind.resource}": ONE}
    if kind.resource == PODS:
        if _takes_room(body, now):
            usage |= _pod_usage(body)
    elif not kind.group and kind.plural in _COUNTED_BY_PLURAL:
        usage[kind.plural] = ONE
    return usage


def _takes_room(pod: JsonObject, now: datetime) -> bool:
    """Say whether a pod still holds resources."""
    if text(pod, "status", "phase") in {"Succeeded", "Failed"}:
        return False
    going = text(pod, "metadata", "deletionTimestamp")
    grace = timedelta(seconds=number(pod, "metadata", "deletionGracePeriodSeconds"))
    return not going or now <= parse_rfc3339(going) + grace


def _pod_usage(pod: JsonObject) -> Amounts:
    """Return what a pod counts for while it holds resources."""
    usage: Amounts = {"pods": ONE}
    for name, amount in effective_requests(pod).items():
        usage[f"requests.{name}"] = amount
        if name.startswith(_PLAIN_TOO):
            usage[name] = amount
    for name, amount in effective_limits(pod).items():
        if name in _LIMITED:
            usage[f"limits.{name}"] = amount
    return usage


def counts(quota: JsonObject, kind: Kind, body: JsonObject) -> bool:
    """Say whether a quota counts an object: one with scopes counts the pods in all of its scopes only."""
    scopes = [(scope, "Exists", list[str]()) for scope in texts(quota, "spec", "scopes")]
    scopes += [
        (text(row, "scopeName"), text(row, "operator"), texts(row, "values"))
        for row in rows(quota, "spec", "scopeSelector", "matchExpressions")
    ]
    if not scopes:
        return True
    return kind.resource == PODS and all(_in_scope(body, *scope) for scope in scopes)


def _in_scope(pod: JsonObject, scope: str, operator: str, values: list[str]) -> bool:
    """Say whether a pod is in one scope."""
    match scope:
        case "Terminating" | "NotTerminating":
            return (child(pod, "spec").get("activeDeadlineSeconds") is not None) is (scope == "Terminating")
        case "BestEffort" | "NotBestEffort":
            return (qos_class(pod) == "BestEffort") is (scope == "BestEffort")
        case "PriorityClass":
            return _has_priority_class(text(pod, "spec", "priorityClassName"), operator, values)
        case _:
            return False


def _has_priority_class(name: str, operator: str, values: list[str]) -> bool:
    """Say whether the name of a pod's priority class meets a scope."""
    match operator:
        case "In":
            return name in values
        case "NotIn":
            return name not in values
        case "DoesNotExist":
            return not name
        case _:
            return bool(name)


def unset_by_containers(hard: list[str], pod: JsonObject) -> list[str]:
    """Return what a quota makes every container set and some do not, such as ``limits.cpu for: app``.

    A pod with resources of its own is exempt (spec: in-place-resize 1.6).
    """
    if any(child(pod, "spec", "resources", section) for section in ("requests", "limits")):
        return []
    found: list[str] = []
    for name in sorted(set(hard) & set(_EVERY_CONTAINER_SETS)):
        section, _, resource = name.rpartition(".")
        unset = [
            text(container, "name")
            for _, container in containers_of(pod)
            if resource not in amounts(child(container, "resources"), section or "requests")
        ]
        if unset:
            found.append(f"{name} for: {','.join(unset)}")
    return found

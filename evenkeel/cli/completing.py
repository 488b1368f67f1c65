"""What a shell offers while a command is typed: names out of the cluster, in little time and without complaints."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec
import typer
import yaml

from autoscaling.errors import EvenkeelError
from autoscaling.kube.paths import (
    DAEMON_SETS,
    DEPLOYMENTS,
    NAMESPACES,
    PODS,
    STATEFUL_SETS,
    Resource,
    Selection,
    vertical_pod_autoscalers,
)
from autoscaling.runtime.api_group import ApiGroup
from evenkeel.cli.session import Session, kubeconfig_path, object_names
from evenkeel.cli.shell_words import asks_for_completion, end_in_time

_SECONDS: Final = 5.0
"""How long somebody who has pressed a key may be kept waiting for the cluster."""

_WORKLOADS: Final = (DEPLOYMENTS, STATEFUL_SETS, DAEMON_SETS, PODS)
"""Kinds whose objects are offered for KIND/NAME; the others can be typed."""

_SILENT: Final = (EvenkeelError, OSError, TimeoutError, msgspec.MsgspecError, yaml.YAMLError, ValueError)
"""What may go wrong on the way to a name; ValueError is what a namespace that is none ends with."""


class _Named(msgspec.Struct):
    name: str = ""


class _Contexts(msgspec.Struct):
    contexts: list[_Named] | None = None


def namespaces(context: typer.Context, incomplete: str) -> list[str]:
    """Return the namespaces that begin so."""
    return _beginning(incomplete, _names(context, (NAMESPACES,)).get(NAMESPACES, ()))


def contexts(context: typer.Context, incomplete: str) -> list[str]:
    """Return the contexts of the kubeconfig that begin so."""
    try:
        text = Path(kubeconfig_path(_text(context, "kubeconfig"))).read_text()
        found = msgspec.convert(yaml.safe_load(text), _Contexts)
    except _SILENT:
        return []
    return _beginning(incomplete, (each.name for each in found.contexts or ()))


def pods(context: typer.Context, incomplete: str) -> list[str]:
    """Return the pods of the namespace that begin so."""
    return _beginning(incomplete, _names(context, (PODS,)).get(PODS, ()))


def autoscalers(context: typer.Context, incomplete: str) -> list[str]:
    """Return the VPAs of the namespace that begin so, of the API group that was asked for."""
    resource = vertical_pod_autoscalers(_text(context, "api_group") or ApiGroup.EVENKEEL)
    return _beginning(incomplete, _names(context, (resource,)).get(resource, ()))


def explained(context: typer.Context, incomplete: str) -> list[str]:
    """Return the pods or the VPAs that begin so, whichever an explanation was asked for."""
    return pods(context, incomplete) if _text(context, "kind") == "pod" else autoscalers(context, incomplete)


def workloads(context: typer.Context, incomplete: str) -> list[str]:
    """Return the workloads of the namespace, as KIND/NAME, that begin so."""
    kind, slash, _ = incomplete.partition("/")
    wanted = [each for each in _WORKLOADS if not slash or each.kind.lower() == kind.lower()]
    found = _names(context, wanted)
    return _beginning(incomplete, (f"{each.kind.lower()}/{name}" for each in wanted for name in found.get(each, ())))


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    """Return the names that begin with what was typed."""
    return [name for name in names if name.startswith(incomplete)]


def _text(context: typer.Context, name: str) -> str:
    """Return what was given for an option or argument so far, empty for nothing."""
    given = context.params.get(name)
    return str(given) if given else ""


def _names(context: typer.Context, resources: Iterable[Resource]) -> dict[Resource, list[str]]:
    """Return names of objects by their kind, none where the cluster cannot be asked in time."""
    if asks_for_completion(os.environ):
        end_in_time()
    try:
        session = Session.of(
            _text(context, "kubeconfig"),
            _text(context, "context"),
            _text(context, "namespace"),
            is_everywhere=bool(context.params.get("everywhere")),
        )
        return asyncio.run(_listed(session, tuple(resources)))
    except _SILENT:
        return {}


async def _listed(session: Session, resources: tuple[Resource, ...]) -> dict[Resource, list[str]]:
    """List names; kinds that cannot be listed have none."""
    async with asyncio.timeout(_SECONDS), session.client() as client:
        selections = [Selection(each, session.namespace if each.namespaced else "") for each in resources]
        found = await asyncio.gather(*(object_names(client, each) for each in selections), return_exceptions=True)
    return {
        resource: names
        for resource, names in zip(resources, found, strict=True)
        if not isinstance(names, BaseException)
    }

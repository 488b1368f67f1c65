"""``evenkeel list``: every VerticalPodAutoscaler with what is recommended, or the changes that were made."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final

import typer

from autoscaling.behaviour import Behaviour, Profile
from autoscaling.errors import ConfigurationError
from autoscaling.kube.paths import EVENTS, Selection
from autoscaling.objectref import ObjectRef
from autoscaling.runtime.api_group import ApiGroup
from evenkeel.cli.options import (
    AllNamespacesOption,
    ContextOption,
    GroupOption,
    KubeconfigOption,
    NamespaceOption,
    Output,
    OutputOption,
)
from evenkeel.cli.printing import emit, warn
from evenkeel.cli.session import Session, read_all
from evenkeel.cli.surveying import survey
from evenkeel.cli.told_events import decode_event
from evenkeel.cli.wrong_usage import WrongUsageError
from evenkeel.inspection.history import PastChange, ToldEvent, history, history_table, of_event, of_log_entry
from evenkeel.inspection.survey import Survey, control
from evenkeel.inspection.vpa_list import listed, vpa_table

HELP: Final = """List VerticalPodAutoscalers: target, mode, recommendation, conditions, and how many of their live pods
are in the middle of a resize (pending) or cannot be resized (blocked).

With --history the changes that the updater has made are listed instead: from its Events on pods, which most clusters
keep for an hour, and from its log where that is given.

\b
Exit status:
  0  everything could be read
  1  something could not be read; it is named on standard error, and the rest is listed
  2  wrong usage

\b
Examples:
  evenkeel list -A
  evenkeel list -n shop -o json
  evenkeel list --api-group autoscaling.k8s.io
  evenkeel list --history -A
  kubectl logs -n evenkeel-system deploy/evenkeel-updater | evenkeel list --history --log - -A
"""

_EVICTED_POD: Final = re.compile(r"Evicted pod (?P<name>[^:]+): .*", re.DOTALL)
_STANDARD_INPUT: Final = "-"


def run(
    *,
    namespace: NamespaceOption = "",
    everywhere: AllNamespacesOption = False,
    api_group: GroupOption = ApiGroup.EVENKEEL,
    with_history: Annotated[
        bool, typer.Option("--history", help="List the changes that the updater has made.")
    ] = False,
    log: Annotated[
        list[str] | None,
        typer.Option("--log", metavar="FILE", help="Log of the updater to read as well; - for standard input."),
    ] = None,
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Print the list; an object that cannot be read is named on standard error and ends the command with status 1."""
    if log and not with_history:
        raise WrongUsageError("--log is read for --history only; add --history")
    session = Session.of(kubeconfig, context, namespace, is_everywhere=everywhere)
    logged = tuple(change for name in log or () for change in _logged(name))
    found, events = asyncio.run(_read(session, api_group, with_events=with_history))
    controlled = control(found)
    if with_history:
        names = {**{pod: vpa.name for pod, vpa in controlled.vpas.items()}, **_evicted(events)}
        told = (of_event(event, names) for event in events)
        changes = history((*logged, *(each for each in told if each is not None)), session.namespace)
        blocks = (history_table(changes),) if changes else (_nothing("change by the updater", session),)
        emit(output, changes, blocks)
    else:
        vpas = listed((each.vpa for each in found.snapshot.vpas), controlled, Behaviour.of(Profile.EVENKEEL))
        what = f"VerticalPodAutoscaler of {api_group}"
        emit(output, vpas, (vpa_table(vpas),) if vpas else (_nothing(what, session),))
    warn(found.problems)
    if found.problems:
        raise typer.Exit(1)


async def _read(session: Session, group: ApiGroup, *, with_events: bool) -> tuple[Survey, tuple[ToldEvent, ...]]:
    """Return the cluster, and the Events where they are asked for."""
    async with session.client() as client:
        found = await survey(client, group, session.namespace)
        if not with_events:
            return found, ()
        return found, tuple(await read_all(client, Selection(EVENTS, session.namespace), decode_event))


def _evicted(events: Iterable[ToldEvent]) -> Mapping[ObjectRef, str]:
    """Return the VPAs of evicted pods, which Events on the VPAs name."""
    return {
        ObjectRef("Pod", event.pod.namespace, match["name"]): event.pod.name
        for event in events
        if event.reason == "EvictedPod" and (match := _EVICTED_POD.fullmatch(event.message))
    }


def _logged(name: str) -> Iterator[PastChange]:
    """Yield the changes that a log tells of; lines that are no JSON are none of the updater's.

    Raises:
        ConfigurationError: The file cannot be read.
    """
    try:
        text = sys.stdin.read() if name == _STANDARD_INPUT else Path(name).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"--log {name}: cannot be read: {error}; give the updater's log") from error
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        change = of_log_entry(entry) if isinstance(entry, dict) else None
        if change is not None:
            yield change


def _nothing(what: str, session: Session) -> str:
    """Say that there is nothing to list, and where it was looked for."""
    where = f"in namespace {session.namespace}; -A looks into all" if session.namespace else "in any namespace"
    return f"No {what} {where}."

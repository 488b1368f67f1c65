"""``evenkeel shadow``: objects of our own group beside upstream's, which our recommender serves for a comparison."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Annotated, Final

import typer

from autoscaling.kube.client import KubeClient
from autoscaling.kube.paths import Resource, Selection
from evenkeel.cli.options import AllNamespacesOption, ContextOption, KubeconfigOption, NamespaceOption
from evenkeel.cli.printing import warn
from evenkeel.cli.session import Session, read_all
from evenkeel.cli.wrong_usage import WrongUsageError
from evenkeel.shadow.plan import Change, Verb, plan, removal
from evenkeel.shadow.shell.sync import ORIGINALS, OWN, Outcome, decode_autoscaler, follow, settle
from evenkeel.shadow.twins import Autoscaler

HELP: Final = """Keep objects of our own group beside upstream's, to see what Evenkeel would recommend; nothing acts on
them.

\b
Examples:
  evenkeel shadow sync -A
  evenkeel shadow remove -A
"""

_SYNC_HELP: Final = """Give every VerticalPodAutoscaler of autoscaling.k8s.io a twin in autoscaling.evenkeel.dev.

A twin has the name, namespace and spec of its original, mode Off and the label evenkeel.dev/shadow=true. Our
recommender serves it as any object of our own group; neither updater nor webhook acts on it. Twins whose originals are
gone are removed. Nothing of upstream's is touched, and nothing of our own group that has not the label.

\b
Exit status:
  0  every original has its twin
  1  some have not, or it could not be found out; with --watch only the latter ends the command
  2  wrong usage

\b
Examples:
  evenkeel shadow sync -n shop
  evenkeel shadow sync -A --dry-run     # only say what would be done
  evenkeel shadow sync -A --watch       # keep twins up to date until Ctrl-C
"""

_REMOVE_HELP: Final = """Remove every twin: the objects of our own group with the label evenkeel.dev/shadow=true.

\b
Exit status:
  0  no twin is left
  1  some are, or it could not be found out
  2  wrong usage

\b
Examples:
  evenkeel shadow remove -A
"""

_DONE: Final = {Verb.CREATE: "created", Verb.PATCH: "patched", Verb.DELETE: "deleted"}

DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]

app = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode=None)


@app.command("sync", help=_SYNC_HELP)
def sync(
    namespace: NamespaceOption = "",
    everywhere: AllNamespacesOption = False,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Go on until Ctrl-C.")] = False,
    dry_run: DryRunOption = False,
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
) -> None:
    """Bring twins up to date."""
    if watch and dry_run:
        raise WrongUsageError("--watch and --dry-run exclude each other; leave one out")
    session = Session.of(kubeconfig, context, namespace, is_everywhere=everywhere)
    with suppress(KeyboardInterrupt, asyncio.CancelledError):
        outcomes = asyncio.run(_sync(session, watches=watch, acts=not dry_run))
        raise typer.Exit(0 if all(outcome.is_settled for outcome in outcomes) else 1)


@app.command("remove", help=_REMOVE_HELP)
def remove(
    namespace: NamespaceOption = "",
    everywhere: AllNamespacesOption = False,
    dry_run: DryRunOption = False,
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
) -> None:
    """Remove twins."""
    session = Session.of(kubeconfig, context, namespace, is_everywhere=everywhere)
    outcomes = asyncio.run(_remove(session, acts=not dry_run))
    raise typer.Exit(0 if all(outcome.is_settled for outcome in outcomes) else 1)


async def _sync(session: Session, *, watches: bool, acts: bool) -> list[Outcome]:
    """Bring twins up to date once, then follow both groups if that is asked for."""
    if watches:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    async with session.client() as client:

        async def look() -> tuple[Change, ...]:
            return plan(await _read(client, ORIGINALS, session), await _read(client, OWN, session))

        outcomes = await _outcomes(client, look, acts=acts)
        if watches:
            await follow(client, session.namespace, lambda news: _tell(news, acts=True))
        return outcomes


async def _remove(session: Session, *, acts: bool) -> list[Outcome]:
    """Remove twins."""
    async with session.client() as client:

        async def look() -> tuple[Change, ...]:
            return removal(await _read(client, OWN, session))

        return await _outcomes(client, look, acts=acts)


async def _read(client: KubeClient, resource: Resource, session: Session) -> list[Autoscaler]:
    """Read the autoscalers of one group."""
    return await read_all(client, Selection(resource, session.namespace), decode_autoscaler)


async def _outcomes(
    client: KubeClient, look: Callable[[], Awaitable[tuple[Change, ...]]], *, acts: bool
) -> list[Outcome]:
    """Make changes, or only say which they would be."""
    outcomes = await settle(client, look) if acts else [Outcome(change) for change in await look()]
    _tell(outcomes, acts=acts)
    return outcomes


def _tell(outcomes: Iterable[Outcome], *, acts: bool) -> None:
    """Print what was done, and on standard error what could not be."""
    for outcome in outcomes:
        change = outcome.change
        if outcome.problem or change.verb is Verb.LEAVE:
            warn([outcome.problem or f"{change.ref}: left alone: {change.reason}"])
        else:
            done = _DONE[change.verb] if acts else f"would be {_DONE[change.verb]}"
            typer.echo(f"{change.ref} {done}: {change.reason}")

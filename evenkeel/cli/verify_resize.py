"""``evenkeel verify-resize``: waits until a pod's containers have what its spec asks for."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Annotated, Final

import typer

from autoscaling.behaviour import Behaviour, Profile
from autoscaling.kube.client import KubeClient
from autoscaling.kube.decoders import versioned
from autoscaling.kube.paths import PODS, Selection
from autoscaling.kube.watch import StoreCallbacks, WatchedStore
from autoscaling.pod import Pod
from autoscaling.wire.pods import decode_pod_with_sidecars
from evenkeel.cli.completing import pods
from evenkeel.cli.options import ContextOption, KubeconfigOption, NamespaceOption, Output, OutputOption, read_duration
from evenkeel.cli.printing import emit
from evenkeel.cli.session import Session, read
from evenkeel.inspection.resize_report import ResizeReport, resize_blocks, resize_report

HELP: Final = """Wait until a pod's containers have what its spec asks for, and show what they ask for, what the node
has accepted and what is in force.

Amounts are compared, allowing for the runtime's own rounding; neither conditions nor events count as proof.

\b
Exit status:
  0  converged: desired, allocated and actual amounts agree
  1  it could not be found out
  2  wrong usage
  3  time is up; the node has not looked at the resize, or is at it
  4  time is up; the resize is deferred
  5  the resize is infeasible (at once, as waiting would not help)
  6  time is up; the node met an error and tries again
  7  the pod is going, has ended or is gone

\b
Examples:
  evenkeel verify-resize web-0
  evenkeel verify-resize web-0 -n shop --timeout 5m -o json
  kubectl evenkeel verify-resize web-0 --timeout 0s    # only look, do not wait
"""

_BEHAVIOUR: Final = Behaviour.of(Profile.EVENKEEL)
_SYNC_SECONDS: Final = 20.0


def run(
    pod: Annotated[str, typer.Argument(help="Name of the pod.", autocompletion=pods)],
    timeout: Annotated[
        timedelta,
        typer.Option(
            parser=read_duration, metavar="DURATION", show_default="1m", help="How long to wait; 0s only looks."
        ),
    ] = timedelta(minutes=1),
    namespace: NamespaceOption = "",
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Print the last report; the status is its verdict's."""
    report = asyncio.run(verify(Session.of(kubeconfig, context, namespace), pod, timeout))
    emit(output, report, resize_blocks(report))
    raise typer.Exit(report.verdict.exit_code)


async def verify(session: Session, name: str, patience: timedelta) -> ResizeReport:
    """Return the report on a pod when it is final, or when time is up."""
    async with session.client() as client:
        first = await read(client, PODS, session.namespace, name, decode_pod_with_sidecars)
        report = resize_report(first, _BEHAVIOUR)
        if report.verdict.is_final or not patience:
            return report
        following = _Following(client, first)
        try:
            async with asyncio.timeout(patience.total_seconds()):
                await following.until_final()
        except TimeoutError:
            pass
        finally:
            await following.stop()
        return following.outcome()


class _Following:
    """Follows one pod.

    Args:
        client: Calls to the API server.
        pod: The pod as it was first seen; another one of its name is not the one that is meant.

    Attributes:
        report: On what was last seen.
    """

    def __init__(self, client: KubeClient, pod: Pod) -> None:
        self.report = resize_report(pod, _BEHAVIOUR)
        self._pod = pod
        self._changed = asyncio.Event()
        only = Selection(PODS, pod.namespace, field_selector=f"metadata.name={pod.name}")
        told: StoreCallbacks[Pod] = StoreCallbacks(on_change=lambda _: self._changed.set())
        self._store = WatchedStore(client, only, versioned(decode_pod_with_sidecars), told)

    async def until_final(self) -> None:
        """Wait until nothing more can come."""
        self._store.start()
        await self._store.wait_synced(_SYNC_SECONDS)
        self._look()
        while not self.report.verdict.is_final:
            self._changed.clear()
            await self._changed.wait()
            self._look()

    async def stop(self) -> None:
        """End the watch."""
        await self._store.stop()

    def outcome(self) -> ResizeReport:
        """Return the last report.

        Raises:
            ApiError: The pod could not be followed any more, so that there may be news that nobody has seen.
        """
        trouble = self._store.last_trouble
        if trouble is not None and not self.report.verdict.is_final:
            raise trouble.error
        return self.report

    def _look(self) -> None:
        """Report on the pod as it is now."""
        now = self._store.find((self._pod.namespace, self._pod.name))
        is_gone = now is None or now.uid != self._pod.uid
        if now is not None and not is_gone:
            self._pod = now
        self.report = resize_report(self._pod, _BEHAVIOUR, is_gone=is_gone)

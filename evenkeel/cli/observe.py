"""``evenkeel observe``: follows the resizes of a workload's pods, with Events, conditions and the kubelets' metrics."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Annotated, Final

import typer
import yaml
from prometheus_client.parser import text_string_to_metric_families

from autoscaling.behaviour import Behaviour, Profile
from autoscaling.errors import ApiError
from autoscaling.kube.client import KubeClient
from autoscaling.kube.decoders import identified, versioned
from autoscaling.kube.optional import OptionalStore
from autoscaling.kube.paths import EVENTS, JOBS, NODES, PODS, REPLICA_SETS, Resource, Selection
from autoscaling.kube.retry import ONE_TRY
from autoscaling.kube.table import Change
from autoscaling.kube.troubles import Trouble
from autoscaling.kube.watch import StoreCallbacks, WatchedStore
from autoscaling.kube.workloads import WELL_KNOWN, workload_decoder
from autoscaling.pod import Pod
from autoscaling.wire.pods import decode_pod_with_sidecars
from autoscaling.workload import Workload
from evenkeel.cli.completing import workloads
from evenkeel.cli.options import ContextOption, KubeconfigOption, NamespaceOption, Output, OutputOption, read_duration
from evenkeel.cli.session import Session, read, require_list
from evenkeel.cli.told_events import decode_event
from evenkeel.cli.wrong_usage import WrongUsageError
from evenkeel.inspection.documents import document
from evenkeel.inspection.history import ToldEvent
from evenkeel.inspection.observation import (
    Happening,
    Samples,
    What,
    belongs,
    event_happening,
    is_of_resizes,
    line_of,
    metric_happenings,
    pod_happenings,
)
from evenkeel.inspection.resize_report import ResizeReport, resize_report

HELP: Final = """Follow the resizes of a workload's pods: amounts, conditions and Events as they change, and the
kubelets' metrics about resizes, read through the API server. Ends when its time is up, or with Ctrl-C.

With -o json there is one object on each line, with -o yaml one document for each line of the table.

\b
Exit status:
  0  time is up, or it was interrupted
  1  the workload is not there, or cannot be followed
  2  wrong usage

\b
Examples:
  evenkeel observe deployment/web -n shop
  evenkeel observe pod/web-0 --duration 10m --interval 2s
  evenkeel observe sts/db -o json > resizes.jsonl
"""

_BEHAVIOUR: Final = Behaviour.of(Profile.EVENKEEL)
_SYNC_SECONDS: Final = 20.0
_WIDTH: Final = 32
_BETWEEN: Final[Mapping[str, Resource]] = {"Deployment": REPLICA_SETS, "CronJob": JOBS}
"""What stands between a workload and its pods."""

_SHORT: Final[Mapping[str, str]] = {
    "po": "Pod",
    "deploy": "Deployment",
    "sts": "StatefulSet",
    "ds": "DaemonSet",
    "rs": "ReplicaSet",
    "rc": "ReplicationController",
    "cj": "CronJob",
}


@dataclass(frozen=True, slots=True)
class Wish:
    """What is observed.

    Args:
        resource: Kind of the workload; pods for a pod.
        name: Of the workload.
        duration: How long; None until it is interrupted.
        interval: Time between two looks at the kubelets' metrics.
    """

    resource: Resource
    name: str
    duration: timedelta | None
    interval: timedelta


def read_workload(given: str) -> tuple[Resource, str]:
    """Read ``KIND/NAME``; a name alone is a Deployment's.

    Raises:
        WrongUsageError: The kind is none that can be observed.
    """
    kind, slash, name = given.rpartition("/")
    known = {resource.kind.lower(): resource for resource in (*WELL_KNOWN.values(), PODS)}
    plurals = {resource.plural: resource for resource in known.values()}
    wanted = (_SHORT.get(kind.lower(), kind) if slash else "deployment").lower()
    resource = known.get(wanted) or plurals.get(wanted)
    if resource is None or not name:
        kinds = ", ".join(sorted(known))
        raise WrongUsageError(f"{given}: is no KIND/NAME of a kind that can be observed; the kinds are {kinds}")
    return resource, name


def run(
    workload: Annotated[
        str,
        typer.Argument(metavar="KIND/NAME", help="What is observed, such as deployment/web.", autocompletion=workloads),
    ],
    *,
    duration: Annotated[
        timedelta | None,
        typer.Option(parser=read_duration, metavar="DURATION", help="How long; by default until Ctrl-C."),
    ] = None,
    interval: Annotated[
        timedelta,
        typer.Option(
            parser=read_duration, metavar="DURATION", show_default="5s", help="Time between two looks at metrics."
        ),
    ] = timedelta(seconds=5),
    namespace: NamespaceOption = "",
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Print what happens as it happens."""
    resource, name = read_workload(workload)
    wish = Wish(resource, name, duration, interval)
    with suppress(KeyboardInterrupt):
        asyncio.run(observe(Session.of(kubeconfig, context, namespace), wish, partial(_print, output)))


def _print(output: Output, happening: Happening) -> None:
    """Print one line, and send it on at once."""
    if output is Output.TABLE:
        typer.echo(line_of(happening, _WIDTH))
    elif output is Output.JSON:
        typer.echo(json.dumps(document(happening), ensure_ascii=False))
    else:
        typer.echo("---\n" + yaml.safe_dump(document(happening), sort_keys=False, allow_unicode=True), nl=False)


async def observe(session: Session, wish: Wish, told: Callable[[Happening], None]) -> None:
    """Tell of what happens until the time is up.

    Raises:
        NotReadableError: The workload is not there, or may not be read.
        ApiError: Its pods cannot be followed.
    """
    async with session.client() as client:
        await read(client, wish.resource, session.namespace, wish.name, bytes)
        watching = _Watching(client, session.namespace, wish, told)
        try:
            async with asyncio.timeout(None) as limit:
                await watching.start()
                await watching.look_at_metrics()
                if wish.duration is not None:
                    limit.reschedule(asyncio.get_running_loop().time() + wish.duration.total_seconds())
                await watching.follow_metrics()
        except TimeoutError:
            return
        finally:
            await watching.stop()


class _Watching:
    """Follows pods, what stands between them and their workload, Events and metrics.

    Args:
        client: Calls to the API server.
        namespace: Of the workload.
        wish: What is observed.
        told: Told of each happening.
    """

    def __init__(self, client: KubeClient, namespace: str, wish: Wish, told: Callable[[Happening], None]) -> None:
        self._client = client
        self._wish = wish
        self._told = told
        self._pods: dict[str, Pod] = {}
        self._reports: dict[str, ResizeReport] = {}
        self._samples: dict[str, Samples] = {}
        self._silent: set[str] = set()
        self._names: set[str] = set()
        only = f"metadata.name={wish.name}" if wish.resource is PODS else ""
        told_of_pods: StoreCallbacks[Pod] = StoreCallbacks(on_change=lambda _: self._look_again())
        self._store = WatchedStore(
            client, Selection(PODS, namespace, field_selector=only), versioned(decode_pod_with_sidecars), told_of_pods
        )
        told_of_events: StoreCallbacks[ToldEvent] = StoreCallbacks(
            on_change=self._event_came, on_trouble=self._events_in_trouble
        )
        self._events = OptionalStore(client, Selection(EVENTS, namespace), identified(decode_event), told_of_events)
        self._between: WatchedStore[Workload] | None = None
        between = _BETWEEN.get(wish.resource.kind)
        if between is not None:
            told_of_workloads: StoreCallbacks[Workload] = StoreCallbacks(on_change=lambda _: self._look_again())
            decode = workload_decoder(between.kind)
            self._between = WatchedStore(client, Selection(between, namespace), decode, told_of_workloads)
        self._is_started = False

    async def start(self) -> None:
        """Follow everything, and tell what there is once all of it has been listed.

        Raises:
            ApiError: Something cannot be listed.
        """
        for store in self._stores():
            await require_list(self._client, store.selection)
            store.start()
        self._events.start()
        for store in self._stores():
            await store.wait_synced(_SYNC_SECONDS)
        await self._events.wait_settled(_SYNC_SECONDS)
        self._is_started = True
        self._look_again()
        if not self._pods:
            name = self._wish.name
            self._told(Happening(self._client.pacing.now(), name, What.POD, "has no pod yet"))

    async def stop(self) -> None:
        """End all watches."""
        for store in (*self._stores(), self._events):
            await store.stop()

    async def follow_metrics(self) -> None:
        """Look at the metrics of the pods' nodes from time to time, for ever."""
        while True:
            await self._client.pacing.sleep(self._wish.interval.total_seconds())
            await self.look_at_metrics()

    async def look_at_metrics(self) -> None:
        """Look at the metrics of the pods' nodes; what they are when a node is first looked at is no news."""
        for node in sorted({pod.node_name for pod in self._pods.values() if pod.node_name}):
            await self._look_at(node)

    def _stores(self) -> tuple[WatchedStore[Pod] | WatchedStore[Workload], ...]:
        """Return what cannot be done without."""
        return (self._store, *((self._between,) if self._between is not None else ()))

    def _look_again(self) -> None:
        """Tell what is different about the workload's pods."""
        if not self._is_started:
            return
        between = self._between.items() if self._between is not None else {}
        kind, name, now = self._wish.resource.kind, self._wish.name, self._client.pacing.now()
        pods = {pod.name: pod for pod in self._store.snapshot() if belongs(pod, kind, name, between)}
        reports = {
            pod.name: self._reports[pod.name] if self._pods.get(pod.name) is pod else resize_report(pod, _BEHAVIOUR)
            for pod in pods.values()
        }
        for each in sorted(self._reports.keys() | reports.keys()):
            for happening in pod_happenings(self._reports.get(each), reports.get(each), now):
                self._told(happening)
        self._pods, self._reports = pods, reports
        self._names |= pods.keys()

    def _event_came(self, change: Change[ToldEvent]) -> None:
        """Tell of an Event on one of the pods; what was there before is no news."""
        event = change.new
        if event is None or not self._is_started or event.pod.kind != PODS.kind:
            return
        happening = event_happening(event) if event.pod.name in self._names else None
        if happening is not None:
            self._told(happening)

    def _events_in_trouble(self, trouble: Trouble) -> None:
        """Tell that Events cannot be followed."""
        text = f"Events cannot be followed: {trouble.error}"
        self._told(Happening(self._client.pacing.now(), self._wish.name, What.PROBLEM, text))

    async def _look_at(self, node: str) -> None:
        """Tell what is different about the metrics of one kubelet; that they cannot be read is told once."""
        now = self._client.pacing.now()
        try:
            raw = await self._client.get(f"{NODES.path(name=node, subresource='proxy')}/metrics", patience=ONE_TRY)
        except ApiError as error:
            if node not in self._silent:
                self._silent.add(node)
                text = f"metrics of its kubelet cannot be read: {error}; the right to get nodes/proxy is needed"
                self._told(Happening(now, node, What.PROBLEM, text))
            return
        self._silent.discard(node)
        samples = samples_of(raw.decode(errors="replace"))
        if node in self._samples:
            for happening in metric_happenings(node, self._samples[node], samples, now):
                self._told(happening)
        self._samples[node] = samples


def samples_of(text: str) -> Samples:
    """Return the values of the series about resizes, without the buckets of histograms.

    Args:
        text: What a kubelet shows under ``/metrics``.
    """
    lines = [line for line in text.splitlines() if is_of_resizes(line)]
    families = text_string_to_metric_families("\n".join([*lines, ""]))
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }

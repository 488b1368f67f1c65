"""What all processes do first: say what they were told, open the endpoint, reach the API server, be elected."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from datetime import timedelta
from typing import TypeVar

import structlog

from autoscaling.errors import ApiError, EvenkeelError, InvalidObjectError
from autoscaling.kube.calls import ClientSettings
from autoscaling.kube.client import KubeClient, user_agent
from autoscaling.kube.connection import connect
from autoscaling.kube.election import ElectionSettings
from autoscaling.kube.events import EventRecorder
from autoscaling.kube.lease import LeaderElection, own_identity
from autoscaling.kube.troubles import Trouble
from autoscaling.kube.watch import StoreCallbacks
from autoscaling.runtime.bind_address import BindAddress
from autoscaling.runtime.collector import keep_imported
from autoscaling.runtime.exposition import new_registry
from autoscaling.runtime.flags import LeaderElectedConfig, ProcessConfig
from autoscaling.runtime.health import Vitals
from autoscaling.runtime.lockstep import Lockstep
from autoscaling.runtime.logs import configure_logs
from autoscaling.runtime.process import Process, run_process
from autoscaling.runtime.profiling import profiling_routes
from autoscaling.runtime.telemetry import bind, bound_port, serve_http, telemetry_application

T = TypeVar("T")
SYNC_SECONDS = 120.0
"""How long caches may take to fill before the process gives up."""

_DRAIN_SECONDS = 3.0

log = structlog.get_logger()


def run_configured(config: ProcessConfig, start: Callable[[Process], Coroutine[object, object, None]]) -> int:
    """Set up the log and run a process by the clock that its flags ask for; returns its exit status."""
    keep_imported()
    if not config.clock:
        configure_logs(config.v, sys.stderr)
        return run_process(start)
    try:
        lockstep = Lockstep(config.clock)
    except EvenkeelError as error:
        configure_logs(config.v, sys.stderr)
        log.error("process failed", error=str(error))  # noqa: TRY400 - the message says it all
        return 1
    configure_logs(config.v, sys.stderr, lockstep.pacing.now)
    return lockstep.run(start)


def announce(config: ProcessConfig) -> None:
    """Log the flags in force, and those that were taken without effect."""
    log.info("flags", **config.effective_flags())
    for note in config.warnings():
        log.warning("flag accepted without effect", note=note)
    for flag in config.secrets_shown():
        log.warning(
            "secret on the command line", flag=flag, remedy="have it read from a file; docs/security.md says how"
        )


def open_telemetry(
    process: Process, config: ProcessConfig, period: timedelta, register: Callable[..., T]
) -> tuple[T, Vitals]:
    """Register metric families and serve them with the probes, and profiles where that is asked for.

    Args:
        process: The server runs as long as it does.
        config: Says on which address, and whether there are profiles.
        period: Time between two rounds, by which the liveness probe judges.
        register: Declares the families in a registry.

    Raises:
        ConfigurationError: The address cannot be listened on.
    """
    vitals = Vitals(period, process.pacing.monotonic)
    registry = new_registry()
    metrics = register(registry)
    listener = bind(BindAddress.parse(config.address))
    profiles = profiling_routes() if config.profiling else ()
    log.info("telemetry listens", port=bound_port(listener))
    process.run_in_background("telemetry", serve_http(telemetry_application(registry, vitals, profiles), listener))
    return metrics, vitals


async def open_client(process: Process, config: ProcessConfig, name: str) -> KubeClient:
    """Connect to the API server and make sure that it answers.

    Raises:
        ConfigurationError: The kubeconfig cannot be used, or the server does not answer or does not know us.
    """
    connection = await connect(config.kubeconfig, pacing=process.pacing)
    settings = ClientSettings(user_agent(name), float(config.kube_api_qps), int(config.kube_api_burst))
    client = KubeClient(connection, settings, process.pacing, traffic=process.traffic)
    # Background work ends last of all in the reverse order of its start, so a Lease can still be given back.
    process.run_in_background("connections", _keep_open(client))
    version = await client.probe()
    log.info("API server answers", server=client.server, version=version.git_version)
    return client


def open_events(process: Process, client: KubeClient, component: str) -> EventRecorder:
    """Return what takes events, which are written in the background, for a while after the end has begun, too.

    Args:
        component: Name of the process, as events have it.
    """
    events = EventRecorder(client, component, host_name())
    process.run_in_background("events", events.run())

    async def drain() -> None:
        if not await events.drain(_DRAIN_SECONDS):
            log.warning("events left out", events=events.waiting)

    process.on_stop("write events", drain)
    return events


async def _keep_open(client: KubeClient) -> None:
    """Close the connections once everything that may call is over."""
    try:
        await asyncio.Event().wait()
    finally:
        await client.close()


def run_elected(
    process: Process,
    config: LeaderElectedConfig,
    client: KubeClient,
    work: Callable[[], Awaitable[None]],
    identity: str = "",
) -> None:
    """Run work for as long as the process lives, only while leading where leader election is on.

    Losing the Lease ends the process.

    Args:
        work: What only a leader does.
        identity: Who holds the Lease then; made up where empty.
    """

    async def run() -> None:
        if not config.leader_elect:
            await work()
            return
        settings = ElectionSettings(
            config.leader_elect_resource_namespace,
            config.leader_elect_resource_name,
            identity or own_identity(client.pacing),
            config.leader_elect_lease_duration.total_seconds(),
            config.leader_elect_renew_deadline.total_seconds(),
            config.leader_elect_retry_period.total_seconds(),
        )
        log.info("waiting for leadership", lease=f"{settings.namespace}/{settings.name}", identity=settings.identity)
        await LeaderElection(client, settings, client.pacing, _election_trouble).lead(work)

    process.run_in_background("work", run())


def _election_trouble(error: ApiError) -> None:
    log.warning("lease call failed", error=str(error))


def logging_callbacks(kind: type[T]) -> StoreCallbacks[T]:  # noqa: ARG001 the type says what the callbacks are for
    """Return store callbacks that log what cannot be read and what cannot be reached."""
    return StoreCallbacks(on_unreadable=_unreadable, on_trouble=_trouble)


def _unreadable(error: InvalidObjectError) -> None:
    log.warning("object left out", object=str(error.ref), error=str(error))


def _trouble(trouble: Trouble) -> None:
    log.warning(
        "collection cannot be followed",
        collection=str(trouble.selection),
        error=str(trouble.error),
        failures=trouble.consecutive,
        retry_seconds=round(trouble.retry_seconds, 1),
    )


async def watch_tasks(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Wait for tasks that should never end; the first that dies ends the wait with its error."""
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    for task in done:
        task.result()


def host_name() -> str:
    """Return the name of this host, a pod's name in a cluster."""
    return socket.gethostname()

"""The admission controller, from its command line to its webhook."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

import structlog
from prometheus_client import CollectorRegistry

from admission.boosting import BoostRules
from admission.config import AdmissionConfig
from admission.review import ReviewRules
from admission.shell.caches import Caches
from admission.shell.certificate_store import CertificateFiles, CertificateSecret
from admission.shell.certificates import CertificateInUse, OwnCertificates, choose_source
from admission.shell.measures import AdmissionMeasures
from admission.shell.metrics import AdmissionMetrics
from admission.shell.registration import Registration
from admission.shell.self_test import OwnAddress, handshake_problem
from admission.shell.server import Cluster, Endpoint, serve_webhook
from admission.shell.status_lease import StatusLease, WebhookProof
from admission.shell.tls import ServingContext, tls_rules
from admission.shell.upkeep import Upkeep
from admission.vpa_validation import Gates
from admission.webhook_configuration import NamespaceScope, RegistrationSettings, ServiceTarget, UrlTarget
from autoscaling.kube.client import KubeClient
from autoscaling.kube.election import ElectionSettings
from autoscaling.kube.lease import LeaderElection, own_identity
from autoscaling.kube.liveness import HeartBeat, HeartBeatSettings
from autoscaling.kube.pacing import Pacing
from autoscaling.runtime.api_group import ApiGroup, cluster_names
from autoscaling.runtime.bind_address import BindAddress
from autoscaling.runtime.collector import caches_uncollected
from autoscaling.runtime.feature_gates import Gate
from autoscaling.runtime.flags import config_or_exit
from autoscaling.runtime.health import Vitals
from autoscaling.runtime.process import Process
from autoscaling.runtime.startup import (
    SYNC_SECONDS,
    announce,
    host_name,
    open_client,
    open_telemetry,
    run_configured,
    watch_tasks,
)
from autoscaling.runtime.telemetry import bind, bound_port

_CACHES, _CERTIFICATE, _STOPPING = "caches", "certificate", "the end"
_TARGETS_PERIOD = timedelta(minutes=10)
_CERTIFICATE_LEASE_SECONDS = (90.0, 60.0, 30.0)
"""Duration, renew deadline and retry period: nothing that its holder does is urgent, so it is written seldom."""

_DRAIN_SECONDS = 2.0
"""How long a process that is told to end goes on serving, so that callers learn of it before its port is closed."""

log = structlog.get_logger()


def main() -> None:
    """Run the admission controller until it is told to stop."""
    config = config_or_exit(AdmissionConfig, sys.argv[1:], os.environ)
    raise SystemExit(run_configured(config, partial(start, config=config)))


@dataclass(frozen=True, slots=True)
class Telemetry:
    """Metrics of both kinds, and the probes."""

    metrics: AdmissionMetrics
    measures: AdmissionMeasures
    vitals: Vitals


async def start(process: Process, config: AdmissionConfig) -> None:
    """Set the process up: webhook and certificates first, so that it answers while the caches fill."""
    announce(config)
    telemetry = telemetry_of(process, config)
    client = await open_client(process, config, "admission-controller")
    caches = Caches(client, config.api_group, config.vpa_object_namespace, config.switches())
    process.run_in_background("caches", follow(caches))
    context = ServingContext(tls_rules(config.min_tls_version, config.tls_ciphers))
    is_there = partial(telemetry.vitals.there, _CERTIFICATE)
    in_use = CertificateInUse(context, telemetry.measures, client.pacing.now, is_there)
    port = open_webhook(process, config, caches, context, telemetry)
    registration = registration_of(client, config, telemetry.measures) if config.register_webhook else None
    await look_after_certificates(process, config, client, Keeping(in_use, registration, telemetry.measures))
    with caches_uncollected():
        await caches.wait_synced(SYNC_SECONDS)
    telemetry.vitals.there(_CACHES)
    log.info("caches filled")
    proof = WebhookProof(
        lambda: caches.is_synced and in_use.is_there,
        registration,
        partial(handshake, client, OwnAddress(port, server_name(config))),
        lambda: in_use.authorities,
    )
    lease = StatusLease(HeartBeat(client, heart_beat(config), client.pacing), proof, telemetry.measures)
    process.every("status lease", config.status_lease_update_interval, lease.round)
    process.every("targets", _TARGETS_PERIOD, caches.keep_targets_known)


async def handshake(client: KubeClient, address: OwnAddress, authorities: bytes) -> str:
    """Call the own webhook, and return what went wrong."""
    async with client.traffic.exchange():
        return await handshake_problem(address, client.pacing.now, authorities)


def register_metrics(registry: CollectorRegistry) -> tuple[AdmissionMetrics, AdmissionMeasures]:
    """Declare every metric family of the admission controller in a registry."""
    return AdmissionMetrics.register(registry), AdmissionMeasures.register(registry)


def telemetry_of(process: Process, config: AdmissionConfig) -> Telemetry:
    """Open the endpoint for metrics and probes, not ready until caches and certificate are there."""
    period = config.status_lease_update_interval
    (metrics, measures), vitals = open_telemetry(process, config, period, register_metrics)
    vitals.wait_for(_CACHES, _CERTIFICATE)
    return Telemetry(metrics, measures, vitals)


async def follow(caches: Caches) -> None:
    """Keep the caches up to date for as long as the process lives."""
    try:
        await watch_tasks(caches.start())
    finally:
        await caches.stop()


def open_webhook(
    process: Process, config: AdmissionConfig, caches: Caches, context: ServingContext, telemetry: Telemetry
) -> int:
    """Open the webhook's port and return it; handshakes succeed once there is a certificate.

    Raises:
        ConfigurationError: The port cannot be listened on.
    """
    listener = bind(BindAddress("", config.port))
    port = bound_port(listener)
    log.info("webhook listens", port=port)
    endpoint = Endpoint(
        cluster_of(config, caches),
        review_rules(config),
        telemetry.metrics,
        telemetry.measures,
        float(config.webhook_timeout_seconds),
    )
    process.run_in_background("webhook", serve_webhook(endpoint, context.listening, listener))
    process.on_stop("callers move on", partial(drain, endpoint, telemetry.vitals, process.pacing))
    return port


def cluster_of(config: AdmissionConfig, caches: Caches) -> Cluster:
    """Return what reviews know of the cluster, and whether they wait for what is not known yet."""
    waits = not config.switches().reviews_from_caches
    return Cluster(caches.view, caches.look_up_later, caches.look_up if waits else None)


async def drain(endpoint: Endpoint, vitals: Vitals, pacing: Pacing) -> None:
    """Count as not ready, and where anybody could have called, go on serving for a moment.

    API servers use a connection as long as it is open, so each is closed with its next answer: one that is closed at
    rest in the end might just then be given the next request.
    """
    was_ready = vitals.readiness().status is HTTPStatus.OK
    vitals.wait_for(_STOPPING)
    endpoint.is_ending = True
    if was_ready:
        await pacing.sleep(_DRAIN_SECONDS)


@dataclass(frozen=True, slots=True)
class Keeping:
    """What certificates are looked after for."""

    in_use: CertificateInUse
    registration: Registration | None
    measures: AdmissionMeasures


async def look_after_certificates(
    process: Process, config: AdmissionConfig, client: KubeClient, keeping: Keeping
) -> None:
    """Load certificates now where they are provided, and follow and renew them from here on.

    Raises:
        ConfigurationError: Provided files cannot be used.
    """
    files = CertificateFiles(Path(config.client_ca_file), Path(config.tls_cert_file), Path(config.tls_private_key))
    secret = CertificateSecret(client, config.service_namespace, config.names.webhook_secret)
    own = OwnCertificates(secret, called_as(config), client.pacing.now, keeping.measures)
    source = await choose_source(files, own, follows_changes=config.reload_cert)
    log.info("certificates chosen", source=str(files.serving) if source is not own else str(secret.ref))
    if source is not own:
        keeping.in_use.require(await source.load())
    overlaps = config.switches().authorities_overlap
    upkeep = Upkeep(source, keeping.in_use, keeping.registration, client.pacing, overlaps=overlaps)
    process.run_in_background("certificates", upkeep.follow())
    if source is own or keeping.registration is not None:
        process.run_in_background("upkeep", upkeep.run(partial(candidate, client, config)))


def candidate(client: KubeClient, config: AdmissionConfig) -> LeaderElection:
    """Return this process as a candidate for the upkeep of certificates and registration."""
    identity = own_identity(client.pacing)
    settings = ElectionSettings(
        config.service_namespace, config.names.certificate_lease, identity, *_CERTIFICATE_LEASE_SECONDS
    )
    return LeaderElection(
        client, settings, client.pacing, lambda error: log.warning("lease call failed", error=str(error))
    )


def review_rules(config: AdmissionConfig) -> ReviewRules:
    """Return what the flags say about reviews."""
    on = config.feature_gates.is_on
    gates = Gates(
        cpu_startup_boost=on(Gate.CPU_STARTUP_BOOST),
        in_place=on(Gate.IN_PLACE),
        per_vpa_config=on(Gate.PER_VPA_CONFIG),
    )
    boosts = BoostRules(config.max_allowed_cpu_boost) if gates.cpu_startup_boost else None
    return ReviewRules(config.api_group, gates, config.switches(), boosts)


def registration_of(client: KubeClient, config: AdmissionConfig, measures: AdmissionMeasures) -> Registration:
    """Return the webhook's registration, and the names of those that other installations have."""
    others = tuple(cluster_names(group).webhook_configuration for group in ApiGroup if group is not config.api_group)
    return Registration(client, registration_settings(config), others, measures)


def registration_settings(config: AdmissionConfig) -> RegistrationSettings:
    """Return what the flags say about the registration (spec: admission:3)."""
    only = config.vpa_object_namespace if config.switches().webhook_scope_narrowed else ""
    return RegistrationSettings(
        name=config.names.webhook_configuration,
        webhook=config.names.webhook,
        group=config.api_group,
        owner=config.service_namespace,
        target=UrlTarget(webhook_url(config))
        if config.register_by_url
        else ServiceTarget(config.service_namespace, config.webhook_service),
        scope=NamespaceScope(only, config.ignored_vpa_object_namespaces),
        labels=config.labels(),
        timeout_seconds=config.webhook_timeout_seconds,
        fails_closed=config.webhook_failure_policy_fail,
    )


def webhook_url(config: AdmissionConfig) -> str:
    """Return the URL that callers are told."""
    return f"{config.webhook_address}:{config.webhook_port}" if config.webhook_port else config.webhook_address


def server_name(config: AdmissionConfig) -> str:
    """Return the host name that callers expect the certificate to bear."""
    if config.register_by_url:
        return urlsplit(webhook_url(config)).hostname or ""
    return f"{config.webhook_service}.{config.service_namespace}.svc"


def called_as(config: AdmissionConfig) -> frozenset[str]:
    """Return every host name and address that a certificate made here is to be valid for."""
    address = urlsplit(config.webhook_address).hostname if "://" in config.webhook_address else config.webhook_address
    service = f"{config.webhook_service}.{config.service_namespace}"
    return frozenset(filter(None, (service, f"{service}.svc", server_name(config), address)))


def heart_beat(config: AdmissionConfig) -> HeartBeatSettings:
    """Return what the flags say about the status Lease (spec: admission:9)."""
    return HeartBeatSettings(
        config.status_lease_namespace,
        config.status_lease_name,
        host_name(),
        config.status_lease_update_interval.total_seconds(),
    )


if __name__ == "__main__":
    main()

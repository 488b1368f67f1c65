"""Looks at the admission webhook as the API server would: its registration, whether it answers, its certificates."""

from __future__ import annotations

import asyncio
import base64
import binascii
import ssl
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import msgspec
from cryptography import x509

from autoscaling.errors import ApiError, ApiRefusedError
from autoscaling.kube.client import KubeClient
from autoscaling.kube.paths import MUTATING_WEBHOOKS, SERVICES, Selection
from autoscaling.kube.refusals import FORBIDDEN, is_missing
from autoscaling.kube.retry import ONE_TRY
from autoscaling.runtime.api_group import ApiGroup, cluster_names
from evenkeel.inspection.webhook_checks import CertificateFacts, Hook, HookConfiguration, HookRule, Reach

_CONNECT_SECONDS: Final = 5.0
_HTTPS_PORT: Final = 443


class _Service(msgspec.Struct):
    namespace: str = ""
    name: str = ""
    port: int = _HTTPS_PORT


class _ServiceSpec(msgspec.Struct):
    selector: dict[str, str] | None = None


class _ServiceObject(msgspec.Struct):
    spec: _ServiceSpec = msgspec.field(default_factory=_ServiceSpec)


class _ClientConfig(msgspec.Struct, rename="camel"):
    service: _Service | None = None
    url: str = ""
    ca_bundle: str = ""


class _Rule(msgspec.Struct, rename="camel"):
    api_groups: list[str] = []
    resources: list[str] = []
    operations: list[str] = []


class _Hook(msgspec.Struct, rename="camel"):
    name: str = ""
    rules: list[_Rule] | None = None
    failure_policy: str = "Fail"
    timeout_seconds: int = 10
    client_config: _ClientConfig = msgspec.field(default_factory=_ClientConfig)


class _Metadata(msgspec.Struct):
    name: str = ""


class _Configuration(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    webhooks: list[_Hook] | None = None


_CONFIGURATION: Final = msgspec.json.Decoder(_Configuration)


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of the webhook.

    Args:
        own: Its configuration, None where there is none.
    """

    own: HookConfiguration | None
    reaches: tuple[Reach, ...] = ()
    certificates: tuple[CertificateFacts, ...] = ()


class WebhookProbe:
    """Looks at the webhook of one API group.

    Args:
        client: Calls to the API server.
        group: The API group.
    """

    def __init__(self, client: KubeClient, group: ApiGroup) -> None:
        self._client = client
        self._name = cluster_names(group).webhook_configuration

    async def configurations(self) -> list[HookConfiguration]:
        """Return all MutatingWebhookConfigurations.

        Raises:
            ApiError: They cannot be listed.
        """
        return [_facts(each) for each in await self._client.items(Selection(MUTATING_WEBHOOKS), _CONFIGURATION.decode)]

    async def look(self) -> Seen:
        """Look at the registration, and try each place that it names.

        Raises:
            ApiError: The registration cannot be read.
        """
        found = await self._client.items(Selection(MUTATING_WEBHOOKS), _CONFIGURATION.decode)
        own = next((each for each in found if each.metadata.name == self._name), None)
        if own is None:
            return Seen(None)
        reaches: list[Reach] = []
        certificates: list[CertificateFacts] = []
        for config in {repr(hook.client_config): hook.client_config for hook in own.webhooks or ()}.values():
            bundle, problem = _bundle(config.ca_bundle)
            if bundle or config.service is not None:
                certificates += _authorities(bundle, problem)
            if config.service is not None:
                reaches.append(await self._through_server(config.service))
            else:
                reach, shown = await _connect(config.url, bundle)
                reaches.append(reach)
                certificates += shown
        return Seen(_facts(own), tuple(reaches), tuple(certificates))

    async def _through_server(self, service: _Service) -> Reach:
        """Ask the API server to pass a request on to the webhook; any answer of the webhook's own will do."""
        address = f"Service {service.namespace}/{service.name}:{service.port}"
        path = SERVICES.path(service.namespace, f"https:{service.name}:{service.port}", "proxy")
        try:
            await self._client.get(f"{path}/", patience=ONE_TRY)
        except ApiRefusedError as refusal:
            # An answer without a Status is the webhook's own, which takes no GET.
            if not refusal.reason:
                return Reach(address, answers=True)
            if await self._has_no_selector(service):
                detail = "the Service has no selector, and the API server's proxy passes requests on to pods only"
                return Reach(address, answers=None, detail=detail)
            # A server that passes nothing on to Services does not name the Service that it does not find.
            is_unknown = refusal.code == FORBIDDEN or (is_missing(refusal) and service.name not in refusal.message)
            return Reach(address, None if is_unknown else False, refusal.message)
        except ApiError as error:
            return Reach(address, answers=False, detail=str(error))
        return Reach(address, answers=True)

    async def _has_no_selector(self, service: _Service) -> bool:
        """Say whether a Service is known to lead elsewhere than to pods, where webhooks are called all the same."""
        try:
            path = SERVICES.path(service.namespace, service.name)
            found = msgspec.json.decode(await self._client.get(path, patience=ONE_TRY), type=_ServiceObject)
        except (ApiError, msgspec.MsgspecError):
            return False
        return not found.spec.selector


def _facts(configuration: _Configuration) -> HookConfiguration:
    """Return what counts of a configuration."""
    return HookConfiguration(configuration.metadata.name, tuple(_hooks(configuration)))


def _hooks(configuration: _Configuration) -> Iterator[Hook]:
    """Yield what counts of each webhook."""
    for hook in configuration.webhooks or ():
        rules = tuple(
            HookRule(tuple(rule.api_groups), tuple(rule.resources), tuple(rule.operations)) for rule in hook.rules or ()
        )
        yield Hook(hook.name, rules, hook.failure_policy == "Fail", hook.timeout_seconds)


def _bundle(text: str) -> tuple[bytes, str]:
    """Return the PEM text of the authorities that the API server trusts, or why there is none."""
    if not text:
        return b"", "is empty, so the API server trusts the authorities of its machine"
    try:
        return base64.b64decode(text, validate=True), ""
    except (binascii.Error, ValueError) as error:
        return b"", f"is no base64: {error}"


def _authorities(bundle: bytes, problem: str) -> Iterator[CertificateFacts]:
    """Yield the authorities of a bundle."""
    what = "the registration's caBundle"
    if not bundle:
        yield CertificateFacts(what, None, problem)
        return
    try:
        certificates = x509.load_pem_x509_certificates(bundle)
    except ValueError as error:
        yield CertificateFacts(what, None, f"has no certificates: {error}")
        return
    for certificate in certificates:
        subject = certificate.subject.rfc4514_string() or f"number {certificate.serial_number:x}"
        yield CertificateFacts(f"{what}, authority {subject}", certificate.not_valid_after_utc)


async def _connect(url: str, bundle: bytes) -> tuple[Reach, list[CertificateFacts]]:
    """Shake hands with a webhook that is registered by URL, trusting whom the API server trusts."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or _HTTPS_PORT
    address = f"{host}:{port}"
    what = f"the certificate that {address} shows"
    try:
        context = ssl.create_default_context(cadata=bundle.decode() if bundle else None)
        async with asyncio.timeout(_CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(host, port, ssl=context, server_hostname=host)
    except ssl.SSLCertVerificationError as error:
        return Reach(address, answers=True), [CertificateFacts(what, None, f"is not accepted: {error.verify_message}")]
    except TimeoutError:
        return Reach(address, answers=False, detail=f"no connection within {_CONNECT_SECONDS:g} s"), []
    except (OSError, ValueError) as error:
        return Reach(address, answers=False, detail=str(error)), []
    secured = writer.get_extra_info("ssl_object")
    shown = x509.load_der_x509_certificate(secured.getpeercert(binary_form=True))
    # What was to be seen has been seen: no farewell, for which a server could keep us waiting.
    writer.transport.abort()
    with suppress(OSError):
        await writer.wait_closed()
    return Reach(address, answers=True), [CertificateFacts(what, shown.not_valid_after_utc)]

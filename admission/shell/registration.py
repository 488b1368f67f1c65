"""Keeps the webhook registered: creates the configuration, or brings our own up to date; never touches another's."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from enum import Enum

import msgspec
import structlog

from admission.shell.measures import AdmissionMeasures
from admission.webhook_configuration import (
    OWNER_LABEL,
    Action,
    RegistrationSettings,
    action_for,
    ca_bundles,
    configuration,
    merge_patch,
    owner_of,
    reaches,
)
from autoscaling.errors import ApiError, ApiRefusedError
from autoscaling.kube.calls import PatchType
from autoscaling.kube.client import KubeClient
from autoscaling.kube.paths import MUTATING_WEBHOOKS
from autoscaling.kube.refusals import is_conflict, is_missing

log = structlog.get_logger()


class RegistrationState(Enum):
    """How the registration stands after a look at it."""

    AS_WANTED = "as wanted"
    FOREIGN = "made by somebody else"
    CHANGED_MEANWHILE = "changed meanwhile"


@dataclass(frozen=True, slots=True)
class Registered:
    """What the API server goes by when it calls the webhook.

    Args:
        reaches_us: Whether reviews are sent to where this process listens.
        authorities: PEM text of the authorities it trusts; empty for none.
    """

    reaches_us: bool
    authorities: bytes


NOT_REGISTERED = Registered(reaches_us=False, authorities=b"")


class Registration:
    """The webhook's registration under its name.

    Args:
        client: Calls to the API server.
        settings: What it should say.
        others: Names under which webhooks of other VPA installations register.
        measures: Own metrics.
    """

    def __init__(
        self,
        client: KubeClient,
        settings: RegistrationSettings,
        others: tuple[str, ...],
        measures: AdmissionMeasures,
    ) -> None:
        self._client = client
        self._settings = settings
        self._others = others
        self._measures = measures
        self._told: RegistrationState | None = None

    async def ensure(self, authorities: bytes) -> RegistrationState:
        """Make the registration say what it should.

        Args:
            authorities: PEM text of the authorities to trust; empty for none.

        Raises:
            ApiError: The API server did not let us, for another reason than that somebody was quicker.
        """
        state = await self._ensure(base64.b64encode(authorities).decode())
        self._measures.registered.set(1 if state is RegistrationState.AS_WANTED else 0)
        return state

    async def read(self) -> Registered:
        """Return what the API server goes by now, whoever registered it.

        Raises:
            ApiError: It could not be read.
        """
        existing = await self._read(self._settings.name)
        if existing is None:
            return NOT_REGISTERED
        bundles = ca_bundles(existing, self._settings.webhook)
        reaches_us = reaches(existing, self._settings.webhook, self._settings.target)
        return Registered(reaches_us, base64.b64decode(bundles[0]) if bundles else b"")

    async def report_others(self) -> tuple[str, ...]:
        """Say which other VPA installation has a webhook registered, and return their names."""
        found: list[str] = []
        for name in self._others:
            try:
                existing = await self._read(name)
            except ApiError as error:
                log.info("other webhook not looked at", webhook=name, error=str(error))
                continue
            if existing is not None:
                log.info("another VPA webhook is registered", webhook=name, owner=owner_of(existing) or "not Evenkeel")
                found.append(name)
        return tuple(found)

    async def _ensure(self, ca_bundle: str) -> RegistrationState:
        """Look, decide and act once."""
        wanted = configuration(self._settings, ca_bundle)
        existing = await self._read(self._settings.name)
        action = action_for(existing, wanted, self._settings.owner)
        try:
            if action is Action.CREATE:
                await self._client.create(MUTATING_WEBHOOKS.path(), msgspec.json.encode(wanted))
            elif action is Action.UPDATE and existing is not None:
                body = msgspec.json.encode(merge_patch(existing, wanted))
                path = MUTATING_WEBHOOKS.path(name=self._settings.name)
                await self._client.patch(path, body, PatchType.MERGE)
        except ApiRefusedError as error:
            if not is_conflict(error):
                raise
            return RegistrationState.CHANGED_MEANWHILE
        if action in {Action.CREATE, Action.UPDATE}:
            log.info("webhook registered", webhook=self._settings.name, action=action.value)
        state = RegistrationState.FOREIGN if action is Action.LEAVE_ALONE else RegistrationState.AS_WANTED
        if state is RegistrationState.FOREIGN and self._told is not state:
            self._tell_foreign(owner_of(existing or {}))
        self._told = state
        return state

    def _tell_foreign(self, owner: str) -> None:
        """Say that the name is taken, and what can be done."""
        hand_over = f"kubectl label mutatingwebhookconfiguration {self._settings.name} --overwrite"
        log.error(
            "webhook registration left alone",
            webhook=self._settings.name,
            problem=f"it was made by Evenkeel in namespace {owner}" if owner else "it was not made by Evenkeel",
            remedy=f"delete it, or hand it over with: {hand_over} {OWNER_LABEL}={self._settings.owner}",
        )

    async def _read(self, name: str) -> dict[str, object] | None:
        """Return one configuration, None where there is none."""
        try:
            raw = await self._client.get(MUTATING_WEBHOOKS.path(name=name))
        except ApiRefusedError as error:
            if is_missing(error):
                return None
            raise
        return msgspec.json.decode(raw, type=dict[str, object])

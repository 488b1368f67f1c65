"""Writing conditions to VPAs, once a round has done everything else."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

import msgspec
import structlog

from autoscaling.errors import ApiError, ApiRefusedError
from autoscaling.kube.calls import PatchType
from autoscaling.kube.client import KubeClient
from autoscaling.kube.event_ledger import EventDraft, EventKind, InvolvedObject
from autoscaling.kube.events import EventRecorder
from autoscaling.kube.paths import Resource
from autoscaling.kube.refusals import CONFLICT, FORBIDDEN, NOT_FOUND
from autoscaling.kube.retry import ONE_TRY
from autoscaling.objectref import ObjectRef
from autoscaling.runtime.process import Driver
from autoscaling.vpa import Vpa, VpaCondition
from autoscaling.wire.objects import condition_json
from updater.conditions import OWN_TYPES, Told, Verdicts, conditions_due, newly_true

RETRY_AFTER: Final = timedelta(minutes=10)
"""Time until a denied permission is tried again."""

_FAILED_TEST: Final = 422
_LIST: Final = "/status/conditions"

Json = dict[str, object]

log = structlog.get_logger()


class ConditionWriter:
    """Writes the conditions of a round, one VPA after the other; what fails is written in the next round.

    A patch holds only for the version of the object that was looked at, so it never undoes what the recommender or
    anybody else has written meanwhile. A condition that becomes true is also told by an event, once.

    Args:
        client: Calls to the API server.
        resource: Where the VPAs are.
        driver: Tells the time.
        events: Where events go.
    """

    def __init__(self, client: KubeClient, resource: Resource, driver: Driver, events: EventRecorder) -> None:
        self._client = client
        self._resource = resource
        self._driver = driver
        self._events = events
        self._told: dict[ObjectRef, Told] = {}
        self._denied_until: datetime | None = None

    async def write(self, vpas: Iterable[Vpa], verdicts: Verdicts, now: datetime, deadline: datetime) -> None:
        """Write what has changed.

        Args:
            vpas: All VPAs of the round, as observed.
            verdicts: What the round found out.
            now: Time of the round.
            deadline: Time from which no further write is begun.
        """
        observed = {vpa.ref: vpa for vpa in vpas}
        self._told = {ref: told for ref, told in self._told.items() if ref in observed}
        for ref, vpa in observed.items():
            due = conditions_due(vpa, verdicts, self._told.get(ref), now)
            if due is None:
                continue
            if self._driver.now() >= deadline or self._is_denied():
                return
            if await self._write_one(vpa, due):
                self._tell(vpa, newly_true(vpa, due, self._told.get(ref)))
                self._told[ref] = Told(now, tuple(c for c in due if c.type in OWN_TYPES))

    def _tell(self, vpa: Vpa, news: Iterable[VpaCondition]) -> None:
        """Record an event for each condition that has become true (case 23)."""
        involved = InvolvedObject(vpa.ref, self._resource.api_version, vpa.uid)
        for condition in news:
            self._events.record(EventDraft(involved, EventKind.WARNING, condition.type, condition.message))

    def _is_denied(self) -> bool:
        return self._denied_until is not None and self._driver.now() < self._denied_until

    async def _write_one(self, vpa: Vpa, conditions: tuple[VpaCondition, ...]) -> bool:
        """Send one patch, and say whether it was accepted."""
        path = self._resource.path(vpa.namespace, vpa.name, "status")
        try:
            await self._client.patch(path, conditions_patch(vpa, conditions), PatchType.JSON, patience=ONE_TRY)
        except ApiError as error:
            self._failed(vpa, error)
            return False
        self._denied_until = None
        log.debug("conditions written", object=str(vpa.ref), types=[c.type for c in conditions if c.type in OWN_TYPES])
        return True

    def _failed(self, vpa: Vpa, error: ApiError) -> None:
        """Log a failure by what can be done about it."""
        code = error.code if isinstance(error, ApiRefusedError) else 0
        if code in {CONFLICT, NOT_FOUND, _FAILED_TEST}:
            log.debug("conditions not written", object=str(vpa.ref), error=str(error))
        elif code == FORBIDDEN:
            if self._denied_until is None:
                remedy = f"grant the verb patch on {self._resource.title}/status (the roles under manifests/rbac do)"
                log.warning("conditions not written", object=str(vpa.ref), error=str(error), remedy=remedy)
            self._denied_until = self._driver.now() + RETRY_AFTER
        else:
            log.warning("conditions not written", object=str(vpa.ref), error=str(error))


def conditions_patch(vpa: Vpa, conditions: tuple[VpaCondition, ...]) -> bytes:
    """Return the JSON patch that changes the conditions of a VPA, of the version that was observed.

    Entries of other types are not part of it, so they keep what we know nothing of.

    Args:
        vpa: The object as observed.
        conditions: All that it is to have, sorted by type.
    """
    operations: list[Json] = [{"op": "test", "path": "/metadata/resourceVersion", "value": vpa.resource_version}]
    bodies = {condition.type: condition_json(condition) for condition in conditions}
    if not vpa.conditions:
        has_status = bool(vpa.recommendation or vpa.observed_generation)
        whole: Json = {"op": "add", "path": _LIST, "value": list(bodies.values())}
        without: Json = {"op": "add", "path": "/status", "value": {"conditions": list(bodies.values())}}
        return msgspec.json.encode([*operations, whole if has_status else without])
    present = [condition.type for condition in vpa.conditions]
    for place in reversed(range(len(present))):
        kind = present[place]
        if kind not in bodies:
            operations.append({"op": "remove", "path": f"{_LIST}/{place}"})
            del present[place]
        elif kind in OWN_TYPES:
            operations.append({"op": "replace", "path": f"{_LIST}/{place}", "value": bodies[kind]})
    for kind, body in bodies.items():
        if kind not in present:
            place = bisect(present, kind)
            operations.append({"op": "add", "path": f"{_LIST}/{place}", "value": body})
            present.insert(place, kind)
    return msgspec.json.encode(operations)

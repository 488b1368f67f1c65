"""Server-side apply: a configuration comes in, what its manager owns follows it, the object is created if need be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from evenkeel.simulator.api.calls import Call
from evenkeel.simulator.api.codec import read_apply
from evenkeel.simulator.api.fields import JsonObject, as_object, child, copy_of, encode, ensure
from evenkeel.simulator.api.objects import stored_form
from evenkeel.simulator.api.ownership import (
    APPLY,
    KUBECTL,
    LAST_APPLIED,
    Manager,
    Merged,
    Write,
    apply,
    create_applied,
)
from evenkeel.simulator.api.reading import read_typed
from evenkeel.simulator.api.status import (
    Cause,
    CauseType,
    StatusError,
    Subject,
    UndecodableError,
    bad_request,
    invalid,
    not_found,
)
from evenkeel.simulator.api.store import Stored
from evenkeel.simulator.api.typed_values import UntypedError
from evenkeel.simulator.api.writes import PATCH_ATTEMPTS, Writer, fit_to_path, refuse_stale
from evenkeel.simulator.clock import rfc3339

_OPTIONS = Subject("PatchOptions", "meta.k8s.io")


@dataclass(slots=True)
class Applier:
    """Applies of one server.

    Args:
        writer: Carries the writes out.
        authorize: Refuses a call that the user may not make; asked again when an apply creates.
    """

    writer: Writer
    authorize: Callable[[Call], None]

    async def apply(self, call: Call) -> tuple[Stored, bool]:
        """Carry out an apply and return the object, and whether it is new.

        Raises:
            StatusError: The configuration, its conflicts, a webhook or the state of the store forbids it.
        """
        config, write = self._read(call)
        attempts = PATCH_ATTEMPTS
        while True:
            attempts -= 1
            current = self.writer.objects.versions.read(call.target.kind.resource, call.target.key)
            try:
                if current is None:
                    return await self._create(call, config, write), True
                return await self._change(call, config, write, current), False
            except UntypedError as error:
                raise _unfit(call, error) from None
            except UndecodableError as error:
                raise error.in_patch(call.target.kind.kind_subject(call.target.name)) from None
            except StatusError as error:
                lost_race = current is not None and self.writer.is_outdated(call, current)
                if not attempts or error.reason not in {"Conflict", "AlreadyExists"} or not lost_race:
                    raise

    def _read(self, call: Call) -> tuple[JsonObject, Write]:
        """Return the configuration that a call brings, and who applies it."""
        manager = call.query.get("fieldManager", "")
        if not manager:
            raise invalid(_OPTIONS, [Cause(CauseType.REQUIRED, "fieldManager", "Required value: an apply needs one")])
        config = fit_to_path(call.target, read_apply(call.request.body))
        if child(config, "metadata").get("managedFields"):
            raise bad_request("an applied configuration cannot have metadata.managedFields; leave them out")
        try:
            read_typed(call.target.kind, copy_of(config))
        except UndecodableError as error:
            raise _unfit(call, error) from None
        by = Manager(manager, APPLY, call.target.kind.api_version, call.target.subresource)
        return config, Write(by, rfc3339(self.writer.objects.now()), call.flag("force"))

    async def _create(self, call: Call, config: JsonObject, write: Write) -> Stored:
        """Create the object that a configuration describes."""
        kind = call.target.kind
        if call.target.subresource:
            raise not_found(kind.subject(call.target.name))
        self.authorize(replace(call, verb="create"))
        merged = create_applied(kind, stored_form(kind, config), write)
        typed = {"apiVersion": kind.api_version, "kind": kind.kind, **merged.body}
        return await self.writer.insert(call, typed, merged.entries)

    async def _change(self, call: Call, config: JsonObject, write: Write, current: Stored) -> Stored:
        """Change an object as a configuration says."""
        kind = call.target.kind
        refuse_stale(call, config, current)
        merged = apply(kind, copy_of(current.body), stored_form(kind, config), write)
        body = _with_last_applied(merged, config, write)
        ensure(body, "metadata").pop("resourceVersion", None)
        typed = {"apiVersion": kind.api_version, "kind": kind.kind, **body}
        return await self.writer.write(call, typed, current, merged.entries)


def _unfit(call: Call, error: Exception) -> StatusError:
    """Refuse a configuration that does not fit its kind; real servers answer so without a reason, too."""
    return StatusError(500, "", f"the applied configuration does not fit {call.target.kind.kind}: {error}")


def _with_last_applied(merged: Merged, config: JsonObject, write: Write) -> JsonObject:
    """Return the merged object; kubectl's note of what it applied from its own side is kept true when it has one."""
    annotations = child(merged.body, "metadata", "annotations")
    if write.by.name != KUBECTL or not annotations.get(LAST_APPLIED):
        return merged.body
    noted = copy_of(config)
    as_object(child(noted, "metadata").get("annotations")).pop(LAST_APPLIED, None)
    annotations[LAST_APPLIED] = encode(noted).decode() + "\n"
    return merged.body

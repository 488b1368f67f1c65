"""ControllerRevisions: the templates that a StatefulSet or DaemonSet has had."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from evenkeel.simulator.api.fields import JsonObject, child, copy_of, labels_of, number
from evenkeel.simulator.api.status import StatusError
from evenkeel.simulator.api.store import Stored
from evenkeel.simulator.controllers.actor import Actor
from evenkeel.simulator.controllers.claims import Owner, claim
from evenkeel.simulator.controllers.context import REVISIONS, Context
from evenkeel.simulator.controllers.templates import digest

REVISION_LABEL = "controller-revision-hash"


@dataclass(frozen=True, slots=True)
class Revision:
    """One template of a workload.

    Args:
        name: Name of the object that keeps it.
        suffix: What tells it from the workload's other ones.
        number: Which in a row.
        template: The pod template.
    """

    name: str
    suffix: str
    number: int
    template: JsonObject


class RevisionHistory:
    """Keeps the revisions of the workloads of one controller.

    Args:
        context: The cluster.
        actor: The controller as a client.
        label: Under which a revision bears what tells it from the workload's other ones.
    """

    def __init__(self, context: Context, actor: Actor, label: str = REVISION_LABEL) -> None:
        self._context = context
        self._actor = actor
        self._label = label

    async def update(self, owner: Owner) -> tuple[Revision, list[Revision]]:
        """Return the revision of a workload's present template, made if need be, and all revisions, oldest first.

        Raises:
            StatusError: The API server refused it.
        """
        kind = self._context.kind(REVISIONS)
        stored = sorted(claim(self._context, owner, kind, self._context.revisions), key=_order)
        template = child(owner.stored.body, "spec", "template")
        latest = max((number(revision.body, "revision") for revision in stored), default=0)
        same = [revision for revision in stored if _template(revision.body) == template]
        if not same:
            made = await self._create(owner, template, latest + 1)
            return self._read(made), [self._read(revision) for revision in [*stored, made]]
        found = same[-1]
        if number(found.body, "revision") < latest:
            body = copy_of(found.body)
            body["revision"] = latest + 1
            renewed = self._context.objects.replace(kind, body, found)
            stored = [*(revision for revision in stored if revision is not found), renewed]
            found = renewed
        return self._read(found), [self._read(revision) for revision in stored]

    def clean_up(self, owner: Owner, live: Iterable[str]) -> None:
        """Remove the oldest revisions beyond the limit that no pod and no status names any more."""
        named = set(live)
        idle = [
            revision
            for revision in sorted(self._context.revisions.controlled_by(owner.stored.uid), key=_order)
            if revision.key[1] not in named
        ]
        keep = number(owner.stored.body, "spec", "revisionHistoryLimit", default=10)
        for revision in idle[: max(0, len(idle) - keep)]:
            self._context.versions.remove(REVISIONS, revision.key, expected=revision)

    async def _create(self, owner: Owner, template: JsonObject, position: int) -> Stored:
        """Create the revision of a template, under another name when the first is taken."""
        namespace, name = owner.stored.key
        collisions = 0
        while True:
            suffix = digest(template, collisions)
            kind = self._context.kind(REVISIONS)
            revision: JsonObject = {
                "apiVersion": kind.api_version,
                "kind": kind.kind,
                "metadata": {
                    "name": f"{name}-{suffix}",
                    "namespace": namespace,
                    "labels": labels_of(template) | {self._label: suffix},
                    "ownerReferences": [owner.reference()],
                },
                "data": {"spec": {"template": {**template, "$patch": "replace"}}},
                "revision": position,
            }
            try:
                return await self._actor.create(revision)
            except StatusError as error:
                if error.reason != "AlreadyExists":
                    raise
                collisions += 1

    def _read(self, stored: Stored) -> Revision:
        """Return a stored revision."""
        suffix = labels_of(stored.body).get(self._label, "")
        return Revision(stored.key[1], suffix, number(stored.body, "revision"), _template(stored.body))


def _order(stored: Stored) -> tuple[int, str]:
    """Return by what revisions are ordered."""
    return number(stored.body, "revision"), stored.key[1]


def _template(body: JsonObject) -> JsonObject:
    """Return the template that a revision keeps."""
    kept = copy_of(child(body, "data", "spec", "template"))
    kept.pop("$patch", None)
    return kept


def revision_named(revisions: Iterable[Revision], name: str) -> Revision | None:
    """Return the revision of a name."""
    return next((revision for revision in revisions if revision.name == name), None)


def label_of_pod(pod: JsonObject) -> str:
    """Return which revision a pod says it was made from."""
    return labels_of(pod).get(REVISION_LABEL, "")

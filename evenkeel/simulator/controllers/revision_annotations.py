"""The annotations by which a Deployment and its ReplicaSets remember revisions and sizes."""

from __future__ import annotations

from evenkeel.simulator.api.fields import JsonObject, child, ensure
from evenkeel.simulator.controllers.rollout import Bounds

REVISION = "deployment.kubernetes.io/revision"
HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MOST = "deployment.kubernetes.io/max-replicas"
_NOT_COPIED = (
    REVISION,
    HISTORY,
    DESIRED,
    MOST,
    "kubectl.kubernetes.io/last-applied-configuration",
    "deprecated.deployment.rollback.to",
)


def annotated_number(body: JsonObject, name: str) -> int | None:
    """Return a whole number that an annotation holds, None when it holds none."""
    text = str(child(body, "metadata", "annotations").get(name, ""))
    return int(text) if text.isdecimal() else None


def revision_of(body: JsonObject) -> int:
    """Return the revision of a ReplicaSet or Deployment, 0 when it has none yet."""
    return annotated_number(body, REVISION) or 0


def note_size(replica_set: JsonObject, bounds: Bounds) -> None:
    """Note on a ReplicaSet, in place, for which size of the Deployment it got its own."""
    annotations = ensure(replica_set, "metadata", "annotations")
    annotations[DESIRED], annotations[MOST] = str(bounds.replicas), str(bounds.replicas + bounds.surge)


def note_revision(replica_set: JsonObject, deployment: JsonObject, revision: int) -> None:
    """Give a ReplicaSet, in place, its Deployment's annotations and the revision, unless it has a later one."""
    annotations = ensure(replica_set, "metadata", "annotations")
    for name, value in child(deployment, "metadata", "annotations").items():
        if name not in _NOT_COPIED:
            annotations[name] = value
    earlier = revision_of(replica_set)
    if earlier >= revision:
        return
    if earlier:
        past = str(annotations.get(HISTORY, ""))
        if str(earlier) not in past.split(","):
            annotations[HISTORY] = f"{past},{earlier}" if past else str(earlier)
    annotations[REVISION] = str(revision)

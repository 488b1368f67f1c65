"""Reading the API server's audit log: who asked for what, and what the answer was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from e2e.cluster.documents import JsonObject, number_at, text_at

_FORBIDDEN = 403
_BEYOND_NODE = "node didn't have enough allocatable resources"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One request to the API server.

    Args:
        at: When the request arrived.
        stage: ``ResponseComplete``; a watch shows ``ResponseStarted`` first; ``Panic`` if it failed inside.
        user: Name of the user, such as ``system:serviceaccount:kube-system:x``.
        verb: Kubernetes' verb, such as ``list`` or ``patch``.
        group: API group; empty for the core group.
        resource: Resource in the plural; empty for a request to a bare URL.
        subresource: Such as ``resize``; empty if none.
        namespace: Empty if cluster-wide.
        name: Empty if the request is about many objects.
        code: HTTP status of the answer.
        message: What the answer says of a failure.
        decision: ``allow`` or ``forbid``, as the authorizer says; empty if the user is not known.
        reason: Why the authorizer decided as it did.
        uri: Path and query.
        agent: User agent of the client.
    """

    at: datetime
    stage: str
    user: str
    verb: str
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str
    code: int
    message: str
    decision: str
    reason: str
    uri: str
    agent: str

    @property
    def is_beyond_node(self) -> bool:
        """Whether a resize was refused because the pod's node will never have so much."""
        return self.code == _FORBIDDEN and self.subresource == "resize" and _BEYOND_NODE in self.message


def read(file: Path, *, offset: int = 0) -> Iterator[AuditEntry]:
    """Read the entries that begin at or after a byte offset; a line still being written is left for the next time."""
    if not file.exists():
        return
    with file.open("rb") as log:
        log.seek(offset)
        for line in log:
            if line.endswith(b"\n"):
                yield _entry(json.loads(line))


def _entry(document: JsonObject) -> AuditEntry:
    return AuditEntry(
        at=datetime.fromisoformat(text_at(document, "requestReceivedTimestamp")),
        stage=text_at(document, "stage"),
        user=text_at(document, "user", "username"),
        verb=text_at(document, "verb"),
        group=text_at(document, "objectRef", "apiGroup"),
        resource=text_at(document, "objectRef", "resource"),
        subresource=text_at(document, "objectRef", "subresource"),
        namespace=text_at(document, "objectRef", "namespace"),
        name=text_at(document, "objectRef", "name"),
        code=number_at(document, "responseStatus", "code"),
        message=text_at(document, "responseStatus", "message"),
        decision=text_at(document, "annotations", "authorization.k8s.io/decision"),
        reason=text_at(document, "annotations", "authorization.k8s.io/reason"),
        uri=text_at(document, "requestURI"),
        agent=text_at(document, "userAgent"),
    )

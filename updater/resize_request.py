"""What the updater notes on a pod when a resize of it was accepted, so that a restart forgets nothing (beyond:B-20).

The annotation is written after the resize, with the time and the generation of the API server's answer. A process that
starts later, or another one that leads then, reads from it since when the pod's resize has been waited for, and from
where kills for lack of memory count; so it is written also where the resize is done by then.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from autoscaling.errors import MALFORMED
from autoscaling.pod import Pod, Termination
from updater.patches import PatchOperation, PatchVerb, pointer_token

REQUESTED_ANNOTATION: Final = "evenkeel.dev/resize-requested"

_EARLIEST: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST: Final = datetime(2261, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ResizeRequest:
    """A resize of ours that was accepted.

    Args:
        generation: ``metadata.generation`` that it made.
        at: When it was accepted, as the updater's clock had it.
        restarts: Restart count by container from which kills for lack of memory count (see ``restarts_to_note``).
    """

    generation: int
    at: datetime
    restarts: Mapping[str, int] = field(default_factory=dict)


def read_request(pod: Pod) -> ResizeRequest | None:
    """Return the last resize of ours, None where there was none or what stands there is not ours to read."""
    text = pod.annotation(REQUESTED_ANNOTATION)
    if text is None:
        return None
    try:
        read = json.loads(text)
        at = datetime.fromisoformat(read["at"])
        restarts = {str(name): int(count) for name, count in read.get("restarts", {}).items()}
        generation = int(read["generation"])
    except MALFORMED:
        return None
    # Whoever may write the pod may write this, and times are reckoned with.
    is_time = at.tzinfo is not None and _EARLIEST <= at <= _LATEST
    return ResizeRequest(generation, at, restarts) if is_time else None


def request_operation(request: ResizeRequest) -> PatchOperation:
    """Return the operation that notes a resize; the pod has a map of annotations by then."""
    value = {"generation": request.generation, "at": request.at.isoformat(), "restarts": dict(request.restarts)}
    text = json.dumps(value, separators=(",", ":"))
    return PatchOperation(PatchVerb.ADD, f"/metadata/annotations/{pointer_token(REQUESTED_ANNOTATION)}", text)


def restarts_to_note(pod: Pod) -> dict[str, int]:
    """Return the restart counts from which kills for lack of memory are to count after a resize that is sent now.

    A container that has been killed for lack of memory since the last resize keeps its count: a series of kills goes
    on however often the amounts move meanwhile.
    """
    before = read_request(pod)
    noted: dict[str, int] = {}
    for status in pod.statuses:
        known = before.restarts.get(status.name) if before is not None else None
        goes_on = known is not None and before is not None and was_killed_since(status.last_terminated, before.at)
        noted[status.name] = known if goes_on and known is not None else status.restart_count
    return noted


def was_killed_since(ended: Termination | None, since: datetime) -> bool:
    """Say whether a container last ended for lack of memory, after a time."""
    return (
        ended is not None
        and ended.reason == "OOMKilled"
        and ended.finished_at is not None
        and ended.finished_at > since
    )

"""What programs asked of a real API server, read from its audit log in the form of the embedded one's own record."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from evenkeel.simulator.api.fields import JsonObject, child, encode, number, text
from evenkeel.simulator.api.requestlog import RecordedCall


@dataclass(slots=True)
class AuditLog:
    """An audit log that grows.

    Args:
        file: Where it is; it need not exist yet.
    """

    file: Path
    _calls: list[RecordedCall] = field(default_factory=list)
    _offset: int = 0

    def calls(self, user: str) -> list[RecordedCall]:
        """Return what a user has asked so far, by the time at which it came."""
        self._read_on()
        return sorted((call for call in self._calls if call.user == user), key=lambda call: call.at)

    def _read_on(self) -> None:
        """Read what is new; a line that is still being written is left for the next time."""
        if not self.file.exists():
            return
        with self.file.open("rb") as log:
            log.seek(self._offset)
            for line in log:
                if not line.endswith(b"\n"):
                    break
                self._offset += len(line)
                self._calls.append(call_of(json.loads(line)))


def call_of(entry: JsonObject) -> RecordedCall:
    """Return an entry as a call.

    Its body is what the API server has understood, as JSON whatever it was sent as; in which form a patch came is not
    told, but a list of operations is one by itself.
    """
    address = urlsplit(text(entry, "requestURI"))
    about = child(entry, "objectRef")
    resource, part = text(about, "resource"), text(about, "subresource")
    body = entry.get("requestObject")
    return RecordedCall(
        verb=text(entry, "verb"),
        path=address.path,
        query=dict(parse_qsl(address.query)),
        user=text(entry, "user", "username"),
        content_type="",
        body=b"" if body is None else encode(body),
        status=number(entry, "responseStatus", "code"),
        at=datetime.fromisoformat(text(entry, "requestReceivedTimestamp")),
        resource=f"{resource}/{part}" if part else resource,
    )

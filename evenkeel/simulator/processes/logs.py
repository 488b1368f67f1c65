"""The log files of the processes, read line by line as they grow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from evenkeel.simulator.api.fields import as_object

_OWN_FIELDS = ("event", "level", "timestamp")


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of a log.

    Args:
        level: Such as ``info``; empty where the line is no structured one.
        event: What it is about; the whole line where it is no structured one.
        fields: Everything else that it says.
    """

    level: str
    event: str
    fields: Mapping[str, object]

    @classmethod
    def parse(cls, raw: bytes) -> LogLine:
        """Read a line; what is no JSON object is kept as it is."""
        try:
            found = as_object(msgspec.json.decode(raw))
        except (msgspec.DecodeError, UnicodeDecodeError):
            found = {}
        if "event" not in found:
            return cls("", raw.decode(errors="replace").rstrip(), {})
        fields = {key: value for key, value in found.items() if key not in _OWN_FIELDS}
        return cls(str(found.get("level", "")), str(found["event"]), fields)


class LogTail:
    """The part of a log file that was not read yet, from what is added to it after this.

    Args:
        path: The file; it need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read = path.stat().st_size if path.exists() else 0

    def new_lines(self) -> list[LogLine]:
        """Return the whole lines that were written since the last call."""
        try:
            # Asked after every second of simulated time, and most of the time there is nothing.
            if self.path.stat().st_size == self._read:
                return []
            with self.path.open("rb") as file:
                file.seek(self._read)
                content = file.read()
        except FileNotFoundError:
            return []
        whole = content[: content.rfind(b"\n") + 1]
        self._read += len(whole)
        return [LogLine.parse(raw) for raw in whole.splitlines()]

    def last_lines(self, count: int) -> str:
        """Return the end of the log, for error messages."""
        if not self.path.exists():
            return ""
        return "\n".join(self.path.read_text(errors="replace").splitlines()[-count:])

"""One operation of a JSON patch; admission only ever adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PatchOperation:
    """An ``add``, which creates a member or overwrites it.

    Args:
        path: JSON pointer to the member.
        value: Text, or an object of texts.
    """

    path: str
    value: str | Mapping[str, str]

    def as_json(self) -> dict[str, object]:
        """Return the operation as JSON has it."""
        value = self.value if isinstance(self.value, str) else dict(self.value)
        return {"op": "add", "path": self.path, "value": value}


def pointer_segment(name: str) -> str:
    """Escape a name for use in a JSON pointer (spec: admission:7.2)."""
    return name.replace("~", "~0").replace("/", "~1")

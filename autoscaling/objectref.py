"""Name of one object, as every decision, log line and error prints it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class ObjectRef:
    """Kind, namespace and name of one object; the namespace is empty for cluster-wide kinds."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """Print as ``Kind namespace/name``."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"

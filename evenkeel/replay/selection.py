"""Which series are wanted: by patterns of whole names, or of the parts of a name (spec: beyond B-36)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

PARTS: Final = 3
"""Parts of a name that tells namespace, workload and container, with slashes between them."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What is asked for; of each kind one pattern has to fit, and of a kind without patterns everything does.

    A name that is not made of namespace, workload and container fits no pattern of these.

    Args:
        only: Patterns of whole names, such as ``shop/*``.
        namespaces: Patterns of the first part.
        workloads: Patterns of the second part; recordings from Prometheus have the pod's name there.
        containers: Patterns of the third part.
    """

    only: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()

    def takes(self, name: str) -> bool:
        """Say whether a series is wanted."""
        if not _fits(name, self.only):
            return False
        of_parts = (self.namespaces, self.workloads, self.containers)
        if not any(of_parts):
            return True
        parts = name.split("/")
        return len(parts) == PARTS and all(map(_fits, parts, of_parts))

    def texts(self) -> Iterator[str]:
        """Yield each option with its patterns, as they were given."""
        for option, patterns in (
            ("only", self.only),
            ("namespace", self.namespaces),
            ("workload", self.workloads),
            ("container", self.containers),
        ):
            if patterns:
                yield f"--{option} {' '.join(patterns)}"


EVERYTHING: Final = Selection()


def _fits(text: str, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(fnmatchcase(text, pattern) for pattern in patterns)

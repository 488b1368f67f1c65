"""Telling, once, that the LimitRanges of a namespace contradict each other."""

from __future__ import annotations

import structlog

from autoscaling.limitrange import NamespaceLimits, contradiction

log = structlog.get_logger()


class ContradictionReport:
    """Logs each contradiction when it comes up, and again only after it was gone or has changed."""

    def __init__(self) -> None:
        self._told: dict[str, str] = {}

    def look(self, namespace: str, limits: NamespaceLimits) -> None:
        """Look at the merged LimitRanges of a namespace."""
        problem = contradiction(limits)
        if not problem:
            self._told.pop(namespace, None)
            return
        if self._told.get(namespace) == problem:
            return
        self._told[namespace] = problem
        log.warning(
            "LimitRanges contradict each other",
            namespace=namespace,
            problem=problem,
            remedy="no pod fits them; correct one of the namespace's LimitRanges",
        )

"""Members of a metric family by their labels, each looked up in the library only once."""

from __future__ import annotations

from typing import TypeVar

from prometheus_client.metrics import MetricWrapperBase

Family = TypeVar("Family", bound=MetricWrapperBase)


class Labelled(dict[tuple[str, ...], Family]):
    """A family's members by their values of its labels; one comes into being when it is first asked for.

    To look up a member takes the library longer than to count, as it checks the labels and takes a lock.

    Args:
        family: Where they are declared.
    """

    def __init__(self, family: Family) -> None:
        super().__init__()
        self._family = family

    def __missing__(self, labels: tuple[str, ...]) -> Family:
        """Take a member from the family, and keep it."""
        member = self[labels] = self._family.labels(*labels)
        return member

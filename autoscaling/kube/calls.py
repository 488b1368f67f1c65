"""What a call and its answer consist of: patch types, preconditions, pages, limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

import msgspec

from autoscaling.kube.retry import Patience

Query = Mapping[str, str]
NO_QUERY: Query = MappingProxyType({})
PAGE_SIZE = 500


class PatchType(Enum):
    """How a patch body is to be read; the value is its media type."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC_MERGE = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class Preconditions:
    """What must hold for a deletion to happen; empty fields are not checked."""

    uid: str = ""
    resource_version: str = ""

    @property
    def fields(self) -> dict[str, str]:
        """As the API spells it."""
        both = {"uid": self.uid, "resourceVersion": self.resource_version}
        return {name: text for name, text in both.items() if text}


NO_PRECONDITIONS = Preconditions()


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """How one process behaves towards the API server.

    Args:
        user_agent: Names process and version in the server's audit log.
        qps: Calls a second, on average; zero or less means no limit.
        burst: Calls that may go at once after a pause.
        patience: For calls that bring none of their own.

    Spec: updater M-5.
    """

    user_agent: str
    qps: float = 50.0
    burst: float = 100.0
    patience: Patience = field(default_factory=Patience)


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One try of one call, for metrics; code 0 means that no answer came."""

    verb: str
    path: str
    code: int
    seconds: float


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int = 0


class Listing(msgspec.Struct):
    """A list with its objects left as bytes."""

    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    items: list[msgspec.Raw] | None = None


class ServerVersion(msgspec.Struct, rename="camel", frozen=True):
    """What the API server says it is."""

    major: str = ""
    minor: str = ""
    git_version: str = ""


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a list.

    Args:
        number: 0 for the first one; when it is 0 again, the server lost the list and what came before is void.
        items: The bytes of each object; they share the page's memory, so decode them instead of keeping them.
        resource_version: Of the list, the same on all its pages.
        remaining: Objects that further pages will bring, as far as the server says.
    """

    number: int
    items: list[msgspec.Raw]
    resource_version: str
    remaining: int


@dataclass(frozen=True, slots=True)
class Call:
    """One request, before identity and address are added."""

    verb: str
    path: str
    query: Query = field(default_factory=dict)
    body: bytes | None = None
    media_type: str = "application/json"

    @property
    def title(self) -> str:
        """Verb and path, for messages."""
        return f"{self.verb} {self.path}"

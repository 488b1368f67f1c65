"""What the server serves: one entry per group, version and resource."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.api.jsonpath import JsonPath
from evenkeel.simulator.api.schemas import StructuralSchema
from evenkeel.simulator.api.status import Subject

READ_VERBS = ("get", "list", "watch")
ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True, order=True)
class GroupResource:
    """Where objects are stored: the same for every version of a kind."""

    group: str
    plural: str

    def __str__(self) -> str:
        """Print as ``plural.group``."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


@dataclass(frozen=True, slots=True)
class View:
    """How one version shows an object that is stored in the form of another."""

    from_stored: Callable[[JsonObject], JsonObject]
    to_stored: Callable[[JsonObject], JsonObject]


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """Where a kind keeps what its ``scale`` subresource shows; an empty selector path means it has none."""

    spec: tuple[str, ...] = ("spec", "replicas")
    status: tuple[str, ...] = ("status", "replicas")
    selector: tuple[str, ...] = ("spec", "selector")


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """One column that a custom kind's definition names for its tables.

    Args:
        name: Heading.
        type: Type of its cells.
        path: Finds its value in an object.
        format: What its cells are, such as ``date-time``.
        priority: 0 for always, more for wide tables only.
    """

    name: str
    type: str
    path: JsonPath
    format: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind in one version.

    Args:
        group: API group, empty for the core group.
        version: Such as ``v1``.
        kind: Such as ``Pod``.
        plural: Such as ``pods``.
        namespaced: Whether its objects live in namespaces.
        short_names: Abbreviations for kubectl.
        subresources: Names such as ``status``; ``status`` also splits writes of spec and status.
        generation: Whether ``metadata.generation`` counts changes of the spec.
        verbs: Verbs of the main resource.
        storage: Where its objects are stored, when that is not its own group and resource.
        view: How stored objects are shown, when not as they are.
        schema: Schema of a custom kind; None for the built-in ones.
        singular: Singular of the plural; the kind in lower case when empty.
        list_kind: Kind of its lists; the kind with ``List`` when empty.
        categories: Names under which kubectl finds several kinds, such as ``all``.
        scale_paths: Where the ``scale`` subresource finds its values.
        printer_columns: Columns of a custom kind's tables.
    """

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    generation: bool = False
    verbs: tuple[str, ...] = ALL_VERBS
    storage: GroupResource | None = None
    view: View | None = None
    schema: StructuralSchema | None = None
    singular: str = ""
    list_kind: str = ""
    categories: tuple[str, ...] = ()
    scale_paths: ScalePaths = ScalePaths()
    printer_columns: tuple[PrinterColumn, ...] = ()

    @property
    def api_version(self) -> str:
        """Group and version as objects print them."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> GroupResource:
        """Where its objects are stored."""
        return self.storage or _own_resource(self.group, self.plural)

    @property
    def list_name(self) -> str:
        """Kind of its lists."""
        return self.list_kind or f"{self.kind}List"

    @property
    def is_custom(self) -> bool:
        """Whether a CustomResourceDefinition brought it."""
        return self.schema is not None

    @property
    def splits_status(self) -> bool:
        """Whether status is written through its own subresource only."""
        return "status" in self.subresources

    def subject(self, name: str = "") -> Subject:
        """Return what a refusal about one of its objects names: the resource."""
        return Subject(self.plural, self.group, name)

    def kind_subject(self, name: str = "") -> Subject:
        """Return what a refusal about the content of one of its objects names: the kind."""
        return Subject(self.kind, self.group, name)


@cache
def _own_resource(group: str, plural: str) -> GroupResource:
    """Return where a kind is stored that names no other place: the same object whenever it is asked for."""
    return GroupResource(group, plural)


class KindRegistry:
    """Every kind that is served, found by path or by the kind an object names."""

    def __init__(self, kinds: Iterable[Kind] = ()) -> None:
        self._by_path: dict[tuple[str, str, str], Kind] = {}
        self._by_kind: dict[tuple[str, str], Kind] = {}
        for kind in kinds:
            self.add(kind)

    def add(self, kind: Kind) -> None:
        """Serve a kind, in place of an earlier one at the same path."""
        self._by_path[kind.group, kind.version, kind.plural] = kind
        self._by_kind[kind.api_version, kind.kind] = kind

    def remove(self, kind: Kind) -> None:
        """Serve a kind no longer."""
        self._by_path.pop((kind.group, kind.version, kind.plural), None)
        self._by_kind.pop((kind.api_version, kind.kind), None)

    def at(self, group: str, version: str, plural: str) -> Kind | None:
        """Return the kind served at a path."""
        return self._by_path.get((group, version, plural))

    def named(self, api_version: str, kind: str) -> Kind | None:
        """Return the kind that an object names."""
        return self._by_kind.get((api_version, kind))

    def all(self) -> list[Kind]:
        """Return every kind, in the order they were added."""
        return list(self._by_path.values())

    def group_versions(self) -> dict[str, list[str]]:
        """Return the versions of every group, in the order they were added."""
        found: dict[str, list[str]] = {}
        for kind in self._by_path.values():
            versions = found.setdefault(kind.group, [])
            if kind.version not in versions:
                versions.append(kind.version)
        return found

"""CustomResourceDefinitions: storing one makes its kind served, removing it ends that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from evenkeel.simulator.api.builtin import DEFINITIONS
from evenkeel.simulator.api.fields import JsonObject, child, copy_of, ensure, number, rows, text, texts
from evenkeel.simulator.api.jsonpath import JsonPathError, parse_path
from evenkeel.simulator.api.kinds import GroupResource, Kind, PrinterColumn, ScalePaths
from evenkeel.simulator.api.objects import ObjectStore
from evenkeel.simulator.api.schema_faults import schema_faults
from evenkeel.simulator.api.schemas import StructuralSchema
from evenkeel.simulator.api.status import Cause, CauseType
from evenkeel.simulator.api.store import Change, ChangeType, Stored
from evenkeel.simulator.api.strategies import Strategy
from evenkeel.simulator.clock import rfc3339


class DefinitionStrategy(Strategy):
    """What a CustomResourceDefinition must say."""

    def validate_create(self, body: JsonObject) -> list[Cause]:
        """Check name, names, versions and schemas."""
        spec = child(body, "spec")
        causes = [
            Cause(CauseType.REQUIRED, f"spec.{'.'.join(path)}", "Required value")
            for path in (("group",), ("scope",), ("names", "plural"), ("names", "kind"))
            if not text(spec, *path)
        ]
        expected = f"{text(spec, 'names', 'plural')}.{text(spec, 'group')}"
        if text(body, "metadata", "name") != expected:
            message = f'Invalid value: "{text(body, "metadata", "name")}": must be spec.names.plural+"."+spec.group'
            causes.append(Cause(CauseType.INVALID, "metadata.name", message))
        versions = rows(spec, "versions")
        if sum(1 for version in versions if version.get("storage") is True) != 1:
            message = "Invalid value: exactly one version must be the stored one"
            causes.append(Cause(CauseType.INVALID, "spec.versions", message))
        causes += [
            Cause(CauseType.REQUIRED, f"spec.versions[{index}].schema.openAPIV3Schema", "Required value")
            for index, version in enumerate(versions)
            if not child(version, "schema", "openAPIV3Schema")
        ]
        for index, version in enumerate(versions):
            causes += _column_causes(index, version)
            where = "spec.validation" if len(versions) == 1 else f"spec.versions[{index}].schema"
            schema = child(version, "schema", "openAPIV3Schema")
            causes += schema_faults(schema, f"{where}.openAPIV3Schema") if schema else ()
        return causes

    def validate_update(self, body: JsonObject, old: JsonObject, subresource: str) -> list[Cause]:
        """Check as at creation, except on status writes."""
        del old
        return [] if subresource == "status" else self.validate_create(body)


def _column_causes(index: int, version: JsonObject) -> Iterator[Cause]:
    """Yield what is wrong with the printer columns of one version."""
    for position, column in enumerate(rows(version, "additionalPrinterColumns")):
        try:
            parse_path(text(column, "jsonPath"))
        except JsonPathError as error:
            field = f"spec.versions[{index}].additionalPrinterColumns[{position}].jsonPath"
            yield Cause(CauseType.INVALID, field, f"Invalid value: {error}")


@dataclass(slots=True)
class Definitions:
    """Keeps the registry in step with the stored definitions.

    Args:
        objects: Where definitions are stored and whose registry is kept.
    """

    objects: ObjectStore
    _served: dict[str, list[Kind]] = field(default_factory=dict)

    def start(self) -> None:
        """Follow the stored definitions from now on."""
        self.objects.versions.observe(DEFINITIONS, self._follow)

    def _follow(self, change: Change) -> None:
        """Serve what a written definition says, or what a removed one said no longer."""
        name = change.after.key[1]
        if change.type is ChangeType.DELETED:
            for kind in self._served.pop(name, []):
                self.objects.registry.remove(kind)
                for stored in self.objects.versions.snapshot(kind.resource):
                    self.objects.versions.remove(kind.resource, stored.key)
            return
        kinds = kinds_of(change.after.body)
        for kind in self._served.get(name, []):
            self.objects.registry.remove(kind)
        for kind in kinds:
            self.objects.registry.add(kind)
        self._served[name] = kinds
        self._establish(change.after)

    def _establish(self, stored: Stored) -> None:
        """Say in a definition's status that its kind is served."""
        names = child(stored.body, "spec", "names")
        if child(stored.body, "status", "acceptedNames") == names:
            return
        kind = self.objects.registry.at(DEFINITIONS.group, "v1", DEFINITIONS.plural)
        assert kind is not None
        body = copy_of(stored.body)
        now = rfc3339(self.objects.now())
        ensure(body, "status").update(
            conditions=[
                {"type": "NamesAccepted", "status": "True", "reason": "NoConflicts", "lastTransitionTime": now},
                {"type": "Established", "status": "True", "reason": "InitialNamesAccepted", "lastTransitionTime": now},
            ],
            acceptedNames=copy_of(names),
            storedVersions=[text(v, "name") for v in rows(stored.body, "spec", "versions") if v.get("storage") is True],
        )
        self.objects.replace(kind, body, stored)


def kinds_of(body: JsonObject) -> list[Kind]:
    """Return the kinds that a definition serves, one per served version."""
    spec = child(body, "spec")
    return [_kind(spec, version) for version in rows(spec, "versions") if version.get("served") is True]


def _kind(spec: JsonObject, version: JsonObject) -> Kind:
    """Return the kind of one version of a definition."""
    names, parts = child(spec, "names"), child(version, "subresources")
    group, plural = text(spec, "group"), text(names, "plural")
    return Kind(
        group=group,
        version=text(version, "name"),
        kind=text(names, "kind"),
        plural=plural,
        namespaced=text(spec, "scope") != "Cluster",
        short_names=tuple(texts(names, "shortNames")),
        subresources=tuple(name for name in ("status", "scale") if name in parts),
        generation=True,
        storage=GroupResource(group, plural),
        schema=StructuralSchema(child(version, "schema", "openAPIV3Schema")),
        singular=text(names, "singular"),
        list_kind=text(names, "listKind"),
        categories=tuple(texts(names, "categories")),
        scale_paths=_scale_paths(child(parts, "scale")),
        printer_columns=tuple(_printer_columns(version)),
    )


def _printer_columns(version: JsonObject) -> Iterator[PrinterColumn]:
    """Yield the columns that one version of a definition names; those whose path cannot be read are refused before."""
    for column in rows(version, "additionalPrinterColumns"):
        yield PrinterColumn(
            name=text(column, "name"),
            type=text(column, "type"),
            path=parse_path(text(column, "jsonPath")),
            format=text(column, "format"),
            priority=number(column, "priority"),
        )


def _scale_paths(scale: JsonObject) -> ScalePaths:
    """Return where a definition says that the scale subresource finds its values."""

    def path(name: str) -> tuple[str, ...]:
        return tuple(filter(None, text(scale, name).split(".")))

    usual = ScalePaths()
    return ScalePaths(
        path("specReplicasPath") or usual.spec, path("statusReplicasPath") or usual.status, path("labelSelectorPath")
    )

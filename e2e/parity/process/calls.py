"""What a program asked the API server to do, in a form in which two programs can be compared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from evenkeel.simulator.api.fields import JsonObject, as_object, child, decode, text
from evenkeel.simulator.api.protobuf import PROTOBUF, read_protobuf
from evenkeel.simulator.api.requestlog import RecordedCall

WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})


@dataclass(frozen=True, slots=True)
class Step:
    """One write.

    Args:
        what: Verb and resource, such as ``patch pods/resize``.
        about: Namespace and name of what it is about.
        body: What was sent, without what has no meaning.
        content_type: How a patch is to be read; empty for whole objects, whose form does not matter.
    """

    what: str
    about: tuple[str, str]
    body: object
    content_type: str = ""

    def __str__(self) -> str:
        """Print it in one line."""
        return f"{self.what} {self.about[0]}/{self.about[1]}: {self.body}"


def step_of(call: RecordedCall) -> Step:
    """Return a write as a step.

    Raises:
        StatusError: Its body is of a protobuf kind that is not known.
    """
    body = body_of(call)
    where = _namespace_and_name(call, body)
    if call.verb == "patch":
        patch = ordered(body) if isinstance(body, list) else body
        return Step(f"patch {call.resource}", where, patch, call.content_type)
    return Step(f"{call.verb} {call.resource}", where, _without_empty(body))


def body_of(call: RecordedCall) -> object:
    """Return the body of a call, whatever form it was sent in."""
    if call.content_type == PROTOBUF:
        return read_protobuf(call.body)
    return decode(call.body) if call.body else None


def ordered(patch: Iterable[object]) -> list[JsonObject]:
    """Return a JSON patch whose operations on members of one object follow each other by name.

    Both sides go through maps there, and the order in which a map is gone through means nothing (updater X-3).
    """
    result: list[JsonObject] = []
    operations = [as_object(one) for one in patch]
    for _, run in groupby(operations, key=_parent):
        result += sorted(run, key=lambda one: text(one, "path"))
    return result


def _parent(operation: JsonObject) -> tuple[str, str]:
    """Return the kind of an operation and the object that it is about a member of; each list element is its own."""
    path = text(operation, "path")
    parent, _, last = path.rpartition("/")
    return text(operation, "op"), path if last.isdecimal() or last in {"requests", "limits", "resources"} else parent


def _namespace_and_name(call: RecordedCall, body: object) -> tuple[str, str]:
    """Return what a call is about: from its path, or from the object where the path is that of a collection."""
    words = call.path.strip("/").split("/")
    start = words.index("namespaces") if "namespaces" in words else -1
    namespace = words[start + 1] if start >= 0 else ""
    names = words[start + 3 :] if start >= 0 else []
    return namespace, names[0] if names else text(as_object(body), "metadata", "name")


def _without_empty(value: object) -> object:
    """Return a document without members that say nothing, as the two sides' encoders leave out different ones."""
    if isinstance(value, dict):
        kept = {key: _without_empty(one) for key, one in value.items()}
        return {key: one for key, one in sorted(kept.items()) if one not in (None, {}, [], "")}
    return [_without_empty(one) for one in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class Told:
    """An event, as far as its meaning goes; its words are each side's own."""

    reason: str
    kind: str
    object: tuple[str, str, str]
    api_version: str
    uid: str


def told_by(event: JsonObject) -> Told:
    """Return what an Event object says."""
    involved = child(event, "involvedObject")
    about = (text(involved, "kind"), text(involved, "namespace"), text(involved, "name"))
    return Told(text(event, "reason"), text(event, "type"), about, text(involved, "apiVersion"), text(involved, "uid"))

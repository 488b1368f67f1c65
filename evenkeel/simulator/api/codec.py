"""Content negotiation: what a body may be written in, and what answers are written in.

Everything that reads or writes bytes of the wire goes through here, so that another encoding is added in one place.
"""

from __future__ import annotations

import re
from enum import Enum

import msgspec
import yaml

from evenkeel.simulator.api.fields import JsonObject, as_object, decode
from evenkeel.simulator.api.protobuf import PROTOBUF, read_protobuf
from evenkeel.simulator.api.status import StatusError, bad_request, unsupported_media_type

JSON = "application/json"
YAML = "application/yaml"
APPLY_PATCH = "application/apply-patch+yaml"
_READABLE = (JSON, YAML, PROTOBUF)
_ANSWERABLE = ("application/json", "application/*", "*/*")


class PatchType(Enum):
    """The patch formats that can be carried out, by media type."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"


class Form(Enum):
    """What an answer shows of objects."""

    OBJECT = "whole objects"
    TABLE = "tables as kubectl prints them"
    METADATA = "the metadata of one object, or of the objects of a watch"
    METADATA_LIST = "a list of objects' metadata"


_FORMS = {
    "": Form.OBJECT,
    "Table": Form.TABLE,
    "PartialObjectMetadata": Form.METADATA,
    "PartialObjectMetadataList": Form.METADATA_LIST,
}
_META = "meta.k8s.io"
_PARAMETER = re.compile(r"(\w+)=([^;\s]+)")


class _JsonLikeLoader(yaml.SafeLoader):
    """YAML with JSON's types only: what looks like a time stays text."""


_JsonLikeLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def media_type(content_type: str) -> str:
    """Return a content type without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def read_object(content_type: str, raw: bytes) -> JsonObject:
    """Read the object in a request's body.

    Raises:
        StatusError: The content type is not read here (415), or the body is no object in it (400).
    """
    kind = media_type(content_type) or JSON
    if kind not in _READABLE:
        raise unsupported_media_type(content_type, _READABLE)
    if kind == PROTOBUF:
        return read_protobuf(raw)
    value = _read_yaml(raw) if kind == YAML else _read_json(raw)
    if not isinstance(value, dict):
        raise bad_request("the body must be one object")
    return as_object(value)


def read_patch(content_type: str, raw: bytes, *, custom: bool) -> tuple[PatchType, object]:
    """Read a patch.

    Args:
        content_type: As sent.
        raw: The body.
        custom: Whether the kind is custom: those know no merge keys, hence no strategic merge.

    Raises:
        StatusError: The patch format is not offered (415), or the body cannot be read (400).
    """
    offered = [patch for patch in PatchType if not (custom and patch is PatchType.STRATEGIC)]
    found = next((patch for patch in offered if patch.value == media_type(content_type)), None)
    if found is None:
        raise unsupported_media_type(content_type, (*(patch.value for patch in offered), APPLY_PATCH))
    value = _read_json(raw)
    if not isinstance(value, list if found is PatchType.JSON else dict):
        shape = "list of operations" if found is PatchType.JSON else "object"
        raise bad_request(f"a patch of type {found.value} must be one {shape}")
    return found, value


def is_apply(content_type: str) -> bool:
    """Say whether a body is the configuration of a server-side apply."""
    return media_type(content_type) == APPLY_PATCH


def read_apply(raw: bytes) -> JsonObject:
    """Read the configuration of a server-side apply, in YAML or JSON.

    Raises:
        StatusError: It cannot be read, or does not say what it is (400).
    """
    value = as_object(_read_json(raw) if raw.lstrip().startswith(b"{") else _read_yaml(raw))
    for field in ("apiVersion", "kind"):
        if not value.get(field):
            raise bad_request(f"an applied configuration must name its {field}")
    return value


def answer_form(accept: str) -> Form:
    """Return the form in which a client takes its answer: the first one it names that is offered.

    Raises:
        StatusError: It takes something else than JSON only (406).
    """
    for part in filter(str.strip, accept.split(",")):
        kind, _, rest = part.strip().partition(";")
        parameters = dict(_PARAMETER.findall(rest))
        form = _FORMS.get(parameters.get("as", ""))
        if kind.strip().lower() in _ANSWERABLE and form is not None and parameters.get("g", _META) == _META:
            return form
    if accept.strip():
        raise StatusError(406, "NotAcceptable", f"answers are written as {JSON} only, not as {accept!r}")
    return Form.OBJECT


def _read_json(raw: bytes) -> object:
    """Read JSON text."""
    try:
        return decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise bad_request(f"the body is no JSON: {error}") from None


def _read_yaml(raw: bytes) -> object:
    """Read YAML text of one document."""
    try:
        return yaml.load(raw, Loader=_JsonLikeLoader)  # noqa: S506 - a SafeLoader
    except yaml.YAMLError as error:
        raise bad_request(f"the body is no YAML: {error}") from None

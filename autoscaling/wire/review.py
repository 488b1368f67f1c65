"""AdmissionReview as JSON: the request as it comes in, the response as it goes out.

Every pod that is created passes through here, so this is msgspec and not pydantic.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence

import msgspec

_API_VERSION = "admission.k8s.io/v1"
_KIND = "AdmissionReview"
_ABSENT = msgspec.Raw(b"")
_NOTHING = (b"", b"null")


class _Wire(msgspec.Struct, frozen=True, rename="camel"):
    """Base of all structures: camelCase names, unknown fields ignored."""


class GroupVersionKind(_Wire, frozen=True):
    """A kind, as a request names it."""

    group: str = ""
    version: str = ""
    kind: str = ""


class GroupVersionResource(_Wire, frozen=True):
    """A resource, as the rules of a webhook name it."""

    group: str = ""
    version: str = ""
    resource: str = ""


class AdmissionRequest(_Wire, frozen=True):
    """The parts of ``request`` that are read; the objects stay undecoded and are empty where absent."""

    uid: str = ""
    kind: GroupVersionKind = GroupVersionKind()
    resource: GroupVersionResource = GroupVersionResource()
    request_kind: GroupVersionKind | None = None
    name: str = ""
    namespace: str = ""
    operation: str = ""
    dry_run: bool | None = None
    object: msgspec.Raw = _ABSENT
    old_object: msgspec.Raw = _ABSENT


class RequestReview(_Wire, frozen=True):
    """What comes to the webhook, with what it says that it is."""

    kind: str = ""
    api_version: str = ""
    request: AdmissionRequest | None = None

    @property
    def is_of_known_kind(self) -> bool:
        """Whether it says that it is what it should be."""
        return self.kind == _KIND and self.api_version == _API_VERSION


class StatusCause(_Wire, frozen=True, omit_defaults=True):
    """One error of a refused object."""

    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(_Wire, frozen=True, omit_defaults=True):
    """Whose errors they are."""

    name: str = ""
    group: str = ""
    kind: str = ""
    causes: tuple[StatusCause, ...] = ()


class Status(_Wire, frozen=True, omit_defaults=True):
    """Why an object is refused, as the client gets it."""

    status: str = ""
    message: str = ""
    reason: str = ""
    details: StatusDetails | None = None
    code: int = 0


class AdmissionResponse(_Wire, frozen=True, omit_defaults=True):
    """``response``; ``patch`` is base64 text of a JSON list."""

    uid: str
    allowed: bool
    status: Status | None = None
    patch: str = ""
    patch_type: str = ""
    warnings: tuple[str, ...] = ()


class _ResponseReview(_Wire, frozen=True):
    kind: str
    api_version: str
    response: AdmissionResponse


_REVIEWS = msgspec.json.Decoder(RequestReview)
_TREES = msgspec.json.Decoder()
_ENCODER = msgspec.json.Encoder()


class _ContainerPresence(_Wire, frozen=True):
    resources: msgspec.Raw = _ABSENT


class _SpecPresence(_Wire, frozen=True):
    containers: list[_ContainerPresence] | None = None
    init_containers: list[_ContainerPresence] | None = None


class _PodPresence(_Wire, frozen=True):
    spec: _SpecPresence = _SpecPresence()


_PRESENCES = msgspec.json.Decoder(_PodPresence)


def decode_review(body: bytes) -> RequestReview:
    """Read an AdmissionReview.

    Raises:
        unreadable.UNREADABLE_JSON: The body is no JSON, or a field is not of its type.
    """
    return _REVIEWS.decode(body)


def decode_tree(raw: bytes) -> object:
    """Read any JSON into plain dictionaries, lists and scalars.

    Raises:
        unreadable.UNREADABLE_JSON: It is no JSON.
    """
    return _TREES.decode(raw)


def containers_with_resources(raw: bytes) -> tuple[tuple[bool, ...], tuple[bool, ...]]:
    """Say for each container of a pod's JSON, and for each init container, whether it has a ``resources`` object.

    Raises:
        ValueError: It is no JSON, or a field is not of its type.
    """
    spec = _PRESENCES.decode(raw).spec
    return _presences(spec.containers), _presences(spec.init_containers)


def _presences(containers: Sequence[_ContainerPresence] | None) -> tuple[bool, ...]:
    """Say for each container whether it has a ``resources`` object."""
    return tuple(bytes(container.resources) not in _NOTHING for container in containers or ())


def patch_text(operations: Sequence[Mapping[str, object]]) -> str:
    """Return a JSON patch as ``patch`` carries it."""
    return base64.b64encode(_ENCODER.encode(operations)).decode()


def encode_review(response: AdmissionResponse) -> bytes:
    """Return the AdmissionReview that carries a response."""
    return _ENCODER.encode(_ResponseReview(_KIND, _API_VERSION, response))

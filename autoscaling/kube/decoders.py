"""From a function that decodes one object to one that also says which object it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import msgspec

from autoscaling.kube.table import Key
from autoscaling.wire.unreadable import UNREADABLE_JSON

T = TypeVar("T")
Decoder = Callable[[bytes], tuple[Key, str, T]]
"""Bytes of one object to its key, its resourceVersion and what we want to know of it."""


class Versioned(Protocol):
    """A snapshot that knows which version of which object it was taken of."""

    @property
    def namespace(self) -> str:
        """Empty for cluster-wide kinds."""
        ...

    @property
    def name(self) -> str:
        """Of the object."""
        ...

    @property
    def resource_version(self) -> str:
        """Of the object when it was read."""
        ...


V = TypeVar("V", bound=Versioned)


class _Meta(msgspec.Struct, rename="camel", gc=False):
    namespace: str = ""
    name: str = ""
    resource_version: str = ""
    uid: str = ""


class _Object(msgspec.Struct, gc=False):
    metadata: _Meta = msgspec.field(default_factory=_Meta)


_OBJECT = msgspec.json.Decoder(_Object)


def identity_of(body: bytes) -> tuple[Key, str]:
    """Key and resourceVersion of one object, without looking at the rest of it.

    Raises:
        msgspec.MsgspecError: It has no readable metadata.
    """
    meta = _OBJECT.decode(body).metadata
    return (meta.namespace, meta.name), meta.resource_version


def uid_of(body: bytes) -> str:
    """UID of one object; empty where that cannot be read."""
    try:
        return _OBJECT.decode(body).metadata.uid
    except UNREADABLE_JSON:
        return ""


def identified(decode: Callable[[bytes], T]) -> Decoder[T]:
    """Read the key beside a value that does not know its version; costs a second, short look at the bytes."""

    def decode_with_key(body: bytes) -> tuple[Key, str, T]:
        key, resource_version = identity_of(body)
        return key, resource_version, decode(body)

    return decode_with_key


def versioned(decode: Callable[[bytes], V]) -> Decoder[V]:
    """Take the key from a value that knows it, such as a pod or a VPA."""

    def decode_with_key(body: bytes) -> tuple[Key, str, V]:
        value = decode(body)
        return (value.namespace, value.name), value.resource_version, value

    return decode_with_key

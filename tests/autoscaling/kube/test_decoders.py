"""Decoders that say which object they read."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import pytest

from autoscaling.kube.decoders import identified, identity_of, uid_of, versioned

POD = b'{"metadata":{"namespace":"shop","name":"web","resourceVersion":"7","x":[1]},"spec":{"a":{"b":[1,2]}}}'


@dataclass(frozen=True)
class Named:
    namespace: str = "shop"
    name: str = "web"
    resource_version: str = "7"


@pytest.mark.parametrize(
    ("body", "identity"),
    [
        (POD, (("shop", "web"), "7")),
        (b'{"metadata":{"name":"n1"}}', (("", "n1"), "")),
        (b"{}", (("", ""), "")),
    ],
)
def test_the_identity_of_an_object(body: bytes, identity: tuple[tuple[str, str], str]) -> None:
    assert identity_of(body) == identity


@pytest.mark.parametrize("body", [b"[]", b'{"metadata":{"name":3}}', b"{"])
def test_an_object_without_an_identity(body: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        identity_of(body)


@pytest.mark.parametrize(
    ("body", "uid"),
    [(b'{"metadata":{"uid":"u1","name":"n1"},"spec":3}', "u1"), (POD, ""), (b"{", ""), (b'{"metadata":{"uid":3}}', "")],
)
def test_the_uid_of_an_object(body: bytes, uid: str) -> None:
    """Spec: beyond:B-32."""
    assert uid_of(body) == uid


def test_a_value_that_does_not_know_its_version() -> None:
    assert identified(len)(POD) == (("shop", "web"), "7", len(POD))


def test_a_value_that_knows_its_version() -> None:
    assert versioned(lambda _: Named())(POD) == (("shop", "web"), "7", Named())

"""Names of checkpoint objects that no two containers share.

Upstream joins the names of VPA and container by a hyphen, so that container ``b-c`` of VPA ``a`` and container ``c`` of
VPA ``a-b`` write over each other's history, and what is longer than an object's name may be is never stored. Such a
name is shortened where it has to be and gets a digest of both names at its end; all others are upstream's.

Spec: recommender 13 (10).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from recommender.checkpoint import ContainerCheckpoint
from recommender.cluster_model import ClusterModel, NamespacedName

MAX_LENGTH: Final = 253
"""Characters that the API server allows the name of an object."""

_DIGITS: Final = 10


def with_own_name(
    checkpoint: ContainerCheckpoint, stored: Mapping[NamespacedName, ContainerCheckpoint], model: ClusterModel
) -> ContainerCheckpoint:
    """Return a checkpoint under a name that no other container has.

    Args:
        checkpoint: Called as upstream calls it.
        stored: Checkpoints as last seen, by namespace and name of the object.
        model: Tells which other VPAs and containers there are.
    """
    there = stored.get((checkpoint.namespace, checkpoint.name))
    if there is not None and _is_of_one(there, checkpoint):
        return checkpoint
    marked = replace(checkpoint, object_name=marked_name(checkpoint.vpa_name, checkpoint.container_name))
    if (
        there is not None
        or len(checkpoint.name) > MAX_LENGTH
        or (marked.namespace, marked.name) in stored
        or _is_contested(checkpoint, model)
    ):
        return marked
    return checkpoint


def marked_name(vpa: str, container: str) -> str:
    """Return a name that tells the two names apart, of at most ``MAX_LENGTH`` characters."""
    digest = hashlib.sha256(f"{vpa}/{container}".encode()).hexdigest()[:_DIGITS]
    # No part of an object's name may begin with a hyphen, which one behind a dot would.
    return f"{f'{vpa}-{container}'[: MAX_LENGTH - _DIGITS - 1].rstrip('-.')}-{digest}"


def _is_of_one(one: ContainerCheckpoint, other: ContainerCheckpoint) -> bool:
    return (one.vpa_name, one.container_name) == (other.vpa_name, other.container_name)


def _is_contested(checkpoint: ContainerCheckpoint, model: ClusterModel) -> bool:
    """Say whether a container of another VPA would have the same name."""
    for vpa, container in _readings(checkpoint.name):
        other = model.vpas.get((checkpoint.namespace, vpa)) if vpa != checkpoint.vpa_name else None
        if other is not None and (container in other.linked or container in other.initial):
            return True
    return False


def _readings(name: str) -> Iterator[tuple[str, str]]:
    """Yield the names of VPA and container that a name may be made of."""
    place = name.find("-")
    while place >= 0:
        yield name[:place], name[place + 1 :]
        place = name.find("-", place + 1)

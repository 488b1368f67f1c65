"""What pods say of themselves: which behaviour their containers have, and which replica they are."""

from __future__ import annotations

import zlib

from evenkeel.simulator.api.fields import JsonObject, text, value_at

USAGE_KEY = "simulator.evenkeel.dev/usage"
"""Annotation or label with the name of a behaviour; an annotation may also say ``app=web,proxy=idle``."""

REPLICA_KEY = "simulator.evenkeel.dev/replica"
"""Annotation or label with the number of a replica."""

_POD_INDEX = "apps.kubernetes.io/pod-index"


def chosen_name(pod: JsonObject, container_name: str) -> str:
    """Return the name of the behaviour that a pod asks for in one of its containers, empty for none."""
    chosen = _noted(pod, USAGE_KEY)
    if "=" not in chosen:
        return chosen
    return next((name for container, name in _pairs(chosen) if container == container_name), "")


def chosen_names(pod: JsonObject) -> tuple[str, ...]:
    """Return the names of all behaviours that a pod asks for, each once."""
    chosen = _noted(pod, USAGE_KEY)
    names = [name for _, name in _pairs(chosen)] if "=" in chosen else [chosen]
    return tuple(dict.fromkeys(name for name in names if name))


def replica_of(pod: JsonObject) -> int:
    """Return the number that tells a pod from others of its workload: as noted on it, else made of its name."""
    noted = _noted(pod, REPLICA_KEY) or str(value_at(pod, "metadata", "labels", _POD_INDEX) or "")
    if noted.isdecimal():
        return int(noted)
    return zlib.crc32(f"{text(pod, 'metadata', 'namespace')}/{text(pod, 'metadata', 'name')}".encode())


def _pairs(chosen: str) -> list[tuple[str, str]]:
    """Return containers with their behaviours."""
    parts = (pair.partition("=") for pair in chosen.split(","))
    return [(container.strip(), name.strip()) for container, _, name in parts]


def _noted(pod: JsonObject, key: str) -> str:
    """Return an annotation, or else a label, of a pod."""
    return text(pod, "metadata", "annotations", key) or text(pod, "metadata", "labels", key)

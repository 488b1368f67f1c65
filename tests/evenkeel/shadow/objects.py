"""Autoscalers of both groups, as the tests of twins write them."""

from __future__ import annotations

from collections.abc import Mapping

from evenkeel.crd.schema import Json, Schema
from evenkeel.shadow.twins import SHADOW_LABEL, SHADOW_VALUE, Autoscaler, Twin

MARK = {SHADOW_LABEL: SHADOW_VALUE}


def target(name: str = "web") -> Schema:
    return {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}}


def original(
    name: str = "web",
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    aim: str = "",
    **spec: Json,
) -> Autoscaler:
    """Return one of upstream's autoscalers, for the Deployment of the same name unless another is aimed at."""
    return Autoscaler("shop", name, "uid-o", "7", labels or {}, annotations or {}, target(aim or name) | spec)


def twin_of(source: Autoscaler, **changes: Json) -> Autoscaler:
    """Return the twin of an autoscaler as it is stored, but for some fields of its spec."""
    twin = Twin.of(source)
    spec: Schema = {name: value for name, value in (twin.spec | changes).items() if value is not None}
    return Autoscaler("shop", source.name, f"uid-{source.name}", "9", twin.labels, twin.annotations, spec)

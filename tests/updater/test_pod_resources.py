"""Pods with resources of their own are not resized in place (spec: beyond:B-17, resize V6)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autoscaling.placement import Placement
from autoscaling.vpa import UpdateMode
from tests.builders import amounts, recommended
from tests.updater.disruptions import ready
from tests.updater.situations import EVENKEEL, IN_PLACE, IPOR, Scene, small, vpa_of

ROOM, FULL = (
    Placement(has_pod_resources=True, requests=amounts("4/4Gi")),
    Placement(has_pod_resources=True, requests=amounts("100m/100Mi")),
)
PLAIN = Placement(overhead=amounts("10m/1Mi"))
WANTED = recommended("c", "250m/300Mi", lower="200m/200Mi", upper="1/1Gi")

CASES: list[tuple[str, Placement | None, UpdateMode, bool, str]] = [
    ("beyond:B-17", ROOM, IPOR, True, "p0 evict pod_has_resources"),
    ("beyond:B-17", ROOM, IN_PLACE, True, "p0 skip pod_has_resources"),
    ("beyond:B-17", ROOM, IPOR, False, "p0 resize outside_bounds"),
    ("beyond:B-17", FULL, IPOR, True, "p0 skip too_young"),
    ("beyond:B-17", PLAIN, IPOR, True, "p0 resize outside_bounds"),
    ("beyond:B-17", None, IPOR, True, "p0 resize outside_bounds"),
]


@pytest.mark.parametrize(("row", "placement", "mode", "is_on", "expected"), CASES)
def test_what_is_done_about_a_pod(
    row: str, placement: Placement | None, mode: UpdateMode, is_on: bool, expected: str
) -> None:
    subject = replace(ready(small("p0", "100m/100Mi")), placement=placement)
    behaviour = replace(EVENKEEL.behaviour, only_what_is_accepted=is_on)
    settings = replace(EVENKEEL, behaviour=behaviour, is_in_place_on=True)
    played = Scene(vpa_of(mode, WANTED, minimum=1), (subject,), settings=settings).played()
    assert played.said == [expected], row

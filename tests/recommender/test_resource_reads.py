from __future__ import annotations

from dataclasses import replace

import pytest

from autoscaling.pod import Container, ContainerStatus, Pod
from autoscaling.resources import NO_RESOURCES
from autoscaling.sidecars import with_sidecars
from recommender.resource_reads import ReadingTally, Source, readings
from tests.recommender.scene import pod

SETUP = Container("setup", init_position=0)
PROXY = Container("proxy", is_sidecar=True, init_position=1)


def reporting(of: Pod, *names: str) -> Pod:
    """Return a pod whose kubelet reports the resources of some containers and is silent on the others."""
    statuses = tuple(ContainerStatus(c.name, NO_RESOURCES if c.name in names else None) for c in of.containers)
    inits = tuple(ContainerStatus(c.name, NO_RESOURCES if c.name in names else None) for c in of.init_containers)
    return replace(of, statuses=statuses, init_statuses=inits)


TWO = pod("p", "main", "side")
WITH_INITS = replace(pod(), init_containers=(SETUP, PROXY))


@pytest.mark.parametrize(
    ("row", "of", "sources"),
    [
        ("recommender:10 no status yet", TWO, [Source.SPEC, Source.SPEC]),
        ("recommender:10 silent kubelet", reporting(TWO), [Source.SPEC, Source.SPEC]),
        ("recommender:10 one reported", reporting(TWO, "side"), [Source.SPEC, Source.STATUS]),
        ("recommender:10 init containers", WITH_INITS, [Source.SPEC, Source.INIT_SPEC, Source.INIT_SPEC]),
        (
            "recommender:10 reported init container",
            reporting(WITH_INITS, "main", "proxy"),
            [Source.STATUS, Source.INIT_SPEC, Source.INIT_STATUS],
        ),
        (
            "beyond:B-16 a sidecar that counts is still an init container",
            with_sidecars(reporting(WITH_INITS, "proxy")),
            [Source.SPEC, Source.INIT_STATUS, Source.INIT_SPEC],
        ),
    ],
)
def test_each_container_is_read_from_where_its_resources_are(row: str, of: Pod, sources: list[Source]) -> None:
    assert readings(of) == sources, row


def test_known_pods_are_read_in_every_round() -> None:
    """Spec: recommender:10."""
    tally = ReadingTally()
    tally.replace(None, TWO)
    tally.replace(None, reporting(pod("q"), "main"))
    assert tally.take() == tally.take() == {Source.SPEC: 2, Source.STATUS: 1}
    tally.replace(TWO, reporting(TWO, "main", "side"))
    assert tally.take() == {Source.STATUS: 3}
    tally.replace(reporting(pod("q"), "main"), None)
    tally.replace(reporting(TWO, "main", "side"), None)
    assert tally.take() == {}


def test_a_killed_container_is_read_once_more() -> None:
    """Spec: recommender:10."""
    tally, killed = ReadingTally(), reporting(TWO, "side")
    tally.replace(None, killed)
    tally.add(killed, ["main", "side", "left the spec"])
    assert tally.take() == {Source.SPEC: 3, Source.STATUS: 2}
    assert tally.take() == {Source.SPEC: 1, Source.STATUS: 1}


def test_replicas_are_counted_one_by_one() -> None:
    """Spec: recommender:10; performance R-6: pods that share their parts are read alike, and others are not."""
    tally, first = ReadingTally(), reporting(TWO, "side")
    second, silent = replace(first, name="q"), replace(first, name="r", statuses=())
    for each in (first, second, silent, replace(silent, name="s", init_containers=(SETUP,))):
        tally.replace(None, each)
    assert tally.take() == {Source.SPEC: 6, Source.STATUS: 2, Source.INIT_SPEC: 1}
    tally.replace(second, replace(second, statuses=()))
    assert tally.take() == {Source.SPEC: 7, Source.STATUS: 1, Source.INIT_SPEC: 1}

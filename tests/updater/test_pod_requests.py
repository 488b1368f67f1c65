"""What a pod holds of its node."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from autoscaling.placement import Placement
from autoscaling.pod import Pod
from autoscaling.sidecars import with_sidecars
from tests.builders import amounts, container, pod, sidecar, with_init_containers
from tests.updater.rooms import given
from tests.updater.situations import DEFERRED, INFEASIBLE, resizing
from updater.pod_requests import hold_of, nano

PLAIN = pod(container("c", "100m/200Mi"))
TWO = pod(container("c", "100m/200Mi"), container("d", "50m/-"))
STARTING = with_init_containers(
    pod(container("c", "100m/100Mi")),
    container("first", "300m/50Mi"),
    sidecar("side", "200m/10Mi"),
    container("last", "50m/150Mi"),
)
GROWING = pod(container("c", "500m/200Mi"))


@pytest.mark.parametrize(
    ("row", "subject", "expected"),
    [
        ("resize:2", PLAIN, "100m/200Mi"),
        ("resize:2", TWO, "150m/200Mi"),
        ("resize:2", pod(container("c")), "-"),
        # The status has a say only with resources, and then the larger counts of each.
        ("resize:2", given(PLAIN, "50m/300Mi"), "100m/300Mi"),
        ("resize:2", given(GROWING, "100m/200Mi"), "500m/200Mi"),
        ("resize:2", resizing(given(GROWING, "100m/200Mi"), DEFERRED), "500m/200Mi"),
        ("resize:2", resizing(given(GROWING, "100m/200Mi"), INFEASIBLE), "100m/200Mi"),
        ("resize:2", resizing(GROWING, INFEASIBLE), "500m/200Mi"),
        # Starting: 300m before the sidecar, 250m beside it; running: 300m.
        ("resize:2", STARTING, "300m/160Mi"),
        ("beyond:B-16", with_sidecars(STARTING), "300m/160Mi"),
        ("resize:2", replace(PLAIN, placement=Placement(overhead=amounts("10m/20Mi"))), "110m/220Mi"),
        (
            "resize:2",
            replace(PLAIN, placement=Placement(overhead=amounts("10m/20Mi"), requests=amounts("1/-"))),
            "1010m/220Mi",
        ),
    ],
)
def test_what_a_pod_counts_for(row: str, subject: Pod, expected: str) -> None:
    assert hold_of(subject).total == nano(amounts(expected)), row


def test_allocated_amounts_count_beside_those_in_force() -> None:
    subject = given(PLAIN, "50m/50Mi")
    (status,) = subject.statuses
    subject = replace(subject, statuses=(replace(status, allocated=amounts("400m/-")),))
    assert hold_of(subject).total == nano(amounts("400m/200Mi")), "resize:2"


def test_new_requests_count_against_what_was_given() -> None:
    (hold,) = hold_of(given(PLAIN, "150m/150Mi")).containers.values()
    assert hold.with_requests(nano(amounts("120m/400Mi"))) == nano(amounts("150m/400Mi")), "beyond:B-24"


@pytest.mark.parametrize(
    ("row", "subject", "growth", "most", "share"),
    [
        ("beyond:B-24", PLAIN, {"c": "400m"}, "500m", Fraction(1)),
        ("beyond:B-24", PLAIN, {"c": "400m"}, "300m", Fraction(1, 2)),
        ("beyond:B-24", PLAIN, {"c": "400m"}, "100m", Fraction(0)),
        ("beyond:B-24", PLAIN, {"c": "400m"}, "50m", Fraction(0)),
        ("beyond:B-24", TWO, {"c": "100m", "d": "100m"}, "250m", Fraction(1, 2)),
        ("beyond:B-24", TWO, {}, "0", Fraction(1)),
        # 50m beside a sidecar that grows: 350m of it fit beside "last", 300m beside "c".
        ("beyond:B-24", STARTING, {"side": "600m"}, "600m", Fraction(1, 2)),
    ],
)
def test_the_share_that_fits(row: str, subject: Pod, growth: dict[str, str], most: str, share: Fraction) -> None:
    added = {name: nano(amounts(text))["cpu"] for name, text in growth.items()}
    assert hold_of(subject).share_that_fits("cpu", added, nano(amounts(most))["cpu"]) == share, row

"""Whether a change grows or restarts."""

from __future__ import annotations

import pytest

from autoscaling.pod import Pod
from autoscaling.target_resources import ContainerTarget
from tests.builders import amounts, container, pod
from tests.updater.rooms import given
from tests.updater.situations import restarting
from updater.changes import differs_from_spec, grows, restarts

PLAIN = pod(container("c", "100m/100Mi", "200m/200Mi"))
LATE = given(pod(container("c", "300m/100Mi", "600m/200Mi")), "100m/100Mi", "200m/200Mi")


@pytest.mark.parametrize(
    ("row", "subject", "requests", "limits", "growing", "restarting_too", "differing"),
    [
        ("beyond:B-24", PLAIN, "100m/100Mi", "200m/200Mi", False, False, False),
        ("beyond:B-24", PLAIN, "101m/-", "-", True, False, True),
        ("beyond:B-24", PLAIN, "99m/-", "201m/-", True, False, True),
        ("beyond:B-24", PLAIN, "99m/-", "199m/-", False, False, True),
        ("beyond:B-24", pod(container("c", "100m/-")), "100m/-", "500m/-", False, False, True),
        ("beyond:B-24", restarting(PLAIN), "200m/100Mi", "400m/200Mi", True, False, True),
        ("beyond:B-24", restarting(PLAIN), "100m/99Mi", "200m/200Mi", False, True, True),
        ("beyond:B-24", restarting(PLAIN), "100m/100Mi", "200m/199Mi", False, True, True),
        # What is in force counts, and for writing what the spec says.
        ("beyond:B-24", LATE, "300m/-", "600m/-", True, False, False),
        ("beyond:B-24", LATE, "100m/-", "200m/-", False, False, True),
    ],
)
def test_what_a_change_does(  # noqa: PLR0917 a row of the table
    row: str,
    subject: Pod,
    requests: str,
    limits: str,
    growing: bool,
    restarting_too: bool,
    differing: bool,
) -> None:
    targets = (ContainerTarget(amounts(requests), amounts(limits)),)
    found = grows(subject, targets), restarts(subject, targets), differs_from_spec(subject, targets)
    assert found == (growing, restarting_too, differing), row


def test_a_container_that_is_left_out_changes_nothing() -> None:
    assert not grows(PLAIN, (None,))
    assert not restarts(restarting(PLAIN), (None,))
    assert not differs_from_spec(PLAIN, (None,))

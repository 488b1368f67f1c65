"""Explanations of limits that pass maxAllowed; what whole reviews make of them is in ``test_limits_policy``."""

from __future__ import annotations

import pytest

from admission.odd_limits import odd_limits
from autoscaling.target_resources import NOTHING, ContainerTarget
from autoscaling.vpa import ContainerPolicy
from tests.builders import amounts, container, pod, vpa

TWO = pod(container("a", "1/1Gi", "2/2Gi"), container("b", "1/1Gi", "2/2Gi"))
BOUNDED = vpa(
    policies=[ContainerPolicy("a", max_allowed=amounts("1/-")), ContainerPolicy("*", max_allowed=amounts("-/1Gi"))]
)

ROWS: list[tuple[str, tuple[ContainerTarget, ...], str]] = [
    ("beyond:B-13 nothing set", (NOTHING, NOTHING), ""),
    ("beyond:B-13 each by its own policy",
     tuple(ContainerTarget(amounts("1/1Gi"), amounts("2/2Gi")) for _ in range(2)),
     ("a: cpu limit 2 has the ratio 2 to its request and passes maxAllowed 1, which bounds requests only; "
     "b: memory limit 2Gi has the ratio 2 to its request and passes maxAllowed 1Gi, which bounds requests only")),
    ("beyond:B-13 no request to have a ratio to", (ContainerTarget({}, amounts("2/-")), NOTHING), ""),
    ("beyond:B-13 a request of zero", (ContainerTarget(amounts("0/-"), amounts("2/-")), NOTHING), ""),
]  # fmt: skip


@pytest.mark.parametrize(("row", "targets", "said"), [pytest.param(*each, id=each[0]) for each in ROWS])
def test_what_is_said(row: str, targets: tuple[ContainerTarget, ...], said: str) -> None:
    assert odd_limits(TWO, BOUNDED, targets) == said, row

"""Why a limit is larger than what its policy allows at most: it follows the request, and only that is bounded."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal

from autoscaling.pod import Pod
from autoscaling.policy import container_policy
from autoscaling.quantity import Quantity
from autoscaling.resources import amount, in_order
from autoscaling.target_resources import ContainerTarget
from autoscaling.vpa import Vpa

LIMITS_ANNOTATION = "evenkeel.dev/limits"

_DECIMALS = Decimal("0.000001")


def odd_limits(pod: Pod, vpa: Vpa, targets: tuple[ContainerTarget, ...]) -> str:
    """Explain each new limit that passes maxAllowed, for the annotation of a new pod; empty where none does.

    Args:
        targets: What each of ``pod.containers`` is to get, in order.

    Spec: beyond:B-13, case:1.
    """
    pairs = zip(pod.containers, targets, strict=True)
    return "; ".join(reason for container, target in pairs for reason in _reasons(vpa, container.name, target))


def _reasons(vpa: Vpa, container: str, target: ContainerTarget) -> Iterator[str]:
    """Yield a reason for each such limit of one container; a bound of zero is none."""
    policy = container_policy(vpa, container)
    for name, limit in in_order(target.limits):
        request, most = amount(target.requests, name), amount(policy.max_allowed if policy else None, name)
        if request.nano > 0 and most.nano > 0 and most < limit:
            times = _ratio(limit, request)
            yield (
                f"{container}: {name} limit {limit} has the ratio {times} to its request and passes maxAllowed {most}, "
                "which bounds requests only"
            )


def _ratio(limit: Quantity, request: Quantity) -> str:
    """Return a ratio with up to six decimals."""
    ratio = (Decimal(limit.nano) / Decimal(request.nano)).quantize(_DECIMALS, ROUND_HALF_UP)
    return f"{ratio:f}".rstrip("0").rstrip(".")

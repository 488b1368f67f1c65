"""Scaling one quantity by the ratio of two others, in the integer arithmetic of the field (spec: limits:S1)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from autoscaling.quantity import MAX_INT64, Quantity
from autoscaling.resources import CPU, ContainerResources


class Rounding(Enum):
    """What happens to a remainder."""

    NONE = "none"
    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Scaled:
    """A scaled quantity, and whether it had to be cut to the largest 64-bit integer."""

    quantity: Quantity
    is_capped: bool = False


def scale(resource: str, amount: Quantity, base: Quantity, ratio: Quantity, rounding: Rounding) -> Scaled:
    """Return ``amount * ratio / base`` in the format of ``amount``.

    CPU is reckoned in millicores, everything else in whole units.
    """
    if resource == CPU:
        return _scale_milli(amount, base, ratio, rounding)
    return _scale_units(amount, base, ratio, rounding)


def _scale_milli(amount: Quantity, base: Quantity, ratio: Quantity, rounding: Rounding) -> Scaled:
    """Scale in thousandths: floor, or ceiling with UP; a zero base leaves the amount alone."""
    if base.is_zero():
        return Scaled(amount)
    quotient, remainder = divmod(amount.milli_value() * ratio.milli_value(), base.milli_value())
    if abs(quotient) > MAX_INT64:
        return Scaled(Quantity.of_milli(MAX_INT64, amount.format), is_capped=True)
    if rounding is Rounding.UP and remainder:
        quotient += 1
    return Scaled(Quantity.of_milli(quotient, amount.format))


def _scale_units(amount: Quantity, base: Quantity, ratio: Quantity, rounding: Rounding) -> Scaled:
    """Scale in whole units, always floored; DOWN turns a zero result into -1 as upstream does (spec: limits:60)."""
    if base.value() == 0:
        return Scaled(amount)
    quotient = amount.value() * ratio.value() // base.value()
    if abs(quotient) > MAX_INT64:
        return Scaled(Quantity.of_units(MAX_INT64, amount.format), is_capped=True)
    if rounding is Rounding.DOWN and quotient == 0:
        quotient = -1
    return Scaled(Quantity.of_units(quotient, amount.format))


@dataclass(frozen=True, slots=True)
class ProportionalLimit:
    """The limit that goes with a new request, None where none is to be set, and a note where one is due."""

    limit: Quantity | None
    note: str = ""


def proportional_limit(
    resource: str,
    current: ContainerResources,
    request: Quantity,
    default: Quantity,
) -> ProportionalLimit:
    """Keep the ratio of limit to request for a new request (spec: limits:S3, updater X-2).

    Args:
        resource: cpu or memory.
        current: The container's requests and limits in force.
        request: The new request.
        default: Limit that counts where the container states none; zero for none.
    """
    limit = current.limit(resource)
    if limit.value() == 0:
        limit = default
    if limit.value() == 0:
        return ProportionalLimit(None, f"{resource}: limit NOT set since originalLimit is nil or 0")
    if request.value() == 0:
        return ProportionalLimit(None, f"{resource}: limit NOT set since recommendedRequest is nil or 0")
    old_request = current.request(resource)
    if old_request.value() == 0 or old_request.milli_value() == limit.milli_value():
        return ProportionalLimit(request)
    scaled = scale(resource, limit, old_request, request, Rounding.NONE)
    note = f"{resource}: failed to keep limit to request ratio; capping limit to int64" if scaled.is_capped else ""
    return ProportionalLimit(scaled.quantity, note)

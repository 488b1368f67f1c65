"""Autoscalers and checkpoints as they came over the wire: one that cannot be read keeps no other from counting."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from autoscaling.errors import EvenkeelError
from autoscaling.wire.objects import decode_vpa
from evenkeel.comparison.retracing import State
from recommender.wire.checkpoints import decode_checkpoint

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Found:
    """What was read of one group.

    Args:
        state: The objects.
        problems: What could not be read, in words.
    """

    state: State
    problems: tuple[str, ...]


def decoded_state(vpas: Iterable[bytes], checkpoints: Iterable[bytes]) -> Found:
    """Read the objects of one group.

    Args:
        vpas: Its autoscalers.
        checkpoints: Its checkpoints.
    """
    problems: list[str] = []
    state = State(_readable(vpas, decode_vpa, problems), _readable(checkpoints, decode_checkpoint, problems))
    return Found(state, tuple(problems))


def _readable(bodies: Iterable[bytes], decode: Callable[[bytes], T], problems: list[str]) -> tuple[T, ...]:
    """Return what can be read, and note what cannot."""
    found: list[T] = []
    for body in bodies:
        try:
            found.append(decode(body))
        except EvenkeelError as error:
            problems.append(str(error))
    return tuple(found)

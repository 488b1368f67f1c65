"""Checkpoints from a file, as kubectl prints them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import yaml

from autoscaling.errors import ConfigurationError, EvenkeelError
from autoscaling.vpa import Vpa
from autoscaling.wire.objects import decode_vpa
from evenkeel.replay.beginnings import Beginnings, beginnings_of
from recommender.checkpoint import ContainerCheckpoint
from recommender.wire.checkpoints import decode_checkpoint

_CHECKPOINT: Final = "VerticalPodAutoscalerCheckpoint"
_VPA: Final = "VerticalPodAutoscaler"
_REMEDY: Final = (
    "write it with kubectl get verticalpodautoscalers,verticalpodautoscalercheckpoints -A -o yaml, of the group that"
    " is meant"
)


def stored_in(file: Path) -> tuple[Beginnings, tuple[str, ...]]:
    """Read a file of checkpoints, and of the VPAs that they belong to if they are in it.

    Returns:
        What can be begun with, and what is wrong with the rest.

    Raises:
        ConfigurationError: It cannot be read, or holds no checkpoint.
    """
    try:
        found = list(_objects(file))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigurationError(f"--checkpoints {file}: {error}; {_REMEDY}") from error
    bodies = {kind: [body for named, body in found if named == kind] for kind in (_CHECKPOINT, _VPA)}
    beginnings, problems = stored_of(bodies[_CHECKPOINT], bodies[_VPA])
    if not beginnings.stored:
        raise ConfigurationError(
            f"--checkpoints {file}: {next(iter(problems), f'there is no {_CHECKPOINT} in it')}; {_REMEDY}"
        )
    return beginnings, problems


def stored_of(checkpoints: Iterable[bytes], vpas: Iterable[bytes]) -> tuple[Beginnings, tuple[str, ...]]:
    """Read objects as JSON; one that cannot be read keeps no other from counting."""
    problems: list[str] = []
    stored: list[ContainerCheckpoint] = []
    scalers: list[Vpa] = []
    for body in checkpoints:
        try:
            stored.append(decode_checkpoint(body))
        except EvenkeelError as error:
            problems.append(str(error))
    for body in vpas:
        try:
            scalers.append(decode_vpa(body))
        except EvenkeelError as error:
            problems.append(str(error))
    beginnings, wrong = beginnings_of(stored, scalers)
    return beginnings, (*problems, *wrong)


def _objects(file: Path) -> Iterator[tuple[str, bytes]]:
    """Yield kind and JSON of each object; a list stands for those in it."""
    waiting: list[object] = list(yaml.load_all(file.read_text(encoding="utf-8"), _Loader))
    while waiting:
        each = waiting.pop(0)
        if not isinstance(each, dict):
            continue
        items = each.get("items")
        if isinstance(items, list):
            waiting += items
        else:
            yield str(each.get("kind", "")), json.dumps(each).encode()


class _Loader(yaml.CSafeLoader):
    """Leaves times as they are written."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}

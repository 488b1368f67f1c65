"""Variants of vpa-default from a file; each becomes flags, which the recommender's own configuration reads.

Spec: beyond B-36; recommender 9.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final

from autoscaling.errors import ConfigurationError
from autoscaling.quantity import NANO, Quantity
from autoscaling.resources import CPU, MEMORY, ResourceList
from autoscaling.runtime.go_literals import format_duration
from autoscaling.vpa import ContainerPolicy, ControlledValues, is_strategy_name
from evenkeel.replay.shell.contest import installed_names
from evenkeel.replay.shell.given_files import Entry, NotNegative, read_given
from evenkeel.replay.variants import Variant
from evenkeel.simulator.scenarios.syntax import Amount, Duration
from recommender.__main__ import loop_settings, model_settings
from recommender.config import RecommenderConfig
from recommender.settings import EstimatorSettings

_OPTION: Final = "--settings"
_NANO_PER_MILLICORE: Final = 10**6
_BYTES_PER_MIB: Final = 2**20
_LIKE_VPA_DEFAULT: Final = "--profile=upstream"
"""The replay's vpa-default decides as upstream does, so a variant that says nothing is the same."""


@dataclass(frozen=True, slots=True)
class _Percentiles(Entry):
    target: float | None = None
    lower: float | None = None
    upper: float | None = None


@dataclass(frozen=True, slots=True)
class _BothPercentiles(Entry):
    cpu: _Percentiles = _Percentiles()
    memory: _Percentiles = _Percentiles()


@dataclass(frozen=True, slots=True)
class _HalfLives(Entry):
    cpu: Duration | None = None
    memory: Duration | None = None


@dataclass(frozen=True, slots=True)
class _Amounts(Entry):
    cpu: Amount | None = None
    memory: Amount | None = None

    def as_list(self) -> ResourceList:
        """Return the amounts that are given."""
        return {name: each for name, each in ((CPU, self.cpu), (MEMORY, self.memory)) if each is not None}


@dataclass(frozen=True, slots=True)
class _Entry(Entry):
    percentiles: _BothPercentiles = _BothPercentiles()
    safety_margin: NotNegative | None = None
    half_life: _HalfLives = _HalfLives()
    minimum: _Amounts = _Amounts()
    min_allowed: _Amounts = _Amounts()
    max_allowed: _Amounts = _Amounts()
    controlled_values: ControlledValues | None = None


@dataclass(frozen=True, slots=True)
class _File(Entry):
    variants: dict[str, _Entry] = field(default_factory=dict)


def read_variants(file: Path) -> Mapping[str, Variant]:
    """Read the variants that a file names, in their order.

    Raises:
        ConfigurationError: It cannot be read, or a variant says something that means nothing; a line for each fault.
    """
    entries = read_given(_OPTION, file, _File).variants
    if not entries:
        raise ConfigurationError(f"{_OPTION} {file}: variants: there is none; name one, and what it sets")
    faults: list[str] = []
    variants: dict[str, Variant] = {}
    for name, entry in entries.items():
        try:
            variants[name] = _variant(name, entry)
        except ConfigurationError as error:
            faults += [f"{_OPTION} {file}: variants.{name}: {problem}" for problem in str(error).splitlines()]
    if faults:
        raise ConfigurationError("\n".join(faults))
    return variants


def _variant(name: str, entry: _Entry) -> Variant:
    """Return what one entry stands for.

    Raises:
        ConfigurationError: It cannot be.
    """
    flags = tuple(_flags(entry))
    config = RecommenderConfig.from_command_line([_LIKE_VPA_DEFAULT, *flags], {})
    estimator = loop_settings(config).estimator
    if problems := [*_misnamed(name), *_out_of_order(entry, estimator)]:
        raise ConfigurationError("\n".join(problems))
    policy = ContainerPolicy(
        "*",
        min_allowed=entry.min_allowed.as_list(),
        max_allowed=entry.max_allowed.as_list(),
        controlled_values=entry.controlled_values,
    )
    return Variant(name, model=model_settings(config), estimator=estimator, policy=policy, flags=flags)


def _flags(entry: _Entry) -> Iterator[str]:
    """Yield the recommender's flags for what an entry sets."""
    cpu, memory = entry.percentiles.cpu, entry.percentiles.memory
    numbers: tuple[tuple[str, float | None], ...] = (
        ("target-cpu-percentile", cpu.target),
        ("recommendation-lower-bound-cpu-percentile", cpu.lower),
        ("recommendation-upper-bound-cpu-percentile", cpu.upper),
        ("target-memory-percentile", memory.target),
        ("recommendation-lower-bound-memory-percentile", memory.lower),
        ("recommendation-upper-bound-memory-percentile", memory.upper),
        ("recommendation-margin-fraction", entry.safety_margin),
        ("pod-recommendation-min-cpu-millicores", _in(entry.minimum.cpu, _NANO_PER_MILLICORE)),
        ("pod-recommendation-min-memory-mb", _in(entry.minimum.memory, _BYTES_PER_MIB * NANO)),
    )
    durations: tuple[tuple[str, timedelta | None], ...] = (
        ("cpu-histogram-decay-half-life", entry.half_life.cpu),
        ("memory-histogram-decay-half-life", entry.half_life.memory),
    )
    yield from (f"--{name}={value:.12g}" for name, value in numbers if value is not None)
    yield from (f"--{name}={format_duration(value)}" for name, value in durations if value is not None)


def _in(amount: Quantity | None, nano: int) -> float | None:
    return None if amount is None else amount.nano / nano


def _misnamed(name: str) -> Iterator[str]:
    """Yield why a variant cannot have its name."""
    if not is_strategy_name(name):
        yield "is no name for a variant; take lower-case letters, digits and inner hyphens"
    elif name in installed_names():
        yield "is the name of a strategy that is installed; take another one"


def _out_of_order(entry: _Entry, estimator: EstimatorSettings) -> Iterator[str]:
    """Yield what of an entry is above what it must not exceed."""
    for resource, found in (("cpu", estimator.cpu), ("memory", estimator.memory)):
        if not found.lower_bound <= found.target <= found.upper_bound:
            yield (
                f"percentiles.{resource}: lower {found.lower_bound:g}, target {found.target:g} and upper "
                f"{found.upper_bound:g} do not ascend; give all three in order"
            )
    least, most = entry.min_allowed.as_list(), entry.max_allowed.as_list()
    for resource in least.keys() & most.keys():
        if least[resource] > most[resource]:
            yield (
                f"minAllowed.{resource} {least[resource]} is above maxAllowed.{resource} {most[resource]}; "
                "lower the one or raise the other"
            )

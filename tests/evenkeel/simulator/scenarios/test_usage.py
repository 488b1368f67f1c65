"""Usages as files say them, and the functions of time that they stand for."""

from __future__ import annotations

import gzip
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from pydantic import TypeAdapter

from autoscaling.errors import ConfigurationError
from evenkeel.simulator.scenarios.usage import IDLE, UsageDocument
from evenkeel.simulator.workloads.demand import Demand

_USAGES: TypeAdapter[UsageDocument] = TypeAdapter(UsageDocument)
MI = 2**20


def demand(document: str, seconds: float, folder: Path = Path()) -> Demand:
    return _USAGES.validate_python(yaml.safe_load(document)).usage(folder).at(timedelta(seconds=seconds), 0)


@pytest.mark.parametrize(
    ("document", "seconds", "expected"),
    [
        ("{function: constant, cpu: 250m, memory: 2Mi, cache: 1Mi}", 5, Demand(0.25, 2 * MI, MI)),
        ("{function: ramp, first: {cpu: 1}, last: {cpu: 3}, over: 10s}", 5, Demand(2.0)),
        ("{function: burst, base: {cpu: 1}, peak: {cpu: 3}, every: 10s, lasting: 2s, first: 1s}", 2, Demand(3.0)),
        ("{function: burst, base: {cpu: 1}, peak: {cpu: 3}, every: 10s, lasting: 2s, first: 1s}", 3, Demand(1.0)),
        ("{function: diurnal, low: {cpu: 1}, high: {cpu: 3}, peakAt: 0s, period: 20s}", 10, Demand(1.0)),
        ("{function: startup-spike, spike: {cpu: 3}, steady: {cpu: 1}, lasting: 4s, fading: 4s}", 6, Demand(2.0)),
        ("{function: batch, working: {cpu: 3}, lasting: 4s, idle: {cpu: 1}}", 4, Demand(1.0)),
        ("{function: steps, steps: [{since: 9s, cpu: 3}, {cpu: 1}]}", 8, Demand(1.0)),
        ("{function: steps, steps: [{since: 9s, cpu: 3}, {cpu: 1}]}", 9, Demand(3.0)),
        (
            "{function: heap, live: 1Mi, initial: 4Mi, largest: 8Mi, garbagePerSecond: 1Mi, base: {cpu: 1}}",
            2,
            Demand(1.0, 2 * MI),
        ),
    ],
)  # fmt: skip
def test_functions(document: str, seconds: float, expected: Demand) -> None:
    assert demand(document, seconds) == expected


def test_nothing_said_means_idle() -> None:
    assert IDLE.usage(Path()).at(timedelta(0), 0) == Demand()


def write_trace(folder: Path) -> None:
    with gzip.open(folder / "t.csv.gz", "wt") as file:
        file.write("trace_id,timestamp,cpu_cores,memory_bytes\na,0,0.5,100\na,60,1.5,200\n")


def test_a_trace_lies_beside_the_scenario(tmp_path: Path) -> None:
    write_trace(tmp_path)
    assert demand("{function: trace, file: t.csv.gz, name: a}", 61, tmp_path) == Demand(1.5, 200)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("{function: trace, file: t.csv.gz, name: b}", r"t\.csv\.gz: no usable series 'b'; correct usage\.name"),
        ("{function: trace, file: u.csv.gz, name: a}", r"u\.csv\.gz: No such file or directory; correct usage\.file"),
        ("{function: trace, file: plain.csv, name: a}", r"plain\.csv: .*correct usage\.file"),
    ],
)
def test_a_trace_that_is_not_there_is_named(document: str, said: str, tmp_path: Path) -> None:
    write_trace(tmp_path)
    (tmp_path / "plain.csv").write_text("trace_id,timestamp,cpu_cores,memory_bytes\n")
    with pytest.raises(ConfigurationError, match=said):
        demand(document, 0, tmp_path)

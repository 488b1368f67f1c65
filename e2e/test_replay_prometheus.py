"""``evenkeel replay`` on what a real Prometheus has recorded (beyond:B-36)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from e2e.prometheus.past import CONTAINERS, DAY, SCRAPE, MadeUpUse, make_pods
from e2e.prometheus.readers import Past, serving, some_hours_ago
from evenkeel.replay.shell.trace_files import recordings
from evenkeel.replay.trace import Trace

_APPS = 12
_SEED = 11
_DAYS = 4


def _replay(*words: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("evenkeel")), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def _recorded(folder: Path) -> Mapping[str, Trace]:
    return {trace.name: trace for lot in recordings([folder]).lots for trace in lot.read().traces}


@pytest.mark.parametrize("namespace", ["", "shop-1"])
def test_use_is_played_as_prometheus_has_it(tmp_path: Path, namespace: str) -> None:
    """beyond:B-36, beyond:B-7: memory point by point, CPU as the rate of what was used; gaps stay gaps."""
    now, use = some_hours_ago(), MadeUpUse(_SEED)
    pods = make_pods(_APPS, now, _SEED)
    with serving(pods, use, now, tmp_path) as past:
        end = datetime.fromtimestamp(now, UTC).isoformat()
        played = _replay(*_words(past, end, tmp_path / "kept"), *(("-n", namespace) if namespace else ()))
    assert played.returncode == 0, played.stderr
    told = json.loads(played.stdout)
    traces = _recorded(tmp_path / "kept")
    begin = now - _DAYS * DAY
    expected = {
        f"{pod.namespace}/{pod.name}/{container}": (pod, container)
        for pod in pods
        if pod.namespace == namespace or not namespace
        for container in CONTAINERS
        if pod.last - max(pod.first, begin) > DAY
    }
    assert expected.keys() <= traces.keys()
    assert told["series"] == len(traces) >= len(expected) >= 4
    for name, (pod, container) in expected.items():
        instants = list(pod.instants())
        memory = dict(zip(instants, islice(use.memory_bytes(pod, container), len(instants)), strict=True))
        found = dict(zip(traces[name].times.tolist(), traces[name].memory_bytes.tolist(), strict=True))
        measured = {int(at): value for at, value in found.items() if not np.isnan(value)}
        assert {at: measured.get(at) for at in memory if begin <= at <= now} == {
            at: max(4096, value) for at, value in memory.items() if begin <= at <= now
        }, name
        # A server of before version 3 finds a point that is just as old as it looks back, too.
        assert all(value == memory.get(at, memory.get(at - SCRAPE)) for at, value in measured.items()), name
        assert np.nanmean(traces[name].cpu_cores) > 0.0


def _words(past: Past, end: str, folder: Path) -> tuple[str, ...]:
    words = ("replay", "--prometheus", past.proxy.url, "--to", end, "--from", f"{_DAYS}d", "--step", f"{SCRAPE}s")
    return (*words, "--record", str(folder), "-s", "vpa-min0", "-s", "oracle", "-o", "json")

"""Figures as JSON, with the machine and the versions they were measured on."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import msgspec

from bench.figures import Figure, Spread
from bench.peer import SOURCE

_PACKAGES = ("evenkeel", "numpy", "msgspec", "aiohttp", "uvicorn", "starlette")
_UPSTREAM = re.compile(r"k8s\.io/autoscaler/vertical-pod-autoscaler (v\S+)")


def write_record(folder: Path, row: str, figures: Sequence[Figure], *, is_quick: bool) -> Path:
    """Write the figures of one row to ``<row>.json``, those of a reduced run to ``<row>-quick.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{row}{'-quick' if is_quick else ''}.json"
    record = {
        "row": row,
        "quick": is_quick,
        "at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "figures": [figure_record(figure) for figure in figures],
        "machine": machine(),
        "versions": versions(),
    }
    path.write_bytes(msgspec.json.format(msgspec.json.encode(record)) + b"\n")
    return path


def figure_record(figure: Figure) -> dict[str, object]:
    """Return one figure as JSON has it; what a figure has not is left out."""
    record: dict[str, object] = {"name": figure.name, "unit": figure.unit.value, "ours": spread_record(figure.ours)}
    for name, spread in (("peer", figure.peer), ("ours_cpu", figure.ours_cpu), ("peer_cpu", figure.peer_cpu)):
        if spread is not None:
            record[name] = spread_record(spread)
    for name, number in (("ratio", figure.ratio), ("cpu_ratio", figure.cpu_ratio)):
        if number is not None:
            record[name] = round(number, 3)
    if figure.target is not None:
        record["target"] = {"bound": figure.target.bound.value, "value": figure.target.value}
        record["met"] = figure.is_met
    if figure.note:
        record["note"] = figure.note
    return record


def spread_record(spread: Spread) -> dict[str, float | int]:
    """Return a spread as JSON has it."""
    return {"median": spread.median, "low": spread.low, "high": spread.high, "count": spread.count}


def machine() -> dict[str, object]:
    """Return what the figures depend on besides the code."""
    cpu = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    memory = re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text())
    return {
        "cpu": cpu[1] if cpu else platform.machine(),
        "cores": os.cpu_count(),
        "memory_gib": round(int(memory[1]) / 2**20, 1) if memory else None,
        "load": os.getloadavg(),
        "system": platform.platform(),
    }


def versions() -> dict[str, str]:
    """Return the versions of what ran."""
    found = {name: version(name) for name in _PACKAGES}
    upstream = _UPSTREAM.search((SOURCE / "go.mod").read_text())
    return {"python": platform.python_version(), **found, "upstream": upstream[1] if upstream else "", "go": _go()}


def _go() -> str:
    """Return the version of Go, empty where there is none."""
    program = shutil.which("go")
    if program is None:
        return ""
    return subprocess.run([program, "env", "GOVERSION"], capture_output=True, text=True, check=False).stdout.strip()

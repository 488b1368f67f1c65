"""How much memory and time ``evenkeel replay`` takes on a large fleet: ``python -m bench.replay_fleet``.

The fleet is made up and lies in a folder as a Parquet dataset, with the days of all containers after one another, so
that every series is spread over all files. Memory is that of all processes of the command together, looked at several
times in a second; what they share counts for each of them. With --only the names of all series are looked at, and some
of them are played.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.hosting import resident_bytes

STEP_SECONDS = 300
STEPS_PER_DAY = 86_400 // STEP_SECONDS
NAMESPACES = 40
LARGEST_BYTES = 4 * 2**30
"""What a fleet of ten thousand containers and thirty days has to do with."""

_LOOK_SECONDS = 0.2
_SEED = 20


@dataclass(frozen=True, slots=True)
class Taken:
    """What a run has taken.

    Args:
        series: Series that it has played.
        rows: Rows of all of them.
        seconds: How long it took.
        most_bytes: Memory of all its processes together at most.
    """

    series: int
    rows: int
    seconds: float
    most_bytes: int


def write_fleet(folder: Path, containers: int, days: int) -> None:
    """Write the use of made-up containers, a file for each day."""
    random = np.random.default_rng(_SEED)
    usual_cpu, usual_memory = random.lognormal(-2.0, 1.0, containers), random.lognormal(19.0, 1.0, containers)
    phases = random.integers(STEPS_PER_DAY, size=containers)
    places = np.arange(containers)
    names = pa.array([f"team-{place % NAMESPACES}/app-{place}/main" for place in places.tolist()])
    owners = pa.DictionaryArray.from_arrays(np.repeat(places, STEPS_PER_DAY).astype(np.int32), names)
    clock = np.arange(STEPS_PER_DAY)
    daily = 1.0 + 0.6 * np.sin(2.0 * np.pi * (clock + phases[:, np.newaxis]) / STEPS_PER_DAY)
    folder.mkdir(parents=True)
    for day in range(days):
        noise = random.lognormal(0.0, 0.3, (2, containers, STEPS_PER_DAY))
        cpu = np.round(usual_cpu[:, np.newaxis] * daily * noise[0], 4)
        memory = np.round(usual_memory[:, np.newaxis] * noise[1] ** 0.3 / 4096.0) * 4096.0
        times = np.tile((day * STEPS_PER_DAY + clock) * float(STEP_SECONDS), containers)
        columns = {"trace_id": owners, "timestamp": times, "cpu_cores": cpu.ravel(), "memory_bytes": memory.ravel()}
        pq.write_table(pa.table(columns), folder / f"day-{day:02}.parquet", row_group_size=1 << 17)


def play(folder: Path, strategies: list[str], jobs: int, only: str) -> Taken:
    """Play strategies in a process of its own.

    Raises:
        subprocess.CalledProcessError: It fails.
    """
    words = [str(Path(sys.executable).with_name("evenkeel")), "replay", str(folder), "-o", "json", "--jobs", str(jobs)]
    words += ["--only", only]
    words += [word for name in strategies for word in ("-s", name)]
    begin, most = time.monotonic(), 0
    with tempfile.TemporaryFile("w+") as output, subprocess.Popen(words, stdout=output, text=True) as process:
        while process.poll() is None:
            most = max(most, sum(_resident(pid) for pid in _family(process.pid)))
            time.sleep(_LOOK_SECONDS)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, words)
        output.seek(0)
        told = json.load(output)
    return Taken(told["series"], told["rows"], time.monotonic() - begin, most)


def _family(pid: int) -> Iterator[int]:
    """Yield a process and all that it has started."""
    yield pid
    try:
        children = [
            int(child)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except OSError:
        return
    for child in children:
        yield from _family(child)


def _resident(pid: int) -> int:
    try:
        return resident_bytes(pid)
    except (OSError, IndexError):
        return 0


def main() -> None:
    """Make a fleet, play it, and say what that took; status 1 if it was too much memory."""
    parser = argparse.ArgumentParser(prog="bench.replay_fleet", description=__doc__)
    parser.add_argument("--containers", type=int, default=10_000)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--strategy", action="append", help="vpa-default unless given")
    parser.add_argument("--only", default="*", help="pattern of the series that are played")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="replay-fleet-", dir="/var/tmp") as spare:
        folder = Path(spare) / "fleet"
        write_fleet(folder, given.containers, given.days)
        stored = sum(file.stat().st_size for file in folder.iterdir())
        taken = play(folder, given.strategy or ["vpa-default"], given.jobs, given.only)
    print(f"{taken.series} series, {taken.rows} rows, {stored / 2**20:.0f} MiB of Parquet, {given.jobs} processes")
    print(f"{taken.seconds:.0f} s, {taken.most_bytes / 2**20:.0f} MiB of memory at most")
    if taken.most_bytes > LARGEST_BYTES:
        sys.exit(f"more than {LARGEST_BYTES / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()

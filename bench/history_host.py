"""Our recommender in a process of its own, for loading history from Prometheus once: ``python -m bench.history_host``.

It says how long that took and how much memory it needed, runs a round, and writes the statuses of that round to a file.
"""

from __future__ import annotations

import argparse
import sys
from datetime import datetime
from pathlib import Path

import msgspec

from bench.cluster import Shape, deployments, pods, vpas
from bench.figures import Run
from bench.hosting import LineProcess, forget_peak, peak_bytes, resident_bytes, say
from bench.offline import Offline, OfflineClient
from bench.ours import OurRecommender
from bench.stopwatch import Stopwatch


class Loaded(msgspec.Struct, frozen=True):
    """The line from it.

    Args:
        wall: Seconds by the clock on the wall.
        cpu: Seconds of CPU time of all threads.
        samples: That were taken in.
        base_bytes: Memory that the process held before.
        peak_bytes: The most that it held meanwhile.
    """

    wall: float
    cpu: float
    samples: int
    base_bytes: int
    peak_bytes: int


def load_history(shape: Shape, now: datetime, statuses: Path, *flags: str) -> Run:
    """Load history in a new process.

    Args:
        shape: The cluster that it finds.
        now: Its present, and when its objects were made.
        statuses: File for the patches of statuses, by path.
        flags: Command line of the recommender.

    Returns:
        Seconds, samples, and the memory ``above`` what the process held before, in bytes.

    Raises:
        PeerError: The process has ended.
    """
    size = f"--vpas={shape.vpas}", f"--pods-per-vpa={shape.pods_per_vpa}", f"--now={now.isoformat()}"
    words = sys.executable, "-m", "bench.history_host", *size, f"--statuses={statuses}", *flags
    process = LineProcess("our recommender's process", *words)
    try:
        loaded = process.hear(Loaded)
    finally:
        process.stop()
    above = loaded.peak_bytes - loaded.base_bytes
    return Run(loaded.wall, loaded.cpu, {"samples": loaded.samples, "above": above})


def main() -> None:
    """Load history, say what that took, and run a round."""
    parser = argparse.ArgumentParser(prog="python -m bench.history_host")
    parser.add_argument("--vpas", type=int, required=True)
    parser.add_argument("--pods-per-vpa", type=int, required=True)
    parser.add_argument("--now", type=datetime.fromisoformat, required=True)
    parser.add_argument("--statuses", type=Path, required=True)
    arguments, flags = parser.parse_known_args()
    shape, now = Shape(arguments.vpas, arguments.pods_per_vpa), arguments.now
    offline = Offline.holding(
        verticalpodautoscalers=vpas(shape, now), pods=pods(shape, now), deployments=deployments(shape, now)
    )
    side = OurRecommender(OfflineClient(offline), *flags, held=now)
    before = resident_bytes("self")
    forget_peak()
    with Stopwatch() as watch:
        side.run(side.loop.load_history())
    most = peak_bytes()
    samples = int(side.registry.get_sample_value("evenkeel_recommender_history_samples") or 0)
    side.run(side.loop.run_round())
    arguments.statuses.write_bytes(msgspec.json.encode({path: msgspec.Raw(p) for path, p in offline.patches.items()}))
    say(Loaded(watch.wall_seconds, watch.cpu_seconds, samples, before, most))
    side.stop()


if __name__ == "__main__":
    main()

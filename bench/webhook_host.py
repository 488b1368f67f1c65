"""Our admission controller with a store of pods beside its caches: ``python -m bench.webhook_host FILE FLAG…``.

The admission controller itself follows no pods; what the other two processes follow is added here, by the same code, to
see how long a webhook has to wait while its process takes in as many changes as a large cluster has. How many have been
taken in is kept in a file.
"""

from __future__ import annotations

import asyncio
import os
import sys
from functools import partial
from pathlib import Path

import msgspec

from admission.__main__ import start
from admission.config import AdmissionConfig
from autoscaling.kube.decoders import versioned
from autoscaling.kube.paths import PODS, Selection
from autoscaling.kube.watch import WatchedStore
from autoscaling.pod import Pod
from autoscaling.runtime.collector import caches_uncollected
from autoscaling.runtime.flags import config_or_exit
from autoscaling.runtime.process import Process
from autoscaling.runtime.startup import SYNC_SECONDS, open_client, run_configured
from autoscaling.wire.pods import decode_pod

_NOTES_SECONDS = 0.2


class Taken(msgspec.Struct, frozen=True):
    """What the process has taken in so far.

    Args:
        lists: Lists of all pods, begun.
        events: Changes of single pods.
        pods: Pods that it knows.
        is_synced: Whether it has known all of them.
    """

    lists: int = 0
    events: int = 0
    pods: int = 0
    is_synced: bool = False


def main() -> None:
    """Run until told to stop."""
    config = config_or_exit(AdmissionConfig, sys.argv[2:], os.environ)
    raise SystemExit(run_configured(config, partial(_start, config=config, file=Path(sys.argv[1]))))


async def _start(process: Process, config: AdmissionConfig, file: Path) -> None:
    """Start the admission controller, and follow pods."""
    await start(process, config)
    client = await open_client(process, config, "admission-controller")
    store = WatchedStore(client, Selection(PODS), versioned(decode_pod))
    with caches_uncollected():
        process.run_in_background("pods", store.run())
        process.run_in_background("notes", _keep_notes(store, file))
        await store.wait_synced(SYNC_SECONDS)


async def _keep_notes(store: WatchedStore[Pod], file: Path) -> None:
    """Write down for ever what has been taken in."""
    while True:
        counters = store.counters
        taken = Taken(counters.lists, counters.events, len(store.items()), store.is_synced)
        fresh = file.with_suffix(".new")
        fresh.write_bytes(msgspec.json.encode(taken))
        fresh.replace(file)
        await asyncio.sleep(_NOTES_SECONDS)


if __name__ == "__main__":
    main()

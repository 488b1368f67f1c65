"""Use from the metrics API: looked at for as long as the window lasts."""

from __future__ import annotations

from datetime import timedelta
from itertools import accumulate, pairwise
from typing import Final

from autoscaling.kube.client import KubeClient
from autoscaling.kube.paths import POD_METRICS
from autoscaling.resources import CPU, MEMORY
from evenkeel.comparison.use import ObservedUse, UseSample
from recommender.usage_table import UsageTable
from recommender.wire.pod_metrics import decode_usage

EVERY_SECONDS: Final = 15.0
"""Between two looks: as often as metrics-server looks at kubelets by default; what is seen twice counts once."""


async def watch_metrics(client: KubeClient, namespace: str, use: ObservedUse, window: timedelta) -> None:
    """Gather use until the window has passed; with a window of nothing there is one look.

    Args:
        client: Calls to the API server.
        namespace: The only one; empty for all.
        use: Takes the samples.
        window: How long to look.

    Raises:
        ApiError: The metrics API does not answer.
        InvalidObjectError: It answers with something that is no list.
    """
    pacing = client.pacing
    end = pacing.monotonic() + window.total_seconds()
    while True:
        page = decode_usage(await client.get(POD_METRICS.path(namespace)))
        take(page.table, use)
        left = end - pacing.monotonic()
        if left <= 0:
            return
        await pacing.sleep(min(EVERY_SECONDS, left))


def take(table: UsageTable, use: ObservedUse) -> None:
    """Take in one answer."""
    spans = pairwise(accumulate(table.sizes, initial=0))
    columns = zip(table.namespaces, table.pods, table.instants.tolist(), spans, strict=True)
    cpu, memory = table.millicores.tolist(), table.memory_bytes.tolist()
    for namespace, pod, at, (begin, end) in columns:
        for place in range(begin, end):
            for resource, amounts in ((CPU, cpu), (MEMORY, memory)):
                if amounts[place] >= 0:
                    use.note((namespace, pod), table.containers[place], resource, UseSample(at, amounts[place]))

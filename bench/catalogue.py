"""Every benchmark by its row."""

from __future__ import annotations

from collections.abc import Mapping

from bench.figures import Target
from bench.row import Benchmark
from bench.rows.a1 import WebhookLatency
from bench.rows.a2 import WebhookRate
from bench.rows.a3 import BusyWebhook
from bench.rows.c1 import KubeletResize
from bench.rows.r1 import FoldArrays
from bench.rows.r2 import TakeMetricsList
from bench.rows.r3 import Recommend
from bench.rows.r4 import WholeRound
from bench.rows.r5 import Memory
from bench.rows.r6 import Start
from bench.rows.r7 import History
from bench.rows.r8 import WriteCheckpoints
from bench.rows.r9 import Growth
from bench.rows.s1 import EmbeddedServer
from bench.rows.s2 import Demonstration
from bench.rows.u1 import PlanRound
from bench.rows.u2 import SlowEvictions
from bench.rows.u3 import SlowResizes

_ROWS: tuple[type[Benchmark], ...] = (
    FoldArrays,
    TakeMetricsList,
    Recommend,
    WholeRound,
    Growth,
    WriteCheckpoints,
    Memory,
    Start,
    History,
    PlanRound,
    SlowEvictions,
    SlowResizes,
    WebhookLatency,
    WebhookRate,
    BusyWebhook,
    EmbeddedServer,
    Demonstration,
    KubeletResize,
)
ROWS: Mapping[str, type[Benchmark]] = {row.name: row for row in _ROWS}
"""In the order in which they run: rows that want the same cluster stand together."""
TARGETS: Mapping[str, Target] = {name: target for row in _ROWS for name, target in row.targets.items()}
"""What figures of a run at full size are judged by, by their names; the others are only shown."""

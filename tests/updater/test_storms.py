"""Which changes take tokens, and from which buckets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autoscaling.pod import Pod
from autoscaling.target_resources import ContainerTarget
from tests.builders import amounts, container, pod
from tests.updater.rooms import ROOMY, on
from tests.updater.situations import IPOR, NOW, SECOND, circumstances, restarting, vpa_of
from updater.circumstances import Circumstances, Memory
from updater.decision import Reason
from updater.evicting import EvictionProposal
from updater.ledger import Claim, Ledger
from updater.shaping import Hindrance, Proposal
from updater.storm_levels import Bucket, Span, StormLevels, StormLimit, StormLimits
from updater.storms import eviction_within_storm_budgets, resize_within_storm_budgets

SUBJECT = on(pod(container("c", "100m/100Mi", "200m/200Mi")), "n1")
NODE, NAMESPACE, CLUSTER = Bucket(Span.NODE, "n1"), Bucket(Span.NAMESPACE, "default"), Bucket(Span.CLUSTER)
LIMITS = StormLimits(StormLimit(1, 1.0), StormLimit(2, 1.0), StormLimit(3, 1.0))


def around(limits: StormLimits | None = LIMITS, levels: StormLevels | None = None) -> Circumstances:
    memory = Memory(storms=levels or StormLevels())
    return replace(circumstances(vpa_of(IPOR), ROOMY, memory), storms=limits)


def resize(subject: Pod, requests: str, limits: str) -> Proposal:
    return Proposal(
        subject, (ContainerTarget(amounts(requests), amounts(limits)),), None, Claim(rooms={"n1": {"cpu": 1}})
    )


@pytest.mark.parametrize(
    ("row", "proposal", "buckets"),
    [
        ("beyond:B-24", resize(SUBJECT, "200m/100Mi", "400m/200Mi"), (NODE, NAMESPACE, CLUSTER)),
        ("beyond:B-24", resize(SUBJECT, "100m/100Mi", "201m/200Mi"), (NODE, NAMESPACE, CLUSTER)),
        ("beyond:B-24", resize(SUBJECT, "50m/50Mi", "100m/100Mi"), ()),
        ("beyond:B-24", resize(restarting(SUBJECT), "50m/50Mi", "100m/100Mi"), (NODE, NAMESPACE, CLUSTER)),
        ("beyond:B-24", resize(restarting(SUBJECT), "50m/100Mi", "100m/200Mi"), ()),
    ],
)
def test_what_grows_or_restarts_takes_tokens(row: str, proposal: Proposal, buckets: tuple[Bucket, ...]) -> None:
    found = resize_within_storm_budgets(proposal, around(), Ledger())
    assert isinstance(found, Proposal)
    assert found.claim == replace(proposal.claim, changes=buckets), row


@pytest.mark.parametrize(
    ("row", "taken", "seconds", "short"),
    [
        ("beyond:B-24", (), 0, None),
        ("beyond:B-24", (NODE,), 0, "node n1"),
        ("beyond:B-24", (NODE,), 1, None),
        ("beyond:B-24", (NAMESPACE,), 0, None),
        ("beyond:B-24", (NAMESPACE, NAMESPACE), 0, "namespace default"),
        ("beyond:B-24", (CLUSTER, CLUSTER, CLUSTER), 0, "cluster"),
    ],
)
def test_the_first_bucket_that_is_used_up_is_named(
    row: str, taken: tuple[Bucket, ...], seconds: int, short: str | None
) -> None:
    counts = {bucket: taken.count(bucket) for bucket in taken}
    before = StormLevels().taking(counts, LIMITS, NOW - seconds * SECOND)
    eviction = EvictionProposal(SUBJECT, None, Reason.OUTSIDE_BOUNDS)
    found = eviction_within_storm_budgets(eviction, around(levels=before), Ledger())
    expected = Hindrance(Reason.STORM_BUDGET, f"budget of {short} used up")
    assert found == (expected if short else replace(eviction, claim=Claim(changes=(NODE, NAMESPACE, CLUSTER)))), row
    if seconds == 0:
        in_this_round = Ledger()
        for bucket in taken:
            in_this_round = in_this_round.after(Claim(changes=(bucket,)))
        assert eviction_within_storm_budgets(eviction, around(), in_this_round) == found, row


def test_without_limits_nothing_is_counted() -> None:
    proposal, eviction = resize(SUBJECT, "9/9Gi", "-"), EvictionProposal(SUBJECT, None, Reason.OUTSIDE_BOUNDS)
    assert resize_within_storm_budgets(proposal, around(None), Ledger()) is proposal
    found = eviction_within_storm_budgets(eviction, around(None), Ledger())
    assert isinstance(found, EvictionProposal)
    assert found.claim == Claim(), "beyond:B-24"

"""Not asking a node again for what it has refused for good."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from autoscaling.node import Node, Taint
from autoscaling.pod import Pod
from autoscaling.target_resources import ContainerTarget
from autoscaling.vpa import UpdateMode
from tests.builders import amounts, container, pod
from tests.updater.rooms import around, given, node, on
from tests.updater.situations import (
    DEFERRED,
    EVENKEEL,
    HOUR,
    IN_PLACE,
    INFEASIBLE,
    IPOR,
    MINUTE,
    NOW,
    SECOND,
    UPSTREAM,
    about,
    circumstances,
    resizing,
    vpa_of,
)
from updater.circumstances import Circumstances, Memory
from updater.decision import Reason
from updater.feasibility import refused_by_node, refused_by_server, unless_infeasible
from updater.infeasible import Change, InfeasibleResize, InfeasibleResizes
from updater.ledger import Ledger
from updater.resize_request import ResizeRequest, request_operation
from updater.settings import Settings
from updater.shaping import Hindrance, Proposal

GIB = 1024**3 * 10**9
BACK = on(given(pod(container("c", "1/1Gi")), "1/1Gi"))
"""It has given back what its node refused."""
STUCK = resizing(on(replace(given(pod(container("c", "4/1Gi")), "1/1Gi"), generation=2)), about(INFEASIBLE, 2, NOW))
KNOWN = Node("node1", amounts("4/8Gi"))
REFUSAL = InfeasibleResize("uid-p", {("c", "cpu"): Change(10**9, 4 * 10**9)}, KNOWN, 2, NOW)


def remembering(*resizes: InfeasibleResize) -> Memory:
    """Return what is remembered of refused resizes."""
    return Memory(infeasible_resizes=InfeasibleResizes().seeing(resizes, NOW))


def there(
    memory: Memory | None = None,
    now: datetime = NOW,
    mode: UpdateMode = IN_PLACE,
    home: Node | None = None,
    settings: Settings = EVENKEEL,
) -> Circumstances:
    """Return the round in which a resize is to be sent; nodes are not known unless one is given."""
    found = circumstances(vpa_of(mode), settings, memory, now)
    return replace(found, surroundings=around(home)) if home is not None else found


def proposing(subject: Pod, requests: str) -> Proposal:
    """Return a resize to these requests."""
    return Proposal(subject, (ContainerTarget(amounts(requests)),), None)


OFF = replace(EVENKEEL, behaviour=replace(EVENKEEL.behaviour, infeasible_memory=False))


@pytest.mark.parametrize(
    ("row", "subject", "requests", "memory", "settings", "is_held"),
    [
        ("beyond:B-28", BACK, "4/1Gi", remembering(REFUSAL), EVENKEEL, True),
        ("beyond:B-28", BACK, "5/1Gi", remembering(REFUSAL), EVENKEEL, True),
        ("beyond:B-28", BACK, "4/512Mi", remembering(REFUSAL), EVENKEEL, True),
        # A lower need, in what was refused, is tried at once.
        ("updater:K-4", BACK, "3999m/1Gi", remembering(REFUSAL), EVENKEEL, False),
        ("updater:K-4", BACK, "-/2Gi", remembering(REFUSAL), EVENKEEL, False),
        ("beyond:B-28", BACK, "4/1Gi", Memory(), EVENKEEL, False),
        ("beyond:B-28", replace(BACK, uid="other"), "4/1Gi", remembering(REFUSAL), EVENKEEL, False),
        ("updater:D-46", BACK, "4/1Gi", remembering(REFUSAL), OFF, False),
        # What the node says counts as long as it says so, whatever is remembered.
        ("beyond:B-28", STUCK, "4/1Gi", Memory(), EVENKEEL, True),
        ("beyond:B-28", STUCK, "5/1Gi", Memory(), EVENKEEL, True),
        ("beyond:B-28", STUCK, "-/2Gi", Memory(), EVENKEEL, True),
        ("updater:K-4", STUCK, "3/1Gi", Memory(), EVENKEEL, False),
        ("beyond:B-28", STUCK, "4/1Gi", remembering(replace(REFUSAL, generation=1)), EVENKEEL, True),
        # Only of the present spec is it believed.
        ("updater:K-19", resizing(STUCK, about(INFEASIBLE, 1)), "4/1Gi", Memory(), EVENKEEL, False),
        ("updater:K-19", resizing(STUCK, about(DEFERRED, 2)), "4/1Gi", Memory(), EVENKEEL, False),
        ("updater:D-43", STUCK, "4/1Gi", Memory(), OFF, False),
    ],
)
def test_what_is_not_asked_for_again(
    row: str, subject: Pod, requests: str, memory: Memory, settings: Settings, *, is_held: bool
) -> None:
    found = unless_infeasible(proposing(subject, requests), there(memory, settings=settings), Ledger())
    assert isinstance(found, Hindrance) is is_held, row
    if isinstance(found, Hindrance):
        assert found.reason is Reason.RESIZE_INFEASIBLE
        # The second refusal waits twice as long.
        due = "00:15:00" if subject is STUCK and memory != Memory() else "00:10:00"
        assert found.detail == f"cpu of container c refused, tried again from 2026-01-01T{due}+00:00 on"


@pytest.mark.parametrize(("row", "mode", "is_held"), [("beyond:B-28", IN_PLACE, True), ("beyond:B-24", IPOR, False)])
def test_a_pod_that_may_be_evicted_has_rules_of_its_own(row: str, mode: UpdateMode, *, is_held: bool) -> None:
    found = unless_infeasible(proposing(STUCK, "4/1Gi"), there(mode=mode), Ledger())
    assert isinstance(found, Hindrance) is is_held, row


LABELLED = replace(node(), labels={"size": "large"})
LARGER = node(room="8/8Gi")


@pytest.mark.parametrize(
    ("row", "after", "home", "is_held"),
    [
        ("beyond:B-28", 5 * MINUTE - SECOND, None, True),
        ("beyond:B-28", 5 * MINUTE, None, False),
        ("beyond:B-28", MINUTE, node(), True),
        ("updater:K-4", MINUTE, LARGER, False),
        ("updater:K-4", MINUTE, LABELLED, False),
        # What changes all the time, or has no say in what is infeasible.
        ("updater:K-4", MINUTE, replace(node(), resource_version="9"), True),
        ("updater:K-4", MINUTE, replace(node(), is_ready=False), True),
        ("updater:K-4", MINUTE, replace(node(), taints=(Taint("x", "", "NoSchedule"),)), True),
        ("updater:K-4", MINUTE, node(pods=5), True),
        # Another node is none of this pod's.
        ("updater:K-4", MINUTE, node("node2", "8/8Gi"), True),
    ],
)
def test_it_is_tried_again_after_the_pause_and_when_the_node_has_changed(
    row: str, after: timedelta, home: Node | None, *, is_held: bool
) -> None:
    found = unless_infeasible(proposing(BACK, "4/1Gi"), there(remembering(REFUSAL), NOW + after, home=home), Ledger())
    assert isinstance(found, Hindrance) is is_held, row


def test_a_node_that_was_not_known_has_not_changed() -> None:
    memory = remembering(replace(REFUSAL, node=None))
    assert isinstance(unless_infeasible(proposing(BACK, "4/1Gi"), there(memory, home=LARGER), Ledger()), Hindrance)


@pytest.mark.parametrize(
    ("row", "requests", "is_held"),
    [
        # The same spec once more would change nothing, so the node would not even look at it.
        ("beyond:B-28", "4/1Gi", True),
        ("beyond:B-28", "5/1Gi", False),
    ],
)
def test_what_the_spec_asks_for_already_is_never_due(row: str, requests: str, *, is_held: bool) -> None:
    later = there(remembering(REFUSAL), NOW + HOUR, home=LARGER)
    assert isinstance(unless_infeasible(proposing(STUCK, requests), later, Ledger()), Hindrance) is is_held, row


def asked_long_ago(subject: Pod) -> Pod:
    """Return a pod whose last resize the API server took two hours ago."""
    return replace(subject, resized_at=NOW - 2 * HOUR)


@pytest.mark.parametrize(
    ("row", "subject", "at"),
    [
        ("beyond:B-28", STUCK, NOW),
        ("beyond:B-28", asked_long_ago(resizing(STUCK, about(INFEASIBLE, 2, NOW - HOUR))), NOW - HOUR),
        # Ours counts from when it was accepted, as the condition keeps its time over the next resize.
        (
            "beyond:B-20",
            replace(
                resizing(STUCK, about(INFEASIBLE, 2, NOW - HOUR)),
                annotations={
                    "evenkeel.dev/resize-requested": str(request_operation(ResizeRequest(2, NOW - MINUTE)).value)
                },
            ),
            NOW - MINUTE,
        ),
    ],
)
def test_a_restart_tells_from_the_pod_since_when(row: str, subject: Pod, at: datetime) -> None:
    found = refused_by_node(subject, there(home=LABELLED))
    assert found == replace(REFUSAL, node=replace(KNOWN, labels={"size": "large"}), at=at), row


def test_a_pause_that_has_run_out_while_nobody_looked_is_over() -> None:
    subject = asked_long_ago(resizing(STUCK, about(INFEASIBLE, 2, NOW - HOUR)))
    assert not isinstance(unless_infeasible(proposing(subject, "5/1Gi"), there(), Ledger()), Hindrance), "beyond:B-28"


def test_what_the_api_server_refuses_is_what_was_sent() -> None:
    found = refused_by_server(BACK, (ContainerTarget(amounts("1/4Gi")),), there())
    changes = {("c", "memory"): Change(GIB, 4 * GIB)}
    assert found == InfeasibleResize("uid-p", changes, None, None, NOW), "updater:D-48"


def test_a_resize_of_limits_alone_says_so() -> None:
    """Spec: beyond:B-28."""
    subject = resizing(on(given(pod(container("c", "1/1Gi", "4/4Gi")), "1/1Gi", "1/1Gi")), INFEASIBLE)
    found = unless_infeasible(proposing(subject, "1/1Gi"), there(), Ledger())
    assert isinstance(found, Hindrance)
    assert found.detail.startswith("the resize refused, "), "beyond:B-28"


def test_profile_upstream_asks_again() -> None:
    settings = replace(EVENKEEL, behaviour=UPSTREAM)
    proposal = proposing(STUCK, "4/1Gi")
    assert unless_infeasible(proposal, there(settings=settings), Ledger()) is proposal, "updater:D-43"

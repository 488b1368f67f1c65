"""What outlives a kubelet's process."""

from __future__ import annotations

from evenkeel.simulator.kubelet.records import Checkpoints
from tests.evenkeel.simulator.kubelet.pods import held, view


def test_a_pod_without_grant_counts_with_its_spec() -> None:
    checkpoints, pod = Checkpoints(), view()
    assert checkpoints.allocation(pod) == pod.desired
    checkpoints.allocated[pod.uid] = {"app": held("1")}
    assert checkpoints.allocation(pod) == {"app": held("1")}


def test_a_pod_that_has_gone_is_forgotten() -> None:
    checkpoints, pod = Checkpoints(), view()
    checkpoints.allocated[pod.uid] = pod.desired
    checkpoints.in_force(pod.uid)["app"] = held("1")
    checkpoints.forget(pod.uid)
    checkpoints.forget(pod.uid)
    assert (checkpoints.allocated, checkpoints.actuated) == ({}, {})

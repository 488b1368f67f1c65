"""What holds for resizes that have gone through all rules that shape what is set, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from autoscaling.capping import process
from autoscaling.limitrange import NO_LIMITS
from autoscaling.pod import ContainerStatus, Pod, ResizePolicy
from autoscaling.qos import pod_qos, spec_qos
from autoscaling.quantity import Quantity
from autoscaling.quota import Quota
from autoscaling.quota_use import charge
from autoscaling.resources import CONTROLLED, MEMORY, amount
from autoscaling.target_resources import container_targets
from autoscaling.vpa import ContainerPolicy, ControlledValues, Vpa
from tests.builders import container, pod, recommended
from tests.updater.situations import EVENKEEL, GATES_ON, HOUR, IPOR, MINUTE, NOW, circumstances, vpa_of
from updater.changes import differs_from_spec
from updater.circumstances import Circumstances
from updater.decision import Reason
from updater.ledger import Ledger
from updater.memory_shrink import memory_within_use
from updater.namespace_bounds import within_limit_ranges, within_quotas
from updater.partial_resize import only_what_is_worth_it
from updater.qos_kept import qos_class_kept
from updater.resized_pod import resized
from updater.shaping import Hindrance, Proposal, Step, shape
from updater.surroundings import MemoryUse, Surroundings

STEPS: tuple[Step, ...] = (
    only_what_is_worth_it,
    memory_within_use,
    qos_class_kept,
    within_limit_ranges,
    within_quotas,
)
NAMES = ("a", "b")
MIB = 2**20
NAMED = frozenset(
    {
        Reason.CHANGE_TOO_SMALL,
        Reason.MEMORY_IN_USE,
        Reason.MEMORY_USE_UNKNOWN,
        Reason.QOS_WOULD_CHANGE,
        Reason.QUOTA_WOULD_BLOCK,
    }
)


@dataclass(frozen=True, slots=True)
class Case:
    """A pod, its VPA and what is known of the cluster around it."""

    made: Pod
    vpa: Vpa
    around: Circumstances

    def proposed(self, made: Pod) -> Proposal:
        """Return what the VPA's recommendation asks for."""
        processed = process(made, self.vpa, NO_LIMITS)
        return Proposal(made, container_targets(made, self.vpa, processed, NO_LIMITS), processed)

    def shaped(self, made: Pod) -> Proposal | Hindrance:
        """Return what is left of that."""
        return shape(self.proposed(made), STEPS, self.around, Ledger())


def in_force(made: Pod) -> Pod:
    """Return a pod whose node has carried out what its spec asks for."""
    statuses = (ContainerStatus(c.name, resources=c.resources, allocated=c.resources.requests) for c in made.containers)
    return replace(made, statuses=tuple(statuses))


AMOUNTS = st.integers(1, 3000)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a pod of two containers with limits or without, of any QoS class, and what is recommended for them."""
    containers, recommendations, policies, use = [], [], [], {}
    for name in NAMES:
        cpu, memory = draw(AMOUNTS), draw(AMOUNTS)
        requests = f"{cpu}m/{memory}Mi"
        limits = draw(st.sampled_from(["-", requests, f"{2 * cpu}m/{2 * memory}Mi", f"-/{memory + 7}Mi"]))
        restarts = draw(st.sets(st.sampled_from(CONTROLLED)))
        made = container(name, draw(st.sampled_from([requests, requests, "-"])) if limits == "-" else requests, limits)
        containers.append(
            replace(made, resize_policy=tuple(ResizePolicy(r, restarts_container=True) for r in restarts))
        )
        low = draw(st.integers(1, 1000))
        target = low + draw(AMOUNTS)
        high = target + draw(AMOUNTS)
        recommendations.append(
            recommended(name, f"{target}m/{target}Mi", f"{low}m/{low}Mi", f"{high}m/{high}Mi"),
        )
        policies.append(ContainerPolicy(name, controlled_values=draw(st.sampled_from(ControlledValues))))
        if draw(st.booleans()):
            use[name] = MemoryUse(NOW - draw(st.integers(0, 6)) * MINUTE, draw(st.integers(0, 3000)) * MIB)
    made_pod = in_force(pod(*containers))
    made_pod = replace(
        made_pod,
        start_time=NOW - draw(st.sampled_from([0, 12])) * HOUR,
        qos_class=spec_qos(made_pod).value,
    )
    room = draw(st.integers(0, 10**4))
    used = charge(made_pod).get("requests.memory", 0)
    hard = {"requests.memory": Quantity(used + room * MIB * 10**9)}
    quota = Quota("default", "q", hard, {"requests.memory": Quantity(used)})
    seen = Surroundings(memory={made_pod.ref: use}, quotas={"default": (quota,)})
    vpa = vpa_of(IPOR, *recommendations, policies=tuple(policies))
    return Case(made_pod, vpa, replace(circumstances(vpa, EVENKEEL), surroundings=seen))


@given(cases())
def test_a_shaped_resize_does_no_harm(case: Case) -> None:
    found = case.shaped(case.made)
    if isinstance(found, Hindrance):
        assert found.reason in NAMED
        return
    after = resized(case.made, found.targets)
    assert spec_qos(after) is pod_qos(case.made), "beyond:B-21"
    for before, changed in zip(case.made.containers, after.containers, strict=True):
        old, new = before.resources.limit(MEMORY), changed.resources.limit(MEMORY)
        assert changed.resources.request(MEMORY) <= new or new.is_zero()
        if not new.is_zero() and new < old:
            use = (case.around.surroundings.memory or {})[case.made.ref][before.name]
            assert NOW - use.measured <= 5 * MINUTE, "case:29"
            assert new.value() * 10 >= use.bytes * 11, "beyond:B-22"
            assert new.value() >= use.bytes + 16 * MIB, "beyond:B-22"
    (quota,) = (case.around.surroundings.quotas or {})["default"]
    grown = charge(after).get("requests.memory", 0) - charge(case.made).get("requests.memory", 0)
    assert quota.used["requests.memory"].nano + grown <= quota.hard["requests.memory"].nano or grown <= 0, "case:4"


@given(cases())
def test_resizes_come_to_an_end(case: Case) -> None:
    made = case.made
    for _ in range(40):
        # What is given back to a quota and what is taken from it is left to the test of whole rounds.
        around = replace(case.around, surroundings=replace(case.around.surroundings, quotas=None))
        found = shape(case.proposed(made), STEPS, around, Ledger())
        if isinstance(found, Hindrance):
            assert found.reason in NAMED
            return
        if not differs_from_spec(made, found.targets):
            break
        made = in_force(resized(made, found.targets))
    else:
        raise AssertionError("it goes on for ever")
    for each, target in zip(made.containers, found.targets, strict=True):
        entry = found.processed.recommendation.of(each.name) if found.processed is not None else None
        for name in target.requests if target is not None and entry is not None else ():
            least = 10**9 if name == MEMORY else 10**6
            wanted = amount(entry.target if entry is not None else None, name)
            assert abs(each.resources.request(name).nano - wanted.nano) <= least, "beyond:B-23"


@given(cases())
def test_with_all_switches_off_everything_is_sent(case: Case) -> None:
    around = replace(case.around, settings=GATES_ON)
    proposal = case.proposed(case.made)
    assert shape(proposal, STEPS, around, Ledger()) is proposal, "updater:X-2"

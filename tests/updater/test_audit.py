"""What a change made of a pod, in words, and the digest of what led to it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.target_resources import ContainerTarget
from autoscaling.vpa import ContainerPolicy, ScalingMode
from tests.builders import amounts, container, pod, recommended
from tests.updater.situations import EVENKEEL, IPOR, RECREATE, Scene, reporting, small, vpa_of
from updater.audit import LONGEST_TEXT_BYTES, Audit
from updater.decision import Action

VPA = vpa_of(IPOR)


def target(requests: str, limits: str = "-") -> ContainerTarget:
    return ContainerTarget(amounts(requests), amounts(limits))


@pytest.mark.parametrize(
    ("row", "old", "wanted", "text"),
    [
        ("beyond:B-42", ("100m/200Mi", "-"), target("250m/300Mi"), "c cpu 100m→250m, memory 200Mi→300Mi"),
        ("beyond:B-42", ("1/2Mi", "1/3Mi"), target("1/3Mi", "1/4Mi"), "c memory 2Mi→3Mi, memory limit 3Mi→4Mi"),
        ("beyond:B-42", ("-", "-"), target("250m/300Mi"), "c cpu none→250m, memory none→300Mi"),
        ("beyond:B-42", ("100m/200Mi", "1/-"), target("-", "2/-"), "c cpu limit 1→2"),
        ("the same, otherwise written", ("1/1Gi", "-"), target("1000m/1024Mi"), None),
        ("nothing set", ("1/1Gi", "-"), target("-"), None),
        ("left out", ("1/1Gi", "-"), None, None),
    ],
)
def test_amounts_that_change_are_told(
    row: str, old: tuple[str, str], wanted: ContainerTarget | None, text: str | None
) -> None:
    assert Audit(small("p", *old), (wanted,), VPA).by_container() == ((text,) if text else ()), row


def test_a_resize_tells_of_the_spec_and_a_replacement_of_what_is_in_force() -> None:
    """Spec: beyond:B-42."""
    waiting = reporting(small(requests="250m/300Mi"), "100m/200Mi")
    wanted = (target("250m/300Mi"),)
    assert Audit(waiting, wanted, VPA).by_container() == ()
    assert Audit(waiting, wanted, VPA, replaces=True).by_container() == ("c cpu 100m→250m, memory 200Mi→300Mi",)


def test_the_text_has_amounts_reason_and_digest() -> None:
    audit = Audit(small(), (target("250m/300Mi"),), VPA)
    told = audit.told("Resize requested", "Too small.")
    assert told == f"Resize requested: c cpu 100m→250m, memory 200Mi→300Mi. Too small. Digest {audit.digest()}."
    nothing = Audit(small(), (None,), VPA).told("Evicted", "Old.")
    assert nothing == f"Evicted: no amounts change. Old. Digest {audit.digest()}."


def crowd(names: list[str]) -> Audit:
    """Return a change of so many containers."""
    subject = pod(*(container(name, "100m/200Mi", "1/1Gi") for name in names))
    return Audit(subject, tuple(target("250m/300Mi", "2/2Gi") for _ in names), VPA)


@given(st.lists(st.from_regex(r"\A[a-z][a-z0-9-]{0,62}\Z"), max_size=40, unique=True))
def test_an_event_has_room_for_any_pod(names: list[str]) -> None:
    """Spec: beyond:B-42, a text beyond 1,024 would be cut by whoever stores it, digest first."""
    audit = crowd(names)
    told = audit.told("Resize requested", "A container has no request.")
    assert len(told.encode()) <= LONGEST_TEXT_BYTES
    assert told.endswith(f". A container has no request. Digest {audit.digest()}.")


@pytest.mark.parametrize(
    ("count", "more"), [(11, ""), (12, " and one more container."), (13, " and 2 more containers.")]
)
def test_what_does_not_fit_is_counted(count: int, more: str) -> None:
    told = crowd([f"c{number:02}" for number in range(count)]).told("Resize requested", "Why.")
    assert told.count("memory limit 1Gi→2Gi") == min(count, 11)
    assert more in told


def test_without_room_for_a_single_one_only_their_number_is_told() -> None:
    assert crowd(["a", "b"]).told("Resize requested", "x" * 960).startswith("Resize requested: 2 containers. x")


POLICIES = (ContainerPolicy("c"),)
BASE = vpa_of(IPOR, recommended("c", "250m/300Mi"), policies=POLICIES)


@pytest.mark.parametrize(
    ("row", "other", "same"),
    [
        ("beyond:B-42", vpa_of(IPOR, recommended("c", "0.25/300Mi"), policies=POLICIES), True),
        ("beyond:B-42", replace(BASE, name="other", resource_version="9", conditions=()), True),
        ("beyond:B-42", vpa_of(RECREATE, recommended("c", "250m/300Mi"), policies=POLICIES), True),
        ("beyond:B-42", vpa_of(IPOR, recommended("c", "251m/300Mi"), policies=POLICIES), False),
        ("beyond:B-42", vpa_of(IPOR, recommended("c", "250m/300Mi", upper="1/1Gi"), policies=POLICIES), False),
        ("beyond:B-42", vpa_of(IPOR, recommended("d", "250m/300Mi"), policies=POLICIES), False),
        ("beyond:B-42", replace(BASE, container_policies=(ContainerPolicy("c", ScalingMode.OFF),)), False),
        ("beyond:B-42", replace(BASE, container_policies=(ContainerPolicy("c", max_allowed=amounts("1/-")),)), False),
        ("beyond:B-42", replace(BASE, container_policies=None), False),
        ("beyond:B-42", replace(BASE, recommendation=None), False),
    ],
)
def test_the_digest_is_of_recommendation_and_policies(row: str, other: object, same: bool) -> None:
    one, two = (Audit(small(), (None,), each).digest() for each in (BASE, other))  # type: ignore[arg-type]
    assert (one == two) is same, row
    assert len(one) == 12


def test_decisions_of_a_round_carry_what_they_change() -> None:
    """Spec: beyond:B-42."""
    resized = Scene(vpa_of(IPOR, minimum=1), (small(),), settings=EVENKEEL).played().decisions[0]
    assert resized.action is Action.RESIZE
    assert resized.audit is not None
    assert resized.audit.by_container() == ("c cpu 100m→250m, memory 200Mi→300Mi",)
    evicted = Scene(vpa_of(RECREATE, minimum=1), (small(),), settings=EVENKEEL).played().decisions[0]
    assert evicted.action is Action.EVICT
    assert evicted.audit is not None
    assert (evicted.audit.replaces, evicted.audit.by_container()) == (True, resized.audit.by_container())

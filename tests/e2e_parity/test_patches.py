"""Patches in a form that compares."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from e2e.parity.patches import in_order


def operation(path: str, op: str = "add") -> dict[str, object]:
    return {"op": op, "path": path}


REQUESTS = [operation(f"/spec/containers/0/resources/requests/{name}") for name in ("cpu", "gpu", "memory")]
LIMITS = [operation(f"/spec/containers/0/resources/limits/{name}") for name in ("cpu", "memory")]
REMOVED = [operation(f"/metadata/annotations/{name}", "remove") for name in ("a", "b")]


@given(st.permutations(REQUESTS), st.permutations(LIMITS), st.permutations(REMOVED))
def test_only_what_comes_in_the_order_of_a_map_is_sorted(
    requests: list[dict[str, object]], limits: list[dict[str, object]], removed: list[dict[str, object]]
) -> None:
    init = operation("/spec/containers/0/resources")
    annotations = [operation("/metadata/annotations/b"), operation("/metadata/annotations/a")]
    patch = [init, *requests, *limits, *annotations, *removed]
    assert in_order(patch) == [init, *REQUESTS, *LIMITS, *annotations, *REMOVED]


def test_lists_of_different_containers_stay_apart() -> None:
    other = operation("/spec/containers/1/resources/requests/cpu")
    first = operation("/spec/containers/2/resources/requests/cpu")
    assert in_order([first, other]) == [first, other]


def test_an_empty_patch_stays_empty() -> None:
    assert in_order([]) == []

"""Which series are wanted (beyond:B-36)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.replay.selection import EVERYTHING, Selection


@pytest.mark.parametrize(
    ("row", "selection", "name", "expected"),
    [
        ("beyond:B-36 everything", EVERYTHING, "anything at all", True),
        ("beyond:B-36 namespace", Selection(namespaces=("shop",)), "shop/web/app", True),
        ("beyond:B-36 another namespace", Selection(namespaces=("shop",)), "shops/web/app", False),
        ("beyond:B-36 one of two", Selection(namespaces=("a", "shop")), "shop/web/app", True),
        ("beyond:B-36 workload", Selection(workloads=("web-*",)), "shop/web-7/app", True),
        ("beyond:B-36 container", Selection(containers=("app",)), "shop/app/web", False),
        ("beyond:B-36 all kinds", Selection(("*",), ("s*",), ("w*",), ("a*",)), "shop/web/app", True),
        ("beyond:B-36 all but one kind", Selection(("*",), ("s*",), ("w*",), ("b*",)), "shop/web/app", False),
        ("beyond:B-36 two parts", Selection(namespaces=("*",)), "shop/web", False),
        ("beyond:B-36 four parts", Selection(namespaces=("*",)), "shop/web/app/x", False),
        ("beyond:B-36 the whole name", Selection(only=("shop/*",)), "shop/web", True),
        ("beyond:B-36 upper case", Selection(only=("Shop/*",)), "shop/web", False),
    ],
)
def test_what_is_taken(row: str, selection: Selection, name: str, *, expected: bool) -> None:
    assert selection.takes(name) is expected, row


def test_it_is_told_as_it_was_asked() -> None:
    """beyond:B-36."""
    asked = Selection(("a", "b"), (), ("w",), ())
    assert list(asked.texts()) == ["--only a b", "--workload w"]
    assert list(EVERYTHING.texts()) == []


PARTS = st.lists(st.text("abx-", min_size=1, max_size=4), min_size=3, max_size=3)


@given(parts=PARTS)
def test_the_parts_of_a_name_choose_it(parts: list[str]) -> None:
    """beyond:B-36."""
    namespace, workload, container = parts
    name = "/".join(parts)
    assert Selection(namespaces=(namespace,), workloads=(workload,), containers=(container,)).takes(name)
    assert not Selection(namespaces=(f"{namespace}y",)).takes(name)

"""Results are found again by the very objects they were worked out of (spec: performance A-2)."""

from __future__ import annotations

from admission.recollection import Recollection


def test_what_was_kept_is_found_by_the_same_objects_only() -> None:
    one, other = ["x"], ["x"]
    memory = Recollection[str](4)
    assert memory.recall((one, None)) is None
    assert memory.keep("result", (one, None)) == "result"
    assert memory.recall((one, None)) == "result"
    assert memory.recall((other, None)) is None
    assert memory.recall((None, one)) is None
    assert memory.recall((one,)) is None


def test_what_it_hangs_on_beside_is_told_by_value() -> None:
    one = ["x"]
    memory = Recollection[int](4)
    memory.keep(1, (one,), (True, (False,)))
    assert memory.recall((one,), (True, (False,))) == 1
    assert memory.recall((one,), (True, (True,))) is None
    assert memory.recall((one,)) is None


def test_the_oldest_result_makes_room() -> None:
    objects = [[number] for number in range(4)]
    memory = Recollection[int](3)
    for number, each in enumerate(objects):
        memory.keep(number, (each,))
    assert [memory.recall((each,)) for each in objects] == [None, 1, 2, 3]


def test_an_object_that_nobody_else_keeps_is_not_mistaken_for_another() -> None:
    """What is remembered is kept alive, so no new object can come to lie where it lies."""
    memory = Recollection[int](1000)
    for number in range(1000):
        assert memory.recall(([number],)) is None
        memory.keep(number, ([number],))

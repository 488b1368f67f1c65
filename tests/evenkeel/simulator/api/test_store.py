"""The versioned store."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.simulator.api.fields import JsonObject, value_at
from evenkeel.simulator.api.kinds import GroupResource
from evenkeel.simulator.api.store import (
    Change,
    ChangeType,
    HistoryGoneError,
    Part,
    Store,
    Stored,
    WriteConflictError,
)

THINGS, OTHERS = GroupResource("", "things"), GroupResource("", "others")


def body(name: str, namespace: str = "ns", **content: object) -> JsonObject:
    return {"metadata": {"name": name, "namespace": namespace}, **content}


def names(found: list[Stored]) -> list[str]:
    return [stored.key[1] for stored in found]


def test_one_revision_grows_over_all_kinds() -> None:
    store = Store()
    first = store.put(THINGS, body("a"), expected=None)
    second = store.put(OTHERS, body("a"), expected=None)
    third = store.put(THINGS, body("a", x=1), expected=first)
    removed = store.remove(OTHERS, ("ns", "a"))
    assert removed is not None
    assert first.revision < second.revision < third.revision < removed.revision == store.revision
    assert value_at(third.body, "metadata", "resourceVersion") == str(third.revision)


def test_a_write_over_another_version_than_expected_conflicts() -> None:
    store = Store()
    first = store.put(THINGS, body("a"), expected=None)
    with pytest.raises(WriteConflictError):
        store.put(THINGS, body("a"), expected=None)
    newer = store.put(THINGS, body("a", x=1), expected=first)
    with pytest.raises(WriteConflictError):
        store.put(THINGS, body("a", x=2), expected=first)
    with pytest.raises(WriteConflictError):
        store.remove(THINGS, ("ns", "a"), expected=first)
    assert store.read(THINGS, ("ns", "a")) is newer


def test_removing_what_is_not_there_changes_nothing() -> None:
    store = Store()
    before = store.revision
    assert store.remove(THINGS, ("ns", "a")) is None
    assert store.revision == before


def test_a_snapshot_is_ordered_and_limited_to_a_namespace() -> None:
    store = Store()
    for namespace, name in (("b", "x"), ("a", "z"), ("a", "y"), ("ab", "w")):
        store.put(THINGS, body(name, namespace), expected=None)
    assert [s.key for s in store.snapshot(THINGS)] == [("a", "y"), ("a", "z"), ("ab", "w"), ("b", "x")]
    assert [s.key for s in store.snapshot(THINGS, "a")] == [("a", "y"), ("a", "z")]


def test_a_snapshot_shows_the_past_as_it_was() -> None:
    store = Store()
    a = store.put(THINGS, body("a", x=1), expected=None)
    b = store.put(THINGS, body("b"), expected=None)
    then = store.revision
    store.put(THINGS, body("a", x=2), expected=a)
    store.remove(THINGS, b.key)
    store.put(THINGS, body("c"), expected=None)
    past = store.snapshot(THINGS, revision=then)
    assert past == [a, b]
    assert names(store.snapshot(THINGS)) == ["a", "c"]


def test_changes_say_what_was_and_what_is() -> None:
    store = Store()
    start = store.revision
    a = store.put(THINGS, body("a"), expected=None)
    newer = store.put(THINGS, body("a", x=1), expected=a)
    removed = store.remove(THINGS, a.key)
    assert removed is not None
    changes = store.changes_since(THINGS, start)
    assert changes[:2] == [Change(ChangeType.ADDED, None, a), Change(ChangeType.MODIFIED, a, newer)]
    assert (changes[2].type, changes[2].before) == (ChangeType.DELETED, newer)
    assert changes[2].after.body["x"] == 1
    assert store.changes_since(THINGS, a.revision) == changes[1:]


def test_history_beyond_the_window_is_gone() -> None:
    store = Store(history_limit=2)
    start = store.revision
    written = [store.put(THINGS, body(name), expected=None) for name in "abc"]
    with pytest.raises(HistoryGoneError):
        store.changes_since(THINGS, start)
    with pytest.raises(HistoryGoneError):
        store.snapshot(THINGS, revision=start)
    assert [c.after for c in store.changes_since(THINGS, written[0].revision)] == written[1:]


def test_compaction_makes_everything_read_so_far_unusable_for_the_kinds_named() -> None:
    store = Store()
    store.put(THINGS, body("a"), expected=None)
    store.put(OTHERS, body("a"), expected=None)
    known = store.revision
    store.compact([THINGS])
    with pytest.raises(HistoryGoneError):
        store.changes_since(THINGS, known)
    assert store.changes_since(OTHERS, known) == []
    assert store.changes_since(THINGS, store.revision) == []
    store.compact()
    with pytest.raises(HistoryGoneError):
        store.changes_since(OTHERS, known)


def test_observers_hear_of_their_kind_until_they_stop() -> None:
    store, heard = Store(), list[ChangeType]()
    stop = store.observe(THINGS, lambda change: heard.append(change.type))
    store.put(THINGS, body("a"), expected=None)
    store.put(OTHERS, body("a"), expected=None)
    stop()
    stop()
    store.remove(THINGS, ("ns", "a"))
    assert heard == [ChangeType.ADDED]


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.booleans()), max_size=30), st.integers(0, 30))
def test_replaying_the_changes_since_any_snapshot_gives_the_present(steps: list[tuple[str, bool]], at: int) -> None:
    store, revisions = Store(), []
    for name, keep in steps:
        revisions.append(store.revision)
        if keep:
            store.put(THINGS, body(name, n=len(revisions)), expected=store.read(THINGS, ("ns", name)))
        else:
            store.remove(THINGS, ("ns", name))
    revisions.append(store.revision)
    then = revisions[min(at, len(revisions) - 1)]
    state = {stored.key: stored for stored in store.snapshot(THINGS, revision=then)}
    for change in store.changes_since(THINGS, then):
        if change.type is ChangeType.DELETED:
            del state[change.after.key]
        else:
            state[change.after.key] = change.after
    assert [state[key] for key in sorted(state)] == store.snapshot(THINGS)


_PLACES = st.tuples(st.sampled_from(("a", "b")), st.sampled_from("wxyz"))


@given(
    st.lists(st.tuples(_PLACES, st.booleans()), max_size=30),
    st.integers(0, 30),
    st.sampled_from(("", "a", "b", "c")),
    st.none() | _PLACES,
)
def test_any_part_of_any_past_state_is_what_a_copy_made_then_holds(
    steps: list[tuple[tuple[str, str], bool]], at: int, namespace: str, after: tuple[str, str] | None
) -> None:
    store = Store()
    copies = [(store.revision, store.snapshot(THINGS))]
    for (space, name), keep in steps:
        if keep:
            store.put(THINGS, body(name, space, n=len(copies)), expected=store.read(THINGS, (space, name)))
        else:
            store.remove(THINGS, (space, name))
        copies.append((store.revision, store.snapshot(THINGS)))
    revision, copy = copies[min(at, len(steps))]
    wanted = [s for s in copy if namespace in {"", s.key[0]} and (after is None or s.key > after)]
    with store.lock:
        found, count = store.browse(THINGS, Part(namespace, revision, after))
        assert (list(found), count) == (wanted, len(wanted))


def is_cold(stored: Stored) -> bool:
    return stored.body_at_hand is None


def test_bodies_that_were_only_written_do_not_stay_objects_for_long() -> None:
    store = Store()
    first, *rest = (store.put(THINGS, body(str(n)), expected=None) for n in range(200))
    assert is_cold(first)
    assert not is_cold(rest[-1])
    assert sum(not is_cold(stored) for stored in rest) < 100


def test_the_bodies_read_last_stay_objects() -> None:
    store = Store(warm_limit=2)
    a, b, c, *_ = (store.put(THINGS, body(str(n), x=[1, {"y": None}]), expected=None) for n in range(200))
    read = [each.body for each in (a, b, c)]
    assert [each["x"] for each in read] == [[1, {"y": None}]] * 3
    assert [is_cold(each) for each in (a, b, c)] == [True, False, False]
    assert b.body is read[1]


def test_a_version_that_was_sent_and_has_a_successor_is_not_kept_as_objects() -> None:
    store = Store()
    first = store.put(THINGS, body("a"), expected=None)
    second = store.put(THINGS, body("a", x=1), expected=first)
    assert not is_cold(first)
    second.raw()
    store.put(THINGS, body("a", x=2), expected=second)
    assert is_cold(second)
    assert second.body["x"] == 1


def test_text_and_identity_outlive_the_objects() -> None:
    stored = Stored({"metadata": {"name": "a", "namespace": "ns", "uid": "u"}}, 1)
    text = stored.raw()
    stored.cool()
    assert (stored.raw(), stored.key, stored.uid) == (text, ("ns", "a"), "u")
    assert stored.at_revision(7).body == {
        "metadata": {"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "7"}
    }


def test_a_copy_of_a_body_may_be_written_into() -> None:
    stored = Stored(body("a", x={"y": 1}), 1)
    copy = stored.copy()
    copy["x"] = {}
    assert stored.body == stored.copy() == body("a", x={"y": 1})


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.booleans()), max_size=30), st.integers(0, 5))
def test_how_many_bodies_are_kept_as_objects_changes_nothing(steps: list[tuple[str, bool]], limit: int) -> None:
    tight, wide = Store(warm_limit=limit), Store()
    for count, (name, keep) in enumerate(steps):
        for store in (tight, wide):
            before = store.read(THINGS, ("ns", name))
            if not keep:
                store.remove(THINGS, ("ns", name))
            elif before is None:
                store.put(THINGS, body(name, n=count), expected=None)
            else:
                store.put(THINGS, {**before.copy(), "n": count, "was": before.body.get("n")}, expected=before)
    changes = [[(c.type, c.after.body) for c in store.changes_since(THINGS, 1)] for store in (tight, wide)]
    assert changes[0] == changes[1]
    assert [s.raw() for s in tight.snapshot(THINGS)] == [s.raw() for s in wide.snapshot(THINGS)]

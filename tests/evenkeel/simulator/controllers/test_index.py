"""What an object controls is found without a search."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evenkeel.simulator.api.builtin import PODS
from evenkeel.simulator.api.fields import JsonObject, child
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.controllers.index import ControlledIndex, controller_of, controller_uid
from tests.evenkeel.simulator.api.wire import pod


def owned(name: str, uid: str) -> JsonObject:
    made = pod(name)
    if uid:
        child(made, "metadata")["ownerReferences"] = [
            {"uid": "x", "name": "no controller"},
            {"uid": uid, "name": uid, "controller": True},
        ]
    return made


def test_only_one_reference_is_the_controller() -> None:
    assert controller_uid(owned("a", "u")) == "u"
    assert controller_of(owned("a", "")) is None
    assert controller_uid({"metadata": {"ownerReferences": [{"uid": "x"}]}}) == ""


@given(
    before=st.dictionaries(st.sampled_from("abcd"), st.sampled_from(["", "u", "v"])),
    after=st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["", "u", "v", "gone"]))),
)
def test_the_index_agrees_with_a_search(before: dict[str, str], after: list[tuple[str, str]]) -> None:
    """Law: whatever is written, index and store say the same."""
    server = ApiServer()
    for name, uid in before.items():
        server.store.create(owned(name, uid))
    index = ControlledIndex(server.store.versions, PODS)
    index.start()
    for name, uid in after:
        if server.store.find("v1", "Pod", name, "default"):
            server.store.delete("v1", "Pod", name, "default")
        if uid != "gone":
            server.store.create(owned(name, uid))
    every = server.store.versions.snapshot(PODS)
    for uid in ("u", "v"):
        assert index.controlled_by(uid) == [stored for stored in every if controller_uid(stored.body) == uid]
    assert index.uncontrolled("default") == [stored for stored in every if not controller_uid(stored.body)]
    assert index.uncontrolled("elsewhere") == []

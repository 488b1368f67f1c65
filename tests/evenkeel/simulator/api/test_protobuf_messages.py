"""Classes of messages made from tables."""

from __future__ import annotations

from typing import cast

from evenkeel.simulator.api.protobuf_fields import read_fields
from evenkeel.simulator.api.protobuf_messages import Message, message_classes, part

TABLE = {
    "Outer": read_fields("name=1:string count=2:int64? inner=3:Inner? many=4:Inner* names=5:string% by=6:Inner%"),
    "Inner": read_fields("on=1:bool share=2:double raw=3:bytes"),
}


def test_messages_are_read_by_their_tables() -> None:
    classes = message_classes("example", TABLE)
    message = cast("Message", classes["Outer"]())
    inner = b"\x08\x01\x11" + b"\x00" * 6 + b"\xe0\x3f" + b"\x1a\x02\xff\x00"
    pair = b"\x0a\x01k\x12\x01v"
    keyed = b"\x0a\x01k\x12" + bytes([len(inner)]) + inner
    raw = b"\x0a\x01x\x10\x00"
    for tag, body in ((b"\x1a", inner), (b"\x22", inner), (b"\x22", b""), (b"\x2a", pair), (b"\x32", keyed)):
        raw += tag + bytes([len(body)]) + body
    message.ParseFromString(raw)
    assert (part(message, "name"), part(message, "count"), message.HasField("count")) == ("x", 0, True)
    assert [part(part(message, "inner"), name) for name in ("on", "share", "raw")] == [True, 0.5, b"\xff\x00"]
    assert len(cast("list[object]", part(message, "many"))) == 2
    assert dict(cast("dict[str, str]", part(message, "names"))) == {"k": "v"}
    assert part(cast("dict[str, object]", part(message, "by"))["k"], "on") is True
    assert not cast("Message", classes["Outer"]()).HasField("inner")

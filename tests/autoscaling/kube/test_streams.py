"""Lines of a watch, and where a watch starts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.kube.streams import WatchStart, lines_of

pytestmark = pytest.mark.anyio


async def chunks_of(pieces: list[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


@pytest.mark.parametrize(
    ("pieces", "lines"),
    [
        ([b"a\nb\n"], [b"a", b"b"]),
        ([b"a", b"b", b"c\nd", b"e\n"], [b"abc", b"de"]),
        ([b"a\n", b"\n", b"\n\nb\n"], [b"a", b"b"]),
        ([b"a\nhalf"], [b"a"]),
        ([b"a", b"\n"], [b"a"]),
        ([], []),
        ([b""], []),
    ],
)
async def test_lines(pieces: list[bytes], lines: list[bytes]) -> None:
    assert [line async for line in lines_of(chunks_of(pieces))] == lines


@given(lines=st.lists(st.binary(min_size=1).filter(lambda b: b"\n" not in b)), cuts=st.lists(st.integers(0, 200)))
async def test_lines_do_not_depend_on_the_chunks(lines: list[bytes], cuts: list[int]) -> None:
    whole = b"".join(line + b"\n" for line in lines)
    bounds = sorted({0, len(whole), *(cut % (len(whole) + 1) for cut in cuts)})
    pieces = [whole[start:end] for start, end in pairwise(bounds)]
    assert [line async for line in lines_of(chunks_of(pieces))] == lines


@pytest.mark.parametrize(
    ("start", "query"),
    [
        (WatchStart(), {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": "300"}),
        (
            WatchStart("42", 7),
            {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": "7", "resourceVersion": "42"},
        ),
    ],
)
def test_the_query_of_a_watch(start: WatchStart, query: dict[str, str]) -> None:
    assert start.query == query

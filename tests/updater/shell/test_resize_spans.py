"""Spans of resizes, against the embedded API server."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from autoscaling.behaviour import Profile
from autoscaling.runtime.spans import FinishedSpan
from evenkeel.simulator.api.server import ApiServer
from tests.builders import T0
from tests.embedded import HeldDriver, Json
from tests.updater.shell.stage import MINUTE, served_web, updater
from updater.shell.resize_spans import ResizeSpans

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> ApiServer:
    return served_web()


@dataclass
class Kept:
    """A place for spans that keeps them."""

    spans: list[FinishedSpan] = field(default_factory=list)
    is_closed: bool = False

    def add(self, span: FinishedSpan) -> None:
        self.spans.append(span)

    async def close(self) -> None:
        self.is_closed = True


def web(server: ApiServer) -> Json:
    (pod,) = server.store.list("v1", "Pod", "default")
    return pod


async def test_a_resize_is_one_span_from_the_patch_to_its_end(server: ApiServer) -> None:
    """Spec: product:10."""
    kept = Kept()
    async with updater(server, Profile.EVENKEEL) as loop:
        loop.spans = ResizeSpans(kept)
        await loop.run_round()
        assert kept.spans == [], "it is under way"
        assert isinstance(loop.driver, HeldDriver)
        loop.driver.time = T0 + 2 * MINUTE
        await loop.spans.close(loop.driver.now())
    (span,) = kept.spans
    assert (span.name, span.start, span.end) == ("resize", T0 + MINUTE, T0 + 2 * MINUTE)
    pod = web(server)["metadata"]
    assert isinstance(pod, dict)
    assert span.attributes == {
        "k8s.namespace.name": "default",
        "k8s.pod.name": pod["name"],
        "k8s.pod.uid": pod["uid"],
        "evenkeel.vpa": "web",
        "evenkeel.reason": "outside_bounds",
        "evenkeel.outcome": "unfinished",
        "evenkeel.container": ["main", "main"],
        "evenkeel.resource": ["cpu", "cpu limit"],
        "evenkeel.old": ["100m", "200m"],
        "evenkeel.new": ["400m", "800m"],
    }
    assert not span.is_error
    assert kept.is_closed


async def test_an_end_before_the_start_is_none(server: ApiServer) -> None:
    """A clock that is set back gives no span that ends before it began."""
    kept = Kept()
    async with updater(server, Profile.EVENKEEL) as loop:
        loop.spans = ResizeSpans(kept)
        await loop.run_round()
        await loop.spans.close(T0 - timedelta(hours=1))
    (span,) = kept.spans
    assert span.end == span.start


async def test_nothing_is_followed_where_spans_go_nowhere(server: ApiServer) -> None:
    async with updater(server, Profile.EVENKEEL) as loop:
        assert loop.spans is None
        await loop.run_round()
    assert len(server.requests.calls(verb="patch", path="/resize$")) == 1

"""Expectations in words."""

from __future__ import annotations

import pytest
import yaml
from pydantic import TypeAdapter

from evenkeel.simulator.scenarios.expectations import Check
from evenkeel.simulator.scenarios.wording import in_words

_CHECKS: TypeAdapter[Check] = TypeAdapter(Check)


@pytest.mark.parametrize(
    ("check", "words"),
    [
        ("{pods: web}", "web: at least 1 pod"),
        (
            "{pods: web, count: 2, kept: 0, phase: Running, restarts: 1, requests: {cpu: 1, memory: {min: 1Mi}}}",
            "web: 2 pods, 0 of them from the start, Running, 1 restarts each, requests cpu 1 memory at least 1Mi",
        ),
        (
            "{pods: web, count: 1, limits: {cpu: {min: 1, max: 2}}, asked: {cpu: 3}, nodes: [a, b], without: [X]}",
            "web: 1 pod, limits cpu 1 to 2, requests in the spec cpu 3, no X, on a or b",
        ),
        ("{pods: web, count: {max: 2}, conditions: {A: b, C: ''}}", "web: 0 to 2 pods, A b, C"),
        ("{events: A, count: 1}", "event A once"),
        ("{events: A, of: web, count: 0, because: it must not}", "event A on web never (it must not)"),
        (
            "{events: A, count: {min: 2}, message: hello, within: {after: 1s, before: 1m, since: B}}",
            "event A at least 2 times, saying 'hello', not before 1s since B, by 1m0s since B",
        ),
        ("{decisions: evict, count: 3}", "the updater decides to evict 3 times"),
        ("{decisions: evict, of: web, reason: r, count: 1}", "the updater decides to evict web, r once"),
        ("{requests: a b, codes: {}}", "a b is never asked"),
        (
            "{requests: a b, codes: {200: 1, 429: {min: 2}}}",
            "a b is answered 200 once, a b is answered 429 at least 2 times",
        ),
        (
            "{vpa: web, container: main, target: {cpu: 1}, lowerBound: {cpu: 1}, upperBound: {cpu: 1}}",
            "VPA web for main, target cpu 1, lower bound cpu 1, upper bound cpu 1",
        ),
        ("{vpa: web, uncappedTarget: {cpu: 1}, conditions: {A: 'True'}}", "VPA web, uncapped target cpu 1, A True"),
        ("{vpa: web, none: true}", "VPA web, recommends nothing"),
        ("{near: [a, b]}", "a and b recommend the same"),
        ("{near: [a, b], apart: 0.05}", "a and b recommend the same within 5%"),
        ("{object: {kind: Node, name: n}, fields: {a.b: 1}}", "Node n, a.b is 1"),
        ("{object: {kind: Node, name: n}, absent: true}", "Node n does not exist"),
    ],
)  # fmt: skip
def test_words(check: str, words: str) -> None:
    assert in_words(_CHECKS.validate_python(yaml.safe_load(check))) == words

"""Every kind of case: drawn, asked and answered by us; and that drawing reaches what matters."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

import pytest

from e2e.parity.kinds import BEGIN, Case, Kind
from e2e.parity.labs import KINDS
from e2e.parity.trial import Failed, our_answer

pytestmark = pytest.mark.lengthy

FEW = 40
MANY = 250


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_cases_are_json_and_the_same_each_time(kind: Kind) -> None:
    cases = [kind.case("s", number) for number in range(FEW)]
    assert cases == [kind.case("s", number) for number in range(FEW)]
    assert all(json.loads(json.dumps(case)) == case for case in cases)
    assert len({json.dumps(case, sort_keys=True) for case in cases}) > FEW * 0.9


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_our_cores_answer_every_case_the_same_each_time(kind: Kind) -> None:
    for number in range(FEW):
        case = kind.case("s", number)
        answer = our_answer(kind, case)
        assert not isinstance(answer, Failed), answer
        assert our_answer(kind, case) == answer
        json.dumps(answer)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_question_is_a_case_at_a_moment_and_leaves_the_case_alone(kind: Kind) -> None:
    case = kind.case("s", 1)
    before = json.dumps(case)
    question = kind.question(case, BEGIN)
    assert question["kind"] == kind.name
    assert '"ago"' not in json.dumps(question)
    assert json.dumps(case) == before


def answers(name: str, count: int = MANY) -> Iterator[tuple[Case, object]]:
    kind = KINDS[name]
    for number in range(count):
        case = kind.case("coverage", number)
        yield case, kind.answer(kind.question(case, BEGIN.replace(year=2026)))


def words(value: object) -> Iterator[str]:
    """Yield every name and text in a value."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield str(key)
            yield from words(member)
    elif isinstance(value, list):
        for member in value:
            yield from words(member)
    else:
        yield str(value)


def seen(name: str, count: int = MANY) -> Counter[str]:
    """Count in how many answers each word occurs."""
    return Counter(word for _, answer in answers(name, count) for word in set(words(answer)))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        (
            "rounds",
            ("containerRecommendations", "ConfigUnsupported", "NoPodsMatched", "bucketWeights", "observedGeneration"),
        ),
        (
            "judgement",
            ("InPlaceApproved", "InPlaceDeferred", "InPlaceEvict", "InPlaceInfeasible", "InPlaceInfeasibleCached"),
        ),
        ("update", ("resize", "annotate", "evict", "n1/u", "n1/v")),
        ("unboost", ("resize", "expired", "wait", "hasFailed", "remove")),
        (
            "review",
            ("FieldValueForbidden", "FieldValueInvalid", "FieldValueNotSupported", "FieldValueRequired", "JSONPatch"),
        ),
        (
            "review",
            ("/metadata/annotations/vpaCpuStartupBoost~1c0", "memory capped to fit Max in container LimitRange"),
        ),
        ("capping", ("cpu capped to minAllowed", "memory capped to maxAllowed", "cpu capped to container limit")),
        ("capping", ("memory: limit NOT set since recommendedRequest is nil or 0", "isPodRefused")),
        ("histogram", ("bucketWeights", "referenceTimestamp", "True", "False")),
        ("external", ("main", "side", "0", "-5000", "314572800", "n2", "failed")),
        ("quantities", ("None", "1500m", "-1", "order", "sum")),
    ],
)
def test_drawing_reaches_what_matters(name: str, wanted: tuple[str, ...]) -> None:
    found = seen(name)
    assert {word: found[word] for word in wanted if found[word] < 2} == {}


def test_most_pods_under_review_have_a_vpa() -> None:
    pods = [answer for case, answer in answers("review") if "vpas" in case]
    patched = [answer for answer in pods if isinstance(answer, dict) and answer["patch"]]
    assert len(patched) > len(pods) / 2


def test_recommenders_see_kills_and_long_histories() -> None:
    cases = [case for case, _ in answers("rounds", 100)]
    texts = [json.dumps(case) for case in cases]
    assert sum("OOMKilled" in text for text in texts) > 10
    assert sum('"Evicted"' in text for text in texts) > 5
    assert sum("cpuHistogram" in text for text in texts) > 10
    assert sum('"delete"' in text for text in texts) > 5


def test_most_fetches_of_external_metrics_come_to_something() -> None:
    found = [answer for _, answer in answers("external") if isinstance(answer, dict)]
    assert sum(bool(answer.get("snapshots")) for answer in found) > MANY / 4
    assert MANY / 50 < sum(answer["failed"] for answer in found) < MANY / 4

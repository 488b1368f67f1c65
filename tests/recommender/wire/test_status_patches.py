"""Status patches as JSON text."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.pod import ConditionStatus
from autoscaling.quantity import Format, Quantity
from autoscaling.vpa import ContainerRecommendation, Recommendation, VpaCondition
from autoscaling.wire.objects import vpa_status_json
from recommender.status import VpaStatus
from recommender.wire.status_patches import status_patch

QUANTITIES = st.builds(Quantity, st.integers(-(10**20), 10**20), st.sampled_from(Format))
LISTS = st.dictionaries(st.sampled_from(("cpu", "memory", 'odd"name\\')), QUANTITIES, max_size=3)
TIMES = st.datetimes(datetime(1, 1, 2), datetime(9999, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 hypothesis wants naive bounds
NAMES = st.text(max_size=8)
ENTRIES = st.builds(ContainerRecommendation, NAMES, LISTS, st.none() | LISTS, st.none() | LISTS, st.none() | LISTS)
CONDITIONS = st.builds(VpaCondition, NAMES, st.sampled_from(ConditionStatus), NAMES, NAMES, st.none() | TIMES)
STATUSES = st.builds(
    VpaStatus,
    st.lists(CONDITIONS, max_size=3).map(tuple),
    st.none() | st.builds(Recommendation, st.lists(ENTRIES, max_size=3).map(tuple)),
    st.integers(0, 2**40),
)


@given(STATUSES)
def test_the_text_is_that_of_the_status_as_an_object(status: VpaStatus) -> None:
    """Spec: api:1.2."""
    body = vpa_status_json(status.conditions, status.recommendation, status.observed_generation)
    # Members of a JSON object have no order, so the objects are compared.
    wanted = msgspec.json.decode(msgspec.json.encode([{"op": "add", "path": "/status", "value": body}]))
    assert msgspec.json.decode(status_patch(status)) == wanted, "recommender:5"


def test_an_uncapped_target_is_written_like_the_target() -> None:
    target = {"cpu": Quantity.parse("250m"), "memory": Quantity.parse("250Mi")}
    entry = ContainerRecommendation("main", target, target, target, target)
    amounts = '{"cpu":"250m","memory":"250Mi"}'
    assert status_patch(VpaStatus((), Recommendation((entry,)), 3)).decode() == (
        '[{"op":"add","path":"/status","value":{"recommendation":{"containerRecommendations":[{"containerName":"main",'
        f'"target":{amounts},"lowerBound":{amounts},"upperBound":{amounts},"uncappedTarget":{amounts}}}]}},'
        '"observedGeneration":3}}]'
    )

"""vpa-default with other settings (beyond:B-36)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autoscaling.quantity import Quantity
from autoscaling.vpa import ContainerPolicy, ControlledValues
from evenkeel.replay.contest import Contender, contend, run
from evenkeel.replay.trace import Trace
from evenkeel.replay.variants import Variant
from recommender.settings import EstimatorSettings, Percentiles
from recommender.strategies.vpa import VPA_DEFAULT, VPA_MIN0
from tests.evenkeel.replay.series import MI, Floats, trace

RANDOM = np.random.default_rng(7)
SERIES = [trace(RANDOM.gamma(2.0, 0.2, 96), RANDOM.gamma(9.0, 3e7, 96), name=name) for name in ("a", "b")]


def requests(variant: Variant, series: Trace = SERIES[0], ratio: float = 1.5) -> tuple[Floats, Floats, int]:
    """Return requests and limits in force, and how many kills there were."""
    contender = Contender(variant.name, variant, limits_stay=variant.limits_stay)
    _, course = run(contender, [series], (ratio,))
    return course.requests[:, 24:], course.limits[24:], int(course.ooms[0])


def test_a_variant_that_says_nothing_is_vpa_default() -> None:
    """beyond:B-36."""
    ours, theirs = (contend(Contender("v", each), SERIES) for each in (Variant("v"), VPA_DEFAULT))
    for name in ("slack", "overrun", "ooms", "resizes", "requested"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


def test_a_variant_without_minimum_is_vpa_min0() -> None:
    """beyond:B-36."""
    small = [trace([0.012] * 24, [20 * MI] * 24)]
    least = replace(EstimatorSettings(), pod_minimum_cpu_millicores=0.0, pod_minimum_memory_mib=0.0)
    ours, theirs = (contend(Contender("v", each), small) for each in (Variant("v", estimator=least), VPA_MIN0))
    assert ours.slack.tolist() == theirs.slack.tolist()
    assert ours.slack[0] < contend(Contender("v", Variant("v")), small).slack[0]


def test_a_higher_percentile_leaves_more_unused() -> None:
    """beyond:B-36."""
    high = Variant("v", estimator=replace(EstimatorSettings(), cpu=Percentiles(0.99, 0.9, 0.995)))
    assert requests(high)[0][0].sum() > requests(Variant("v"))[0][0].sum()


@pytest.mark.parametrize(
    ("row", "least", "most", "cpu"),
    [
        ("recommender:4.4 minAllowed", {"cpu": "40"}, {}, 40.0),
        ("recommender:4.4 maxAllowed", {}, {"cpu": "100m"}, 0.1),
        ("recommender:4.4 maxAllowed wins", {"cpu": "40"}, {"cpu": "100m"}, 0.1),
        ("recommender:4.4 no bound of zero", {"cpu": "40"}, {"cpu": "0"}, 40.0),
        ("recommender:4.4 less than a millicore", {}, {"cpu": "100500u"}, 0.101),
    ],
)
def test_bounds(row: str, least: dict[str, str], most: dict[str, str], cpu: float) -> None:
    bounds = [{name: Quantity.parse(text) for name, text in each.items()} for each in (least, most)]
    found, _, _ = requests(Variant("v", policy=ContainerPolicy("*", min_allowed=bounds[0], max_allowed=bounds[1])))
    free, _, _ = requests(Variant("v"))
    assert set(found[0].tolist()) == {cpu}, row
    assert found[1].tolist() == free[1].tolist(), row


def test_limits_that_stay_bound_requests() -> None:
    """limits:S4.3: with RequestsOnly a limit goes by the first request, and no later one is above it."""
    stays = Variant("v", policy=ContainerPolicy("*", controlled_values=ControlledValues.REQUESTS_ONLY))
    growing = trace([0.1] * 96, np.repeat([400.0, 700.0, 900.0, 1200.0], 24) * MI)
    found, limits, kills = requests(stays, growing, 1.0)
    free, moving, fewer = requests(Variant("v"), growing, 1.0)
    assert len(set(limits.tolist())) == 1
    assert limits[0] == found[1, 0] == free[1, 0]
    assert (found[1] <= limits).all()
    assert moving.tolist() == free[1].tolist()
    assert free[1].max() > limits[0]
    assert kills > fewer > 0

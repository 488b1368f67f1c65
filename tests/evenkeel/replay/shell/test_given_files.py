"""Price lists and variants from files (beyond:B-36)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from autoscaling.errors import ConfigurationError
from autoscaling.quantity import Quantity
from autoscaling.vpa import ControlledValues
from evenkeel.replay.money import PriceList
from evenkeel.replay.shell.price_list import read_prices
from evenkeel.replay.shell.settings_file import read_variants
from recommender.settings import EstimatorSettings, ModelSettings, Percentiles

CALM = """
variants:
  calm:
    percentiles: {cpu: {target: 0.95, lower: 0.6, upper: 0.98}, memory: {upper: 0.99}}
    safetyMargin: 0.2
    halfLife: {cpu: 48h, memory: 72h}
    minimum: {cpu: 10m, memory: 64Mi}
    minAllowed: {cpu: 50m}
    maxAllowed: {memory: 2Gi}
    controlledValues: RequestsOnly
  plain: {}
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "given.yaml"
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ("beyond:B-36 YAML", "currency: EUR\ncoreHour: 0.03\ngibHour: 0\n"),
        ("beyond:B-36 JSON", '{"currency": "EUR", "coreHour": 0.03, "gibHour": 0}'),
    ],
)
def test_prices(tmp_path: Path, row: str, text: str) -> None:
    assert read_prices(written(tmp_path, text)) == PriceList("EUR", 0.03, 0.0), row


@pytest.mark.parametrize(
    ("row", "text", "message"),
    [
        ("beyond:B-36 missing", "currency: EUR\ncoreHour: 1\n", ":1: gibHour: is missing; add it"),
        ("beyond:B-36 negative", "currency: EUR\ncoreHour: -1\ngibHour: 1\n", ":2: coreHour: is -1: must not be neg"),
        ("beyond:B-36 infinite", "currency: EUR\ncoreHour: .inf\ngibHour: 1\n", ":2: coreHour: is inf: input should"),
        ("beyond:B-36 text", "currency: EUR\ncoreHour: 3 EUR\ngibHour: 1\n", ":2: coreHour: is '3 EUR': input should"),
        ("beyond:B-36 unknown", "currency: E\ncoreHour: 1\ngibHour: 1\ngpu: 3\n", ":4: gpu: this key means nothing"),
        ("beyond:B-36 twice", "currency: E\ncoreHour: 1\ncoreHour: 2\n", ":3: coreHour: stands here twice; keep one"),
        ("beyond:B-36 no currency", "currency: ' '\ncoreHour: 1\ngibHour: 1\n", ": currency: is empty; name one"),
        ("beyond:B-36 list", "- 1\n", ":1: is no mapping of keys to values; docs/replay.md"),
        ("beyond:B-36 empty", "", ":1: is no mapping"),
        ("beyond:B-36 no YAML", "a: [1\nb: 2\n", ":2: is no YAML: expected ',' or ']'"),
        ("beyond:B-36 characters", "a: \x01", ": is no YAML: unacceptable character"),
        ("beyond:B-36 unhashable", "? [a]\n: 1\n", ":1: is no YAML: found unhashable key"),
        ("beyond:B-36 too long", "#" * 1_000_001, ": has 1000001 characters; 1000000 are the most"),
    ],
)
def test_what_is_no_price_list(tmp_path: Path, row: str, text: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        read_prices(written(tmp_path, text))
    assert f"--prices {tmp_path / 'given.yaml'}{message}" in str(raised.value), row


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """beyond:B-36."""
    with pytest.raises(ConfigurationError, match="nowhere: No such file or directory; name a YAML or JSON file"):
        read_prices(tmp_path / "nowhere")
    (tmp_path / "odd").write_bytes(b"\xff")
    with pytest.raises(ConfigurationError, match="odd: is not UTF-8"):
        read_prices(tmp_path / "odd")


def test_variants(tmp_path: Path) -> None:
    """beyond:B-36: the recommender's own configuration makes the settings of flags."""
    calm, plain = read_variants(written(tmp_path, CALM)).values()
    assert calm.estimator == EstimatorSettings(
        cpu=Percentiles(0.95, 0.6, 0.98),
        memory=Percentiles(0.9, 0.5, 0.99),
        margin_fraction=0.2,
        pod_minimum_cpu_millicores=10.0,
        pod_minimum_memory_mib=64.0,
    )
    assert calm.model == ModelSettings(cpu_half_life=timedelta(days=2), memory_half_life=timedelta(days=3))
    assert calm.policy.min_allowed == {"cpu": Quantity.parse("50m")}
    assert calm.policy.max_allowed == {"memory": Quantity.parse("2Gi")}
    assert (calm.policy.controlled_values, calm.limits_stay) == (ControlledValues.REQUESTS_ONLY, True)
    assert "--target-cpu-percentile=0.95" in calm.flags
    assert "--memory-histogram-decay-half-life=72h0m0s" in calm.flags
    assert (plain.estimator, plain.model, plain.flags) == (EstimatorSettings(), ModelSettings(), ())
    assert not plain.limits_stay


@pytest.mark.parametrize(
    ("row", "entry", "message"),
    [
        ("beyond:B-36 above 1", "a: {percentiles: {cpu: {target: 1.2}}}", "variants.a: --target-cpu-percentile=1.2: "),
        ("beyond:B-36 out of order", "a: {percentiles: {memory: {target: 0.97}}}", "upper 0.95 do not ascend; give"),
        (
            "beyond:B-36 in order",
            "a: {percentiles: {memory: {target: 0.95}}, oops: 1}",
            ":2: variants.a.oops: this key",
        ),
        ("beyond:B-36 no time", "a: {halfLife: {cpu: 0h}}", "--cpu-histogram-decay-half-life=0s: "),
        ("beyond:B-36 unit", "a: {halfLife: {cpu: 3}}", ":2: variants.a.halfLife.cpu: is 3: a duration is written as"),
        ("beyond:B-36 margin", "a: {safetyMargin: -0.1}", ":2: variants.a.safetyMargin: is -0.1: must not be negative"),
        ("beyond:B-36 bounds", "a: {minAllowed: {cpu: 3}, maxAllowed: {cpu: 2}}", "minAllowed.cpu 3 is above maxAllow"),
        ("beyond:B-36 amount", "a: {minimum: {cpu: 3x}}", ":2: variants.a.minimum.cpu: is '3x': "),
        ("beyond:B-36 values", "a: {controlledValues: Limits}", "should be 'RequestsAndLimits' or 'RequestsOnly'"),
        ("beyond:B-36 name", "A b: {}", "variants.A b: is no name for a variant; take lower-case letters"),
        ("beyond:B-36 taken", "vpa-min0: {}", "variants.vpa-min0: is the name of a strategy that is installed"),
        ("beyond:B-36 taken", "oracle: {}", "variants.oracle: is the name of a strategy that is installed"),
        ("beyond:B-36 form", "a: 3", ":2: variants.a: must be a mapping"),
        ("beyond:B-36 none", "{}", "variants: there is none; name one, and what it sets"),
    ],
)
def test_what_is_no_variant(tmp_path: Path, row: str, entry: str, message: str) -> None:
    file = written(tmp_path, f"variants:\n  {entry}\n")
    with pytest.raises(ConfigurationError) as raised:
        read_variants(file)
    assert str(raised.value).startswith(f"--settings {file}"), row
    assert message in str(raised.value), row


def test_all_faults_at_once(tmp_path: Path) -> None:
    """beyond:B-36."""
    file = written(tmp_path, "variants:\n  oracle: {}\n  b: {percentiles: {cpu: {lower: 1.0}}}\n")
    with pytest.raises(ConfigurationError) as raised:
        read_variants(file)
    assert [line.split(": ")[1] for line in str(raised.value).splitlines()] == ["variants.oracle", "variants.b"]

"""Quantities: reading, printing, rounding; the table's texts were checked against the field's own library."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.errors import InvalidQuantityError
from autoscaling.quantity import MAX_INT64, ZERO, Format, Quantity

CANONICAL = [
    ("api:6", text, printed)
    for text, printed in {
        "0": "0",
        "00": "0",
        "0m": "0",
        "-0": "0",
        "1000m": "1",
        "1.0": "1",
        "1500m": "1500m",
        "1.5": "1500m",
        "1000": "1k",
        "1000k": "1M",
        "0.1": "100m",
        "0.1m": "100u",
        "1500u": "1500u",
        "262144000": "262144k",
        "104857600": "104857600",
        "1e3": "1e3",
        "1E3": "1E3",
        "1.5Gi": "1536Mi",
        "1024Mi": "1Gi",
        "1000Mi": "1000Mi",
        "1023Ki": "1023Ki",
        "2048Ki": "2Mi",
        "0.5Ki": "512",
        "100.50Mi": "102912Ki",
        "0.3Gi": "322122547200m",
        "3.7Mi": "3879731200m",
        "0.1Mi": "104857600m",
        "+5": "+5",
        "5.": "5.",
        "010": "010",
        "0.0000000001": "1n",
        "8Ei": "9223372036854775807",
        "1e4": "10e3",
        "12e100": "120e99",
        "5e2": "500",
        "1E-2": "10e-3",
        "0.001e3": "1",
        "4747.006e0": "4747.006e0",
        "1.1Ei": "1268213655067531673600m",
        "0.0001Ki": "102400u",
        "-1.5Gi": "-1536Mi",
        ".5": "500m",
        "0.250": "250m",
        "1.250": "1.250",
        "1E": "1E",
        "+5Gi": "+5Gi",
        "+00941Ki": "+00941Ki",
        "001398Gi": "001398Gi",
        "8.Gi": "8Gi",
        "1000.Ki": "1000Ki",
        "-00912Ki": "-912Ki",
        "00.5": "500m",
    }.items()
]


@pytest.mark.parametrize(("row", "text", "printed"), CANONICAL)
def test_canonical_text(row: str, text: str, printed: str) -> None:
    assert str(Quantity.parse(text)) == printed, row


@pytest.mark.parametrize(
    "text", ["", " ", "K", "1K", "1e", "5 ", " 5", "1_000", "0x10", "1m1", "1Mi1", "\u0661", "1e999999999"]
)
def test_what_is_no_quantity_says_so_and_shows_one(text: str) -> None:
    with pytest.raises(InvalidQuantityError, match=r"quantity '.*': .*(write|exponent)"):
        Quantity.parse(text)


@pytest.mark.parametrize(
    ("row", "text", "value", "milli"),
    [
        ("limits:S1", "1500u", 1, 2),
        ("limits:S1", "1500m", 2, 1500),
        ("recommender:0", "123456n", 1, 1),
        ("recommender:0", "1.2Ki", 1229, 1228800),
        ("api:6", "-1500u", -1, -2),
        ("api:6", "1000", 1000, 1_000_000),
    ],
)
def test_whole_units_and_thousandths_round_away_from_zero(row: str, text: str, value: int, milli: int) -> None:
    quantity = Quantity.parse(text)
    assert (quantity.value(), quantity.milli_value()) == (value, milli), row


@pytest.mark.parametrize(
    ("row", "quantity", "printed"),
    [
        ("api:6", Quantity.of_units(262144000, Format.BINARY_SI), "250Mi"),
        ("api:6", Quantity.of_units(262144000), "262144k"),
        ("api:6", Quantity.of_units(104857600, Format.BINARY_SI), "100Mi"),
        ("api:6", Quantity.of_milli(1200), "1200m"),
        ("api:6", Quantity.of_milli(4000), "4"),
        ("api:6", Quantity.of_milli(1_000_000), "1k"),
        ("recommender:0", Quantity.of_milli(10**14), "100G"),
        ("recommender:0", Quantity.of_units(10**14, Format.BINARY_SI), "97656250000Ki"),
        ("recommender:0", Quantity.of_units(380258472, Format.BINARY_SI), "380258472"),
    ],
)
def test_amounts_made_by_the_program(row: str, quantity: Quantity, printed: str) -> None:
    assert str(quantity) == printed, row


@pytest.mark.parametrize(("left", "right"), [("1", "1000m"), ("1Gi", "1024Mi"), ("1e3", "1k")])
def test_equality_is_numeric(left: str, right: str) -> None:
    assert Quantity.parse(left) == Quantity.parse(right)
    assert hash(Quantity.parse(left)) == hash(Quantity.parse(right))


def test_adding_to_zero_takes_the_format_of_the_other() -> None:
    assert str(ZERO.plus(Quantity.parse("1Gi"))) == "1Gi"
    assert str(Quantity.parse("1G").plus(Quantity.parse("1Gi"))) == "2073741824"


formats = st.sampled_from(list(Format))
amounts = st.integers(-(10**6), MAX_INT64 // 10**6).flatmap(
    lambda n: st.sampled_from([10**k for k in range(0, 16, 3)]).map(lambda scale: n * scale),
)


@given(nano=amounts, form=formats)
def test_what_is_printed_reads_back_as_the_same_amount(nano: int, form: Format) -> None:
    printed = str(Quantity(nano, form))
    again = Quantity.parse(printed)
    assert again.nano == nano
    if form is not Format.BINARY_SI:
        assert str(again) == printed


@given(nano=amounts, form=formats)
def test_rounding_never_loses_and_gains_less_than_one_step(nano: int, form: Format) -> None:
    quantity = Quantity(nano, form)
    for step, rounded in ((10**9, quantity.value()), (10**6, quantity.milli_value())):
        assert 0 <= abs(rounded) * step - abs(nano) < step


@given(texts=st.lists(st.sampled_from([text for _, text, _ in CANONICAL]), min_size=2, max_size=6))
def test_order_is_that_of_the_amounts(texts: list[str]) -> None:
    quantities = sorted(Quantity.parse(text) for text in texts)
    assert [q.nano for q in quantities] == sorted(q.nano for q in quantities)


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ("beyond:B-32", "9" * 1001),
        ("beyond:B-32", "0." + "1" * 1000),
        ("beyond:B-32", "1e" + "9" * 5000),
        ("beyond:B-32", "x" * 100_000),
    ],
)
def test_nobody_means_a_thousand_digits(row: str, text: str) -> None:
    with pytest.raises(InvalidQuantityError) as refused:
        Quantity.parse(text)
    assert len(str(refused.value)) < 200, row


@pytest.mark.parametrize("text", ["9" * 1000, "1e" + "0" * 5000 + "3", "0" * 5000 + "7", "1e-" + "0" * 9 + "3"])
def test_zeros_that_say_nothing_do_not_count(text: str) -> None:
    """Spec: api:6."""
    assert Quantity.parse(str(Quantity.parse(text))) == Quantity.parse(text)

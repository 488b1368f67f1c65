"""Feature gates; the results were seen at upstream's updater."""

from __future__ import annotations

import pytest

from autoscaling.runtime.feature_gates import FeatureGates, Gate


def _gates(*texts: str) -> FeatureGates:
    gates = FeatureGates()
    for text in texts:
        gates = gates.with_text(text)
    return gates


@pytest.mark.parametrize(
    ("section", "texts", "shown"),
    [
        ("api:3", ("",), ""),
        ("api:3", ("InPlace=true,CPUStartupBoost=false",), "CPUStartupBoost=false,InPlace=true"),
        ("api:3", ("InPlace=true, AllBeta=true",), "AllBeta=true,InPlace=true"),
        ("api:3", ("InPlace= true",), "InPlace=true"),
        ("api:3", ("InPlace=1",), "InPlace=true"),
        ("api:3", (",InPlace=T,",), "InPlace=true"),
        ("api:3", ("InPlace=true,InPlace=false",), "InPlace=false"),
        ("api:3", ("InPlace=true", "InPlace=false"), "InPlace=false"),
        ("api:3", ("AllAlpha=true",), "AllAlpha=true,CPUStartupBoost=true,InPlace=true,PerVPAConfig=true"),
        (
            "api:3",
            ("AllAlpha=true", "InPlace=false"),
            "AllAlpha=true,CPUStartupBoost=true,InPlace=false,PerVPAConfig=true",
        ),
        (
            "api:3",
            ("InPlace=false", "AllAlpha=true"),
            "AllAlpha=true,CPUStartupBoost=true,InPlace=false,PerVPAConfig=true",
        ),
        (
            "api:3",
            ("AllAlpha=true", "AllAlpha=false"),
            "AllAlpha=false,CPUStartupBoost=true,InPlace=true,PerVPAConfig=true",
        ),
        (
            "api:3",
            ("InPlace=true,AllAlpha=false",),
            "AllAlpha=false,CPUStartupBoost=false,InPlace=true,PerVPAConfig=false",
        ),
    ],
)
def test_values_add_up(section: str, texts: tuple[str, ...], shown: str) -> None:
    assert str(_gates(*texts)) == shown


def test_gates_are_off_until_switched_on() -> None:
    """Spec: api:3, recommender:9.3."""
    assert not any(FeatureGates().is_on(gate) for gate in Gate)
    gates = _gates("AllAlpha=true,PerVPAConfig=false")
    assert (gates.is_on(Gate.IN_PLACE), gates.is_on(Gate.PER_VPA_CONFIG)) == (True, False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Foo=true", "there is no feature gate Foo"),
        ("NativeSidecar=true", "there is no feature gate NativeSidecar"),
        ("InPlace", "InPlace needs a value"),
        ("InPlace=maybe", "neither true nor false"),
    ],
)
def test_other_values_are_refused(text: str, message: str) -> None:
    """Spec: api:3, recommender:9.3."""
    with pytest.raises(ValueError, match=message):
        _gates(text)


def test_a_retired_gate_is_remembered_and_sets_nothing() -> None:
    """Spec: api:7.11."""
    gates = _gates("InPlaceOrRecreate=true,InPlace=true", "CPUStartupBoost=true")
    assert gates.retired == ("InPlaceOrRecreate",)
    assert str(gates) == "CPUStartupBoost=true,InPlace=true"

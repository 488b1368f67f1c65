"""The machinery of configurations, with a small one of its own."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, ClassVar

import pytest
from pydantic import SecretStr, ValidationError

from autoscaling.errors import ConfigurationError
from autoscaling.quantity import Quantity
from autoscaling.runtime.api_group import ApiGroup
from autoscaling.runtime.command_line import UsageError
from autoscaling.runtime.flag_model import (
    Environment,
    FlagModel,
    GroupDefault,
    HelpRequested,
    Standing,
    flag_specs,
)
from autoscaling.runtime.syntax import (
    Cap,
    Fraction,
    GroupChoice,
    Integer,
    LogSeverity,
    ModuleLevels,
    NameList,
    PositiveDuration,
    Secret,
    Settings,
    Severity,
    SourceLine,
    Text,
    Toggle,
    Unsigned,
)


class SmallConfig(FlagModel):
    """One flag of each kind."""

    program: ClassVar[str] = "small"

    api_group: GroupChoice = ApiGroup.EVENKEEL
    """Group."""

    cap: Cap = None
    """Cap."""

    count: Integer = 3
    """Count of things,
    over two lines."""

    lease: Annotated[Text, GroupDefault("updater_lease")] = ""
    """Lease."""

    level: LogSeverity = Severity.INFO
    """Level."""

    line: SourceLine = ""
    """Line."""

    modules: ModuleLevels = ""
    """Modules."""

    names: NameList = ()
    """Names."""

    password: Secret = SecretStr("")
    """Password."""

    place: Annotated[Text, Environment("NAMESPACE"), GroupDefault("namespace")] = ""
    """Place."""

    pause: PositiveDuration = timedelta(seconds=1)
    """Pause."""

    settings: Settings = ()
    """Settings."""

    share: Fraction = 0.5
    """Share."""

    size: Unsigned = 5
    """Size."""

    switch: Toggle = True
    """Switch."""

    unused: Annotated[Toggle, Standing.WITHOUT_EFFECT] = False
    """Unused."""

    def contradictions(self) -> Iterator[str]:
        """Count and size must differ."""
        if self.count == self.size:
            yield f"--count and --size are both {self.count}"


def _read(*words: str, **environment: str) -> SmallConfig:
    return SmallConfig.from_command_line(words, environment)


def test_a_flag_is_its_field_with_dashes_and_its_docstring_is_the_help() -> None:
    specs = {spec.name: spec for spec in flag_specs(SmallConfig)}
    assert list(specs) == sorted(specs)
    assert "left-over" not in specs
    assert specs["count"].help == "Count of things, over two lines."
    assert (specs["count"].default, specs["count"].syntax.name) == (3, "int")


def test_defaults() -> None:
    config = _read()
    assert config == SmallConfig()
    assert (config.count, config.cap, config.lease, config.place) == (3, None, "evenkeel-updater", "evenkeel-system")


@pytest.mark.parametrize(
    ("word", "field", "value", "shown"),
    [
        ("--count=0x10", "count", 16, "16"),
        ("--cap=1500m", "cap", Quantity.parse("1500m"), "1500m"),
        ("--cap=0", "cap", None, "0"),
        ("--level=WARNING", "level", Severity.WARNING, "warning"),
        ("--level=3", "level", Severity.FATAL, "fatal"),
        ("--level=9", "level", Severity.FATAL, "fatal"),
        ("--level=-1", "level", Severity.INFO, "info"),
        ("--line=foo.go:3", "line", "foo.go:3", "foo.go:3"),
        ("--line=", "line", "", ""),
        ("--modules=a=1,b/*=2", "modules", "a=1,b/*=2", "a=1,b/*=2"),
        ("--modules=,", "modules", ",", ","),
        ("--names=a, b,,c", "names", ("a", "b", "c"), "a,b,c"),
        ("--password=abc", "password", SecretStr("abc"), "***"),
        ("--pause=1.5h", "pause", timedelta(minutes=90), "1h30m0s"),
        ("--settings=a-b=true", "settings", (("a_b", "true"),), "a_b=true"),
        ("--share=1", "share", 1.0, "1"),
        ("--switch=F", "switch", False, "false"),
        ("--api-group=autoscaling.k8s.io", "api_group", ApiGroup.UPSTREAM, "autoscaling.k8s.io"),
    ],
)
def test_each_kind_of_value_is_read_and_shown(word: str, field: str, value: object, shown: str) -> None:
    config = _read(word)
    assert getattr(config, field) == value
    assert config.effective_flags()[field.replace("_", "-")] == shown


def test_the_last_of_repeated_flags_counts_but_settings_add_up() -> None:
    config = _read("--count=1", "--count=2", "--settings=a=1,b=2", "--settings=a=3")
    assert config.count == 2
    assert config.settings == (("a", "3"), ("b", "2"))


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("--count=1.0", "--count=1.0: not a whole number; expected a whole number"),
        ("--size=-1", "--size=-1: outside 0 to"),
        ("--cap=abc", "--cap=abc: quantity 'abc'"),
        ("--cap=-1", "--cap=-1: below zero; expected a quantity such as 500m, 2 or 4Gi, not below zero"),
        ("--level=bogus", "--level=bogus: not a whole number; expected info, warning, error or fatal"),
        ("--line=foo:3", "--line=foo:3: of another shape; expected a Go file name and a line"),
        ("--line=foo.go:0", "--line=foo.go:0: of another shape"),
        ("--modules=a=x", "--modules=a=x: of another shape; expected pattern=N pairs"),
        ("--pause=1d", "--pause=1d: not a duration; expected a duration such as 90s"),
        ("--settings=a", "--settings=a: a part without a name or without '='; expected name=value pairs"),
        ("--settings==a", "--settings==a: a part without a name"),
        ("--share=NaN", "--share=NaN: not a finite number; expected a finite number"),
        ("--switch=maybe", "--switch=maybe: neither true nor false; expected true or false"),
        ("--api-group=x", "--api-group=x: 'x' is not a valid ApiGroup; expected autoscaling.evenkeel.dev or"),
    ],
)
def test_an_ill_formed_value_is_a_usage_error(word: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        _read(word)
    assert str(refused.value).startswith(message)


def test_an_ill_formed_value_counts_even_if_a_later_one_is_well_formed() -> None:
    with pytest.raises(UsageError, match="--count=x"):
        _read("--count=x", "--count=1")


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("--pause=0", "--pause=0s: input should be greater than 0 seconds"),
        ("--share=1.5", "--share=1.5: input should be less than or equal to 1"),
    ],
)
def test_a_value_outside_its_range_is_a_configuration_error(word: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        _read(word)
    assert not isinstance(refused.value, UsageError)
    assert str(refused.value) == message


def test_a_contradiction_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError) as refused:
        _read("--count=5")
    assert str(refused.value) == "--count and --size are both 5"


def test_a_flag_without_effect_is_accepted_and_warned_about() -> None:
    assert _read("--unused").warnings() == ("--unused has no effect here",)
    assert _read("--unused=false").warnings() == ()


def test_help_is_asked_for() -> None:
    with pytest.raises(HelpRequested):
        _read("--help", "--nosuch")
    with pytest.raises(UsageError):
        _read("--count=x", "--help")


def test_words_that_belong_to_no_flag_are_kept() -> None:
    assert _read("--switch", "false").left_over == ("false",)


@pytest.mark.parametrize(
    ("words", "environment", "lease", "place"),
    [
        ([], {}, "evenkeel-updater", "evenkeel-system"),
        (["--api-group=autoscaling.k8s.io"], {}, "vpa-updater", "kube-system"),
        (["--api-group=autoscaling.k8s.io"], {"NAMESPACE": "mine"}, "vpa-updater", "mine"),
        (["--place=given", "--lease=own"], {"NAMESPACE": "mine"}, "own", "given"),
        (["--place=", "--lease="], {"NAMESPACE": "mine"}, "evenkeel-updater", "mine"),
        ([], {"NAMESPACE": ""}, "evenkeel-updater", "evenkeel-system"),
    ],
)
def test_names_come_from_the_flag_then_the_environment_then_the_group(
    words: list[str], environment: dict[str, str], lease: str, place: str
) -> None:
    config = _read(*words, **environment)
    assert (config.lease, config.place) == (lease, place)


def test_environment_variables_named_like_fields_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COUNT", "count", "PLACE", "SWITCH"):
        monkeypatch.setenv(name, "7")
    assert SmallConfig() == _read()
    assert SmallConfig().count == 3


def test_a_configuration_cannot_be_changed_or_given_unknown_fields() -> None:
    config = SmallConfig(count=1)
    with pytest.raises(ValidationError, match="frozen"):
        config.count = 2  # type: ignore[misc]
    with pytest.raises(ValidationError, match="nosuch"):
        SmallConfig(nosuch=1)  # type: ignore[call-arg]


def test_a_secret_shows_in_no_text() -> None:
    config = _read("--password=hunter2")
    assert "hunter2" not in f"{config!r} {config} {config.effective_flags()}"
    assert config.secrets_shown() == ("password",)
    assert _read().secrets_shown() == ()

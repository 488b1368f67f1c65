"""How each kind of flag value is written, and the annotations that give a field of a configuration its kind."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum, StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, InstanceOf, SecretStr

from autoscaling.behaviour import Profile
from autoscaling.quantity import Quantity
from autoscaling.runtime import go_literals
from autoscaling.runtime.api_group import ApiGroup
from autoscaling.runtime.bind_address import BindAddress
from autoscaling.runtime.feature_gates import KNOWN_GATES, FeatureGates

Setting = tuple[str, str]


class Severity(StrEnum):
    """Severities of upstream's log library, by name; the number is accepted as well."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    FATAL = "fatal"


@dataclass(frozen=True, slots=True)
class Syntax:
    """One kind of flag value; a field annotated with it is a flag.

    Args:
        name: The word for it in the help.
        expects: What a well-formed value is, for the error about one that is not.
        fold: Text of one occurrence and the value of the earlier ones (None for the first) to the new value;
            raises ValueError.
        show: Value to its canonical text.
        bare: What the flag without a value stands for; None where it needs one.
    """

    name: str
    expects: str
    fold: Callable[[str, object], object]
    show: Callable[[object], str] = str
    bare: str | None = None


def _last_wins(parse: Callable[[str], object]) -> Callable[[str, object], object]:
    """Let each occurrence of a flag replace the earlier ones."""
    return lambda text, _earlier: parse(text)


def _show_duration(value: object) -> str:
    return go_literals.format_duration(value) if isinstance(value, timedelta) else str(value)


def _show_prometheus_duration(value: object) -> str:
    return go_literals.format_prometheus_duration(value) if isinstance(value, timedelta) else str(value)


def _show_float(value: object) -> str:
    return go_literals.format_float(value) if isinstance(value, float | int) else str(value)


def _parse_cap(text: str) -> Quantity | None:
    """Read a quantity of which zero means no cap."""
    quantity = Quantity.parse(text)
    if quantity.nano < 0:
        raise ValueError("below zero")
    return None if quantity.is_zero() else quantity


def _show_cap(value: object) -> str:
    return "0" if value is None else str(value)


def _parse_names(text: str) -> tuple[str, ...]:
    return tuple(name for name in (part.strip() for part in text.split(",")) if name)


def _show_names(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _parse_severity(text: str) -> Severity:
    """Read a severity by name, or by number as upstream's log library does."""
    severities = list(Severity)
    if text.lower() in severities:
        return Severity(text.lower())
    return severities[min(max(go_literals.parse_int(text, any_base=False), 0), len(severities) - 1)]


def _choice_of(kind: type[Enum]) -> Callable[[str, object], object]:
    """Read one member of an enumeration by its value."""
    return _last_wins(kind)


def _show_choice(value: object) -> str:
    return str(value.value) if isinstance(value, Enum) else str(value)


def _fold_gates(text: str, earlier: object) -> FeatureGates:
    return (earlier if isinstance(earlier, FeatureGates) else FeatureGates()).with_text(text)


def _fold_settings(text: str, earlier: object) -> tuple[Setting, ...]:
    """Add ``name=value`` pairs; a name given again takes the later value."""
    settings = dict(earlier) if isinstance(earlier, tuple) else {}
    for part in _parse_names(text):
        name, separator, value = part.partition("=")
        if not separator or not name:
            raise ValueError("a part without a name or without '='")
        settings[name.replace("-", "_")] = value
    return tuple(settings.items())


def _show_settings(value: object) -> str:
    return ",".join(f"{name}={setting}" for name, setting in value) if isinstance(value, tuple) else str(value)


def _matching(pattern: str) -> Callable[[str, object], object]:
    """Accept text of one shape as it is."""

    def fold(text: str, _earlier: object) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError("of another shape")
        return text

    return fold


def _show_secret(value: object) -> str:
    return "***" if isinstance(value, SecretStr) and value.get_secret_value() else ""


def _bindable(address: str) -> str:
    """Refuse an address that cannot be listened on."""
    BindAddress.parse(address)
    return address


_INT = Syntax("int", "a whole number", _last_wins(go_literals.parse_int))
_UINT = Syntax("uint", "a whole number, not negative", _last_wins(lambda text: go_literals.parse_int(text, lowest=0)))
_LEVEL = Syntax(
    "level",
    "a whole number in base ten",
    _last_wins(lambda text: go_literals.parse_int(text, lowest=-(2**31), highest=2**31 - 1, any_base=False)),
)
_BOOL = Syntax(
    "bool",
    "true or false",
    _last_wins(go_literals.parse_bool),
    show=lambda value: str(value).lower(),
    bare="true",
)
_FLOAT = Syntax("float", "a finite number", _last_wins(go_literals.parse_float), show=_show_float)
_STRING = Syntax("string", "any text", _last_wins(str))
_SECRET = Syntax("string", "any text", _last_wins(SecretStr), show=_show_secret)
_DURATION = Syntax(
    "duration",
    "a duration such as 90s, 1m, 1h30m or 100ms (hours are the largest unit)",
    _last_wins(go_literals.parse_duration),
    show=_show_duration,
)
_PROMETHEUS_DURATION = Syntax(
    "prometheus-duration",
    "a Prometheus duration such as 8d, 1h30m or 2w",
    _last_wins(go_literals.parse_prometheus_duration),
    show=_show_prometheus_duration,
)
_CAP = Syntax("quantity", "a quantity such as 500m, 2 or 4Gi, not below zero", _last_wins(_parse_cap), show=_show_cap)
_NAMES = Syntax("names", "names separated by commas", _last_wins(_parse_names), show=_show_names)
_SEVERITY = Syntax("severity", "info, warning, error or fatal", _last_wins(_parse_severity))
_GATES = Syntax("gate=bool,...", f"{', '.join(KNOWN_GATES)}, each =true or =false", _fold_gates)
_SETTINGS = Syntax("name=value,...", "name=value pairs separated by commas", _fold_settings, show=_show_settings)
_MODULE_LEVELS = Syntax(
    "pattern=N,...",
    "pattern=N pairs separated by commas",
    _matching(r"(?:[^=,]+=[0-9]+)?(?:,(?:[^=,]+=[0-9]+)?)*"),
)
_LINE = Syntax(
    "file.go:N", "a Go file name and a line such as file.go:234", _matching(r"(?:[^:]+\.[^:]+:[1-9][0-9]*)?")
)
_PROFILE = Syntax("profile", "evenkeel or upstream", _choice_of(Profile), show=_show_choice)
_GROUP = Syntax("group", " or ".join(ApiGroup), _choice_of(ApiGroup), show=_show_choice)

Integer = Annotated[int, _INT]
Unsigned = Annotated[int, _UINT]
Level = Annotated[int, _LEVEL]
Toggle = Annotated[bool, _BOOL]
Number = Annotated[float, _FLOAT]
Text = Annotated[str, _STRING]
Secret = Annotated[SecretStr, _SECRET]
Duration = Annotated[timedelta, _DURATION]
PrometheusDuration = Annotated[timedelta, _PROMETHEUS_DURATION]
Cap = Annotated[InstanceOf[Quantity] | None, _CAP]
NameList = Annotated[tuple[str, ...], _NAMES]
LogSeverity = Annotated[Severity, _SEVERITY]
Gates = Annotated[InstanceOf[FeatureGates], _GATES]
Settings = Annotated[tuple[Setting, ...], _SETTINGS]
ModuleLevels = Annotated[str, _MODULE_LEVELS]
SourceLine = Annotated[str, _LINE]
ProfileChoice = Annotated[Profile, _PROFILE]
GroupChoice = Annotated[ApiGroup, _GROUP]

PositiveInteger = Annotated[Integer, Field(ge=1)]
PositiveDuration = Annotated[Duration, Field(gt=timedelta(0))]
Fraction = Annotated[Number, Field(ge=0, le=1)]
Address = Annotated[Text, AfterValidator(_bindable)]
CompiledKernelsName = Annotated[Literal["auto", "always", "never"], _STRING]
UsageSourceName = Annotated[Literal["metrics-server", "prometheus"], _STRING]
TlsVersion = Annotated[Literal["", "tls1_2", "tls1_3"], _STRING]

"""The machinery of a configuration: one frozen model whose annotated fields are the flags of a process.

A field with a ``Syntax`` in its annotation is a flag, spelled as the field with dashes; its docstring is the help.
Environment variables are no source, except those that a field names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Self, TypeVar

from pydantic import SecretStr, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from autoscaling.errors import ConfigurationError
from autoscaling.runtime.api_group import ApiGroup, cluster_names
from autoscaling.runtime.command_line import UsageError, split_command_line
from autoscaling.runtime.syntax import Syntax

MarkerT = TypeVar("MarkerT")


class Standing(Enum):
    """What becomes of a flag that upstream has and this process does not act on."""

    WITHOUT_EFFECT = "Accepted so that command lines written for upstream work; it has no effect here."


class Hidden(Enum):
    """Mark a flag that is for tests and simulations: it works, but neither help nor documentation show it."""

    FROM_USERS = "hidden"


@dataclass(frozen=True, slots=True)
class GroupDefault:
    """Mark a field whose default is a name that goes with the API group; an empty value counts as not given."""

    name: str

    def of(self, group: ApiGroup) -> str:
        """Return the default for one API group."""
        return str(getattr(cluster_names(group), self.name))


@dataclass(frozen=True, slots=True)
class Environment:
    """Mark a field that an environment variable sets where no flag does; an empty variable counts as not set."""

    variable: str


@dataclass(frozen=True, slots=True)
class FlagSpec:
    """One flag, as the help and the documentation show it."""

    name: str
    field: str
    syntax: Syntax
    default: object
    help: str
    standing: Standing | None
    group_default: GroupDefault | None
    environment: Environment | None


class HelpRequested(Exception):  # noqa: N818 - not an error: the user asked for it
    """The command line asks for the help instead of a run."""


class GroupDefaultSource(PydanticBaseSettingsSource):
    """Fills in the names that go with the API group the other sources chose."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[object, str, bool]:
        """Return the default of one field for the group chosen, or None for a field that has no such default."""
        group = ApiGroup(self.current_state.get("api_group", ApiGroup.EVENKEEL))
        marker = _marker(field, GroupDefault)
        return (marker.of(group) if marker else None), field_name, False

    def __call__(self) -> dict[str, object]:
        """Return the defaults of every field that has one."""
        values = {name: self.get_field_value(field, name)[0] for name, field in self.settings_cls.model_fields.items()}
        return {name: value for name, value in values.items() if value is not None}


class FlagModel(BaseSettings):
    """A frozen set of flags. Construct it by keyword in tests, by ``from_command_line`` in a process."""

    model_config = SettingsConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        arbitrary_types_allowed=True,
    )

    program: ClassVar[str]

    left_over: tuple[str, ...] = ()
    """Words of the command line that belong to no flag."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003 switched off
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 switched off
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 switched off
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Leave out the environment, dotenv files and secret files, which would win over flags unasked."""
        return init_settings, GroupDefaultSource(settings_cls)

    @classmethod
    def from_command_line(cls, words: Sequence[str], environment: Mapping[str, str]) -> Self:
        """Read a command line without the program's name.

        Raises:
            UsageError: It cannot be read (exit status 2).
            ConfigurationError: It can, but what it asks for is impossible (exit status 1).
            HelpRequested: It asks for the help.
        """
        values = _environment_values(cls, environment) | _flag_values(cls, words)
        try:
            return cls(**values)  # type: ignore[arg-type]
        except ValidationError as error:
            raise ConfigurationError(_explain(cls, error)) from None

    def contradictions(self) -> Iterator[str]:
        """Yield what is wrong with flags that are each well-formed; a sub-class adds its own to these."""
        yield from ()

    def refusals(self) -> Iterator[str]:
        """Yield what upstream would refuse while reading the command line."""
        yield from ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        if problems := list(self.refusals()):
            raise UsageError("\n".join(problems))
        if problems := list(self.contradictions()):
            raise ConfigurationError("\n".join(problems))
        return self

    def _set(self, standing: Standing) -> Iterator[FlagSpec]:
        """Yield the flags of one standing that differ from their default."""
        return (s for s in flag_specs(type(self)) if s.standing is standing and getattr(self, s.field) != s.default)

    def warnings(self) -> tuple[str, ...]:
        """Say what the user should know about a command line that was accepted; to be logged at start."""
        return tuple(f"--{spec.name} has no effect here" for spec in self._set(Standing.WITHOUT_EFFECT))

    def secrets_shown(self) -> tuple[str, ...]:
        """Return the flags whose secrets stand on the command line, where others can see them."""
        return tuple(
            spec.name
            for spec in flag_specs(type(self))
            if isinstance(value := getattr(self, spec.field), SecretStr) and value.get_secret_value()
        )

    def effective_flags(self) -> dict[str, str]:
        """Return every flag with its value in canonical text; secrets are masked."""
        return {spec.name: spec.syntax.show(getattr(self, spec.field)) for spec in flag_specs(type(self))}


def flag_specs(model: type[FlagModel], *, hidden: bool = False) -> tuple[FlagSpec, ...]:
    """Return the flags of a configuration, sorted by name.

    Args:
        model: The configuration.
        hidden: Whether those that no user is shown are among them.
    """
    specs = [
        FlagSpec(
            name=name.replace("_", "-"),
            field=name,
            syntax=syntax,
            default=field.get_default(call_default_factory=True),
            help=" ".join((field.description or "").split()),
            standing=_marker(field, Standing),
            group_default=_marker(field, GroupDefault),
            environment=_marker(field, Environment),
        )
        for name, field in model.model_fields.items()
        if (syntax := _marker(field, Syntax)) is not None and (hidden or _marker(field, Hidden) is None)
    ]
    return tuple(sorted(specs, key=lambda spec: spec.name))


def _marker(field: FieldInfo, kind: type[MarkerT]) -> MarkerT | None:
    """Return the mark of one kind in a field's annotation."""
    return next((marker for marker in field.metadata if isinstance(marker, kind)), None)


def _flag_values(model: type[FlagModel], words: Sequence[str]) -> dict[str, object]:
    """Read the values of the flags given; raises UsageError or HelpRequested."""
    specs = {spec.name: spec for spec in flag_specs(model, hidden=True)}
    line = split_command_line(words, {name: spec.syntax.bare for name, spec in specs.items()})
    values: dict[str, object] = {}
    for flag in line.flags:
        spec = specs[flag.name]
        try:
            values[spec.field] = spec.syntax.fold(flag.text, values.get(spec.field))
        except ValueError as error:
            expected = f"{error}; expected {spec.syntax.expects}"
            raise UsageError(f"--{spec.name}={flag.text}: {expected}") from None
    if line.asks_help:
        raise HelpRequested
    by_group = {spec.field for spec in specs.values() if spec.group_default}
    given = {name: value for name, value in values.items() if value or name not in by_group}
    return given | {"left_over": line.left_over}


def _environment_values(model: type[FlagModel], environment: Mapping[str, str]) -> dict[str, object]:
    """Read the variables that fields name."""
    found = {
        name: environment.get(marker.variable, "")
        for name, field in model.model_fields.items()
        if (marker := _marker(field, Environment)) is not None
    }
    return {name: text for name, text in found.items() if text}


def _explain(model: type[FlagModel], error: ValidationError) -> str:
    """Name flag, value and what is expected for each value outside its range."""
    specs = {spec.field: spec for spec in flag_specs(model)}
    lines = []
    for detail in error.errors(include_url=False):
        field = str(detail["loc"][0])
        message = detail["msg"].removeprefix("Value error, ")
        expected = message[0].lower() + message[1:]
        spec = specs.get(field)
        lines.append(
            f"--{spec.name}={spec.syntax.show(detail['input'])}: {expected}" if spec else f"{field}: {expected}"
        )
    return "\n".join(lines)

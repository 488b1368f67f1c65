"""Flags of a recommender, as its own command line has them, to what they say about targets."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from autoscaling.errors import ConfigurationError
from autoscaling.runtime.flag_model import HelpRequested
from evenkeel.comparison.retracing import SideSettings
from recommender.__main__ import loop_settings
from recommender.config import RecommenderConfig

_REMEDY: Final = (
    "give the flags as the recommender's Deployment has them, such as '--recommendation-margin-fraction=0.2'"
)


def given_settings(option: str, flags: str) -> SideSettings:
    """Read the flags of one recommender as somebody has given them.

    Args:
        option: Option of the command that gave them, for errors.
        flags: The flags in one text, as a shell would take them.

    Raises:
        ConfigurationError: They cannot be read.
    """
    try:
        return side_settings(shlex.split(flags))
    except (ConfigurationError, ValueError) as error:
        raise ConfigurationError(f"{option}: {error}; {_REMEDY}") from error


def side_settings(words: Sequence[str]) -> SideSettings:
    """Read the command line of one recommender; flags that do not matter here are read as well.

    Raises:
        ConfigurationError: It cannot be read.
    """
    try:
        settings = loop_settings(RecommenderConfig.from_command_line(words, {}))
    except HelpRequested:
        raise ConfigurationError("--help is no flag of a running recommender") from None
    return SideSettings(settings.estimator, settings.rendering)

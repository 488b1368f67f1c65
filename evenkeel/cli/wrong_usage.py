"""Words on the command line that make no sense."""

from __future__ import annotations

from autoscaling.errors import ConfigurationError


class WrongUsageError(ConfigurationError):
    """Options or arguments that cannot be meant as they are given; a command ends with status 2."""

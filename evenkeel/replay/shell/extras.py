"""Packages that only large sets need, which an installation may be without."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from autoscaling.errors import ConfigurationError


def required(module: str, purpose: str) -> ModuleType:
    """Return a module of a package that belongs to the extra ``replay``.

    Args:
        module: Its import name.
        purpose: What it is needed for, as the beginning of a sentence.

    Raises:
        ConfigurationError: It is not installed.
    """
    package, _, _ = module.partition(".")
    try:
        return import_module(module)
    except ImportError as error:
        raise ConfigurationError(
            f"{purpose}: need the package {package}, which is not installed ({error}); install it with "
            "pip install evenkeel[replay]"
        ) from error

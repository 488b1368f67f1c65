"""Price lists from files (spec: beyond B-36)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from autoscaling.errors import ConfigurationError
from evenkeel.replay.money import PriceList
from evenkeel.replay.shell.given_files import Entry, NotNegative, read_given


@dataclass(frozen=True, slots=True)
class _Prices(Entry):
    currency: str
    core_hour: NotNegative
    gib_hour: NotNegative


def read_prices(file: Path) -> PriceList:
    """Read a price list with the keys currency, coreHour and gibHour.

    Raises:
        ConfigurationError: It cannot be read, or says something that means nothing.
    """
    found = read_given("--prices", file, _Prices)
    if not found.currency.strip():
        raise ConfigurationError(f"--prices {file}: currency: is empty; name one, as in EUR")
    return PriceList(found.currency.strip(), found.core_hour, found.gib_hour)

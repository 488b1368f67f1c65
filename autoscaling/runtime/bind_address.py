"""Addresses to listen on, written as Go writes them."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ADDRESS = re.compile(r"(?:\[(?P<v6>[^\[\]]*)\]|(?P<host>[^:\[\]]*)):(?P<port>[0-9]+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class BindAddress:
    """Host and port; an empty host stands for every interface, port 0 for a free port."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> BindAddress:
        """Read ``:8942``, ``127.0.0.1:0``, ``localhost:80`` or ``[::1]:80``.

        Raises:
            ValueError: The text is no such address.
        """
        match = _ADDRESS.fullmatch(text)
        if match is None or int(match["port"]) > 65535:
            raise ValueError("an address is [host]:port, such as :8942 or 127.0.0.1:0")
        return cls(match["v6"] or match["host"] or "", int(match["port"]))

    def __str__(self) -> str:
        """Print as ``host:port``, an IPv6 host in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

"""Ports of this machine, for programs that must be told theirs."""

from __future__ import annotations

import socket

from evenkeel.simulator.api.serving import LOOPBACK


def free_port() -> int:
    """Return a port that nobody listens on just now; upstream's programs take no port 0."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port

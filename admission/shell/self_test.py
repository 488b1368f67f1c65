"""A handshake with one's own webhook, as an API server would make it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from autoscaling.runtime.dated_trust import trust_as_of

_LOOPBACK = "127.0.0.1"
_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class OwnAddress:
    """Where the webhook listens, and the name that callers expect its certificate to bear."""

    port: int
    server_name: str
    host: str = _LOOPBACK


async def handshake_problem(address: OwnAddress, now: Callable[[], datetime], authorities: bytes) -> str:
    """Try a handshake that trusts only these authorities.

    Args:
        address: Whom to call.
        now: The clock by which certificates of these authorities are valid or not.
        authorities: PEM text; empty trusts the machine's own authorities, as an API server then does.

    Returns:
        What went wrong, empty where nothing did.
    """
    try:
        context = trust_as_of(now, authorities.decode()) if authorities else ssl.create_default_context()
        async with asyncio.timeout(_SECONDS):
            _, writer = await asyncio.open_connection(
                address.host, address.port, ssl=context, server_hostname=address.server_name
            )
    except TimeoutError:
        return f"no handshake on port {address.port} within {_SECONDS:g} s"
    except (OSError, ValueError) as error:
        return f"handshake on port {address.port} as {address.server_name}: {error}"
    writer.close()
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(_SECONDS):
            await writer.wait_closed()
    return ""

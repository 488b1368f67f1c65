"""``python -m e2e.relay PORT HOST PORT``: hands connections on; while it is stopped, all that is sent is swallowed."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

_CHUNK_BYTES = 65536


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy one direction of a connection until it ends."""
    with suppress(ConnectionError):
        while chunk := await reader.read(_CHUNK_BYTES):
            writer.write(chunk)
            await writer.drain()
    writer.close()


async def serve(port: int, host: str, target: int) -> None:
    """Listen for as long as the process lives."""

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection(host, target)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_pass_on(reader, back), _pass_on(there, writer))

    server = await asyncio.start_server(relay, "0.0.0.0", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])))

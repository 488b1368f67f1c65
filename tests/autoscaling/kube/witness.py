"""Writes down what a store tells, and lets a test wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from autoscaling.errors import InvalidObjectError
from autoscaling.kube.table import Change, Key
from autoscaling.kube.troubles import Trouble
from autoscaling.kube.watch import StoreCallbacks

Told = tuple[str, str | None, str | None]


class _Meta(msgspec.Struct, rename="camel"):
    name: str
    namespace: str = ""
    resource_version: str = ""


class _ConfigMap(msgspec.Struct):
    metadata: _Meta
    data: dict[str, str]


_CONFIG_MAP = msgspec.json.Decoder(_ConfigMap)


def decode(body: bytes) -> tuple[Key, str, str]:
    """Read a ConfigMap as the text under ``text``; some texts are taken for broken objects."""
    read = _CONFIG_MAP.decode(body)
    text = read.data["text"]
    if text == "bad":
        raise ValueError("the text is bad")
    if text == "fault":
        raise TypeError("the decoder itself is broken")
    return (read.metadata.namespace, read.metadata.name), read.metadata.resource_version, text


class Witness:
    """One store's listener."""

    def __init__(self) -> None:
        self.changes: list[Told] = []
        self.unreadable: list[InvalidObjectError] = []
        self.troubles: list[Trouble] = []
        self._something = asyncio.Event()

    @property
    def callbacks(self) -> StoreCallbacks[str]:
        return StoreCallbacks(self._change, self._unreadable, self._trouble)

    def _change(self, change: Change[str]) -> None:
        self.changes.append((change.key[1], change.old, change.new))
        self._something.set()

    def _unreadable(self, error: InvalidObjectError) -> None:
        self.unreadable.append(error)
        self._something.set()

    def _trouble(self, trouble: Trouble) -> None:
        self.troubles.append(trouble)
        self._something.set()

    def news(self) -> list[Told]:
        """The changes since the last time this was asked."""
        told, self.changes = self.changes, []
        return told

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds; it is looked at whenever the store tells something."""
        async with asyncio.timeout(10):
            while not holds():
                self._something.clear()
                await self._something.wait()

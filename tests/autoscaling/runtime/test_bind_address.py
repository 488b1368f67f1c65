"""Addresses to listen on."""

from __future__ import annotations

import pytest

from autoscaling.runtime.bind_address import BindAddress


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        (":8942", "", 8942),
        ("127.0.0.1:0", "127.0.0.1", 0),
        ("localhost:80", "localhost", 80),
        ("[::1]:65535", "::1", 65535),
    ],
)
def test_addresses_are_read_and_printed(text: str, host: str, port: int) -> None:
    address = BindAddress.parse(text)
    assert (address.host, address.port, str(address)) == (host, port, text)


@pytest.mark.parametrize("text", ["", "bogus", "8942", "::1:80", ":65536", ":-1", ":http", "[::1]", "a:1:2"])
def test_other_addresses_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\[host\]:port"):
        BindAddress.parse(text)

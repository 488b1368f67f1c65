"""The handshake that a webhook makes with itself."""

from __future__ import annotations

import socket
from datetime import UTC, datetime, timedelta

import pytest

from admission.shell.self_test import OwnAddress, handshake_problem
from admission.vpa_matching import ClusterView
from autoscaling.targets import KnownControllers
from tests.admission.shell.webhooks import HOST, fresh_certificates, running_webhook

pytestmark = pytest.mark.anyio


def real_time() -> datetime:
    return datetime.now(UTC)


def view() -> ClusterView:
    return ClusterView(True, {}, KnownControllers({}, {}), {})


async def test_a_handshake_that_callers_would_believe() -> None:
    certificates = fresh_certificates()
    async with running_webhook(view, certificates) as webhook:
        assert await handshake_problem(OwnAddress(webhook.port, HOST), real_time, certificates.authorities) == ""


async def test_a_certificate_for_another_name_is_told() -> None:
    """Spec: admission:13.21."""
    certificates = fresh_certificates()
    async with running_webhook(view, certificates) as webhook:
        problem = await handshake_problem(OwnAddress(webhook.port, "other.ns.svc"), real_time, certificates.authorities)
    assert "other.ns.svc" in problem


@pytest.mark.parametrize("trusted", ["another", "nothing"])
async def test_an_authority_that_callers_do_not_know_is_told(trusted: str) -> None:
    other = fresh_certificates().authorities if trusted == "another" else b""
    async with running_webhook(view, fresh_certificates()) as webhook:
        assert "verify failed" in await handshake_problem(OwnAddress(webhook.port, HOST), real_time, other)


async def test_no_certificate_at_all_is_told() -> None:
    async with running_webhook(view, None) as webhook:
        assert (
            await handshake_problem(OwnAddress(webhook.port, HOST), real_time, fresh_certificates().authorities) != ""
        )


async def test_a_bundle_that_is_none_is_told() -> None:
    async with running_webhook(view, fresh_certificates()) as webhook:
        assert await handshake_problem(OwnAddress(webhook.port, HOST), real_time, b"rubbish") != ""


async def test_a_closed_port_is_told() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        assert str(port) in await handshake_problem(OwnAddress(port, HOST), real_time, fresh_certificates().authorities)


@pytest.mark.parametrize(("days", "wanted"), [(0, ""), (89, ""), (91, "was valid until"), (-1, "is not valid before")])
async def test_validity_is_a_matter_of_the_given_clock(days: int, wanted: str) -> None:
    certificates = fresh_certificates()
    then = real_time() + timedelta(days=days)
    async with running_webhook(view, certificates) as webhook:
        problem = await handshake_problem(OwnAddress(webhook.port, HOST), lambda: then, certificates.authorities)
    assert wanted in problem
    assert (problem == "") == (wanted == "")

"""What went wrong when no answer came: HTTP library errors to ``ApiUnreachableError``, with the way out."""

from __future__ import annotations

import aiohttp

from autoscaling.errors import ApiUnreachableError, ConfigurationError
from autoscaling.kube.retry import Failure

CALL_ERRORS = (aiohttp.ClientError, TimeoutError, OSError, ConfigurationError)
"""Everything that a call can end with instead of an answer."""

_NEVER_SENT: tuple[tuple[type[Exception], str, str], ...] = (
    (
        aiohttp.ClientConnectorCertificateError,
        "its certificate is not trusted",
        "check certificate-authority and tls-server-name in the kubeconfig",
    ),
    (aiohttp.ClientConnectorDNSError, "its name cannot be resolved", "check the server address and the cluster's DNS"),
    (
        aiohttp.ClientSSLError,
        "no TLS session came about",
        "check that the server address is https and that both sides share a TLS version",
    ),
    (
        aiohttp.ClientProxyConnectionError,
        "the proxy does not answer",
        "check proxy-url and the HTTPS_PROXY and NO_PROXY variables",
    ),
    (aiohttp.ClientHttpProxyError, "the proxy refused", "check proxy-url and the HTTPS_PROXY and NO_PROXY variables"),
    (
        aiohttp.ClientConnectorError,
        "no connection came about",
        "check that the server runs, and that no NetworkPolicy or firewall is in between",
    ),
    (
        aiohttp.ConnectionTimeoutError,
        "no connection came about in time",
        "check that the server runs, and that no NetworkPolicy or firewall is in between",
    ),
    (aiohttp.InvalidURL, "the address is malformed", "correct the server address in the kubeconfig"),
    (ConfigurationError, "there are no credentials to show", "restore them; calls go on as soon as they can be read"),
)
_PERHAPS_SENT: tuple[tuple[type[Exception], str, str], ...] = (
    (
        aiohttp.ClientPayloadError,
        "the answer was cut off",
        "nothing to do if it passes; else look for a proxy or load balancer with a short time-out",
    ),
    (TimeoutError, "no answer in time", "nothing to do if it passes; else look at the server's load"),
)
_DROPPED = ("the connection was dropped", "nothing to do if it passes; else look at the server's log")


def failure_of_silence(request: str, server: str, error: Exception) -> Failure:
    """Turn the lack of an answer into the error it stands for.

    Args:
        request: Verb and path.
        server: Address of the API server.
        error: One of ``CALL_ERRORS``.
    """
    for kind, what, remedy in _NEVER_SENT:
        if isinstance(error, kind):
            return Failure(_unreachable(request, server, f"{what} ({_detail(error)})", remedy), may_have_run=False)
    for kind, what, remedy in _PERHAPS_SENT:
        if isinstance(error, kind):
            return Failure(_unreachable(request, server, f"{what} ({_detail(error)})", remedy), may_have_run=True)
    what, remedy = _DROPPED
    return Failure(_unreachable(request, server, f"{what} ({_detail(error)})", remedy), may_have_run=True)


def _unreachable(request: str, server: str, what: str, remedy: str) -> ApiUnreachableError:
    return ApiUnreachableError(f"{request}: API server {server}: {what}; {remedy}")


def _detail(error: Exception) -> str:
    return str(error) or type(error).__name__

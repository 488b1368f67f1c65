"""Queries to Prometheus through the library ``prometheus-api-client``, one at a time.

The library builds and sends the requests. What it has no settings for is done in the session that it is given: tokens
that are read anew, forms instead of long addresses, a deadline for the whole answer and a limit to its size.
"""

from __future__ import annotations

import ssl
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import requests
import urllib3
from prometheus_api_client import PrometheusConnect
from requests.auth import AuthBase
from urllib3.util import Retry

from autoscaling.errors import ConfigurationError
from autoscaling.runtime.collector import collector_paused
from recommender.history.errors import HistoryError, Trouble
from recommender.history.pieces import MILLISECOND, Span
from recommender.history.series import Answer
from recommender.wire.prometheus import decode_answer, decode_names, decode_refusal

_CHUNK_BYTES: Final = 1 << 20
_SHORTEST_SECONDS: Final = 0.001
_NO_POST: Final = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED})
_SIGN_IN: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.PROXY_AUTHENTICATION_REQUIRED})
_TOO_MUCH_KINDS: Final = frozenset({"execution", "timeout", "too_many_samples"})
_TOO_MANY_POINTS: Final = "maximum resolution"
_SECOND: Final = 10**9


@dataclass(frozen=True, slots=True)
class Credentials:
    """How to sign in; the first that is there counts.

    Args:
        token_file: File with a token, read anew for every request.
        token: A token.
        username: User name; counts with a password only.
        password: Its password.
        password_file: File with its password, read anew for every request; wins over ``password``.
    """

    token_file: str = ""
    token: str = field(default="", repr=False)
    username: str = ""
    password: str = field(default="", repr=False)
    password_file: str = ""

    def header(self) -> str:
        """Return the value of the header Authorization, empty for none.

        Raises:
            ConfigurationError: The file cannot be read.
        """
        token = _held_by("prometheus-bearer-token-file", self.token_file, "token") or self.token
        if token:
            return f"Bearer {token}"
        password = _held_by("prometheus-password-file", self.password_file, "password") or self.password
        if self.username and password:
            return f"Basic {b64encode(f'{self.username}:{password}'.encode()).decode()}"
        return ""


def _held_by(flag: str, path: str, what: str) -> str:
    """Return the secret that a file holds, empty where none is named.

    Raises:
        ConfigurationError: The file cannot be read, or is not text; what stands in it is not shown.
    """
    if not path:
        return ""
    try:
        return Path(path).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ConfigurationError(
            f"--{flag}={path}: cannot be read: {reason}; name a readable file that holds the {what}"
        ) from error


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where Prometheus is and how it is talked to.

    Args:
        address: Base address.
        credentials: How to sign in.
        is_insecure: Whether any certificate will do.
        timeout: How long one query may take, from the first byte sent to the last received.
        tells_timeout: Whether the server is told how long it may take.
        largest_answer_bytes: More than that is not held in memory.
    """

    address: str
    credentials: Credentials = Credentials()
    is_insecure: bool = False
    timeout: timedelta = timedelta(minutes=5)
    tells_timeout: bool = True
    largest_answer_bytes: int = 256 << 20


RequestObserver = Callable[[str, str, float], None]
"""Told of each answer: status code, method in lower case, seconds until its first bytes."""


class PrometheusClient:
    """Asks Prometheus; blocks, and belongs to one thread.

    Args:
        settings: Where and how.
        observe: Told of each answer.
    """

    def __init__(self, settings: ServerSettings, observe: RequestObserver) -> None:
        self._settings = settings
        self._observe = observe
        self._seconds = max(settings.timeout.total_seconds(), _SHORTEST_SECONDS)
        self._deadline = 0.0
        self._session = requests.Session()
        # Environment variables and ~/.netrc are no source of settings.
        self._session.trust_env = False
        self._session.verify = False if settings.is_insecure else _authorities()
        if settings.is_insecure:
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        self._session.auth = _Signed(settings.credentials)
        self._session.hooks["response"] = [self._received]
        self._posting, self._getting = (self._library(method) for method in ("POST", "GET"))

    def _library(self, method: str) -> PrometheusConnect:
        # Whether a query is sent again is decided by whoever knows whether a smaller one would do.
        return PrometheusConnect(
            self._settings.address.rstrip("/"),
            retry=Retry(0, read=False),
            session=self._session,
            timeout=self._seconds,
            method=method,
        )

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def series_over(self, query: str, span: Span) -> Answer:
        """Evaluate a query at every instant of a span.

        Raises:
            HistoryError: There is no answer.
        """
        first, last = moment_text(span.start), moment_text(span.last)
        return self._ask(
            query,
            lambda library: library.custom_query_range(
                query,
                *(datetime.fromtimestamp(at / _SECOND, UTC) for at in (span.start, span.last)),
                step=_seconds_text(span.step),
                params={"start": first, "end": last, **self._limits()},
            ),
        )

    def series_at(self, query: str, at: int) -> Answer:
        """Evaluate a query once.

        Args:
            query: The query.
            at: Instant, nanoseconds since the epoch.

        Raises:
            HistoryError: There is no answer.
        """
        return self._ask(
            query,
            lambda library: library.custom_query(query, params={"time": moment_text(at), **self._limits()}),
        )

    def label_values(self, label: str, selector: str, span: Span) -> tuple[str, ...]:
        """Return the values that a label has among the series that a selector finds.

        Raises:
            HistoryError: There is no answer.
        """
        with self._described(f"values of label {label} of {selector}"):
            params = {"match[]": selector, "start": moment_text(span.start), "end": moment_text(span.last)}
            raw = self._getting.get_label_values(label, params=params)
            return decode_names(_bytes(raw), f"values of label {label}")

    def _limits(self) -> dict[str, str]:
        return {"timeout": f"{self._seconds:g}s"} if self._settings.tells_timeout else {}

    def _ask(self, query: str, call: Callable[[PrometheusConnect], object]) -> Answer:
        with self._described(query):
            try:
                raw = call(self._posting)
            except _RefusedError as error:
                if error.status not in _NO_POST:
                    raise
                raw = call(self._getting)
            with collector_paused():
                return decode_answer(_bytes(raw), query)

    @contextmanager
    def _described(self, query: str) -> Iterator[None]:
        """Turn what may go wrong into one kind of error, which names the query and the way out."""
        self._deadline = time.monotonic() + self._seconds
        try:
            yield
        except _RefusedError as error:
            raise _refused(query, error) from error
        except _TooLargeError as error:
            problem = f"{query}: the answer exceeds {self._settings.largest_answer_bytes} bytes"
            remedy = "raise --history-resolution or shorten --history-length"
            raise HistoryError(problem, remedy=remedy, trouble=Trouble.TOO_MUCH) from error
        except requests.Timeout as error:
            problem = f"{query}: no answer within {self._seconds:g}s"
            raise HistoryError(problem, remedy="raise --prometheus-query-timeout", trouble=Trouble.TOO_MUCH) from error
        except requests.exceptions.SSLError as error:
            remedy = "have the certificate's authority trusted by this system, or set --prometheus-insecure"
            raise HistoryError(f"{query}: {error}", remedy=remedy) from error
        except (requests.exceptions.InvalidURL, requests.exceptions.MissingSchema) as error:
            remedy = "correct --prometheus-address, such as http://prometheus.monitoring.svc:9090"
            raise HistoryError(f"{query}: {error}", remedy=remedy) from error
        except requests.RequestException as error:
            remedy = "check --prometheus-address, and that Prometheus runs and can be reached from here"
            raise HistoryError(f"{query}: {error}", remedy=remedy, trouble=Trouble.TRANSIENT) from error

    def _received(self, response: requests.Response, *_: object, **__: object) -> requests.Response:
        """Read an answer within its limits, before the library looks at it."""
        method = (response.request.method or "").lower()
        self._observe(str(response.status_code), method, response.elapsed.total_seconds())
        if response.is_redirect:
            return response
        body = self._read(response)
        if response.status_code != HTTPStatus.OK:
            raise _RefusedError(response.status_code, body)
        return _Received(body)

    def _read(self, response: requests.Response) -> bytes:
        chunks, size = [], 0
        try:
            for chunk in response.iter_content(_CHUNK_BYTES):
                chunks.append(chunk)
                size += len(chunk)
                if size > self._settings.largest_answer_bytes:
                    raise _TooLargeError
                if time.monotonic() > self._deadline:
                    raise requests.ReadTimeout
        except requests.ConnectionError as error:
            # The library tells a time-out in the middle of an answer from a lost connection by its cause alone.
            if error.args and isinstance(error.args[0], urllib3.exceptions.ReadTimeoutError):
                raise requests.ReadTimeout from error
            raise
        finally:
            response.close()
        return b"".join(chunks)


class _Received(requests.Response):
    """An answer that has been read; its JSON is left to our own decoders.

    The library takes the results out of what it believes to be an object in an object.
    """

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self.status_code = HTTPStatus.OK
        self._content = body

    def json(self, **_: object) -> _Whole:
        return _Whole(self.content)


@dataclass(frozen=True, slots=True)
class _Whole:
    """The bytes of an answer, whatever part of it is asked for."""

    raw: bytes

    def __getitem__(self, _: str) -> _Whole:
        return self


def _bytes(whole: object) -> bytes:
    assert isinstance(whole, _Whole)
    return whole.raw


class _Signed(AuthBase):
    """Signs a request, and moves what is asked from the address of a POST into its body, where there is room for it."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        try:
            authorization = self._credentials.header()
        except ConfigurationError as error:
            raise requests.RequestException(str(error)) from error
        if authorization:
            request.headers["Authorization"] = authorization
        if request.method == "POST":
            scheme, host, path, query, _ = urlsplit(request.url or "")
            request.url = urlunsplit((scheme, host, path, "", ""))
            request.headers["Content-Type"] = "application/x-www-form-urlencoded"
            request.body = query
        return request


class _RefusedError(requests.RequestException):
    """An answer whose status is no success."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.body = body


class _TooLargeError(Exception):
    """An answer that is larger than what is held in memory."""


def _refused(query: str, error: _RefusedError) -> HistoryError:
    """Say what a refusal means."""
    refusal = decode_refusal(error.body)
    problem = f"{query}: status {error.status}: {refusal.text or 'no explanation'}"
    if error.status in _SIGN_IN:
        remedy = "check user name and password, --prometheus-bearer-token or --prometheus-bearer-token-file"
        return HistoryError(problem, remedy=remedy)
    is_server_tired = error.status == HTTPStatus.SERVICE_UNAVAILABLE and refusal.kind == "timeout"
    if refusal.kind in _TOO_MUCH_KINDS or is_server_tired or _TOO_MANY_POINTS in refusal.text:
        remedy = "raise --history-resolution, shorten --history-length, or raise Prometheus' own limits"
        return HistoryError(problem, remedy=remedy, trouble=Trouble.TOO_MUCH)
    is_passing = error.status >= HTTPStatus.INTERNAL_SERVER_ERROR or error.status in {
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.TOO_MANY_REQUESTS,
    }
    if is_passing:
        remedy = "look at the log of Prometheus, or of what stands in front of it"
        return HistoryError(problem, remedy=remedy, trouble=Trouble.TRANSIENT)
    return HistoryError(problem, remedy="check --prometheus-address, the metric names and the label names")


def moment_text(at: int) -> str:
    """Return an instant in seconds with as many of three decimals as it needs."""
    seconds, milliseconds = divmod(at // MILLISECOND, 1000)
    return f"{seconds}.{milliseconds:03d}".rstrip("0").rstrip(".")


def _seconds_text(duration: int) -> str:
    """Return nanoseconds as seconds."""
    return moment_text(duration)


def _authorities() -> str | bool:
    """Return where this system keeps the authorities that it trusts; the library's own where it keeps none."""
    paths = ssl.get_default_verify_paths()
    if paths.cafile:
        return paths.cafile
    folder = Path(paths.capath) if paths.capath else None
    if folder is not None and folder.is_dir() and any(folder.iterdir()):
        return str(folder)
    return True

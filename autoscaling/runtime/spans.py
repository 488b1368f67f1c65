"""Spans, sent by OTLP over HTTP where the environment names an endpoint (spec: product:10).

The library reads all of ``OTEL_*`` itself. It is imported only where it is asked for: that takes a quarter of a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Protocol

import structlog

from autoscaling.errors import ConfigurationError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_SPOKEN: Final = "http/protobuf"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class FinishedSpan:
    """Something that has taken a time.

    Args:
        name: What it is.
        start: When it began.
        end: When it ended.
        attributes: Facts about it.
        is_error: Whether it came to nothing.
    """

    name: str
    start: datetime
    end: datetime
    attributes: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    is_error: bool = False


class SpanSink(Protocol):
    """Where spans go."""

    def add(self, span: FinishedSpan) -> None:
        """Take a span, without waiting for anything."""

    async def close(self) -> None:
        """Send what has not been sent."""


class OtlpSpans:
    """Sends spans in batches, from a thread of its own; what cannot be sent is dropped and logged by the library.

    Args:
        provider: With the exporter.
    """

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("evenkeel")

    def add(self, span: FinishedSpan) -> None:
        """Take a span."""
        from opentelemetry.trace import Status, StatusCode  # noqa: PLC0415

        made = self._tracer.start_span(span.name, attributes=span.attributes, start_time=_nanoseconds(span.start))
        if span.is_error:
            made.set_status(Status(StatusCode.ERROR))
        made.end(_nanoseconds(span.end))

    async def close(self) -> None:
        """Send what has not been sent, for as long as the exporter's time-outs let it take."""
        await asyncio.to_thread(self._provider.shutdown)


def open_spans(service: str, environment: Mapping[str, str]) -> OtlpSpans | None:
    """Return where spans go, None where the environment names no endpoint.

    Args:
        service: Name of the process, unless ``OTEL_SERVICE_NAME`` gives another one.
        environment: The process's environment, which the library reads as well.

    Raises:
        ConfigurationError: Another protocol is asked for than the one that is spoken.
    """
    is_disabled = environment.get("OTEL_SDK_DISABLED", "").lower() == "true"
    endpoint = next((environment[name] for name in _ENDPOINTS if environment.get(name)), "")
    if not endpoint or is_disabled:
        return None
    for name in _PROTOCOLS:
        protocol = environment.get(name) or _SPOKEN
        if protocol != _SPOKEN:
            raise ConfigurationError(
                f"{name} is {protocol!r}, but spans are sent by {_SPOKEN} only; leave it out, and name the port for "
                "that, which is 4318 as a rule"
            )
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    named = {} if environment.get("OTEL_SERVICE_NAME") else {SERVICE_NAME: service}
    provider = TracerProvider(resource=Resource.create(named), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    log.info("spans are sent", endpoint=endpoint)
    return OtlpSpans(provider)


def _nanoseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000

"""Decoders of what the API server, metrics servers and Prometheus answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import numpy as np

from autoscaling.asked_resources import ASKED_ANNOTATION, asked_template
from autoscaling.errors import CheckpointError, EvenkeelError, InvalidObjectError, InvalidQuantityError
from autoscaling.kube.decoders import identity_of
from autoscaling.kube.refusals import refusal_of
from autoscaling.kube.streams import lines_of
from autoscaling.kube.workloads import WELL_KNOWN, workload_decoder
from autoscaling.objectref import ObjectRef
from autoscaling.pod import Pod
from autoscaling.quantity import Quantity
from autoscaling.wire.budgets import decode_budget
from autoscaling.wire.hpas import decode_hpa
from autoscaling.wire.nodes import decode_node
from autoscaling.wire.objects import decode_limit_range, decode_vpa, vpa_status_json
from autoscaling.wire.pods import (
    decode_placed_pod_outline_with_sidecars,
    decode_placed_pod_with_sidecars,
    decode_pod,
    decode_pod_outline,
    decode_submitted_pod,
    template_text,
)
from autoscaling.wire.quotas import decode_quota
from autoscaling.wire.unreadable import UNREADABLE_JSON
from recommender.buckets import CPU_BUCKETS
from recommender.checkpoint import check_histogram, decode_histograms, encode_histograms
from recommender.histogram_bank import HistogramBank
from recommender.history.errors import HistoryError
from recommender.wire.checkpoints import checkpoint_json, decode_checkpoint
from recommender.wire.eviction_events import decode_eviction
from recommender.wire.external_metrics import decode_external
from recommender.wire.pod_metrics import decode_usage
from recommender.wire.prometheus import decode_answer, decode_names, decode_refusal
from tests.fuzz import objects
from tests.fuzz.objects import ODD_WORDS, text, words_in
from tests.fuzz.target import LawBrokenError, Target
from tests.recommender.scene import DAY
from updater.resize_request import REQUESTED_ANNOTATION, read_request
from updater.storm_text import read_levels
from updater.wire.memory_use import decode_memory

_GROUP = "autoscaling.evenkeel.dev/v1"
_ASKED = ObjectRef("Pod", "default", "p")


def _usage(data: bytes) -> None:
    for page in (decode_usage(data), decode_memory(data, {"default"})):
        if any(not str(error) for error in page.unreadable):
            raise LawBrokenError("an object is left out without a word")


def _external(data: bytes) -> None:
    for resource in ("cpu", "memory"):
        amounts = decode_external(data, _ASKED, resource, "name").amounts.values()
        if any(not -(2**63) < amount < 2**63 for amount in amounts):
            raise LawBrokenError("an amount is beyond 64 bits")


def _prometheus(data: bytes) -> None:
    decode_refusal(data)
    for decode in (decode_answer, decode_names):
        try:
            decode(data, "query")
        except HistoryError as error:
            if not str(error):
                raise LawBrokenError("refused without a word") from error


def _pod(data: bytes) -> None:
    template_text(data)
    for decode in (decode_pod, decode_pod_outline, decode_submitted_pod, decode_placed_pod_outline_with_sidecars):
        try:
            decode(data)
        except InvalidObjectError as error:
            if not str(error):
                raise LawBrokenError("refused without a word") from error
    decode_placed_pod_with_sidecars(data)


def _vpa(data: bytes) -> int:
    vpa = decode_vpa(data)
    return len(text(vpa_status_json(vpa.conditions, vpa.recommendation, vpa.generation or 0)))


def _one_of(*decoders: Callable[[bytes], object]) -> Callable[[bytes], None]:
    """Return what gives input to the decoder that its first byte names."""

    def take(data: bytes) -> None:
        decoders[data[0] % len(decoders) if data else 0](data[1:])

    return take


def _workload(kind: str) -> Callable[[bytes], object]:
    return workload_decoder(kind)


def _checkpoint(data: bytes) -> int:
    checkpoint = decode_checkpoint(data)
    bank, rows = HistogramBank(CPU_BUCKETS, DAY, 2), np.array([0, 1])
    histograms = [check_histogram(checkpoint.cpu), check_histogram(checkpoint.memory)]
    decode_histograms(bank, rows, histograms)
    if not np.isfinite(bank.weights).all():
        raise LawBrokenError("a weight is no number")
    encode_histograms(bank, rows)
    return len(text(checkpoint_json(checkpoint, _GROUP)))


async def _cut(data: bytes) -> list[bytes]:
    async def chunks() -> AsyncIterator[bytes]:
        step = data[0] % 7 + 1 if data else 1
        for start in range(1, len(data), step):
            yield data[start : start + step]

    return [line async for line in lines_of(chunks())]


def _stream(data: bytes) -> None:
    lines = asyncio.run(_cut(data))
    whole = data[1:].split(b"\n")
    if lines != [line for line in whole[:-1] if line]:
        raise LawBrokenError("lines are cut by how they came")
    for line in lines:
        refusal_of("GET /", 500, {}, line)
        try:
            identity_of(line)
        except UNREADABLE_JSON:
            continue


def _quantity(data: bytes) -> int:
    given = data.decode("utf-8", "replace")
    quantity = Quantity.parse(given)
    shown = str(quantity)
    again = Quantity.parse(shown)
    if again != quantity or str(again) != shown:
        raise LawBrokenError(f"{given!r} is shown as {shown!r}, which is read as {again}")
    quantity.value()
    quantity.milli_value()
    return len(shown)


def _notes(data: bytes) -> None:
    note = data.decode("utf-8", "replace")
    pod = Pod("default", "p", annotations={REQUESTED_ANNOTATION: note, ASKED_ANNOTATION: note})
    asked_template(pod)
    read_request(pod)
    read_levels(note)


def _json(
    name: str, take: Callable[[bytes], int | None], refusals: tuple[type[Exception], ...], *seeds: object
) -> Target:
    written = tuple(text(seed) for seed in seeds)
    return Target(name, take, refusals, written, words_in(written))


def _numbered(name: str, decoders: tuple[Callable[[bytes], object], ...], seeds: tuple[object, ...]) -> Target:
    written = tuple(text(seed) for seed in seeds)
    starts = tuple(bytes([number]) + seed for number, seed in enumerate(written))
    return Target(name, _one_of(*decoders), (InvalidObjectError,), starts, words_in(written))


_OTHERS = (decode_limit_range, decode_hpa, decode_budget, decode_quota, decode_node, decode_eviction)
_KINDS = tuple(WELL_KNOWN)

DECODERS = (
    _json("usage", _usage, (InvalidObjectError,), objects.USAGE),
    _json("external-usage", _external, (InvalidObjectError,), objects.EXTERNAL),
    _json("prometheus", _prometheus, (), objects.PROMETHEUS, objects.VECTOR, objects.NO_SUCCESS, objects.NAMES),
    _json("pod", _pod, (InvalidObjectError,), objects.POD, objects.SIDECARS),
    _json("vpa", _vpa, (InvalidObjectError,), objects.VPA),
    _numbered(
        "object",
        _OTHERS,
        (objects.LIMIT_RANGE, objects.HPA, objects.BUDGET, objects.QUOTA, objects.NODE, objects.EVICTION),
    ),
    Target(
        "workload",
        _one_of(*map(_workload, _KINDS)),
        (*UNREADABLE_JSON, EvenkeelError, ValueError, LookupError, ArithmeticError),
        tuple(bytes([number]) + text(objects.DEPLOYMENT) for number in range(len(_KINDS))),
        words_in((text(objects.DEPLOYMENT),)),
    ),
    _json("checkpoint", _checkpoint, (InvalidObjectError, CheckpointError), objects.CHECKPOINT),
    Target(
        "stream",
        _stream,
        (),
        (
            b"\x03"
            + text({"type": "ADDED", "object": objects.POD})
            + b"\n\n"
            + text({"kind": "Status", "code": 410})
            + b"\n",
        ),
        ODD_WORDS,
    ),
    Target(
        "quantity",
        _quantity,
        (InvalidQuantityError,),
        (b"100m", b"1.5Gi", b"1e3", b"-12.25E-2", b"12345678901234567890", b"0.0000000001", b"8Ei"),
        ODD_WORDS,
    ),
    Target(
        "note",
        _notes,
        (),
        (
            b'{"generation":3,"at":"2026-01-01T00:00:00+00:00","restarts":{"main":1}}',
            b'{"main":{"requests":{"cpu":"1"},"limits":{"cpu":"2"}}}',
            b'{"at":"2026-01-01T00:00:00+00:00","node":{"a":1.5},"namespace":{"*":2}}',
        ),
        ODD_WORDS,
    ),
)
"""Every decoder of what comes from outside."""

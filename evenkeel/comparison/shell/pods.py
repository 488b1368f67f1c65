"""Which pods are whose: the targets of autoscalers looked up, and pods matched by their labels."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from autoscaling.errors import ApiError, ApiRefusedError
from autoscaling.kube.client import KubeClient
from autoscaling.kube.discovery import Discovery
from autoscaling.kube.paths import PODS, Selection
from autoscaling.kube.scales import ScaleReader
from autoscaling.kube.workloads import WELL_KNOWN, workload_decoder
from autoscaling.matching import InvalidSelectorError, Selector, parse_selector
from autoscaling.ownership import ControllerKey
from autoscaling.targets import target_key
from autoscaling.vpa import Vpa
from evenkeel.comparison.selectors import SelectorIndex
from evenkeel.comparison.use import PodKey

_AT_ONCE = 16


class _Metadata(msgspec.Struct):
    name: str
    namespace: str = ""
    labels: dict[str, str] | None = None


class _Pod(msgspec.Struct):
    metadata: _Metadata


_PODS = msgspec.json.Decoder(_Pod)


class _TargetError(Exception):
    """A target whose pods cannot be told."""


@dataclass(frozen=True, slots=True)
class Ownership:
    """Which pods belong to which autoscalers.

    Args:
        owners: Of each pod the namespaces and names of the autoscalers whose target selects it.
        problems: Autoscalers whose pods cannot be told, in words.
    """

    owners: Mapping[PodKey, tuple[tuple[str, str], ...]]
    problems: tuple[str, ...]


async def ownership(client: KubeClient, vpas: Iterable[Vpa], namespace: str) -> Ownership:
    """Look up the targets of autoscalers and match the pods there are.

    Args:
        client: Calls to the API server.
        vpas: The autoscalers.
        namespace: The only one; empty for all.

    Raises:
        ApiError: Pods cannot be listed.
    """
    reader, turns = ScaleReader(client, Discovery(client)), asyncio.Semaphore(_AT_ONCE)

    async def selector(vpa: Vpa) -> Selector | str:
        async with turns:
            try:
                return await _selector(client, reader, target_key(vpa))
            except (_TargetError, InvalidSelectorError, msgspec.MsgspecError, ApiError) as error:
                return f"{vpa.ref}: its pods cannot be told, so use of them is left out: {error}"

    listed = tuple(vpas)
    answers = await asyncio.gather(*(selector(vpa) for vpa in listed))
    pairs = zip(listed, answers, strict=True)
    index = SelectorIndex.of([(vpa.namespace, vpa.name, each) for vpa, each in pairs if isinstance(each, Selector)])
    owners: dict[PodKey, tuple[tuple[str, str], ...]] = {}
    for pod in await client.items(Selection(PODS, namespace), _PODS.decode):
        place, name = pod.metadata.namespace, pod.metadata.name
        found = index.selecting(place, pod.metadata.labels or {})
        if found:
            owners[place, name] = tuple((place, each) for each in found)
    return Ownership(owners, tuple(answer for answer in answers if isinstance(answer, str)))


async def _selector(client: KubeClient, reader: ScaleReader, key: ControllerKey | None) -> Selector:
    """Return the selector of a target's pods.

    Raises:
        ApiError: The target cannot be read.
        InvalidSelectorError: Its selector cannot be read.
        msgspec.MsgspecError: It is no workload.
        _TargetError: There is none.
    """
    if key is None:
        raise _TargetError("it names no target")
    resource = WELL_KNOWN.get(key.kind)
    if resource is not None:
        try:
            body = await client.get(resource.path(key.namespace, key.name))
        except ApiRefusedError as refusal:
            raise _TargetError(f"{key.kind} {key.namespace}/{key.name}: {refusal.code} {refusal.reason}") from refusal
        return workload_decoder(key.kind)(body)[2].selector
    answer = await reader.read(key)
    if not answer.is_found or not answer.selector:
        raise _TargetError(answer.failure or f"{key.kind} {key.namespace}/{key.name} has no scale with a selector")
    return parse_selector(answer.selector)

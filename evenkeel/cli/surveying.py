"""Reads a cluster once, as far as the user may."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, Protocol, TypeVar

import msgspec

from autoscaling.behaviour import Behaviour, Profile
from autoscaling.disruption_budget import DisruptionBudget
from autoscaling.errors import ApiError, EvenkeelError
from autoscaling.hpa import Hpa
from autoscaling.kube.client import KubeClient
from autoscaling.kube.decoders import identity_of
from autoscaling.kube.discovery import Discovery
from autoscaling.kube.paths import (
    HORIZONTAL_POD_AUTOSCALERS,
    LIMIT_RANGES,
    NODES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    RESOURCE_QUOTAS,
    Selection,
    vertical_pod_autoscalers,
)
from autoscaling.kube.scales import ScaleCache, ScaleReader
from autoscaling.kube.workloads import WELL_KNOWN, workload_decoder
from autoscaling.limitrange import LimitRange
from autoscaling.matching import NOTHING, SelectingVpa, Selector
from autoscaling.node import Node
from autoscaling.objectref import ObjectRef
from autoscaling.ownership import ControllerKey, OwnerLookupError, OwnerNotCachedError, pod_controller
from autoscaling.quota import Quota
from autoscaling.runtime.api_group import ApiGroup
from autoscaling.targets import KnownControllers, target_key, target_selector
from autoscaling.vpa import Vpa
from autoscaling.wire.budgets import decode_budget
from autoscaling.wire.hpas import decode_hpa
from autoscaling.wire.nodes import decode_node
from autoscaling.wire.objects import decode_limit_range, decode_vpa
from autoscaling.wire.pods import decode_placed_pod, decode_placed_pod_with_sidecars
from autoscaling.wire.quotas import decode_quota
from autoscaling.workload import Workload
from evenkeel.cli.session import NotReadableError, read_all
from evenkeel.inspection.survey import Survey
from updater.snapshot import Snapshot
from updater.surroundings import Surroundings

T = TypeVar("T")

LIVE_PODS: Final = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
"""Pods that have a node and have not ended (updater M-4)."""

_BEHAVIOUR: Final = Behaviour.of(Profile.EVENKEEL)

_UNREADABLE: Final = (msgspec.MsgspecError, EvenkeelError, ValueError, LookupError, ArithmeticError)
"""What a decoder may raise about an object."""


class _Namespaced(Protocol):
    @property
    def namespace(self) -> str: ...


N = TypeVar("N", bound=_Namespaced)


@dataclass(slots=True)
class Reader:
    """Lists collections one after the other and keeps what goes wrong.

    Args:
        client: Calls to the API server.
        namespace: Only this one; empty for all.
        problems: What could not be read so far.
    """

    client: KubeClient
    namespace: str
    problems: list[str] = field(default_factory=list)

    async def objects(self, selection: Selection, decode: Callable[[bytes], T]) -> tuple[T, ...]:
        """Return the objects that can be read; each of the others is a problem.

        Raises:
            NotReadableError: The kind is not served, or may not be listed.
            ApiError: The server did not answer.
        """
        found: list[T] = []
        for raw in await read_all(self.client, selection, bytes):
            try:
                found.append(decode(raw))
            except _UNREADABLE as error:
                self.problems.append(_named(error, selection.resource.kind, raw))
        return tuple(found)

    async def optional(self, selection: Selection, decode: Callable[[bytes], T]) -> tuple[T, ...] | None:
        """Return the objects that can be read; None, and a problem, where the kind cannot be listed."""
        try:
            return await self.objects(selection, decode)
        except (NotReadableError, ApiError) as error:
            self.problems.append(str(error))
            return None


def _named(error: Exception, kind: str, raw: bytes) -> str:
    """Return what is wrong with an object, with its name in front."""
    if isinstance(error, EvenkeelError):
        return str(error)
    try:
        (namespace, name), _ = identity_of(raw)
    except msgspec.MsgspecError:
        namespace, name = "", "(unreadable)"
    return f"{ObjectRef(kind, namespace, name)}: {error}; correct the object"


async def survey(
    client: KubeClient,
    group: ApiGroup,
    namespace: str,
    *,
    is_thorough: bool = False,
    behaviour: Behaviour = _BEHAVIOUR,
) -> Survey:
    """Read VPAs, pods and controllers.

    Args:
        client: Calls to the API server.
        group: API group of the VPAs.
        namespace: Only this one; empty for all.
        is_thorough: Whether all else is read, too, that the updater and the recommender look at.
        behaviour: Whether sidecars count as containers, and the pods of Jobs are told by their owners.

    Raises:
        NotReadableError: VPAs or pods may not be read, or there are none at all.
        ApiError: The server did not answer.
    """
    reader = Reader(client, namespace)
    decode_pod = decode_placed_pod_with_sidecars if behaviour.native_sidecars else decode_placed_pod
    vpas, pods, workloads = await asyncio.gather(
        reader.objects(Selection(vertical_pod_autoscalers(group), namespace), decode_vpa),
        reader.objects(Selection(PODS, namespace, field_selector=LIVE_PODS), decode_pod),
        _workloads(reader),
    )
    controllers = _Controllers(client, workloads, behaviour)
    selecting = [SelectingVpa(vpa, await controllers.selector(vpa)) for vpa in vpas]
    starts = [*(target_key(vpa) for vpa in vpas), *(pod_controller(pod) for pod in pods)]
    for key in dict.fromkeys(key for key in starts if key is not None):
        await controllers.climb(key)
    limits, hpas, around = await _surroundings(reader) if is_thorough else ((), (), Surroundings())
    known = controllers.known()
    snapshot = Snapshot.of(selecting, pods, workloads, known.scales, limits)
    return Survey(replace(snapshot, surroundings=around), known, hpas, tuple(reader.problems))


async def _workloads(reader: Reader) -> tuple[Workload, ...]:
    """Return the controllers of the well-known kinds."""
    lists = await asyncio.gather(
        *(
            reader.optional(Selection(resource, reader.namespace), partial(_value, workload_decoder(kind)))
            for kind, resource in WELL_KNOWN.items()
        )
    )
    return tuple(workload for found in lists for workload in found or ())


def _value(decode: Callable[[bytes], tuple[object, str, T]], raw: bytes) -> T:
    """Return what a decoder for a store makes of an object, without its key."""
    return decode(raw)[2]


async def _surroundings(reader: Reader) -> tuple[tuple[LimitRange, ...], tuple[Hpa, ...], Surroundings]:
    """Return LimitRanges, horizontal autoscalers and what is around the pods; what may not be seen is not known."""
    place = reader.namespace
    limits: tuple[LimitRange, ...] | None
    hpas: tuple[Hpa, ...] | None
    nodes: tuple[Node, ...] | None
    budgets: tuple[DisruptionBudget, ...] | None
    quotas: tuple[Quota, ...] | None
    limits, hpas, nodes, budgets, quotas = await asyncio.gather(
        reader.optional(Selection(LIMIT_RANGES, place), decode_limit_range),
        reader.optional(Selection(HORIZONTAL_POD_AUTOSCALERS, place), decode_hpa),
        reader.optional(Selection(NODES), decode_node),
        reader.optional(Selection(POD_DISRUPTION_BUDGETS, place), decode_budget),
        reader.optional(Selection(RESOURCE_QUOTAS, place), decode_quota),
    )
    around = Surroundings(
        nodes=None if nodes is None else {node.name: node for node in nodes},
        budgets=None if budgets is None else _by_namespace(budgets),
        quotas=None if quotas is None else _by_namespace(quotas),
        # With one namespace alone it is not known what else is on the nodes.
        sees_all_pods=not place,
    )
    return limits or (), hpas or (), around


def _by_namespace(objects: Iterable[N]) -> Mapping[str, tuple[N, ...]]:
    """Return objects sorted into their namespaces."""
    found: defaultdict[str, list[N]] = defaultdict(list)
    for each in objects:
        found[each.namespace].append(each)
    return {namespace: tuple(those) for namespace, those in found.items()}


class _Controllers:
    """Controllers of well-known kinds as listed, those of other kinds by their scales as they are asked for."""

    def __init__(self, client: KubeClient, workloads: Iterable[Workload], behaviour: Behaviour) -> None:
        self._runs_match_by_owner = behaviour.jobs_and_cronjobs_match_by_owner
        self._workloads = {(each.namespace, each.kind, each.name): each for each in workloads}
        self._scales = ScaleCache(ScaleReader(client, Discovery(client)), client)

    def known(self) -> KnownControllers:
        """Return all that is known so far."""
        return KnownControllers(self._workloads, dict(self._scales), runs_match_by_owner=self._runs_match_by_owner)

    async def selector(self, vpa: Vpa) -> Selector:
        """Return the selector of a VPA's target; one that cannot be told matches nothing."""
        try:
            return await self._settled(partial(target_selector, vpa))
        except OwnerLookupError:
            return NOTHING

    async def climb(self, start: ControllerKey) -> None:
        """Look up every scale on the way from a controller to the topmost one."""
        try:
            await self._settled(partial(_topmost, start))
        except OwnerLookupError:
            return

    async def _settled(self, compute: Callable[[KnownControllers], T]) -> T:
        """Compute over what is known, looking up each scale that is missing."""
        while True:
            try:
                return compute(self.known())
            except OwnerNotCachedError as missing:
                await self._scales.look_up(missing.key)


def _topmost(start: ControllerKey, known: KnownControllers) -> ControllerKey | None:
    return known.topmost(start)

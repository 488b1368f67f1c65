"""Stores of nodes, disruption budgets and quotas: good to know, but nothing waits for a permission to see them."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Protocol, TypeVar

from autoscaling.disruption_budget import DisruptionBudget
from autoscaling.kube.client import KubeClient
from autoscaling.kube.decoders import identified, versioned
from autoscaling.kube.optional import OptionalStore
from autoscaling.kube.paths import NODES, POD_DISRUPTION_BUDGETS, RESOURCE_QUOTAS, Selection
from autoscaling.node import Node
from autoscaling.quota import Quota
from autoscaling.runtime.startup import logging_callbacks
from autoscaling.wire.budgets import decode_budget
from autoscaling.wire.nodes import decode_node
from autoscaling.wire.quotas import decode_quota
from updater.surroundings import Interest, Surroundings


class _Namespaced(Protocol):
    @property
    def namespace(self) -> str: ...


N = TypeVar("N", bound=_Namespaced)


class SurroundingStores:
    """What is around the pods, as far as it is asked for and may be seen; a denial is logged once.

    Args:
        client: Calls to the API server.
        namespace: Only this one; empty for all. Nodes belong to none, so they are followed anyway where allowed.
        interest: What is asked for.
    """

    def __init__(self, client: KubeClient, namespace: str, interest: Interest) -> None:
        told_of_nodes, told_of_budgets = logging_callbacks(Node), logging_callbacks(DisruptionBudget)
        self.nodes = OptionalStore(client, Selection(NODES), identified(decode_node), told_of_nodes)
        self.budgets = OptionalStore(
            client, Selection(POD_DISRUPTION_BUDGETS, namespace), versioned(decode_budget), told_of_budgets
        )
        self.quotas = OptionalStore(
            client, Selection(RESOURCE_QUOTAS, namespace), versioned(decode_quota), logging_callbacks(Quota)
        )
        asked_for = ((self.nodes, interest.nodes), (self.budgets, interest.budgets), (self.quotas, interest.quotas))
        self._followed = tuple(store for store, is_asked_for in asked_for if is_asked_for)

    def start(self) -> list[asyncio.Task[None]]:
        """Follow what is asked for; returns the tasks for whoever supervises the process."""
        return [store.start() for store in self._followed]

    async def stop(self) -> None:
        """End all tasks."""
        await asyncio.gather(*(store.stop() for store in self._followed))

    async def wait_settled(self, seconds: float) -> None:
        """Wait until each has been listed completely or it is clear that it will not be.

        Raises:
            ApiError: Neither came in time; says why, as far as known.
        """
        await asyncio.gather(*(store.wait_settled(seconds) for store in self._followed))

    def surroundings(self) -> Surroundings:
        """Return what is known now; None stands for what is not asked for or may not be seen."""
        return Surroundings(
            nodes={node.name: node for node in self.nodes.snapshot()} if self.nodes.is_known else None,
            budgets=_by_namespace(self.budgets.snapshot()) if self.budgets.is_known else None,
            quotas=_by_namespace(self.quotas.snapshot()) if self.quotas.is_known else None,
        )


def _by_namespace(objects: Iterable[N]) -> Mapping[str, tuple[N, ...]]:
    """Return objects sorted into their namespaces."""
    found: defaultdict[str, list[N]] = defaultdict(list)
    for each in objects:
        found[each.namespace].append(each)
    return {namespace: tuple(those) for namespace, those in found.items()}

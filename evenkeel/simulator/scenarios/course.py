"""The course of a scenario: what is put into the cluster, and what is done to it later."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path

from autoscaling.errors import EvenkeelError
from autoscaling.quantity import Quantity
from evenkeel.simulator.api.fields import JsonObject, text
from evenkeel.simulator.api.status import StatusError
from evenkeel.simulator.kubelet.kubelet import Kubelet
from evenkeel.simulator.scenarios.chronicle import Chronicle, listed
from evenkeel.simulator.scenarios.document import Scenario
from evenkeel.simulator.scenarios.objects import (
    amounts,
    behaviour_name,
    recommendation_status,
    vpa_object,
    workload_object,
)
from evenkeel.simulator.scenarios.stage import Stage
from evenkeel.simulator.scenarios.steps import (
    Apply,
    Break,
    Delete,
    KubeletChange,
    NewUsage,
    NodeChange,
    Recommend,
    Reference,
    Restart,
    Step,
    Trouble,
    Use,
)
from evenkeel.simulator.workloads.catalogue import Catalogue

Act = Callable[[], Awaitable[None]]


class RefusedError(EvenkeelError):
    """The API server refused something that a scenario wants."""


@dataclass(frozen=True, slots=True)
class Course:
    """What is done in the course of a scenario.

    Args:
        scenario: The scenario.
        stage: Where it is done.
        chronicle: Where it is noted.
        folder: Where the scenario's own files are.
    """

    scenario: Scenario
    stage: Stage
    chronicle: Chronicle
    folder: Path

    def plan(self) -> list[tuple[timedelta, Act]]:
        """Return what is done and when, in order of time; at the same time, in the order of the file."""
        return sorted(self._entries(), key=lambda entry: entry[0])

    def _entries(self) -> Iterator[tuple[timedelta, Act]]:
        """Yield objects first, then workloads, VPAs and steps."""
        for one in self.scenario.objects:
            yield timedelta(0), partial(self._apply, one)
        for name, workload in self.scenario.workloads.items():
            yield workload.after, partial(self._apply, workload_object(name, workload))
        for name, vpa in self.scenario.vpas.items():
            yield vpa.after, partial(self._apply, vpa_object(name, vpa, self.scenario.workloads))
            if vpa.recommendation is not None:
                yield vpa.after, partial(self._recommend, name, vpa.recommendation)
        for step in self.scenario.steps:
            yield step.at, partial(self._do, step)

    async def _do(self, step: Step) -> None:
        """Carry out one step."""
        match step:
            case Apply(apply=objects):
                for one in objects:
                    await self._apply(one)
            case Delete(delete=reference):
                await self._delete(reference)
            case Recommend(recommend=advice):
                await self._recommend(advice.vpa, advice.containers)
            case Use(use=use):
                self._use(use)
            case Break(fault=fault):
                self.stage.cluster.server.faults.add(fault.rule())
                self.chronicle.did(f"requests go wrong: {fault.verb} {fault.path}".rstrip())
            case Restart(restart=program):
                self.chronicle.did(f"{program.value} ends and starts again")
                await self.stage.restart(program)
            case Trouble(node=change):
                self.chronicle.did(f"node {change.name}: {', '.join(change.words())}")
                trouble(self.stage.cluster.nodes[change.name], change)

    async def _apply(self, one: JsonObject) -> None:
        """Create or change an object.

        Raises:
            RefusedError: The API server refuses it.
        """
        what = f"{text(one, 'kind')} {text(one, 'metadata', 'name')}"
        self.chronicle.did(f"apply {what}")
        try:
            await self.stage.cluster.administrator.apply(one)
        except StatusError as error:
            raise RefusedError(f"{what}: {error}; correct the object in the scenario") from error

    async def _delete(self, reference: Reference) -> None:
        """Delete an object.

        Raises:
            RefusedError: The API server refuses it.
        """
        what = f"{reference.kind} {reference.name}"
        self.chronicle.did(f"delete {what}")
        try:
            await self.stage.cluster.administrator.delete(
                reference.api_version, reference.kind, reference.name, reference.namespace
            )
        except StatusError as error:
            raise RefusedError(f"{what}: {error}; correct the step in the scenario") from error

    async def _recommend(self, name: str, containers: Mapping[str, Mapping[str, Quantity]]) -> None:
        """Write a recommendation in place of a recommender."""
        said = ", ".join(f"{container} {listed(amounts(target))}" for container, target in containers.items())
        self.chronicle.did(f"recommend {said} by VPA {name}")
        vpa = self.scenario.vpas[name]
        self.stage.cluster.administrator.write_status(
            {
                "apiVersion": vpa.api_version,
                "kind": "VerticalPodAutoscaler",
                "metadata": {"name": name, "namespace": vpa.namespace},
                "status": recommendation_status(containers),
            }
        )

    def _use(self, use: NewUsage) -> None:
        """Let the containers of a workload use something else."""
        self.chronicle.did(f"{use.workload} uses something else")
        container = self.scenario.workloads[use.workload].containers[use.container]
        behaviour = container.behaviour(self.folder, use.usage)
        self.stage.cluster.catalogue.add(behaviour_name(use.workload, use.container), behaviour)


def trouble(kubelet: Kubelet, change: NodeChange) -> None:
    """Let something happen to a node."""
    if change.pressure is not None:
        kubelet.set_pressure(change.pressure.value, holds=True)
    if change.relief is not None:
        kubelet.set_pressure(change.relief.value, holds=False)
    if change.refused_updates is not None:
        kubelet.runtime.failures.updates = change.refused_updates
    match change.kubelet:
        case KubeletChange.STOP:
            kubelet.stop()
        case KubeletChange.START:
            kubelet.start()
        case KubeletChange.RESTART:
            kubelet.restart()
        case None:
            return


def fill_catalogue(catalogue: Catalogue, scenario: Scenario, folder: Path) -> None:
    """Say what the containers of all workloads do.

    Raises:
        ConfigurationError: A trace cannot be read.
    """
    for name, workload in scenario.workloads.items():
        for container, document in workload.containers.items():
            catalogue.add(behaviour_name(name, container), document.behaviour(folder))

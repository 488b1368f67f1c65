"""What the expectations of a scenario are held against: the state at the end, and what happened until then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from evenkeel.simulator.api.fields import JsonObject, child, rows, text
from evenkeel.simulator.api.objects import ObjectStore
from evenkeel.simulator.api.requestlog import RecordedCall
from evenkeel.simulator.scenarios.document import Scenario, WorkloadKind
from evenkeel.simulator.scenarios.happenings import Happening, PodChange, PodHappening, Told
from evenkeel.simulator.scenarios.objects import WORKLOAD_LABEL


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a run.

    Args:
        scenario: What was run.
        store: The cluster's objects.
        happenings: What happened, oldest first.
        calls: What the three processes asked of the API server.
    """

    scenario: Scenario
    store: ObjectStore
    happenings: Sequence[Happening]
    calls: Sequence[RecordedCall]

    def pods(self, workload: str) -> list[JsonObject]:
        """Return the pods of a workload that are not being deleted."""
        namespace = self.scenario.workloads[workload].namespace
        return [
            pod
            for pod in self.store.list("v1", "Pod", namespace)
            if text(pod, "metadata", "labels", WORKLOAD_LABEL) == workload
            and not text(pod, "metadata", "deletionTimestamp")
        ]

    def first_pods(self, workload: str) -> set[str]:
        """Return the uids of the pods that a workload began with."""
        document = self.scenario.workloads[workload]
        nodes = len(self.scenario.nodes)
        wanted = nodes if document.kind is WorkloadKind.DAEMON_SET else document.replicas
        return {pod.uid for pod in list(self._created(workload))[:wanted]}

    def is_about(self, workload: str, name: str) -> bool:
        """Say whether a name is that of a workload, or of one of the pods it ever had."""
        return name == workload or any(created.pod.rpartition("/")[2] == name for created in self._created(workload))

    def first_told(self, reason: str) -> timedelta | None:
        """Return when an event of a reason was first told."""
        return next((one.at for one in self.happenings if isinstance(one, Told) and one.reason == reason), None)

    def recommendation(self, name: str, container: str) -> JsonObject | None:
        """Return what a VPA recommends for a container, the first one where it is empty; None for nothing."""
        entries = rows(child(self.vpa(name), "status", "recommendation"), "containerRecommendations")
        return next((entry for entry in entries if container in {"", text(entry, "containerName")}), None)

    def vpa(self, name: str) -> JsonObject:
        """Return a VPA, empty when it does not exist."""
        vpa = self.scenario.vpas[name]
        return self.store.find(vpa.api_version, "VerticalPodAutoscaler", name, vpa.namespace) or {}

    def _created(self, workload: str) -> Iterator[PodHappening]:
        for one in self.happenings:
            if isinstance(one, PodHappening) and one.change is PodChange.CREATED and one.workload == workload:
                yield one

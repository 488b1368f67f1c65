"""Two updaters' records side by side: whether they did the same, and by which rule they part first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest

from e2e.parity.process.calls import Step, Told
from e2e.parity.process.differences import Difference
from e2e.parity.process.updater.cluster import UpdaterCluster
from e2e.parity.process.updater.partings import decision_rule, write_rule
from e2e.parity.process.updater.rounds import Answered, Record
from evenkeel.simulator.api.fields import as_object, child, text


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two records of the same cluster.

    Args:
        cluster: The cluster.
        upstream: What upstream's updater did.
        ours: What ours did.
    """

    cluster: UpdaterCluster
    upstream: Record
    ours: Record

    @property
    def calls(self) -> int:
        """How many writes upstream's updater sent."""
        return sum(len(one) for one in self.upstream.rounds)

    def workloads(self) -> list[str]:
        """Return all workloads that have pods or VPAs, sorted."""
        return sorted(set(self.cluster.workloads.values()))

    def differences(self) -> Iterator[Difference]:
        """Yield the first difference of each workload, and all differences between the events."""
        for workload in self.workloads():
            found = self._first(workload)
            if found is not None:
                yield found
        yield from self._events()

    def _first(self, workload: str) -> Difference | None:
        """Return the first difference between what was done about a workload."""
        boosts = self._boosted(workload)
        if boosts is not None:
            return boosts
        for number in range(len(self.upstream.rounds)):
            theirs = self._steps(self.upstream, number, workload)
            own = self._steps(self.ours, number, workload)
            for (left, right), (upstream, ours) in zip(
                zip_longest(theirs, own), zip_longest(self._alike(theirs), self._alike(own)), strict=True
            ):
                if upstream != ours:
                    return self._difference(workload, number, left, right)
        return None

    def _boosted(self, workload: str) -> Difference | None:
        """Return what only one side did about a workload's pods whose boost is taken back."""
        names = {f" {namespace}/{name}: " for (namespace, name), of in self.cluster.workloads.items() if of == workload}
        theirs, ours = (
            {step for step in record.boosted if any(name in step[0] for name in names)}
            for record in (self.upstream, self.ours)
        )
        if theirs == ours:
            return None
        only = [sorted(theirs - ours), sorted(ours - theirs)]
        hints = (f"flags: {' '.join(self.cluster.flags)}", *self._vpas(workload), *self._bodies(workload))
        case = f"seed {self.cluster.seed}, workload {workload}, boosts that are taken back"
        return Difference(case, "updater section 5 or upstream-1.8.1 2.5", f"only {only[0]}", f"only {only[1]}", hints)

    def _bodies(self, workload: str) -> Iterator[str]:
        """Yield the pods of a workload whose boost is taken back."""
        for pod in self.cluster.objects:
            key = (text(pod, "metadata", "namespace"), text(pod, "metadata", "name"))
            if pod["kind"] == "Pod" and key in self.cluster.boosted and self.cluster.workloads[key] == workload:
                yield f"pod {key[1]}: {child(pod, 'metadata', 'annotations')} {pod['status']}"

    def _steps(self, record: Record, number: int, workload: str) -> list[Answered]:
        """Return what was done about a workload in a round, in order."""
        return [(step, code) for step, code in record.rounds[number] if self._workload(step) == workload]

    def _workload(self, step: Step) -> str:
        return self.cluster.workloads.get(step.about, "")

    def _alike(self, steps: list[Answered]) -> list[Answered]:
        """Return steps in which pods that differ in nothing have one name."""
        return [(self._renamed(step), code) for step, code in steps]

    def _renamed(self, step: Step) -> Step:
        twin = self.cluster.twins.get(step.about, step.about[1])
        body = step.body
        if step.what == "create pods/eviction":
            whole = as_object(body)
            body = {**whole, "metadata": {**child(whole, "metadata"), "name": twin}}
        return replace(step, about=(step.about[0], twin), body=body)

    def _difference(self, workload: str, number: int, theirs: Answered | None, ours: Answered | None) -> Difference:
        """Describe the first two steps that differ."""
        case = f"seed {self.cluster.seed}, round {number + 1}, workload {workload}"
        hints = [f"flags: {' '.join(self.cluster.flags)}", *self._vpas(workload), *self._reasons(workload, number)]
        return Difference(case, self._rule(number, theirs, ours), _shown(theirs), _shown(ours), tuple(hints))

    def _rule(self, number: int, theirs: Answered | None, ours: Answered | None) -> str:
        """Return the rule at which two steps part."""
        if theirs is not None and ours is not None and theirs[0].what == ours[0].what:
            is_alike = self.cluster.twins.get(theirs[0].about) == self.cluster.twins.get(ours[0].about)
            return write_rule(theirs, ours, is_alike=is_alike)
        step = theirs or ours
        assert step is not None
        reason = self._reason(number, step[0].about)
        return f"{decision_rule(reason)}, where ours says {reason or 'nothing'} of {step[0].about[1]}"

    def _reason(self, number: int, pod: tuple[str, str]) -> str:
        for name, line in self.ours.decisions[number].items():
            if name.split()[-1] == f"{pod[0]}/{pod[1]}":
                return str(line.fields.get("reason", ""))
        return ""

    def _reasons(self, workload: str, number: int) -> Iterator[str]:
        """Yield what our updater logged about the pods of a workload."""
        pods = {f"{namespace}/{name}" for (namespace, name), of in self.cluster.workloads.items() if of == workload}
        for name, line in self.ours.decisions[number].items():
            if name.split()[-1] in pods:
                said = (str(line.fields.get(key, "")) for key in ("action", "reason", "detail"))
                yield f"ours on {name}: {' '.join(said)}"

    def _vpas(self, workload: str) -> Iterator[str]:
        """Yield the VPAs of a workload."""
        namespace, _, name = workload.partition("/")
        for vpa in self.cluster.scalers:
            if text(vpa, "metadata", "namespace") == namespace and text(vpa, "spec", "targetRef", "name") == name:
                yield f"VPA {text(vpa, 'metadata', 'name')}: {vpa['spec']} {vpa.get('status')}"

    def _events(self) -> Iterator[Difference]:
        """Yield what only one side told, or told more often."""
        theirs, ours = self._told(self.upstream.told), self._told(self.ours.told)
        for told in sorted({*theirs, *ours}, key=str):
            if theirs[told] != ours[told]:
                counts = f"{theirs[told]} times", f"{ours[told]} times"
                yield Difference(f"seed {self.cluster.seed}, event {told}", "updater X-7 or section 7", *counts)

    def _told(self, told: Counter[Told]) -> Counter[Told]:
        """Return what was told with one name for pods that differ in nothing."""
        result: Counter[Told] = Counter()
        for one, count in told.items():
            kind, namespace, name = one.object
            twin = self.cluster.twins.get((namespace, name), name) if kind == "Pod" else name
            # A boost can be taken back twice: its pod is looked at again before the first time shows in the cache.
            often = 1 if kind == "Pod" and (namespace, name) in self.cluster.boosted else count
            result[replace(one, object=(kind, namespace, twin))] += often
        return result


def _shown(step: Answered | None) -> str:
    return "nothing more" if step is None else f"{step[0]} (answered {step[1]})"

"""Jobs and CronJobs on their way into the store: defaults, and the selector that belongs to one Job alone."""

from __future__ import annotations

from evenkeel.simulator.api.fields import JsonObject, child, ensure, labels_of, text, value_at
from evenkeel.simulator.api.propagation import Propagation
from evenkeel.simulator.api.status import Cause, CauseType
from evenkeel.simulator.api.strategies import Strategy
from evenkeel.simulator.api.workload_defaults import default_workload

CONTROLLER_LABEL = "batch.kubernetes.io/controller-uid"
_FIXED = ("selector", "template", "completions", "completionMode")
_RESTART_POLICIES = ("OnFailure", "Never")


def job_labels(name: str, uid: str) -> dict[str, str]:
    """Return the labels by which the pods of one Job are found, under their present and their earlier names."""
    return {
        CONTROLLER_LABEL: uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    }


def claim_own_pods(job: JsonObject) -> None:
    """Give a Job, in place, the selector and the labels of its template that find its own pods and no others.

    A Job without labels of its own gets those of its template.
    """
    spec, name, uid = ensure(job, "spec"), text(job, "metadata", "name"), text(job, "metadata", "uid")
    if spec.get("manualSelector") is True or spec.get("selector"):
        return
    ensure(spec, "template", "metadata", "labels").update(job_labels(name, uid))
    spec["selector"] = {"matchLabels": {CONTROLLER_LABEL: uid}}
    if not labels_of(job):
        ensure(job, "metadata")["labels"] = dict(labels_of(child(spec, "template")))


class JobStrategy(Strategy):
    """Jobs."""

    @property
    def propagation(self) -> Propagation:
        """Leave the pods of a Job to whoever wants to read their logs, as clients of its first version expect."""
        return Propagation.ORPHAN

    def set_defaults(self, body: JsonObject) -> list[str]:
        """Fill in what a Job's spec leaves open."""
        default_workload(self.kind.plural, ensure(body, "spec"))
        return []

    def prepare_create(self, body: JsonObject) -> None:
        """Give a new Job its own selector."""
        super().prepare_create(body)
        claim_own_pods(body)

    def validate_create(self, body: JsonObject) -> list[Cause]:
        """Require a restart policy under which a pod can end."""
        policy = text(body, "spec", "template", "spec", "restartPolicy")
        if policy in _RESTART_POLICIES:
            return []
        message = f'Unsupported value: "{policy}": supported values: "OnFailure", "Never"'
        return [Cause(CauseType.NOT_SUPPORTED, "spec.template.spec.restartPolicy", message)]

    def validate_update(self, body: JsonObject, old: JsonObject, subresource: str) -> list[Cause]:
        """Keep what a Job's pods were made from; of a suspended Job's template the pods are yet to come."""
        if subresource:
            return []
        fixed = [name for name in _FIXED if name != "template" or not child(old, "spec").get("suspend")]
        return [
            Cause(CauseType.INVALID, f"spec.{name}", "Invalid value: cannot change once set")
            for name in fixed
            if value_at(body, "spec", name) != value_at(old, "spec", name)
        ]


class CronJobStrategy(Strategy):
    """CronJobs."""

    def set_defaults(self, body: JsonObject) -> list[str]:
        """Fill in what a CronJob's spec leaves open."""
        default_workload(self.kind.plural, ensure(body, "spec"))
        return []

    def validate_create(self, body: JsonObject) -> list[Cause]:
        """Require a schedule."""
        if text(body, "spec", "schedule"):
            return []
        return [Cause(CauseType.REQUIRED, "spec.schedule", "Required value")]

    def validate_update(self, body: JsonObject, old: JsonObject, subresource: str) -> list[Cause]:
        """Check as at creation."""
        del old
        return [] if subresource else self.validate_create(body)

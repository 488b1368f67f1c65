"""One API server: its state, and the parts that answer requests on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from evenkeel.simulator.activity import Activity
from evenkeel.simulator.api.access import Access
from evenkeel.simulator.api.admission import Webhooks
from evenkeel.simulator.api.applying import Applier
from evenkeel.simulator.api.autoscalers import AutoscalerStrategy
from evenkeel.simulator.api.builtin import (
    AUTOSCALERS,
    DEFINITIONS,
    LIMIT_RANGES,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    PODS,
    POLICY_BINDINGS,
    VALIDATING_WEBHOOKS,
    builtin_kinds,
)
from evenkeel.simulator.api.builtin import POLICIES as ADMISSION_POLICIES
from evenkeel.simulator.api.calls import User
from evenkeel.simulator.api.definitions import Definitions, DefinitionStrategy
from evenkeel.simulator.api.deletes import Deleter
from evenkeel.simulator.api.eviction import Evictions
from evenkeel.simulator.api.expiry import EventExpiry
from evenkeel.simulator.api.external_metrics import ExternalSource, StaticExternalMetrics, kind_of
from evenkeel.simulator.api.jobs import CronJobStrategy, JobStrategy
from evenkeel.simulator.api.kinds import GroupResource, Kind, KindRegistry
from evenkeel.simulator.api.limits_admission import LimitRangeStrategy
from evenkeel.simulator.api.metrics import MetricsSource, StaticMetrics
from evenkeel.simulator.api.objects import ObjectStore
from evenkeel.simulator.api.pods import PodStrategy
from evenkeel.simulator.api.policies import Policies
from evenkeel.simulator.api.policy_strategies import PolicyBindingStrategy, PolicyStrategy
from evenkeel.simulator.api.requestlog import RequestLog
from evenkeel.simulator.api.reviews import review_kinds
from evenkeel.simulator.api.store import DEFAULT_HISTORY, Store
from evenkeel.simulator.api.strategies import (
    CustomStrategy,
    NamespaceStrategy,
    Strategy,
    WebhookStrategy,
    WorkloadStrategy,
)
from evenkeel.simulator.api.watches import Watches
from evenkeel.simulator.api.writes import Writer
from evenkeel.simulator.clock import Clock, ManualClock
from evenkeel.simulator.faults import Faults

FIRST_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_STRATEGIES: dict[GroupResource, Callable[[Kind], Strategy]] = {
    PODS: PodStrategy,
    NAMESPACES: NamespaceStrategy,
    LIMIT_RANGES: LimitRangeStrategy,
    DEFINITIONS: DefinitionStrategy,
    MUTATING_WEBHOOKS: WebhookStrategy,
    VALIDATING_WEBHOOKS: WebhookStrategy,
    ADMISSION_POLICIES: PolicyStrategy,
    POLICY_BINDINGS: PolicyBindingStrategy,
    AUTOSCALERS: AutoscalerStrategy,
    GroupResource("apps", "deployments"): WorkloadStrategy,
    GroupResource("apps", "replicasets"): WorkloadStrategy,
    GroupResource("apps", "statefulsets"): WorkloadStrategy,
    GroupResource("apps", "daemonsets"): WorkloadStrategy,
    GroupResource("", "replicationcontrollers"): WorkloadStrategy,
    GroupResource("batch", "jobs"): JobStrategy,
    GroupResource("batch", "cronjobs"): CronJobStrategy,
}


def strategy_of(kind: Kind) -> Strategy:
    """Return what a kind does to its objects on their way into the store."""
    if kind.schema is not None:
        return CustomStrategy(kind, kind.schema)
    return _STRATEGIES.get(kind.resource, Strategy)(kind)


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts that carry requests out."""

    writer: Writer
    applier: Applier
    deleter: Deleter
    evictions: Evictions
    watches: Watches
    webhooks: Webhooks


@dataclass(slots=True)
class Settings:
    """What may be changed while the server runs.

    Args:
        expired_watch_as_event: Whether a watch from a forgotten revision begins (HTTP 200) and says so in one ERROR
            event, or is refused with HTTP 410. Real servers do both.
    """

    expired_watch_as_event: bool = True


def _no_kubelet(_node: str) -> str:
    """Return what a node's kubelet shows where there are no kubelets."""
    return ""


class ApiServer:
    """An API server in memory; ``serving.serve`` puts it on a port.

    Args:
        clock: Its time; a manual clock unless told otherwise.
        seed: Makes uids, generated names and watch lengths repeatable.
        history_limit: Changes kept per kind for watchers and continued lists.
        tokens: User by bearer token; while empty everybody is the administrator.
        rbac: Whether the roles stored in it are enforced.
    """

    def __init__(
        self,
        clock: Clock | None = None,
        *,
        seed: int = 0,
        history_limit: int = DEFAULT_HISTORY,
        tokens: Mapping[str, User] | None = None,
        rbac: bool = False,
    ) -> None:
        self.clock = clock or ManualClock()
        self.activity = Activity()
        self.registry = KindRegistry((*builtin_kinds(), *review_kinds()))
        self.store = ObjectStore(
            self.registry,
            self.clock,
            Store(history_limit),
            set_defaults=lambda kind, body: strategy_of(kind).set_defaults(body),
            seed=seed,
        )
        self.access = Access(dict(tokens or {}), rbac)
        self.faults = Faults()
        self.requests = RequestLog()
        self.usage = StaticMetrics()
        self.metrics: MetricsSource = self.usage
        self.external_metrics: ExternalSource = StaticExternalMetrics()
        self.kubelet_metrics: Callable[[str], str] = _no_kubelet
        self.settings = Settings()
        webhooks = Webhooks(self.store, activity=self.activity)
        deleter = Deleter(self.store, webhooks, strategy_of)
        watches = Watches(self.store, seed)
        writer = Writer(self.store, webhooks, strategy_of, Policies(self.store))
        applier = Applier(writer, lambda call: self.access.check(self.store, call))
        self.parts = Parts(writer, applier, deleter, Evictions(self.store, deleter), watches, webhooks)
        Definitions(self.store).start()
        EventExpiry(self.store).start()
        self.create_namespaces(*FIRST_NAMESPACES)

    @property
    def watches(self) -> Watches:
        """The open watches."""
        return self.parts.watches

    def create_namespaces(self, *names: str) -> None:
        """Create namespaces that are active."""
        for name in names:
            namespace = {"metadata": {"name": name}, "status": {"phase": "Active"}}
            self.store.create({"apiVersion": "v1", "kind": "Namespace", **namespace})

    def serve_external(self, source: ExternalSource) -> None:
        """Serve external metrics from a source in place of an earlier one: those it has now, with whatever values."""
        for metric in self.external_metrics.names():
            self.registry.remove(kind_of(metric))
        self.external_metrics = source
        for metric in source.names():
            self.registry.add(kind_of(metric))

    def expire_history(self, resources: Iterable[GroupResource] | None = None) -> None:
        """Forget the history of all kinds or some: what clients have read so far can no longer be followed."""
        self.store.versions.compact(resources)

"""Every flag of the updater (spec: updater:7, upstream-1.8.1:2.6)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, ClassVar

from autoscaling.runtime.flag_model import Environment, GroupDefault
from autoscaling.runtime.flags import LeaderElectedConfig
from autoscaling.runtime.syntax import Address, Cap, Duration, Integer, Number, PositiveDuration, Text, Toggle, Unsigned


class UpdaterConfig(LeaderElectedConfig):
    """Configuration of the updater."""

    program: ClassVar[str] = "evenkeel-updater"

    address: Address = ":8943"
    """Host and port for /metrics, /health-check and /readyz. Without a host every interface listens; port 0 takes a
    free one, which the log names."""

    admission_controller_status_lease_name: Annotated[Text, GroupDefault("status_lease")] = ""
    """Name of the Lease in which the admission controller says it is alive; its --status-lease-name."""

    admission_controller_status_lease_namespace: Annotated[
        Text, Environment("NAMESPACE"), GroupDefault("namespace")
    ] = ""
    """Namespace of that Lease; the admission controller's --status-lease-namespace."""

    admission_controller_status_lease_timeout: Duration = timedelta(minutes=1)
    """Age from which that Lease counts as stale and nothing is updated. Must exceed the admission controller's
    --status-lease-update-interval."""

    cluster_change_rate_burst: Unsigned = 0
    """Changes that the cluster bears at once: resizes that grow or restart a container, and evictions. 0 for one for
    every ten nodes, but 20 at least. Not in upstream."""

    cluster_change_rate_limit: Number = 0.0
    """Further changes per minute in the whole cluster; 0 for as many as the burst, less than 0 for no limit. Not in
    upstream."""

    concurrent_cpu_startup_boost_syncs: Integer = 1
    """Workers that take CPU startup boosts back."""

    evict_after_oom_threshold: Duration = timedelta(minutes=10)
    """A container killed for lack of memory within this time of its start makes its pod worth updating at once. A
    VerticalPodAutoscaler can set its own."""

    eviction_rate_burst: Integer = 1
    """Evictions that may happen at once before --eviction-rate-limit holds them back; likewise for resizes."""

    eviction_rate_limit: Number = -1.0
    """Evictions per second, and resizes per second counted apart; 0 or less means as many as there are."""

    eviction_tolerance: Number = 0.5
    """Share of a group's configured replicas that may be gone or restarting at a time because of updates."""

    in_place_deferred_timeout: PositiveDuration = timedelta(minutes=5)
    """How long a resize that the node deferred is waited for before the pod is evicted, in mode InPlaceOrRecreate. Not
    in upstream, where it is fixed."""

    in_place_progress_timeout: PositiveDuration = timedelta(hours=1)
    """How long a resize in progress is waited for before the pod is evicted, in mode InPlaceOrRecreate. Not in
    upstream, where it is fixed."""

    in_place_skip_disruption_budget: Toggle = False
    """Resize without asking the group's budget where no container would restart for it."""

    in_recommendation_bounds_eviction_lifetime_threshold: Duration = timedelta(hours=12)
    """Age from which a pod may be updated even though its requests lie within the recommended bounds."""

    leader_elect_resource_name: Annotated[Text, GroupDefault("updater_lease")] = ""
    """Name of the Lease that leader election uses."""

    max_allowed_cpu_boost: Cap = None
    """Most CPU that a startup boost may give a container, for the room that a new pod needs; the admission controller's
    --max-allowed-cpu-boost. 0 for no limit. Not in upstream."""

    min_replicas: Integer = 2
    """Live pods a group needs before one is evicted. A VerticalPodAutoscaler can set its own."""

    namespace_change_rate_burst: Unsigned = 0
    """Changes that one namespace bears at once; 0 for half of what the cluster bears. Not in upstream."""

    namespace_change_rate_limit: Number = 0.0
    """Further changes per minute in one namespace; 0 for as many as the burst, less than 0 for no limit. Not in
    upstream."""

    node_change_rate_burst: Unsigned = 10
    """Changes that the pods of one node bear at once; 0 for 10. Not in upstream."""

    node_change_rate_limit: Number = 0.0
    """Further changes per minute on one node; 0 for as many as the burst, less than 0 for no limit. Not in
    upstream."""

    pod_update_threshold: Number = 0.1
    """Relative difference between requested and recommended resources below which a pod is left as it is."""

    updater_interval: PositiveDuration = timedelta(minutes=1)
    """Time from the start of one round to the start of the next; the first follows one interval after the start."""

    use_admission_controller_status: Toggle = True
    """Update only while the admission controller's Lease shows that it is alive, as evicted pods would come back
    unchanged otherwise."""

    def contradictions(self) -> Iterator[str]:
        """Yield what contradicts itself (spec: upstream-1.8.1:2.6)."""
        yield from super().contradictions()
        if self.admission_controller_status_lease_timeout <= timedelta(0):
            yield "--admission-controller-status-lease-timeout must be longer than 0s"
        if self.concurrent_cpu_startup_boost_syncs <= 0:
            yield "--concurrent-cpu-startup-boost-syncs must be at least 1"

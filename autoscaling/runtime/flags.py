"""The flags that every process has, and reading a process's configuration at its start.

Names and defaults are upstream 1.8.1's (spec: recommender:9.1, updater:7, admission:10); what upstream has not is said
to be an addition.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Annotated, TypeVar

from autoscaling.behaviour import Behaviour, Profile
from autoscaling.errors import ConfigurationError
from autoscaling.runtime.api_group import ApiGroup, ClusterNames, cluster_names
from autoscaling.runtime.command_line import UsageError
from autoscaling.runtime.feature_gates import KNOWN_GATES, FeatureGates
from autoscaling.runtime.flag_help import help_text
from autoscaling.runtime.flag_model import FlagModel, GroupDefault, HelpRequested, Hidden, Standing
from autoscaling.runtime.syntax import (
    Address,
    Duration,
    Gates,
    GroupChoice,
    Level,
    LogSeverity,
    ModuleLevels,
    NameList,
    Number,
    ProfileChoice,
    Settings,
    Severity,
    SourceLine,
    Text,
    Toggle,
    Unsigned,
)

ModelT = TypeVar("ModelT", bound=FlagModel)

_ELECTION_JITTER = 1.2


class LogFlags(FlagModel):
    """Upstream's log library's flags. Only ``--v`` means something here: logs are one stream on standard error."""

    v: Level = 4
    """Amount of logging: up to 1 warnings and errors, 2 to 4 also what was done and why, from 5 on also details."""

    add_dir_header: Annotated[Toggle, Standing.WITHOUT_EFFECT] = False
    """Show the folder of the source file in each log line."""

    alsologtostderr: Annotated[Toggle, Standing.WITHOUT_EFFECT] = False
    """Log to standard error besides log files."""

    alsologtostderrthreshold: Annotated[LogSeverity, Standing.WITHOUT_EFFECT] = Severity.INFO
    """Lowest severity that reaches standard error besides log files."""

    legacy_stderr_threshold_behavior: Annotated[Toggle, Standing.WITHOUT_EFFECT] = True
    """Ignore --stderrthreshold while --logtostderr is on."""

    log_backtrace_at: Annotated[SourceLine, Standing.WITHOUT_EFFECT] = ""
    """Source line whose log call adds a stack trace."""

    log_dir: Annotated[Text, Standing.WITHOUT_EFFECT] = ""
    """Folder for log files."""

    log_file: Annotated[Text, Standing.WITHOUT_EFFECT] = ""
    """Log file."""

    log_file_max_size: Annotated[Unsigned, Standing.WITHOUT_EFFECT] = 1800
    """Largest size of a log file in megabytes; 0 means any."""

    logtostderr: Annotated[Toggle, Standing.WITHOUT_EFFECT] = True
    """Log to standard error instead of log files."""

    one_output: Annotated[Toggle, Standing.WITHOUT_EFFECT] = False
    """Write each line to the log file of its own severity only."""

    skip_headers: Annotated[Toggle, Standing.WITHOUT_EFFECT] = False
    """Leave out the prefix of log lines."""

    skip_log_headers: Annotated[Toggle, Standing.WITHOUT_EFFECT] = False
    """Leave out the header of log files."""

    stderrthreshold: Annotated[LogSeverity, Standing.WITHOUT_EFFECT] = Severity.INFO
    """Lowest severity that reaches standard error."""

    vmodule: Annotated[ModuleLevels, Standing.WITHOUT_EFFECT] = ""
    """Amount of logging of single source files."""


class ProcessConfig(LogFlags):
    """What recommender, updater and admission controller have in common."""

    address: Address

    api_group: GroupChoice = ApiGroup.EVENKEEL
    """API group of the VerticalPodAutoscaler objects to work on: Evenkeel's own, or upstream's to take over its
    objects. Names of Leases, webhook and Service and the default namespace go with it. Not in upstream."""

    behaviour: Settings = ()
    """Single differences from upstream to switch on or off against the profile, as name=true or name=false. May be
    repeated; docs/parity.md lists the names. Not in upstream."""

    clock: Annotated[Text, Hidden.FROM_USERS] = ""
    """Where to join a simulator's clock, which this process then lives by; empty for real time."""

    feature_gates: Gates = FeatureGates()
    """Gates of alpha features: CPUStartupBoost, InPlace and PerVPAConfig, all off by default; AllAlpha and AllBeta set
    those not named themselves. May be repeated."""

    ignored_vpa_object_namespaces: NameList = ()
    """Namespaces whose VerticalPodAutoscalers are left alone, separated by commas. Cannot be combined with
    --vpa-object-namespace."""

    kube_api_burst: Number = 100.0
    """Requests that may go to the API server at once before --kube-api-qps limits them."""

    kube_api_qps: Number = 50.0
    """Requests per second to the API server; 0 or less for no limit."""

    kubeconfig: Text = ""
    """Path of a kubeconfig file; empty inside a cluster, where the service account is used."""

    profile: ProfileChoice = Profile.EVENKEEL
    """evenkeel corrects known faults of upstream; upstream decides exactly as upstream 1.8.1 does. Not in upstream."""

    profiling: Toggle = False
    """Serve profiles of the running process under /debug/pprof/ of --address: where its time goes and what it holds in
    memory, as text of our own instead of Go's format."""

    vpa_object_namespace: Text = ""
    """The only namespace to work in; empty for all."""

    @property
    def names(self) -> ClusterNames:
        """Cluster-wide names of the API group that no flag sets."""
        return cluster_names(self.api_group)

    def switches(self) -> Behaviour:
        """Return the behaviour of the profile with the single switches of ``--behaviour``.

        Raises:
            ConfigurationError: A switch is unknown or its value is neither true nor false.
        """
        return Behaviour.of(self.profile).with_overrides(dict(self.behaviour))

    def refusals(self) -> Iterator[str]:
        """Yield what upstream refuses: gates it has no more. Words it ignores are refused in profile evenkeel."""
        yield from super().refusals()
        if self.profile is Profile.UPSTREAM and self.feature_gates.retired:
            retired = ", ".join(self.feature_gates.retired)
            yield f"--feature-gates={retired}: upstream has this gate no more; known are {', '.join(KNOWN_GATES)}"
        if self.profile is Profile.EVENKEEL and self.left_over:
            yield (
                f"unexpected words {' '.join(self.left_over)!r}: every word must belong to a flag; "
                "truth values are written --flag=false"
            )

    def contradictions(self) -> Iterator[str]:
        """Yield what contradicts itself in the common flags."""
        yield from super().contradictions()
        if self.vpa_object_namespace and self.ignored_vpa_object_namespaces:
            yield (
                "--vpa-object-namespace and --ignored-vpa-object-namespaces exclude each other; "
                "one namespace is all there is, or some are left out of all"
            )
        try:
            self.switches()
        except ConfigurationError as error:
            yield str(error)

    def warnings(self) -> tuple[str, ...]:
        """Say what the user should know about a command line that was accepted."""
        notes = [f"feature gate {gate} is built in and always on; leave it out" for gate in self.feature_gates.retired]
        if self.left_over:
            notes.append(f"words that belong to no flag are ignored: {' '.join(self.left_over)}")
        return (*super().warnings(), *notes)


class LeaderElectedConfig(ProcessConfig):
    """What the processes have of which one replica works at a time (spec: recommender:6.1, updater:M-3)."""

    leader_elect: Toggle = False
    """Work only while holding a Lease, so that one of several replicas does."""

    leader_elect_lease_duration: Duration = timedelta(seconds=15)
    """How long a Lease that nobody renews keeps the other replicas out."""

    leader_elect_renew_deadline: Duration = timedelta(seconds=10)
    """How long the leader tries to renew its Lease before it gives up and the process ends."""

    leader_elect_resource_lock: Text = "leases"
    """Kind of object that holds the lock; leases is the only one."""

    leader_elect_resource_name: Text

    leader_elect_resource_namespace: Annotated[Text, GroupDefault("namespace")] = ""
    """Namespace of the Lease."""

    leader_elect_retry_period: Duration = timedelta(seconds=2)
    """Pause between two attempts to take or renew the Lease."""

    def contradictions(self) -> Iterator[str]:
        """Yield what keeps a leader election from working, if one is asked for."""
        yield from super().contradictions()
        if not self.leader_elect:
            return
        if self.leader_elect_resource_lock != "leases":
            yield f"--leader-elect-resource-lock={self.leader_elect_resource_lock}: the only kind of lock is leases"
        if self.leader_elect_lease_duration <= self.leader_elect_renew_deadline:
            yield "--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline"
        if self.leader_elect_renew_deadline <= self.leader_elect_retry_period * _ELECTION_JITTER:
            yield f"--leader-elect-renew-deadline must exceed {_ELECTION_JITTER} times --leader-elect-retry-period"
        if self.leader_elect_retry_period <= timedelta(0):
            yield "--leader-elect-retry-period must be longer than 0s"


def config_or_exit(model: type[ModelT], words: Sequence[str], environment: Mapping[str, str]) -> ModelT:
    """Read a process's configuration, or print the help or the error and end the process.

    Args:
        model: The configuration of the process.
        words: The command line without the program's name.
        environment: The environment variables.

    Raises:
        SystemExit: 0 after the help, 2 for a command line that cannot be read, 1 for one that is impossible.
    """
    try:
        return model.from_command_line(words, environment)
    except HelpRequested:
        sys.stdout.write(help_text(model))
        raise SystemExit(0) from None
    except ConfigurationError as error:
        sys.stderr.write(f"{model.program}: {error}\n")
        raise SystemExit(2 if isinstance(error, UsageError) else 1) from None

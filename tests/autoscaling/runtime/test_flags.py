"""Flags that every process has."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, ClassVar

import pytest

from autoscaling.behaviour import Behaviour, Profile
from autoscaling.errors import ConfigurationError
from autoscaling.runtime.api_group import ApiGroup
from autoscaling.runtime.command_line import UsageError
from autoscaling.runtime.feature_gates import Gate
from autoscaling.runtime.flag_model import GroupDefault
from autoscaling.runtime.flags import LeaderElectedConfig, config_or_exit
from autoscaling.runtime.syntax import Address, Text


class ElectedConfig(LeaderElectedConfig):
    """A process with nothing but the shared flags."""

    program: ClassVar[str] = "elected"

    address: Address = ":1"
    """Address."""

    leader_elect_resource_name: Annotated[Text, GroupDefault("updater_lease")] = ""
    """Name of the Lease."""


def _read(*words: str) -> ElectedConfig:
    return ElectedConfig.from_command_line(words, {})


def test_the_command_lines_of_upstreams_manifests_are_read() -> None:
    config = _read("--v=4", "--stderrthreshold=info", "--leader-elect=true", "--leader-elect-lease-duration=15s")
    assert (config.v, config.leader_elect, config.warnings()) == (4, True, ())


@pytest.mark.parametrize(
    ("row", "words", "message"),
    [
        ("updater:M-6", ["--vpa-object-namespace=a", "--ignored-vpa-object-namespaces=b"], "exclude each other"),
        ("recommender:10", ["--address=bogus"], "--address=bogus: an address is [host]:port"),
        ("updater:M-3", ["--leader-elect", "--leader-elect-resource-lock=endpoints"], "only kind of lock is leases"),
        ("updater:M-3", ["--leader-elect", "--leader-elect-lease-duration=10s"], "lease-duration must be longer"),
        ("updater:M-3", ["--leader-elect", "--leader-elect-retry-period=9s"], "renew-deadline must exceed 1.2 times"),
        ("updater:M-3", ["--leader-elect", "--leader-elect-retry-period=0"], "retry-period must be longer than 0s"),
        ("product:3", ["--behaviour=nosuch=true"], "no behaviour has this name"),
        ("product:3", ["--behaviour=uid-preconditions=maybe"], "the value must be true or false"),
    ],
)
def test_contradictions_keep_a_process_from_starting(row: str, words: list[str], message: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        _read(*words)
    assert message in str(refused.value)
    assert not isinstance(refused.value, UsageError)


def test_the_timing_of_leader_election_is_looked_at_only_where_one_takes_place() -> None:
    assert _read("--leader-elect-lease-duration=1s").leader_elect_lease_duration == timedelta(seconds=1)
    assert _read("--leader-elect", "--leader-elect-lease-duration=10001ms").leader_elect


def test_one_namespace_or_ignored_ones_are_fine_alone() -> None:
    assert _read("--vpa-object-namespace=a").vpa_object_namespace == "a"
    assert _read("--ignored-vpa-object-namespaces=a,b").ignored_vpa_object_namespaces == ("a", "b")


def test_behaviour_is_the_profiles_with_single_switches() -> None:
    assert _read().switches() == Behaviour.of(Profile.EVENKEEL)
    assert _read("--profile=upstream").switches() == Behaviour.of(Profile.UPSTREAM)
    one = _read("--profile=upstream", "--behaviour", "uid_preconditions=true").switches()
    assert one.uid_preconditions
    assert one == Behaviour.of(Profile.UPSTREAM).with_overrides({"uid_preconditions": "true"})


def test_the_last_of_repeated_switches_counts() -> None:
    config = _read("--behaviour=uid-preconditions=true", "--behaviour=uid_preconditions=false")
    assert not config.switches().uid_preconditions


def test_names_go_with_the_group() -> None:
    assert (_read().api_group, _read().names.webhook_configuration) == (ApiGroup.EVENKEEL, "evenkeel-webhook-config")
    config = _read("--api-group=autoscaling.k8s.io", "--leader-elect-resource-namespace=mine")
    assert config.names.webhook_configuration == "vpa-webhook-config"
    assert (config.leader_elect_resource_name, config.leader_elect_resource_namespace) == ("vpa-updater", "mine")


def test_a_retired_gate_is_ignored_with_a_warning_and_refused_as_upstream_does() -> None:
    config = _read("--feature-gates=InPlaceOrRecreate=true,InPlace=true")
    assert config.feature_gates.is_on(Gate.IN_PLACE)
    assert config.warnings() == ("feature gate InPlaceOrRecreate is built in and always on; leave it out",)
    with pytest.raises(
        UsageError, match=r"InPlaceOrRecreate.*known are AllAlpha, AllBeta, CPUStartupBoost, InPlace, P"
    ):
        _read("--feature-gates=InPlaceOrRecreate=true", "--profile=upstream")


def test_an_unknown_gate_names_the_known_ones() -> None:
    with pytest.raises(
        UsageError, match="no feature gate Foo; expected AllAlpha, AllBeta, CPUStartupBoost, InPlace, P"
    ):
        _read("--feature-gates=Foo=true")


def test_words_without_a_flag_are_refused_or_ignored_as_upstream_does() -> None:
    with pytest.raises(UsageError, match=r"'false'.*written --flag=false"):
        _read("--leader-elect", "false")
    config = _read("--leader-elect", "false", "--profile=upstream")
    assert config.leader_elect
    assert config.warnings() == ("words that belong to no flag are ignored: false",)


@pytest.mark.parametrize(
    ("words", "status", "start"),
    [
        (["--nosuch"], 2, "elected: unknown flag --nosuch"),
        (["--v=x"], 2, "elected: --v=x: not a whole number; expected a whole number in base ten"),
        (["--address=x"], 1, "elected: --address=x:"),
    ],
)
def test_a_faulty_command_line_ends_the_process(
    words: list[str], status: int, start: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        config_or_exit(ElectedConfig, words, {})
    assert ended.value.code == status
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(start)
    assert err.count("\n") == 1


def test_help_goes_to_standard_output_with_status_zero(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        config_or_exit(ElectedConfig, ["--help"], {})
    assert ended.value.code == 0
    out, err = capsys.readouterr()
    assert out.startswith("Usage of elected:\n")
    assert err == ""


def test_a_sound_command_line_gives_the_configuration() -> None:
    assert config_or_exit(ElectedConfig, ["--v=2"], {}).v == 2

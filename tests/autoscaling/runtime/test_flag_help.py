"""The text of ``--help``."""

from __future__ import annotations

from autoscaling.runtime.flag_help import help_text
from autoscaling.runtime.flag_model import flag_specs
from updater.config import UpdaterConfig


def _block(name: str) -> str:
    """Return one flag's lines as one line."""
    lines = help_text(UpdaterConfig).splitlines()
    start = next(number for number, line in enumerate(lines) if line.split()[:1] == [name] or f", {name} " in line)
    end = next((n for n in range(start + 1, len(lines)) if not lines[n].startswith(" " * 10)), len(lines))
    return " ".join(line.strip() for line in lines[start:end])


def test_every_flag_is_listed_with_its_kind_and_default() -> None:
    text = help_text(UpdaterConfig)
    for spec in flag_specs(UpdaterConfig):
        assert f"--{spec.name}" in text
    assert _block("--min-replicas").startswith("--min-replicas int Live pods a group needs")
    assert _block("--min-replicas").endswith("(default 2)")
    assert _block("--updater-interval").endswith("(default 1m0s)")
    assert _block("--kubeconfig").endswith("(default empty)")


def test_a_truth_value_shows_no_kind_and_the_level_its_short_form() -> None:
    assert _block("--leader-elect").startswith("--leader-elect Work only while")
    assert "  -v, --v level\n" in help_text(UpdaterConfig)


def test_what_is_not_acted_on_says_so() -> None:
    assert "it has no effect here" in _block("--logtostderr")


def test_defaults_by_group_and_by_environment_are_shown() -> None:
    text = _block("--admission-controller-status-lease-namespace")
    assert "the environment variable NAMESPACE counts" in text
    assert text.endswith("(default evenkeel-system; with --api-group=autoscaling.k8s.io: kube-system)")


def test_no_line_is_wider_than_a_page_or_broken_within_a_flag() -> None:
    lines = help_text(UpdaterConfig).splitlines()
    assert max(len(line) for line in lines) <= 100
    assert not [line for line in lines if line.endswith("-")]

"""Splitting command lines; each row was run through upstream's updater."""

from __future__ import annotations

import pytest

from autoscaling.runtime.command_line import Occurrence, UsageError, split_command_line

BARE = {"min-replicas": None, "updater-interval": None, "leader-elect": "true", "v": None, "vmodule": None}


@pytest.mark.parametrize(
    ("words", "flags", "left_over"),
    [
        (["--min-replicas=3"], [("min-replicas", "3")], []),
        (["--min-replicas", "3"], [("min-replicas", "3")], []),
        (["--min-replicas", "-3"], [("min-replicas", "-3")], []),
        (["--min-replicas", "--v=4"], [("min-replicas", "--v=4")], []),
        (["--min-replicas="], [("min-replicas", "")], []),
        (["--vmodule=a=1,b=2"], [("vmodule", "a=1,b=2")], []),
        (["--min_replicas=3"], [("min-replicas", "3")], []),
        (["--leader-elect"], [("leader-elect", "true")], []),
        (["--leader-elect=false"], [("leader-elect", "false")], []),
        (["--leader-elect", "false"], [("leader-elect", "true")], ["false"]),
        (["--v=4"], [("v", "4")], []),
        (["-v=4"], [("v", "4")], []),
        (["-v4"], [("v", "4")], []),
        (["-v", "4"], [("v", "4")], []),
        (["--v=1", "--v=2"], [("v", "1"), ("v", "2")], []),
        (["one", "--v=4", "-", "two"], [("v", "4")], ["one", "-", "two"]),
        (["--", "--nosuch", "-x"], [], ["--nosuch", "-x"]),
        ([], [], []),
    ],
)
def test_words_become_flags(words: list[str], flags: list[tuple[str, str]], left_over: list[str]) -> None:
    line = split_command_line(words, BARE)
    assert line.flags == tuple(Occurrence(*flag) for flag in flags)
    assert line.left_over == tuple(left_over)
    assert not line.asks_help


@pytest.mark.parametrize("help_flag", ["--help", "-h"])
def test_what_comes_after_a_call_for_help_is_not_read(help_flag: str) -> None:
    line = split_command_line(["--v=4", help_flag, "--nosuch"], BARE)
    assert line.asks_help
    assert line.flags == (Occurrence("v", "4"),)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--min-replica=3"], "unknown flag --min-replica; did you mean --min-replicas?"),
        (["--Min-Replicas=3"], "unknown flag --Min-Replicas; did you mean --min-replicas?"),
        (["--zzz"], "unknown flag --zzz; --help lists the known ones"),
        (["-min-replicas=3"], "unknown flag -min-replicas; long flags take two dashes: --min-replicas"),
        (["-leader_elect"], "unknown flag -leader_elect; long flags take two dashes: --leader_elect"),
        (["-vmodule=a=1"], "unknown flag -vmodule; long flags take two dashes: --vmodule"),
        (["-x"], "unknown flag -x; --help lists the known ones"),
        (["---v=4"], "---v: not a flag"),
        (["--=4"], "--: not a flag"),
        (["--min-replicas"], "--min-replicas needs a value"),
        (["--v"], "--v needs a value"),
        (["-v"], "-v needs a value"),
    ],
)
def test_other_words_are_refused(words: list[str], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        split_command_line(words, BARE)
    assert str(refused.value).startswith(message)

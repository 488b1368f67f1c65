"""How a shell asks to complete a word."""

from __future__ import annotations

import pytest

from evenkeel.cli.shell_words import ASKING, asks_for_completion, join_broken_words

LINES = [
    ("product:1 no break", "evenkeel list -n sh", 3, "evenkeel list -n sh", 3),
    ("product:1 an empty word", "evenkeel list ", 2, "evenkeel list ", 2),
    ("product:1 a value", "evenkeel list --namespace = sh", 4, "evenkeel list --namespace=sh", 2),
    ("product:1 no value yet", "evenkeel list --namespace =", 3, "evenkeel list --namespace=", 2),
    ("product:1 a value before", "evenkeel list --namespace = shop -o j", 6, "evenkeel list --namespace=shop -o j", 4),
    ("product:1 an address", "evenkeel compare --prometheus http : //a : 9090 -", 7, "", 3),
]


@pytest.mark.parametrize(("row", "words", "position", "joined", "new"), LINES, ids=[row[0] for row in LINES])
def test_words_that_bash_breaks(row: str, words: str, position: int, joined: str, new: int) -> None:
    joined = joined or "evenkeel compare --prometheus http://a:9090 -"
    environment = {"COMP_WORDS": words.replace(" ", "\n"), "COMP_CWORD": str(position)}
    assert join_broken_words(environment) == {"COMP_WORDS": joined.replace(" ", "\n"), "COMP_CWORD": str(new)}


def test_other_shells_break_nothing() -> None:
    assert join_broken_words({"_TYPER_COMPLETE_ARGS": "evenkeel list --namespace=sh"}) == {}


@pytest.mark.parametrize(("asked", "asks"), [("complete_bash", True), ("source_bash", False), ("", False)])
def test_what_asks_for_words(asked: str, asks: bool) -> None:
    assert asks_for_completion({ASKING: asked}) is asks
    assert not asks_for_completion({})

"""Writes docs/decisions.md from the updater's reasons; run as ``python -m evenkeel.cli.document_decisions``."""

from __future__ import annotations

import sys
from pathlib import Path

from updater.conditions import TYPE_OF_REASON
from updater.decision import Action, Reason
from updater.guidance import GUIDANCE, Guidance

_INTRODUCTION = """\
# Decisions of the updater

This file is generated: `python -m evenkeel.cli.document_decisions` writes it.

In every round the updater decides about each live pod of each VPA, and gives one of these reasons. The log line
`pod decided` has it in the fields `action` and `reason`, together with the pod, its VPA and a `detail` where there is
more to say; with `--v=5` also where nothing is done. Ids name rules of the specification: `updater` is upstream's way,
`beyond` and `case` are Evenkeel's own. A condition of the type named is shown on the VPA as long as the reason holds;
[troubleshooting.md](troubleshooting.md) tells more of them.

Reasons in "both" profiles occur in `evenkeel` and `upstream`. The others occur only while one of the switches named is
on, which profile `upstream` turns off; [parity.md](parity.md) has what each of them does.
"""

_TITLES: dict[Action, str] = {
    Action.RESIZE: "The pod is resized in place",
    Action.EVICT: "The pod is evicted",
    Action.FAIL: "An attempt that cannot be sent, which counts as a failed one",
    Action.WAIT: "The pod waits for its resize to end, or for leave to have its start-up boost taken back",
    Action.SKIP: "The pod, or all of the VPA, is left alone in this round",
}


def render_decisions() -> str:
    """Return the text of docs/decisions.md."""
    return "\n".join([_INTRODUCTION, *(_section(action, title) for action, title in _TITLES.items())])


def _section(action: Action, title: str) -> str:
    """Return a heading and a table of the reasons that an action is taken for."""
    rows = "".join(_row(reason, about) for reason, about in GUIDANCE.items() if action in about.actions)
    head = "| reason | meaning | what to do | rules | condition | profile |\n|---|---|---|---|---|---|\n"
    return f"## {title} (`{action.value}`)\n\n{head}{rows}"


def _row(reason: Reason, about: Guidance) -> str:
    """Return one row of a table."""
    kind = TYPE_OF_REASON.get(reason)
    switches = ", ".join(f"`{name}`" for name in about.switches)
    cells = (
        f"`{reason.value}`",
        reason.meaning,
        about.remedy,
        about.rules,
        f"`{kind}`" if kind else "",
        f"evenkeel: {switches}" if switches else "both",
    )
    return f"| {' | '.join(cells)} |\n"


def main() -> None:
    """Write the file below the folder given, or below the working directory."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
    (root / "docs" / "decisions.md").write_text(render_decisions(), encoding="utf-8")


if __name__ == "__main__":
    main()

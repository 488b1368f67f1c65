"""Programs that stand in for the oracle: they speak its protocol over real pipes and need no Go."""

from __future__ import annotations

import sys
from pathlib import Path

_HEAD = """#!{python}
import json, os, sys

def answers(question, number):
{body}

for number, line in enumerate(sys.stdin):
    print(json.dumps(answers(json.loads(line), number)), flush=True)
"""


def oracle(folder: Path, body: str) -> Path:
    """Write a program whose function ``answers(question, number)`` has this body, and return it."""
    program = folder / "oracle"
    indented = "\n".join(f"    {line}" for line in body.splitlines())
    program.write_text(_HEAD.format(python=sys.executable, body=indented))
    program.chmod(0o755)
    return program

"""The command line as a function: words in, standard output, standard error and exit status out."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from evenkeel.cli.main import main
from evenkeel.simulator.api.serving import Endpoint


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command printed and ended with."""

    output: str
    errors: str
    status: int

    @property
    def document(self) -> object:
        """Standard output as JSON."""
        parsed: object = json.loads(self.output)
        return parsed


def evenkeel(*words: str) -> Answer:
    """Run the command line in this process; no server may wait for the thread that calls this."""
    output, errors, status = io.StringIO(), io.StringIO(), 0
    with redirect_stdout(output), redirect_stderr(errors):
        try:
            main(words)
        except SystemExit as ending:
            status = ending.code if isinstance(ending.code, int) else 0
    return Answer(output.getvalue(), errors.getvalue(), status)


def kubeconfig_of(endpoint: Endpoint, folder: Path) -> str:
    """Write a kubeconfig and return the option that names it."""
    return f"--kubeconfig={endpoint.write_kubeconfig(folder / 'kubeconfig')}"

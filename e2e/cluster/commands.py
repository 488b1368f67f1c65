"""Running the machine's own administration programs, with their words in the error when they fail."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

from e2e.cluster.errors import ClusterError


def run(
    argv: Sequence[str],
    *,
    remedy: str,
    stdin: str | None = None,
    environment: Mapping[str, str] | None = None,
    timeout_seconds: float = 120.0,
) -> str:
    """Run a program to its end.

    Args:
        argv: Program and arguments.
        remedy: The way out, for the error.
        stdin: Text for its standard input; nothing if None.
        environment: Its whole environment; inherited if None.
        timeout_seconds: How long it may take.

    Returns:
        What it wrote to standard output.

    Raises:
        ClusterError: It cannot be started, fails or takes too long.
    """
    try:
        done = subprocess.run(
            list(argv),
            input=stdin if stdin is not None else "",
            capture_output=True,
            text=True,
            env=dict(environment) if environment is not None else None,
            timeout=timeout_seconds,
            check=False,
        )
    except OSError as error:
        raise ClusterError(argv[0], f"cannot be started: {error}", remedy=remedy) from error
    except subprocess.TimeoutExpired as error:
        raise ClusterError(" ".join(argv), f"no end after {timeout_seconds:g} s", remedy=remedy) from error
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or "it said nothing")[-2000:]
        raise ClusterError(" ".join(argv), f"status {done.returncode}: {said}", remedy=remedy)
    return done.stdout

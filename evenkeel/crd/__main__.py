"""Writes the definitions into a manifests folder: ``python -m evenkeel.crd manifests``."""

from __future__ import annotations

import sys
from pathlib import Path

from autoscaling.runtime.api_group import ApiGroup
from evenkeel.crd.files import definition_files


def main(arguments: list[str]) -> int:
    """Write every definition below the folder named first.

    Args:
        arguments: The folder that has ``crd/`` in it.

    Returns:
        The exit code: 0, or 2 when the folder is not named.
    """
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m evenkeel.crd FOLDER, where FOLDER is the repository's manifests\n")
        return 2
    for group in ApiGroup:
        for name, content in definition_files(group).items():
            path = Path(arguments[0]) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

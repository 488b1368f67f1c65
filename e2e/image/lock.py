"""Which distributions of ``requirements.lock`` go into the image, as text; nothing here reads a file or a network."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator

LEFT_OUT = {"cel-expr-python": "evaluates the rules of definitions in the simulator, which is no part of the image"}
"""What the command line alone imports, with the reason: it would be an eighth of the image."""


def direct_requirements(project: str) -> tuple[str, ...]:
    """Return what ``pyproject.toml`` asks for, without what the image has no use for.

    Args:
        project: Text of ``pyproject.toml``.
    """
    stated: list[str] = tomllib.loads(project)["project"]["dependencies"]
    return tuple(requirement for requirement in stated if _name(requirement) not in LEFT_OUT)


def pins(lock: str) -> str:
    """Return a lock file without its hashes, as constraints for a resolution that installs nothing."""
    first = (block.splitlines()[0] for block in _blocks(lock))
    return "".join(line.rstrip(" \\") + "\n" for line in first)


def of_names(lock: str, names: Collection[str]) -> str:
    """Return the entries of a lock file for some distributions, with their hashes.

    Args:
        lock: Text of the lock file.
        names: Names of distributions in any spelling.

    Raises:
        ValueError: A name is not in the lock file.
    """
    wanted = {_normal(name) for name in names}
    kept = [block for block in _blocks(lock) if _name(block) in wanted]
    if missing := wanted - {_name(block) for block in kept}:
        raise ValueError(f"requirements.lock: has no {', '.join(sorted(missing))}; run `make lock`")
    return "".join(f"{block}\n" for block in kept)


def _blocks(lock: str) -> Iterator[str]:
    """Yield each distribution's lines: the pin, then its hashes, which are indented."""
    return (block.rstrip() for block in re.split(r"\n(?=\S)", lock.strip()) if not block.startswith("#"))


def _name(requirement: str) -> str:
    """Return the name that a requirement begins with."""
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    return _normal(found[0]) if found else ""


def _normal(name: str) -> str:
    """Return a name in the spelling in which all spellings are the same."""
    return re.sub(r"[-_.]+", "-", name).lower()

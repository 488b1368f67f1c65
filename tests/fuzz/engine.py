"""Lets atheris look for input that breaks a target's law, in a process of its own, for a while.

What breaks a law is written to a folder and looked for no further: where two inputs fail in the same place, the shorter
one is kept.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, cast

LARGEST_BYTES = 16 * 1024
_HUNG_SECONDS = 60
_OWN = ["autoscaling", "recommender", "updater", "admission", "evenkeel.cli.observe"]


class Fuzzer(Protocol):
    """The part of atheris that is used."""

    def instrument_imports(self, include: list[str]) -> object: ...

    def Setup(self, words: list[str], run: Callable[[bytes], None]) -> None: ...  # noqa: N802 - its own name

    def Fuzz(self) -> None: ...  # noqa: N802 - its own name


class Checked(Protocol):
    """The part of a target that is used."""

    name: str
    seeds: tuple[bytes, ...]
    words: tuple[bytes, ...]

    def check(self, data: bytes) -> bool: ...


@dataclass
class Finds:
    """What broke a law.

    Args:
        target: Whose law.
        folder: Where inputs are written.
        smallest: For each place where something failed, the shortest input that does.
    """

    target: Checked
    folder: Path
    smallest: dict[str, bytes] = field(default_factory=dict)

    def run(self, data: bytes) -> None:
        """Hold the target to its laws for one input."""
        try:
            self.target.check(data)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a find
            place = _place_of(error)
            known = self.smallest.get(place)
            if known is None or len(data) < len(known):
                self._keep(place, data, error)

    def _keep(self, place: str, data: bytes, error: Exception) -> None:
        self.smallest[place] = data
        name = hashlib.sha256(place.encode()).hexdigest()[:12]
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_bytes(data)
        text = "".join(traceback.format_exception(error))
        (self.folder / f"{name}.txt").write_text(f"{place}\n{data[:2000]!r}\n{text[-6000:]}")


def _place_of(error: Exception) -> str:
    """Return what tells one fault from another: its kind, and where in our own code it came up."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "site-packages" not in frame.filename]
    return f"{type(error).__name__} {' '.join(f'{Path(f.filename).name}:{f.lineno}' for f in frames[-3:])}"


def fuzzer() -> Fuzzer:
    """Return atheris, or end the process with the way to get it."""
    try:
        return cast("Fuzzer", importlib.import_module("atheris"))
    except ImportError:
        sys.exit(
            "fuzzing needs atheris, which is not among the locked dependencies: make a virtual environment for it and"
            " start this with PYTHONPATH leading to the project's own packages; CONTRIBUTING.md has the commands"
        )


def dictionary(words: Sequence[bytes]) -> str:
    """Return words as libFuzzer reads them."""
    quoted = ("".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\x{b:02x}" for b in word) for word in words)
    return "".join(f'"{word}"\n' for word in quoted)


def main(name: str, seconds: int, work: Path) -> None:
    """Fuzz one target; libFuzzer ends the process."""
    atheris = fuzzer()
    with atheris.instrument_imports(_OWN):  # type: ignore[attr-defined]
        catalogue = importlib.import_module("tests.fuzz.catalogue")
    target: Checked = catalogue.TARGETS[name]
    corpus, words = work / "corpus" / name, work / f"{name}.dict"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    words.write_text(dictionary([word for word in target.words if 0 < len(word) < 4096]))
    finds = Finds(target, work / "found" / name)
    options = [
        f"-max_total_time={seconds}",
        f"-max_len={LARGEST_BYTES}",
        f"-timeout={_HUNG_SECONDS}",
        f"-dict={words}",
        f"-artifact_prefix={work}/{name}-",
        "-rss_limit_mb=2048",
        "-print_final_stats=1",
        "-verbosity=0",
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus)], finds.run)
    atheris.Fuzz()


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))

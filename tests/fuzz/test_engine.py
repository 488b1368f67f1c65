"""What the fuzzing program keeps and prints, without atheris."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.engine import Finds, dictionary


@dataclass
class Fragile:
    """Breaks its law for everything that begins with an x, in one place, and with a y in another."""

    name: str = "fragile"
    seeds: tuple[bytes, ...] = ()
    words: tuple[bytes, ...] = ()
    checked: list[bytes] = field(default_factory=list)

    def check(self, data: bytes) -> bool:
        self.checked.append(data)
        if data.startswith(b"x"):
            raise ValueError("an x")
        if data.startswith(b"y"):
            raise KeyError("a y")
        return True


def test_of_one_fault_the_shortest_input_is_kept(tmp_path: Path) -> None:
    finds = Finds(Fragile(), tmp_path / "found")
    for data in (b"fine", b"xabc", b"xab", b"xabcd", b"y1", b"y22"):
        finds.run(data)
    inputs = {path.read_bytes() for path in (tmp_path / "found").iterdir() if not path.suffix}
    assert inputs == {b"xab", b"y1"}
    notes = [path.read_text() for path in (tmp_path / "found").glob("*.txt")]
    assert any("ValueError: an x" in note for note in notes)


def test_words_are_written_as_the_fuzzer_reads_them() -> None:
    assert dictionary([b'a"b', b"\xff\n", b"c\\"]) == '"a\\x22b"\n"\\xff\\x0a"\n"c\\x5c"\n'

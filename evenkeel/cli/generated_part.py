"""The parts of pages that are generated, between two comments that a reader of the page does not see."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GeneratedPart:
    """A part of a page.

    Args:
        begin: The line before it.
        end: The line after it.
    """

    begin: str
    end: str

    def read(self, page: str) -> str:
        """Return what stands in it.

        Raises:
            ValueError: The page does not mark where it is.
        """
        return self._split(page)[1]

    def write(self, page: str, text: str) -> str:
        """Return a page with another text in it, set off by empty lines.

        Raises:
            ValueError: The page does not mark where it is.
        """
        before, _, after = self._split(page)
        return f"{before}{self.begin}\n\n{text}\n{self.end}\n{after}"

    def _split(self, page: str) -> tuple[str, str, str]:
        """Return what stands before its first line, in it, and after its last line."""
        before, begin, rest = page.partition(f"{self.begin}\n")
        text, end, after = rest.partition(f"{self.end}\n")
        if not begin or not end:
            raise ValueError(f"the page has no table between {self.begin!r} and {self.end!r}; put these lines back")
        return before, text.strip("\n"), after

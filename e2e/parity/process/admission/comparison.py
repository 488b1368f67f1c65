"""Two webhooks' answers side by side: whether they are the same, and by which rule they part first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from e2e.parity.process.admission.answers import Answer
from e2e.parity.process.admission.cluster import AdmissionCluster, Review
from e2e.parity.process.admission.partings import amounts_rule
from e2e.parity.process.differences import Difference, first_apart
from evenkeel.simulator.api.fields import JsonObject, rows, text

_SHOWN = 2500


@dataclass(frozen=True, slots=True)
class Comparison:
    """Answers to the same reviews.

    Args:
        cluster: The cluster with the reviews.
        upstream: Upstream's answers.
        ours: Ours.
    """

    cluster: AdmissionCluster
    upstream: tuple[Answer, ...]
    ours: tuple[Answer, ...]

    @property
    def patched(self) -> int:
        """How many of upstream's answers change the object."""
        return sum(bool(one.response and one.response.get("patch")) for one in self.upstream)

    @property
    def refused(self) -> int:
        """How many of upstream's answers refuse it."""
        return sum(bool(one.response and one.response.get("allowed") is False) for one in self.upstream)

    @property
    def crashed(self) -> int:
        """How many reviews upstream's handler crashes on."""
        return sum(one.code == 0 for one in self.upstream)

    def differences(self) -> Iterator[Difference]:
        """Yield the answers that differ; where upstream's handler crashes, ours lets the object in as it is (B-32)."""
        for review, theirs, ours in zip(self.cluster.reviews, self.upstream, self.ours, strict=True):
            if theirs.code == 0 and ours.response is not None and _lets_in(ours.response):
                continue
            apart = first_apart([theirs.code, theirs.response], [ours.code, ours.response])
            if apart is not None:
                yield self._difference(review, theirs, ours, apart)

    def _difference(
        self, review: Review, theirs: Answer, ours: Answer, apart: tuple[str, object, object]
    ) -> Difference:
        case = f"seed {self.cluster.seed}, {review.what}"
        place = apart[0].removeprefix("1.") or "the answer"
        hints = (f"flags: {' '.join(self.cluster.flags)}", f"review: {review.body[:_SHOWN].decode(errors='replace')}")
        return Difference(case, f"admission {_rule_of(theirs, ours)}, at {place}", str(apart[1]), str(apart[2]), hints)


def _lets_in(response: JsonObject) -> bool:
    """Say whether an answer lets an object in unchanged."""
    return response.get("allowed") is True and "patch" not in response


def _rule_of(theirs: Answer, ours: Answer) -> str:
    """Return the first rule at which two answers part."""
    one, other = theirs.response, ours.response
    if theirs.code != ours.code or one is None or other is None:
        return "4 (the handler)"
    for key, rule in (("status", "5"), ("allowed", "4.3 or 5"), ("warnings", "4.3")):
        if one.get(key) != other.get(key):
            return rule
    if bool(one.get("patch")) != bool(other.get("patch")):
        return "6 (which VPA)"
    patches = [[(text(op, "op"), text(op, "path")) for op in rows(side, "patch")] for side in (one, other)]
    if patches[0] != patches[1]:
        return "7.2 (which operations)"
    changes = [op for op in rows(one, "patch") if op not in rows(other, "patch")]
    if changes and all(text(op, "path").startswith("/metadata/annotations/") for op in changes):
        return "7.3 (the annotations)"
    notes = [next((text(op, "value") for op in rows(side, "patch") if _has_notes(op)), "") for side in (one, other)]
    return amounts_rule(notes[0], notes[1], [text(op, "path") for op in changes])


def _has_notes(operation: JsonObject) -> bool:
    """Say whether an operation writes the annotation that tells what was done to amounts."""
    return text(operation, "path") == "/metadata/annotations/vpaUpdates"

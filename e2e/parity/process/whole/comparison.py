"""What two sides did on one cluster with all three programs: whether it is the same, and where they part first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from e2e.parity.process.admission.partings import amounts_rule
from e2e.parity.process.differences import Difference, first_apart
from e2e.parity.process.recommender.comparison import Comparison as RecommenderComparison
from e2e.parity.process.updater.comparison import Comparison as UpdaterComparison
from e2e.parity.process.whole.cluster import WholeCluster
from e2e.parity.process.whole.play import Played
from e2e.parity.process.whole.submissions import Submission
from e2e.parity.process.whole.verdicts import NOTES, Verdict
from evenkeel.simulator.api.fields import child, text


@dataclass(slots=True)
class Comparison:
    """Two sides.

    Args:
        cluster: Where they worked.
        upstream: What upstream's programs did.
        ours: What ours did.
    """

    cluster: WholeCluster
    upstream: Played
    ours: Played
    recommenders: RecommenderComparison = field(init=False)
    updaters: UpdaterComparison = field(init=False)

    def __post_init__(self) -> None:
        """Set the comparisons of the single programs up."""
        upstream, ours = self.upstream, self.ours
        self.recommenders = RecommenderComparison(self.cluster.recommender, upstream.states, ours.states)
        self.updaters = UpdaterComparison(self.cluster.updater, upstream.record, ours.record)

    def cases(self) -> int:
        """Return how many VPAs, checkpoints, workloads and submissions were looked at, and the registration."""
        return self.recommenders.objects() + len(self.updaters.workloads()) + len(self.cluster.submissions) + 1

    @property
    def changed(self) -> int:
        """How many submissions upstream's webhook changed."""
        return sum(NOTES in child(one.object, "annotations") for one in self.upstream.verdicts.given)

    @property
    def refused(self) -> int:
        """How many submissions were not taken."""
        return sum(one.code >= _REFUSED for one in self.upstream.verdicts.given)

    @property
    def unreached(self) -> int:
        """How many submissions upstream's webhook did not answer."""
        return sum(one.is_unreached for one in self.upstream.verdicts.given)

    def differences(self) -> Iterator[Difference]:
        """Yield all differences, those that come first in the course of things before what follows from them."""
        yield from self.recommenders.differences()
        yield from self.updaters.differences()
        upstream, ours = self.upstream.verdicts, self.ours.verdicts
        apart = first_apart(upstream.registration, ours.registration)
        if apart is not None:
            rule = f"admission 2 (the registration), at {apart[0]}"
            yield Difference(f"seed {self._seed}, the webhook", rule, str(apart[1]), str(apart[2]))
        for submission, one, other in zip(self.cluster.submissions, upstream.given, ours.given, strict=True):
            # Where upstream's handler crashes ours lets the object in as it is (beyond:B-32).
            is_let_in = not other.is_unreached and NOTES not in child(other.object, "annotations")
            if not (one.is_unreached and is_let_in):
                yield from self._submitted(submission, one, other)

    @property
    def _seed(self) -> str:
        return self.cluster.updater.seed

    def _submitted(self, submission: Submission, theirs: Verdict, ours: Verdict) -> Iterator[Difference]:
        apart = first_apart([theirs.code, theirs.object], [ours.code, ours.object])
        if apart is None:
            return
        place = apart[0].removeprefix("1.") or "the answer"
        hints = (
            f"said: {theirs.message or 'nothing'} | {ours.message or 'nothing'}",
            f"flags: {' '.join(self.cluster.gates)}",
            f"submitted: {submission.method} {submission.body}",
        )
        case = f"seed {self._seed}, {submission.what}"
        yield Difference(case, f"admission {_rule_of(theirs, ours)}, at {place}", str(apart[1]), str(apart[2]), hints)


_REFUSED = 400


def _rule_of(theirs: Verdict, ours: Verdict) -> str:
    """Return the first rule at which two verdicts part."""
    if theirs.is_unreached != ours.is_unreached:
        return "4 (the handler)"
    if theirs.code != ours.code or theirs.code >= _REFUSED:
        return "4.3 or 5 (what is let in)"
    notes = [NOTES in child(one.object, "annotations") for one in (theirs, ours)]
    if notes[0] != notes[1]:
        return "6 (which VPA)"
    apart = first_apart(theirs.object["spec"], ours.object["spec"])
    if apart is None:
        return "7.3 (the annotations)"
    noted = [text(one.object, "annotations", NOTES) for one in (theirs, ours)]
    return amounts_rule(noted[0], noted[1], [apart[0]])

"""What can go wrong with the real cluster, as one exception that says how to get out of it."""

from __future__ import annotations


class ClusterError(Exception):
    """The cluster cannot be built, started, used or taken down.

    Args:
        subject: The thing concerned: a program, a component, a package, a port.
        problem: What is wrong with it.
        remedy: What the person in front of the terminal can do.
    """

    def __init__(self, subject: str, problem: str, *, remedy: str) -> None:
        super().__init__(f"{subject}: {problem}; {remedy}")
        self.subject = subject
        self.problem = problem
        self.remedy = remedy


class StartFailedError(ClusterError):
    """A component failed while the cluster started; what had been started is gone again."""

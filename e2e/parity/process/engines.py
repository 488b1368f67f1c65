"""The two engines that are compared, and how a program of either is started."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from e2e.parity.process.upstream import NAMESPACE, Upstream
from evenkeel.simulator.processes.program import Invocation


class Program(Enum):
    """The three programs, by the names of our packages."""

    RECOMMENDER = "recommender"
    UPDATER = "updater"
    ADMISSION = "admission"

    @property
    def upstream_name(self) -> str:
        """How upstream calls it."""
        return "vpa-admission-controller" if self is Program.ADMISSION else f"vpa-{self.value}"


class Side(Enum):
    """Whose programs."""

    UPSTREAM = "upstream"
    OURS = "ours"


@dataclass(frozen=True, slots=True)
class Engine:
    """One side's programs; both work on upstream's API group and get the same flags otherwise.

    Args:
        side: Whose.
        upstream: Where upstream's are.
    """

    side: Side
    upstream: Upstream

    def invocation(self, program: Program, kubeconfig: Path, flags: tuple[str, ...]) -> Invocation:
        """Return how a program is started."""
        if self.side is Side.UPSTREAM:
            own: tuple[str, ...] = (str(self.upstream.programs / program.upstream_name), "--v=4")
        else:
            # -P: a folder of the same name in the working directory must not be taken for the program.
            module = (sys.executable, "-P", "-m", program.value)
            own = (*module, "--profile=upstream", "--api-group=autoscaling.k8s.io", "--v=5")
        words = (*own, f"--kubeconfig={kubeconfig}", "--address=127.0.0.1:0", *flags)
        return Invocation(f"{self.side.value}-{program.value}", words, {"NAMESPACE": NAMESPACE})

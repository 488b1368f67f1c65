"""``python -m e2e.bulk --pods 200000 --seed 1``: on a cluster of its own, many pods through the real API server."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from e2e.api_socket import api_socket
from e2e.bulk.asking import ask, troubles_in
from e2e.bulk.spaces import spaces
from e2e.cluster.cluster import Cluster, start_with_retry
from e2e.cluster.layout import DEFAULT_ROOT
from e2e.cluster.nodes import default_nodes
from e2e.installation import Flags, Group, installed

_SPACES = 60


def main() -> int:
    """Run and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m e2e.bulk", description=__doc__)
    parser.add_argument("--pods", type=int, default=200_000, help="how many pods")
    parser.add_argument("--seed", type=int, default=1, help="what they are drawn from")
    parser.add_argument("--profile", default="evenkeel", help="profile of the admission controller")
    parser.add_argument("--boosts", action="store_true", help="give start-up boosts, too")
    given = parser.parse_args()
    cluster = Cluster(Path(DEFAULT_ROOT))
    start_with_retry(cluster, default_nodes(1))
    try:
        began = time.monotonic()
        gates = f"--feature-gates=CPUStartupBoost={'true' if given.boosts else 'false'}"
        flags = Flags(all=(f"--profile={given.profile}", gates))
        with installed(cluster, Group.OWN, flags) as running, api_socket(cluster, "bulk-proxy") as api:
            with spaces(api, given.seed, _SPACES) as made:
                tally = ask(api, made, given.seed, range(given.pods))
            ended = running.ended()
            troubles = troubles_in(cluster.logs("evenkeel-admission-controller", lines=10 * given.pods))
    finally:
        cluster.down()
    for finding in tally.findings[:20]:
        print(finding)
    for line in troubles[:20]:
        print(line)
    print(f"seed {given.seed}, {time.monotonic() - began:.0f} s")
    print(tally)
    return 1 if tally.findings or ended or troubles else 0


if __name__ == "__main__":
    sys.exit(main())

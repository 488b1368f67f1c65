"""Drawn pods through the real API server: it takes whatever it takes without the webhook (spec: beyond:B-17)."""

from __future__ import annotations

from e2e.api_socket import api_socket
from e2e.bulk.asking import ask, troubles_in
from e2e.bulk.spaces import spaces
from e2e.cluster.cluster import Cluster
from e2e.installation import Flags, Group, installed

_SEED = 8
_SPACES = 20
_PODS = 1500


def test_no_pod_is_refused_for_its_patch(cluster: Cluster) -> None:
    """Spec: beyond:B-12, beyond:B-17, admission:13 (11)."""
    with installed(cluster, Group.OWN, Flags()) as running, api_socket(cluster, "bulk-proxy") as api:
        with spaces(api, _SEED, _SPACES) as made:
            tally = ask(api, made, _SEED, range(_PODS))
        assert running.ended() == []
    troubles = troubles_in(cluster.logs("evenkeel-admission-controller", lines=10 * _PODS))
    assert [str(finding) for finding in tally.findings] == []
    assert troubles == []
    assert tally.counts["patched"] >= _PODS // 3, str(tally)

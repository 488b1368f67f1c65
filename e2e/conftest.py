"""One real cluster for all tests of a process.

``EVENKEEL_E2E_ROOT`` chooses its folder (see ``run_root``), ``EVENKEEL_KUBERNETES`` its release of Kubernetes and with
that the tests that are run, unless ``-m`` names others. With ``EVENKEEL_E2E_KEEP`` set, a healthy cluster found
there is used as it is, and the cluster stays up at the end. ``EVENKEEL_E2E_IMAGE`` names an archive of Evenkeel's image
that was built already, from the same sources.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from xdist.remote import Producer

from e2e.cluster.cluster import Cluster, start_with_retry
from e2e.cluster.errors import ClusterError
from e2e.cluster.kube import Kube
from e2e.cluster.layout import run_release, run_root
from e2e.cluster.nodes import default_nodes
from e2e.image.__main__ import build
from e2e.sharing import ByCluster

_NODES = 2
_LONGEST_NAMESPACE = 50


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByCluster:
    """Let no two processes use one cluster."""
    return ByCluster(config, log)


def pytest_configure(config: pytest.Config) -> None:
    """Choose the tests that are run on the release of Kubernetes."""
    try:
        release = run_release()
    except ClusterError as error:
        raise pytest.UsageError(str(error)) from error
    config.option.markexpr = config.option.markexpr or release.tests


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A cluster of two nodes, the second smaller than the first."""
    keep = bool(os.environ.get("EVENKEEL_E2E_KEEP"))
    started = Cluster(run_root(), run_release())
    if not (keep and started.is_healthy()):
        start_with_retry(started, default_nodes(_NODES), outlives_driver=keep)
    try:
        yield started
    finally:
        if not keep:
            started.down()


@pytest.fixture(scope="session")
def image_archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of Evenkeel's image."""
    named = os.environ.get("EVENKEEL_E2E_IMAGE")
    return Path(named) if named else build(tmp_path_factory.mktemp("image"))


@pytest.fixture
def kube(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Kube]:
    """A namespace of the test's own, deleted with everything in it at the test's end."""
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")
    kube = Kube(cluster, f"e2e-{words}"[:_LONGEST_NAMESPACE].rstrip("-"))
    if kube.find("namespace", kube.namespace) is not None:
        kube.delete("namespace", kube.namespace)
    cluster.kubectl("create", "namespace", kube.namespace)
    kube.wait_for(lambda: kube.find("serviceaccount", "default"), "the namespace's default service account")
    try:
        yield kube
    finally:
        kube.delete("namespace", kube.namespace, wait=False)

"""What whoever runs a process gives it: flags and kubeconfigs."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import yaml

from admission.config import AdmissionConfig
from autoscaling.errors import ConfigurationError
from autoscaling.kube.connection import connect
from autoscaling.runtime.flag_model import FlagModel, HelpRequested
from evenkeel.cli.observe import samples_of
from recommender.config import RecommenderConfig
from tests.fuzz.objects import ODD_WORDS, text
from tests.fuzz.target import LawBrokenError, Target
from updater.config import UpdaterConfig

_MODELS: tuple[type[FlagModel], ...] = (RecommenderConfig, UpdaterConfig, AdmissionConfig)
_PROGRAMS = {"exec", "auth-provider", "tokenFile", "certificate-authority", "client-certificate", "client-key"}
"""Keys whose values are programs that are run and files that are read: no input decides on those."""

_KUBECONFIG = text(
    {
        "current-context": "c",
        "clusters": [{"name": "k", "cluster": {"server": "https://127.0.0.1:1", "tls-server-name": "h"}}],
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u", "namespace": "n"}}],
        "users": [{"name": "u", "user": {"token": "t", "username": "x", "password": "y"}}],
    }
)
_METRICS = b"""# TYPE kubelet_pod_pending_resizes gauge
kubelet_pod_pending_resizes{reason="deferred"} 1
kubelet_container_requested_resizes_total{requirement="memory\\"x",operation="increase"} 3 1700000000000
kubelet_pod_resize_duration_milliseconds_sum +Inf
"""


def _flags(data: bytes) -> None:
    model = _MODELS[data[0] % len(_MODELS) if data else 0]
    words = data[1:].decode("utf-8", "replace").split("\n")
    try:
        config = model.from_command_line(words, {})
    except HelpRequested:
        return
    config.effective_flags()
    config.warnings()


def _runs_programs(value: object) -> bool:
    """Say whether a document names programs or files."""
    if isinstance(value, dict):
        return any(str(key) in _PROGRAMS or _runs_programs(inner) for key, inner in value.items())
    return isinstance(value, list) and any(map(_runs_programs, value))


async def _connect(path: Path) -> None:
    connection = await connect(str(path))
    await connection.authorization()
    await connection.close()


def _kubeconfig(data: bytes) -> None:
    try:
        if _runs_programs(yaml.safe_load(data)):
            return
    except (yaml.YAMLError, ValueError, RecursionError, TypeError):
        pass
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kubeconfig")
        path.write_bytes(data)
        asyncio.run(_connect(path))


def _metrics(data: bytes) -> int:
    samples = samples_of(data.decode("utf-8", "replace"))
    if any(not name for name, _ in samples):
        raise LawBrokenError("a sample without a name")
    return len(samples)


CONFIGURATION = (
    Target(
        "flags",
        _flags,
        (ConfigurationError,),
        (
            b"\x00--v=4\n--oom-bump-up-ratio=1.5\n--history-length=8d\n--username=a\n--round-cpu-millicores\n10",
            b"\x01--feature-gates=InPlace=true,AllAlpha=false\n--eviction-rate-limit=0x1p-2\n--updater-interval=1h2m3.5s",
            b"\x02--reload-cert\n--webhook-labels=a:b\n--behaviour\nuid_preconditions=true\n--max-allowed-cpu-boost=2\n--",
        ),
        (*ODD_WORDS, b"--profile=upstream", b"--api-group=", b"=true", b"\n--", b"-v", b"1h", b"0b1", b"1_0", b"1e9"),
    ),
    Target(
        "kubeconfig", _kubeconfig, (ConfigurationError,), (_KUBECONFIG,), (*ODD_WORDS, b"&a", b"*a", b"!!", b"<<: ")
    ),
    Target(
        "metrics-page",
        _metrics,
        (ValueError,),
        (_METRICS,),
        (b"{", b'"', b"\\", b" NaN", b"# HELP ", b"\n", *ODD_WORDS),
    ),
)
"""Ways in of whoever runs a process or looks at a node."""

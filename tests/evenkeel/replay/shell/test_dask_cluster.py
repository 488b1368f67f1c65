"""Strategies on a Dask cluster of two workers (beyond:B-36)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import LocalCluster

from autoscaling.errors import ConfigurationError
from evenkeel.replay.lots import HeldLot, Lot, lots
from evenkeel.replay.scores import Scores
from evenkeel.replay.shell.dask_cluster import DaskCluster
from evenkeel.replay.shell.parquet_files import plan_lots
from evenkeel.replay.shell.playing import Stage, play_all
from tests.evenkeel.replay.series import trace

NAMES = ["vpa-min0", "krr-simple", "oracle"]
ROWS = 200


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The scheduler of a cluster of two processes on the loopback interface."""
    with LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None, silence_logs=50
    ) as cluster:
        yield str(cluster.scheduler_address)


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dataset in partitions, by a path that only holds where this process is."""
    random = np.random.default_rng(8)
    for namespace in ("shop", "bank", "till"):
        folder = tmp_path / "fleet" / f"namespace={namespace}"
        folder.mkdir(parents=True)
        names = np.repeat(["web", "api"], ROWS)
        table = {
            "workload": list(names),
            "container": ["app"] * len(names),
            "timestamp": list(np.tile(np.arange(ROWS) * 600.0, 2)),
            "cpu_cores": list(random.gamma(2.0, 0.2, len(names))),
            "memory_bytes": list(random.gamma(9.0, 3e7, len(names))),
        }
        pq.write_table(pa.table(table), folder / "use.parquet")
    monkeypatch.chdir(tmp_path)
    return Path("fleet")


def same(ours: Scores, theirs: Scores) -> None:
    for each in fields(Scores):
        np.testing.assert_array_equal(getattr(ours, each.name), getattr(theirs, each.name), each.name)


def test_it_comes_to_the_same(address: str, dataset: Path) -> None:
    """beyond:B-36: to the last digit, of a dataset that workers read and of series that are sent to them."""
    series = [trace([1.0 + number, 2.0 + number] * 30, name=f"web-{number}") for number in range(5)]
    both: list[Lot] = [
        *plan_lots(dataset, most_steps=2 * ROWS).lots,
        *(HeldLot(tuple(lot)) for lot in lots(series, 120)),
    ]
    assert len(both) == 6
    told: list[tuple[int, int]] = []
    ours = play_all(NAMES, both, Stage(DaskCluster(address), tell=lambda done, of: told.append((done, of))))
    theirs = play_all(NAMES, both, Stage())
    assert (ours.names, ours.sources, ours.rows) == (theirs.names, theirs.sources, theirs.rows)
    assert len(ours.names) == 11
    for mine, other in zip(ours.played, theirs.played, strict=True):
        assert mine.name == other.name
        same(mine.scores, other.scores)
    assert told == [(done, 18) for done in range(19)]


def test_a_file_that_workers_do_not_have(address: str, dataset: Path) -> None:
    """beyond:B-36: the file is named, not the cluster."""
    planned = plan_lots(dataset).lots
    for file in dataset.rglob("*.parquet"):
        file.unlink()
    with pytest.raises(ConfigurationError, match=r"fleet/.*use.parquet: cannot be read: .* wherever it is played$"):
        play_all(NAMES, planned, Stage(DaskCluster(address)))


def test_no_such_cluster() -> None:
    """beyond:B-36."""
    with pytest.raises(ConfigurationError, match=r"--dask nowhere://x: .*; name the scheduler of a running cluster"):
        play_all(NAMES, [HeldLot((trace([1.0] * 30),))], Stage(DaskCluster("nowhere://x")))

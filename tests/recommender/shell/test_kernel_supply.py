"""When a recommender compiles its kernels (performance:R-1, performance:R-5)."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from recommender.cluster_model import ClusterModel
from recommender.kernels.compiling import UncompiledError
from recommender.kernels.suite import Kernels
from recommender.shell.kernel_supply import MANY_CONTAINERS, CompiledKernels, KernelSupply


def model(containers: int) -> ClusterModel:
    """Return a model that knows so many containers."""
    made = ClusterModel()
    for _ in range(containers):
        made.containers.create(0)
    return made


@pytest.mark.parametrize(
    ("row", "choice", "containers", "are_compiled"),
    [
        ("performance:R-5", CompiledKernels.AUTO, MANY_CONTAINERS - 1, False),
        ("performance:R-1", CompiledKernels.AUTO, MANY_CONTAINERS, True),
        ("performance:R-1", CompiledKernels.ALWAYS, 0, True),
        ("performance:R-5", CompiledKernels.NEVER, MANY_CONTAINERS, False),
    ],
)
def test_kernels_are_compiled_where_they_are_worth_it(
    row: str, choice: CompiledKernels, containers: int, *, are_compiled: bool
) -> None:
    one, supply = model(containers), KernelSupply(choice)
    supply.follow(one)
    assert one.aggregates.kernels is None, f"{row}: nobody waits for a compiler"
    supply.wait(one)
    held = {id(bank.kernels) for bank in (one.aggregates, one.aggregates.cpu, one.aggregates.memory)}
    assert (one.aggregates.kernels is not None) is are_compiled, row
    assert held == {id(one.aggregates.kernels)}, row
    supply.follow(one)
    assert one.aggregates.cpu.empty_copy(1).kernels is one.aggregates.kernels, row


def test_what_cannot_be_compiled_is_told_once_and_left_to_numpy() -> None:
    def fail() -> Kernels:
        raise UncompiledError("kernels of the recommender: no compiler; numpy does their work")

    one, supply = model(1), KernelSupply(CompiledKernels.ALWAYS, fail)
    with capture_logs() as logs:
        for _ in range(3):
            supply.follow(one)
            supply.wait(one)
    assert [(entry["event"], entry["log_level"]) for entry in logs] == [("kernels not compiled", "warning")]
    assert one.aggregates.kernels is None

"""Kernels made to machine code, and machines on which they are not (performance:R-1)."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest

from recommender.kernels.columns import readable
from recommender.kernels.compiling import UncompiledError, compiled
from recommender.kernels.intake import Samples
from recommender.kernels.suite import Kernels
from tests.recommender.scene import integers


def test_every_kernel_is_compiled_for_one_kind_of_arguments() -> None:
    kernels = compiled()
    for each in fields(Kernels):
        kernel = getattr(kernels, each.name)
        assert len(kernel.signatures) == 1, each.name
        assert kernel.py_func is getattr(Kernels(), each.name)


def test_arguments_of_another_kind_are_refused_and_compile_nothing() -> None:
    accept, last_cpu, accepted = compiled().accept_cpu, integers(5), np.empty(2, dtype=np.bool_)
    rows, amounts = readable(integers(0, 0)), readable(integers(1, 1))
    with pytest.raises(TypeError, match="No matching definition"):
        accept(Samples(rows, readable(np.array([7.0, 3.0])), amounts), last_cpu, accepted)
    assert accept(Samples(rows, readable(integers(7, 3)), amounts), last_cpu, accepted) == 1
    assert (last_cpu.tolist(), accepted.tolist()) == ([7], [True, False])


def test_only_what_asks_for_compiled_kernels_loads_the_compiler() -> None:
    """Spec: performance:R-5."""
    found = _run("import recommender.__main__, recommender.shell.kernel_supply, sys; print('numba' in sys.modules)")
    assert found.split() == ["False"]


def test_without_a_compiler_the_error_says_so() -> None:
    found = _run(
        "import sys; sys.modules['numba'] = None\n"
        "from recommender.kernels.compiling import UncompiledError, compiled\n"
        "try: compiled()\n"
        "except UncompiledError as error: print(error)"
    )
    assert found.startswith("kernels of the recommender: ")
    assert found.strip().endswith("numpy does their work")
    assert issubclass(UncompiledError, RuntimeError)


def test_where_nothing_can_be_written_kernels_are_compiled_and_not_kept() -> None:
    found = _run(
        "from recommender.kernels.compiling import compiled\n"
        "kernel = compiled().accept_cpu\n"
        "print(len(kernel.signatures), type(kernel._cache).__name__)",
        NUMBA_CACHE_LOCATOR_CLASSES="UserProvidedCacheLocator",
        NUMBA_CACHE_DIR="/dev/null/nowhere",
    )
    assert found.split() == ["1", "NullCache"]


def _run(program: str, **environment: str) -> str:
    """Run a program in a process of its own and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return done.stdout

"""Kernels made to machine code, the only place that knows of a compiler.

Compiling takes a second or two of processor time and 100 MiB, the compiler itself included; nothing is imported before
it is asked for. What was compiled is kept on disk where that can be written: in ``NUMBA_CACHE_DIR``, beside this
package, or in the user's cache directory.

Spec: performance R-1.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numpy as np

from recommender.kernels.columns import READ
from recommender.kernels.suite import Kernels

P = ParamSpec("P")
R = TypeVar("R")


class UncompiledError(RuntimeError):
    """The kernels cannot be compiled here."""


def compiled() -> Kernels:
    """Return all kernels compiled, each for the one kind of arguments that it is ever given.

    Raises:
        UncompiledError: There is no compiler, or it fails.
    """
    try:
        return Kernels(*(_compiled(getattr(Kernels(), each.name)) for each in dataclasses.fields(Kernels)))
    except Exception as error:
        raise UncompiledError(f"kernels of the recommender: {error}; numpy does their work") from error


def _compiled(kernel: Callable[P, R]) -> Callable[P, R]:
    """Return a kernel compiled for the types that it names, from the cache on disk if there is one."""
    try:
        return _by_numba(kernel, is_cached=True)
    except RuntimeError as error:
        if "cache" not in str(error):
            raise
        # No directory for the cache can be written.
        return _by_numba(kernel, is_cached=False)


def _by_numba(kernel: Callable[P, R], *, is_cached: bool) -> Callable[P, R]:
    import numba  # noqa: PLC0415 costs 60 MiB and a quarter of a second, which most clusters need not pay

    named = typing.get_type_hints(kernel, include_extras=True)
    named.pop("return")
    signature = tuple(_numba_type(each) for each in named.values())
    made: Callable[P, R] = numba.njit([signature], nogil=True, cache=is_cached, error_model="numpy")(kernel)
    return made


def _numba_type(named: object) -> object:
    """Return the compiler's type for what an argument of a kernel is annotated with.

    Args:
        named: A number, a column, or a named tuple of these.
    """
    from numba import types  # noqa: PLC0415 see above

    numbers = {int: types.int64, float: types.float64, bool: types.boolean}
    scalars = {
        np.int64: types.int64,
        np.uint64: types.uint64,
        np.float64: types.float64,
        np.int16: types.int16,
        np.bool_: types.boolean,
    }
    if named in numbers:
        return numbers[named]
    if isinstance(named, type) and issubclass(named, tuple):
        fields = typing.get_type_hints(named, include_extras=True).values()
        return types.BaseTuple.from_types([_numba_type(field) for field in fields], named)
    is_only_read = READ in typing.get_args(named)
    column = typing.get_args(named)[0] if is_only_read else named
    (scalar,) = typing.get_args(typing.get_args(column)[1])
    return types.Array(scalars[scalar], 1, "C", readonly=is_only_read)

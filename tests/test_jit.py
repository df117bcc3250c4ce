"""Tests of the compilation without a writable cache."""

import numba
import numpy as np

from oneof import jit as module


def test_loops_compile_without_a_cache_folder(monkeypatch):
    """If numba finds no folder for its cache, a loop is compiled without one."""
    calls = []

    def njit(**options):
        calls.append(options)
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return numba.njit(**options)

    monkeypatch.setattr(module, "njit", njit)

    def double(values):
        return values.sum() * 2

    assert module.compiled(double)(np.arange(4.0)) == 12.0
    assert [options.get("cache", False) for options in calls] == [True, False]

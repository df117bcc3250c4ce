"""Fixtures of the tests of estimators."""

import pytest

from tests.tensors import DEVICES, tensors_on


@pytest.fixture(params=DEVICES)
def tensor(request):
    """Return a function that converts arrays to tensors, on the processor and on a CUDA device if there is one."""
    with tensors_on(request.param) as convert:
        yield convert

"""What the arithmetic can hold: each refusal is one sentence that says the way out."""

import contextlib
from collections.abc import Iterator

import numpy as np

from oneof.errors import InputError

LARGEST_VARIANCE = 1e12
"""Of a kernel: beyond, little is left of the likelihood, for which latents differ by about 1."""
TOO_LARGE = "the kernel is too large for the arithmetic: scale the features, or lower the kernel's variance."


@contextlib.contextmanager
def refused_if_too_large() -> Iterator[None]:
    """Turn the failure of a Cholesky factor into the sentence that says why."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise InputError(TOO_LARGE) from error

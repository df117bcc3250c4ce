"""What this machine and its arithmetic can hold: each refusal is one sentence that says the way out."""

import contextlib
import os
from collections.abc import Iterator

import numpy as np

from oneof.errors import InputError

LARGEST_VARIANCE = 1e12
"""Of a kernel: beyond, little is left of the likelihood, for which latents differ by about 1."""
TOO_LARGE = "the kernel is too large for the arithmetic: scale the features, or lower the kernel's variance."


def check_memory(n_bytes: float, what: str, remedy: str) -> None:
    """Raise if so many bytes would not fit in this machine's memory."""
    if hasattr(os, "sysconf") and n_bytes > (memory := os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")):
        raise InputError(
            f"{what} would take {n_bytes / 1e9:.0f} GB, and this machine has {memory / 1e9:.0f} GB: {remedy}."
        )


@contextlib.contextmanager
def refused_if_too_large() -> Iterator[None]:
    """Turn the failure of a Cholesky factor into the sentence that says why."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise InputError(TOO_LARGE) from error

"""What this machine's memory can hold."""

import os

from oneof.errors import InputError


def check_memory(n_bytes: float, what: str, remedy: str) -> None:
    """Raise if what is to be worked out would not fit in this machine's memory."""
    if hasattr(os, "sysconf") and n_bytes > (memory := os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")):
        raise InputError(
            f"{what} would take {n_bytes / 1e9:.0f} GB to work out, and this machine has {memory / 1e9:.0f} GB: "
            f"{remedy}."
        )

"""How many cases are tried: a share of 2,000 in the ordinary run, of what ONEOF_FUZZ_CASES says in the nightly one."""

import os
from typing import Any

from hypothesis import HealthCheck, settings

ORDINARY = 48
"""Cases of a test of share 1 in the ordinary run."""
NIGHTLY = int(os.environ.get("ONEOF_FUZZ_CASES", "0"))
"""Cases of a test of share 1 in the nightly run, each time others; 0 outside of it."""


def cases(share: float) -> Any:
    """Return the settings of a test: in the ordinary run always the same cases, so that all see the same failures."""
    return settings(
        max_examples=max(1, round((NIGHTLY or ORDINARY) * share)),
        derandomize=not NIGHTLY,
        database=None,
        deadline=None,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )

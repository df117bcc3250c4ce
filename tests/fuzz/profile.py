"""Numbers of fuzzed cases: a fraction of 2,000 in the ordinary run, of $ONEOF_FUZZ_CASES in the nightly one."""

import os
from typing import Any

from hypothesis import HealthCheck, settings

ORDINARY = 48
"""Cases of a test of fraction 1 in the ordinary run."""
NIGHTLY = int(os.environ.get("ONEOF_FUZZ_CASES", "0"))
"""Cases of a test of fraction 1 in the nightly run, different each time; 0 in the ordinary run."""


def cases(share: float) -> Any:
    """Return the settings of a test; the cases of the ordinary run are deterministic."""
    return settings(
        max_examples=max(1, round((NIGHTLY or ORDINARY) * share)),
        derandomize=not NIGHTLY,
        database=None,
        deadline=None,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )

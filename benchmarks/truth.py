"""How far from the truth methods are on ill-conditioned problems: `python benchmarks/truth.py` (needs mpmath).

The problems, and the errors by oracles in 50 digits, are those of tests/truth; the table goes to
docs/reliability/truth.csv. Nothing is timed.
"""

import csv
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.truth.methods import METHODS, skipped  # noqa: E402 - the tests are no installed package
from tests.truth.problems import problems  # noqa: E402

from oneof.errors import InputError  # noqa: E402


def measured(name, problem):
    """Return the error, or what the method says instead of an answer."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return f"{METHODS[name](problem):.0e}"
    except InputError:
        return "refused"


def main():
    """Measure all, and write the table."""
    found = problems()
    lines = []
    for name in METHODS:
        lines.append([name])
        for title, problem in found.items():
            lines[-1].append("" if skipped(name, title) else measured(name, problem))
            print(name, title, lines[-1][-1], flush=True)
    path = ROOT / "docs" / "reliability" / "truth.csv"
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([["method", *found], *lines])


if __name__ == "__main__":
    main()

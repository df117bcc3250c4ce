"""How many calls with whatever a caller may have were tried, and what came of them.

`python benchmarks/fuzzing.py CASES [SEED]`. The cases are those of tests/fuzz, each time others; their number is
that of a family of share 1. What breaks the law of tests/fuzz/outcome.py is shown, and counted in the table that goes
to docs/reliability/fuzzing.csv.
"""

import csv
import random
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.estimators.panel import ALL, name  # noqa: E402 - the tests are no installed package
from tests.fuzz import outcome, test_estimators, test_functions  # noqa: E402
from tests.fuzz.families import FAMILIES  # noqa: E402


def families():
    """Yield the name of each family, its share, how a case is drawn, and what is done with it."""
    for estimator in ALL:
        yield (
            name(estimator),
            1.0,
            test_estimators.fits(estimator),
            lambda case, e=estimator: test_estimators.play(e, case),
        )
    for name_, family in FAMILIES.items():
        yield name_, family.share, family.drawn(), lambda case, f=name_: test_functions.play(f, case)


def count(strategy, play, n_cases, number):
    """Return how many calls were answered, how many were refused, and how many cases broke the law, and the seconds."""
    found: Counter[str] = Counter()
    before = outcome.CAME.copy()

    @seed(number)
    @settings(
        max_examples=n_cases,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(strategy)
    def go(case):
        found["cases"] += 1
        try:
            play(case)
        except Exception as error:  # whatever it is, it breaks the law, and is counted
            if not found["broken"]:
                traceback.print_exc()
                print(f"the first such case: {case!r:.2000} {error!r}")
            found["broken"] += 1

    began = time.process_time()
    go()
    calls = outcome.CAME - before
    return found["cases"], calls["answered"], calls["refused"], found["broken"], round(time.process_time() - began)


def main():
    """Try all families, and write the table."""
    n_cases = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    number = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(2**32)
    lines = []
    for family, share, strategy, play in families():
        lines.append([family, *count(strategy, play, round(n_cases * share), number)])
        print(*lines[-1], flush=True)
    lines.append([f"all, from seed {number}", *(sum(line[i] for line in lines) for i in range(1, 6))])
    path = ROOT / "docs" / "reliability" / "fuzzing.csv"
    columns = ["family", "cases", "calls answered", "calls refused", "against the law", "processor seconds"]
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *lines])


if __name__ == "__main__":
    main()

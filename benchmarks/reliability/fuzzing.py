"""Fuzzing of estimators and functions, and numerical errors on ill-conditioned problems."""

import random
import traceback
import warnings
from collections import Counter

from hypothesis import HealthCheck, Phase, given, seed, settings

from benchmarks.common import Table, timed
from oneof.errors import InputError
from tests.estimators.panel import ALL, name
from tests.fuzz import outcome, test_functions
from tests.fuzz.calls import FAMILIES


def iter_families():
    """Yield the name of each family, its share of the cases, its strategy and the function that runs a case."""
    for estimator in ALL:
        yield (
            name(estimator),
            1.0,
            test_functions.fits(estimator),
            lambda case, e=estimator: test_functions.play_estimator(e, case),
        )
    for name_, family in FAMILIES.items():
        yield name_, family.share, family.drawn(), lambda case, f=name_: test_functions.play(f, case)


def count_calls(strategy, play, n_cases, seed_number):
    """Return the numbers of cases, successful calls, rejected calls and failures, and the processor seconds."""
    counts: Counter[str] = Counter()
    before = outcome.CAME.copy()

    @seed(seed_number)
    @settings(
        max_examples=n_cases,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(strategy)
    def check(case):
        counts["cases"] += 1
        try:
            play(case)
        except Exception as error:  # any other error is a failure, and is counted
            if not counts["broken"]:
                traceback.print_exc()
                print(f"the first such case: {case!r:.2000} {error!r}")
            counts["broken"] += 1

    _, seconds = timed(check)
    calls = outcome.CAME - before
    return counts["cases"], calls["answered"], calls["refused"], counts["broken"], round(seconds)


def fuzzing(n_cases=100, seed_number=-1):
    """Run the random cases of tests/fuzz, new ones in each run, and write docs/reliability/fuzzing.csv.

    `n_cases` is the number of cases of a family of share 1. A failure is a violation of tests/fuzz/outcome.py; the
    first one of each family is printed.
    """
    seed_number = seed_number if seed_number >= 0 else random.randrange(2**32)
    lines = []
    for family, share, strategy, play in iter_families():
        lines.append([family, *count_calls(strategy, play, max(1, round(n_cases * share)), seed_number)])
        print(*lines[-1], flush=True)
    lines.append([f"all, from seed {seed_number}", *(sum(line[i] for line in lines) for i in range(1, 6))])
    columns = ["family", "cases", "successful calls", "rejected calls", "failures", "processor seconds"]
    Table("reliability/fuzzing.csv", columns).replace(lines)


def measure_error(name, problem):
    """Return the numerical error, or "refused" if the method rejects the problem."""
    from tests.truth.methods import METHODS

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return f"{METHODS[name](problem):.0e}"
    except InputError:
        return "refused"


def truth():
    """Measure the errors on the ill-conditioned problems of tests/truth, and write docs/reliability/truth.csv.

    The oracles have 50 digits and need mpmath. Nothing is timed.
    """
    from tests.truth.methods import METHODS, problems, skipped

    problems_by_title = problems()
    lines = []
    for method in METHODS:
        lines.append([method])
        for title, problem in problems_by_title.items():
            lines[-1].append("" if skipped(method, title) else measure_error(method, problem))
            print(method, title, lines[-1][-1], flush=True)
    Table("reliability/truth.csv", ["method", *problems_by_title]).replace(lines)

"""What choosing a method without true labels gives away, for several rules.

On each task every method of the panel is scored by `compare`; a rule's regret is the held-out accuracy of the best
method less that of the method it chooses. The rules see covering rates and approximated accuracies only. Run with
`python benchmarks/choosing.py`; sets of the field that are not at hand are left out.
"""

import numpy as np
from sklearn.utils import check_random_state

import oneof
from oneof.errors import DataError

REAL = ("lost", "msrcv2", "birdsong")
SUPERVISED = ("digits", "wine", "breast_cancer", "glass", "ecoli", "segment", "vehicle", "dermatology", "satimage")
AMBIGUITY = {
    "uniform, 1 extra": {"distractors": "uniform", "n_distractors": 1},
    "uniform, 2 extra": {"distractors": "uniform", "n_distractors": 2},
    "confusable, 1 extra": {"distractors": "confusable", "n_distractors": 1, "epsilon": 0.7},
    "cooccurring, 2 extra": {"distractors": "cooccurring", "n_distractors": 2},
}
MOST_ROWS = 1000


def tasks():
    """Yield (name, X, candidates, truth)."""
    for name in (*REAL, *SUPERVISED):
        try:
            data = oneof.datasets.load(name)
        except DataError:
            continue
        rows = check_random_state(0).permutation(len(data.y))[:MOST_ROWS]
        X, y = np.nan_to_num(np.asarray(data.X[rows], dtype=float)), data.y[rows]
        if name in REAL:
            yield name, X, data.candidates[rows], y
        else:
            for kind, options in AMBIGUITY.items():
                if options["n_distractors"] < len(set(y.tolist())) - 1:
                    yield f"{name}, {kind}", X, oneof.make_partial_labels(y, random_state=0, **options), y


def within_one_error(results, then):
    """Return the best by `then` of the methods whose covering rate is within one paired standard error of the best."""
    best = results[0]
    level = []
    for result in results:
        gap = np.array([b.covering_rate - f.covering_rate for b, f in zip(best.folds, result.folds, strict=True)])
        if gap.mean() <= gap.std(ddof=1) / np.sqrt(len(gap)):
            level.append(result)
    return max(level, key=then)


RULES = {
    "covering rate (the rule of compare)": lambda results: results[0],
    "approximated accuracy": lambda results: max(results, key=lambda r: r.approximated_accuracy),
    "within 1 SE, then approximated": lambda results: within_one_error(results, lambda r: r.approximated_accuracy),
    "LOORidge, without a comparison": lambda results: next(r for r in results if r.method == "LOORidge"),
    "within 1 SE, then fastest": lambda results: within_one_error(results, lambda r: -r.fit_seconds),
}


def main():
    """Print the regret of each rule on each task, and the means."""
    regrets = {rule: [] for rule in RULES}
    blind = []
    for name, X, y, truth in tasks():
        results = oneof.compare(X, y, truth=truth).results
        top = max(result.accuracy for result in results)
        blind.append(top - np.mean([result.accuracy for result in results]))
        line = []
        for rule, choose in RULES.items():
            regrets[rule].append(top - choose(results).accuracy)
            line.append(f"{regrets[rule][-1]:.3f}")
        print(f"{name:36s} {'  '.join(line)}  blind {blind[-1]:.3f}", flush=True)
    print(f"\nmean regret over {len(blind)} tasks (worst)")
    for rule, values in regrets.items():
        print(f"  {rule:38s} {np.mean(values):.4f} ({np.max(values):.3f})")
    print(f"  {'a method at random':38s} {np.mean(blind):.4f} ({np.max(blind):.3f})")


if __name__ == "__main__":
    main()

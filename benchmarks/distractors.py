"""LOORidge with and without its linear judge, and linear classifiers, on sets of every kind.

At most 2,500 rows of each task of `benchmarks/choosing_tasks.py` or of the sets below are drawn by a seed; 80 % are
fitted, the others are the test rows. Features that are not binary are scaled as by `compare`. True labels are used for
the printed accuracies alone. The square of the judge's weight was chosen on ud_english_ewt (both forms), MSRCv2,
clusters of letter, lf_trec and satimage with seeds 0 and 1 (docs/decisions/0022-linear-judge.md).
"""

from functools import partial

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from benchmarks import choosing_tasks
from benchmarks.choosing_tasks import coarse_tags, dictionary, generated, published_sets, rules
from benchmarks.common import Table, markdown
from oneof import PLEM, AvgPegasos, CandidateSets, LOORidge, MaxPegasos
from oneof.comparison.methods import has_unit_rows

N_ROWS = 2500
CHOSEN_ON = ("ud_english_ewt", "coarse tags", "msrcv2", "letter clusters", "lf_trec", "satimage")
UNIFORM = {"fraction": 0.8, "n_distractors": 2, "distractors": "uniform"}
PEGASOS = {"lam": 1e-3, "n_epochs": 10, "average": True, "shuffle": True, "fit_intercept": True, "random_state": 0}
METHODS = {
    "LOORidge": LOORidge(),
    "judge=None": LOORidge(judge=None),
    "AvgPegasos": AvgPegasos(**PEGASOS),
    "MaxPegasos": MaxPegasos(**PEGASOS),
    "PLEM": PLEM(fit_intercept=True),
}
TABLE = Table("loo_ridge_sets.csv", ("kind", "set", "seed", *METHODS, "judge weight"))


def tasks():
    """Return the kind and the function of each task; the function returns the rows of a seed."""
    published = {
        "dictionary": ("ud_english_ewt", "italian"),
        "scene": ("lost", "msrcv2", "birdsong"),
        "rules": ("plf_trec", "lf_trec", "lf_chemprot"),
    }
    result = {
        name: (kind, partial(published_sets, name, N_ROWS)) for kind, names in published.items() for name in names
    }
    result["coarse tags"] = ("dictionary", partial(coarse_tags, N_ROWS))
    for name, n_rows in (("letter", 10), ("pendigits", 6), ("usps", 8)):
        result[f"{name} clusters"] = ("words", partial(dictionary, name, of_clusters=True, rows_per_word=n_rows))
    for name in ("usps", "segment", "satimage", "mnist", "news20"):
        result[f"{name} words"] = ("words", partial(dictionary, name, of_clusters=False))
    result["letter words"] = ("words", partial(dictionary, "letter", of_clusters=False, imbalance=12))
    for name in ("satimage", "letter", "usps", "vehicle", "news20"):
        result[name] = ("random", partial(generated, name, **UNIFORM))
    result["segment rules"] = ("rules", partial(rules, "segment"))
    return result


def split(X, truth, mask, seed):
    """Return the rows, sets and truth of the training part, and the rows and truth of the test part."""
    order = np.random.default_rng(100 + seed).permutation(len(truth))
    train, test = order[: round(0.8 * len(order))], order[round(0.8 * len(order)) :]
    parts = X[train], X[test]
    if not np.isin(X.data if sp.issparse(X) else X, (0, 1)).all() and not has_unit_rows(X):
        scaler = (MaxAbsScaler() if sp.issparse(X) else StandardScaler()).fit(parts[0])
        parts = scaler.transform(parts[0]), scaler.transform(parts[1])
    return parts[0], CandidateSets(mask[train], np.arange(mask.shape[1])), truth[train], parts[1], truth[test]


def sets(*, seeds=10):
    """Write the accuracy of each method on each task and seed, and print the means."""
    choosing_tasks.N_ROWS = N_ROWS - 100
    lines = []
    for seed in range(seeds):
        for name, (kind, rows) in tasks().items():
            X, y, _, new, truth = split(*rows(seed=seed), seed)
            fitted = {method: estimator.fit(X, y) for method, estimator in METHODS.items()}
            accuracies = [f"{(model.predict(new) == truth).mean():.4f}" for model in fitted.values()]
            lines.append((kind, name, seed, *accuracies, f"{fitted['LOORidge'].judge_weight_:.3f}"))
            print(*lines[-1], flush=True)
    TABLE.replace(lines)
    sets_summary()


def sets_summary():
    """Print the means over the seeds, of each set and of each kind."""
    lines = TABLE.where()
    for key in ("set", "kind"):
        rows = []
        for value in dict.fromkeys(line[key] for line in lines):
            means = [np.mean([float(line[method]) for line in TABLE.where(**{key: value})]) for method in METHODS]
            rows.append([value + " (chosen on it)" * (value in CHOSEN_ON), *(f"{mean:.3f}" for mean in means)])
        print(markdown([key, *METHODS], rows), end="\n\n")

"""Selection of the distractor models of LOORidge, on sets of every kind.

Rows are permuted by `numpy.random.default_rng(seed)`; 80 % of them, at most 5,000, are fitted, the others, at most
4,000, are the test rows. "chosen" is LOORidge at its defaults, the others have the distractor model fixed. True labels
are used for the printed accuracies alone. The rule was fixed on seeds 20 to 23 of these sets, with at most 1,500 rows,
and its part on recordings on simulated ones (docs/decisions/0048-lists-of-scenes.md).
"""

import csv
import sys

import numpy as np
import scipy.sparse as sp

from benchmarks.common import DOCS, candidate_columns
from oneof import CandidateSets, LOORidge, make_partial_labels
from oneof.datasets import load

REAL = ("italian", "ud_english_ewt", "plf_trec", "lf_trec", "lf_chemprot")
SYNTHETIC = ("glass", "segment", "satimage", "letter", "mfeat_fourier")
KINDS = ("uniform", "confusable", "cooccurring", "dictionary", "rules", "recordings")
MODELS = {"chosen": "auto", "uniform": "uniform", "cooccurring": "cooccurring"}
TABLE = DOCS / "loo_ridge_selection.csv"
MAX_TRAIN, MAX_TEST = 5000, 4000


def recordings(truth, seed, missing=0.1):
    """Return rows of recordings, and the mask of their lists: 3 to 9 rows share a list of 2 to 4 classes.

    The class of one row in ten is not on its list. The last recording ends when no row of a drawn class is left.
    """
    rng, n_classes = np.random.default_rng([seed, 7]), truth.max() + 1
    rest = [list(rng.permutation(np.flatnonzero(truth == k))) for k in range(n_classes)]
    frequencies = rng.permutation(1.0 / np.sqrt(np.arange(1, n_classes + 1)))
    rows, lists = [], []
    while True:
        length = min(rng.integers(2, 5), n_classes - 1)
        listed = rng.choice(n_classes, length, replace=False, p=frequencies / frequencies.sum())
        mask, shares = np.isin(np.arange(n_classes), listed), rng.dirichlet(np.full(length, 1.5))
        for _ in range(rng.integers(3, 10)):
            k = rng.choice(np.flatnonzero(~mask)) if rng.random() < missing else rng.choice(listed, p=shares)
            if not rest[k]:
                return np.array(rows), np.array(lists)
            rows.append(rest[k].pop())
            lists.append(mask)


def task(name, kind, seed):
    """Return the rows, candidate sets and truth of the training part, and the rows and truth of the test part."""
    data = load(name)
    X = data.X if sp.issparse(data.X) else np.asarray(data.X, dtype=np.float64)
    if kind:
        truth = np.unique(data.y, return_inverse=True)[1]
    else:
        truth = candidate_columns(data)
    order = np.random.default_rng(seed).permutation(np.flatnonzero(truth >= 0))
    n_train = round(0.8 * len(order))
    train, test = order[:n_train][:MAX_TRAIN], order[n_train:][:MAX_TEST]
    if kind == "recordings":
        rows, mask = recordings(truth[train], seed)
        train, y = train[rows], CandidateSets(mask, np.arange(mask.shape[1]))
    elif kind:
        y = make_partial_labels(
            truth[train],
            fraction=0.8,
            n_distractors=2,
            distractors=kind,
            classes=np.arange(truth.max() + 1),
            random_state=seed,
        )
    else:
        y = CandidateSets(data.candidates.mask[train], np.arange(data.candidates.shape[1]))
    return X[train], y, truth[train], X[test], truth[test]


def selection(seeds=range(10)):
    """Write the accuracy of each model on each set, kind and seed, and print the means."""
    tasks = [(name, "") for name in REAL] + [(name, kind) for name in SYNTHETIC for kind in KINDS]
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("set", "distractors", "seed", *MODELS, "cooccurring weight", "concentration"))
        for seed in seeds:
            for name, kind in tasks:
                X, y, _, X_test, truth = task(name, kind, seed)
                models = {label: LOORidge(distractors=value).fit(X, y) for label, value in MODELS.items()}
                accuracies = [f"{(model.predict(X_test) == truth).mean():.4f}" for model in models.values()]
                chosen = models["chosen"]
                weight, concentration = chosen.distractor_weights_["cooccurring"], chosen.group_concentration_
                writer.writerow((name, kind, seed, *accuracies, f"{weight:.3f}", f"{concentration:g}"))
                file.flush()
    selection_summary()


def selection_summary():
    """Print the means over the seeds, and the loss of "chosen" against the better of the fixed models."""
    with TABLE.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    means = {}
    for key in dict.fromkeys((row["set"], row["distractors"]) for row in rows):
        runs = [row for row in rows if (row["set"], row["distractors"]) == key]
        means[key] = [np.mean([float(row[label]) for row in runs]) for label in MODELS]
        chosen, uniform, cooccurring = means[key]
        print(
            f"{' '.join(key):28s} chosen {chosen:.3f}  uniform {uniform:.3f}  cooccurring {cooccurring:.3f}  "
            f"below the better {max(uniform, cooccurring) - chosen:+.4f}  ({len(runs)} seeds)"
        )
    total = np.mean(list(means.values()), axis=0)
    print("mean: " + ", ".join(f"{label} {value:.4f}" for label, value in zip(MODELS, total, strict=True)))
    sys.stdout.flush()

"""Accuracy against the number of labeled rows: graph-prior logistic regression beside methods of both kinds.

On each of 20 draws some rows of every class are labeled, the same for all methods; judged is how many of the rest are
right, among which the semi-supervised methods have been fitted (transductive), or how many of a third of the rows that
no method has seen (inductive, "held out"). Features are scaled to unit variance over all rows of fit, without labels.
All methods have their defaults; nothing was tuned on these sets.

Run with `python benchmarks/label_curves.py [set ...] [--figure PATH]`; the sets are read from $ONEOF_DATA.
"""

import sys
import warnings

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import oneof

SETS = {"ionosphere": ("ionosphere",), "wdbc": ("wdbc",), "pima": ("pima",), "mfeat": ("mfeat_karhunen",)}
LABELED = {"mfeat": (20, 40, 80, 160, 320)}
USUAL = (10, 20, 40, 80, 160)
DRAWS = 20
SUPERVISED = {
    "logistic regression": LogisticRegression(max_iter=1000),
    "SVM, linear": SVC(kernel="linear"),
    "SVM, rbf": SVC(),
}
SEMI_SUPERVISED = {
    "GraphLogisticRegression": oneof.GraphLogisticRegression(),
    'GraphLogisticRegression("graph")': oneof.GraphLogisticRegression("graph"),
    "HarmonicField": oneof.HarmonicField(),
    "SpectralGraphTransducer": oneof.SpectralGraphTransducer(),
}


def read(names):
    """Return the columns of all parts of a set, and its labels as numbers."""
    parts = [oneof.datasets.load(name) for name in names]
    return np.hstack([part.X for part in parts]), np.searchsorted(parts[0].classes, parts[0].y)


def draw(y, number, random):
    """Return which rows are labeled: one of every class, and the others by lot."""
    rows = random.permutation(len(y))
    first = np.unique(y[rows], return_index=True)[1]
    rest = np.delete(rows, first)
    return np.concatenate([rows[first], rest[: number - len(first)]])


def judged(X, y, number, seed):
    """Return the accuracy of each method on rows of fit without a label, and on rows that were held out."""
    random = np.random.default_rng(seed)
    held = np.zeros(len(y), dtype=bool)
    held[random.permutation(len(y))[: len(y) // 3]] = True
    seen, target = X[~held], y[~held]
    scaler = StandardScaler().fit(seen)
    seen, new = scaler.transform(seen), scaler.transform(X[held])
    labeled = draw(target, number, random)
    known = np.full(len(target), -1)
    known[labeled] = target[labeled]
    hidden = known == -1
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model in SUPERVISED.items():
            fitted = clone(model).fit(seen[labeled], target[labeled])
            found[name] = (fitted.predict(seen[hidden]) == target[hidden]).mean(), fitted.score(new, y[held])
        for name, model in SEMI_SUPERVISED.items():
            fitted = clone(model).fit(seen, known)
            found[name] = (fitted.transduction_[hidden] == target[hidden]).mean(), fitted.score(new, y[held])
    return found


def curve(name):
    """Return {method: (numbers, draws, 2)} accuracies, transductive and held out, and the numbers of labeled rows."""
    X, y = read(SETS[name])
    numbers = LABELED.get(name, USUAL)
    jobs = [delayed(judged)(X, y, number, seed) for number in numbers for seed in range(DRAWS)]
    found = Parallel(n_jobs=2)(jobs)
    values = {method: np.array([each[method] for each in found]) for method in found[0]}
    return {method: value.reshape(len(numbers), DRAWS, 2) for method, value in values.items()}, numbers


def show(name, values, numbers):
    """Print a table of means, and of standard deviations over the draws."""
    for kind, title in enumerate(("rows of fit without a label", "held out")):
        print(f"{name}, {title}: accuracy %, mean +- standard deviation of {DRAWS} draws")
        print(f"  {'labeled':34s}" + "".join(f"{number:>14d}" for number in numbers))
        for method, value in values.items():
            cells = 100 * value[:, :, kind]
            line = "".join(f"{m:8.1f} +-{s:4.1f}" for m, s in zip(cells.mean(axis=1), cells.std(axis=1), strict=True))
            print(f"  {method:34s}{line}", flush=True)


def draw_figure(curves, path):
    """Draw a panel a set."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(curves), figsize=(4.2 * len(curves), 3.8), layout="constrained", squeeze=False)
    for axis, (name, (values, numbers)) in zip(axes[0], curves.items(), strict=True):
        for i, (method, value) in enumerate(values.items()):
            means, errors = 100 * value[:, :, 0].mean(axis=1), 100 * value[:, :, 0].std(axis=1) / np.sqrt(DRAWS)
            style = "--" if method in SUPERVISED else "-"
            axis.errorbar(
                numbers, means, errors, ls=style, marker="o", ms=3.5, lw=1.4, capsize=2, label=method, c=f"C{i}"
            )
        axis.set(xscale="log", xlabel="labeled rows", title=name)
        axis.set_xticks(numbers, [str(number) for number in numbers], minor=False)
        axis.minorticks_off()
        axis.grid(alpha=0.25)
    axes[0, 0].set_ylabel("accuracy on the rest, %")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=150)


def main():
    """Print the tables of the sets that were asked for, and draw them."""
    words = sys.argv[1:]
    path = words.pop(words.index("--figure") + 1) if "--figure" in words else None
    names = [word for word in words if word in SETS] or list(SETS)
    curves = {}
    for name in names:
        curves[name] = curve(name)
        show(name, *curves[name])
    if path:
        draw_figure(curves, path)


if __name__ == "__main__":
    main()

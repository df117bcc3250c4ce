"""LOORidge on Lost, MSRCv2 and BirdSong: 80/20 splits, beside simpler machines with the same kernels.

Rows are permuted by `numpy.random.default_rng(seed)`, the first 80 % are fitted. Everything is fitted to the candidate
sets of that part; true labels are used for the printed numbers alone, but for the row "true labels", which is the same
method fitted to them: a bound. The constants of the method were chosen while test accuracies of seeds 0 to 4 were seen;
`held_out` takes seeds 5 to 14, which were not looked at before the method was fixed.

"plain loop" is distractors="uniform"; "equal shares" is ridge regression on the equal shares of the candidates, with
the kernels and weights of "LOORidge". ECE is the expected calibration error of `predict_proba` on the test part, in ten
bins of confidence. Seconds are processor time of fit. Run with
`python benchmarks/loo_ridge.py [accuracy] [held_out] [unlabeled] [large] [text]`.
"""

import csv
import sys
import time
from pathlib import Path

import numpy as np

from oneof import LOORidge, make_partial_labels
from oneof.datasets import load

SETS = ("lost", "msrcv2", "birdsong")
PUBLISHED = {"lost": "0.812", "msrcv2": "0.548 to 0.602", "birdsong": "0.778"}


def codes(data):
    """Return the true labels as columns of the mask."""
    column = {label: k for k, label in enumerate(data.candidates.classes.tolist())}
    return np.array([column[label] for label in data.y.tolist()])


def split(n, seed):
    """Return the numbers of the rows to fit and to test."""
    order = np.random.default_rng(seed).permutation(n)
    return order[: round(0.8 * n)], order[round(0.8 * n) :]


def calibration_error(probabilities, truth):
    """Return the expected calibration error in ten bins of the largest probability."""
    confidence = probabilities.max(axis=1)
    hit = probabilities.argmax(axis=1) == truth
    bins = np.minimum((confidence * 10).astype(int), 9)
    gaps = [abs(confidence[bins == b].sum() - hit[bins == b].sum()) for b in range(10)]
    return float(sum(gaps) / len(hit))


def equal_shares(model, X, mask, new):
    """Return predictions of ridge regression on equal shares, with the kernels of a fitted model and their weights."""
    targets = mask / mask.sum(axis=1, keepdims=True)
    means, scores = targets.mean(axis=0), 0.0
    for each, weight in zip(model._model.models, model._model.weights, strict=True):
        known = each.kernel.transform(X)
        a = np.linalg.solve(each.kernel.gram(known) + model.lam * np.eye(len(X)), targets - means)
        scores += weight * (each.kernel.gram(each.kernel.transform(new), known) @ a)
    return (scores + means).argmax(axis=1)


def one_split(X, mask, truth, train, test):
    """Return the numbers of one split, by name, and the weights of the kernels."""
    start = time.process_time()
    model = LOORidge().fit(X[train], mask[train])
    seconds = time.process_time() - start
    probabilities = model.predict_proba(X[test])
    plain = LOORidge(distractors="uniform").fit(X[train], mask[train])
    bound = LOORidge().fit(X[train], np.eye(mask.shape[1], dtype=int)[truth[train]])
    decided = model.label_distributions_
    return model.kernel_weights_, {
        "LOORidge": (probabilities.argmax(axis=1) == truth[test]).mean(),
        "plain loop": (plain.predict(X[test]) == truth[test]).mean(),
        "equal shares": (equal_shares(model, X[train], mask[train], X[test]) == truth[test]).mean(),
        "true labels": (bound.predict(X[test]) == truth[test]).mean(),
        "training rows": (decided.argmax(axis=1) == truth[train]).mean(),
        "part of scenes": model.distractor_weights_.get("cooccurring", 0.0),
        "part of confusion": model.distractor_weights_.get("confusable", 0.0),
        "z of scenes": model.distractor_z_scores_.get("cooccurring", 0.0),
        "z of confusion": model.distractor_z_scores_.get("confusable", 0.0),
        "ECE": calibration_error(probabilities, truth[test]),
        "ECE, true labels": calibration_error(bound.predict_proba(X[test]), truth[test]),
        "mean confidence of training rows": decided.max(axis=1).mean(),
        "seconds": seconds,
    }


def accuracy(seeds=range(5)):
    """Print means and deviations over the splits, and return them as lines."""
    lines = []
    for name in SETS:
        data = load(name)
        X, truth = np.asarray(data.X, dtype=np.float64), codes(data)
        runs = [one_split(X, data.candidates.mask, truth, *split(len(X), seed)) for seed in seeds]
        weights, found = zip(*runs, strict=True)
        print(f"{name}: published {PUBLISHED[name]}; seeds {', '.join(map(str, seeds))}")
        mean = {kernel: np.mean([each[kernel] for each in weights]) for kernel in weights[0]}
        print("  weights " + ", ".join(f"{kernel} {weight:.2f}" for kernel, weight in mean.items() if weight > 0.005))
        for key in found[0]:
            values = np.array([numbers[key] for numbers in found])
            print(f"  {key:34s} {values.mean():.3f} +- {values.std():.3f}", flush=True)
            lines.append((name, key, f"{values.mean():.3f}", f"{values.std():.3f}"))
    return lines


def held_out():
    """Print the same for seeds that had not been looked at when the method was fixed, and write it for the docs."""
    lines = accuracy(range(5, 15))
    with (Path(__file__).parent.parent / "docs" / "loo_ridge_held_out.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("set", "of", "mean", "deviation"), *lines])


def unlabeled():
    """Print test accuracies where rows have no label, which are ignored or join, with one kernel a set.

    On Lost and MSRCv2 that is the one chosen above. Of satimage, 3,000 rows are drawn.
    """
    many, few = (("sets", 0.3), ("sets", 0.7), ("exact", 0.7), ("exact", 0.9)), (("exact", 0.9), ("exact", 0.98))
    angle, rank = {"kernel": "rbf", "features": "spherical"}, {"kernel": "laplacian", "features": "quantile"}
    for name, kernel, kinds in (
        ("lost", angle, many),
        ("msrcv2", rank, many),
        ("segment", rank, few),
        ("satimage", rank, few),
    ):
        data = load(name)
        X = np.asarray(data.X, dtype=np.float64)
        truth = np.unique(data.y, return_inverse=True)[1] if data.candidates is None else codes(data)
        n_classes = truth.max() + 1 if data.candidates is None else data.candidates.shape[1]
        for kind, share in kinds:
            found = []
            for seed in range(5):
                some = np.random.default_rng(seed).permutation(len(X))[:3000]
                train, test = np.split(some, [round(0.8 * len(some))])
                mask = np.eye(n_classes, dtype=bool)[truth[train]]
                if kind == "sets":
                    mask = data.candidates.mask[train].copy()
                mask[np.random.default_rng(100 + seed).random(len(train)) < share] = True
                models = [LOORidge(**kernel, unlabeled=way).fit(X[train], mask) for way in ("ignore", "class_mass")]
                found.append([(model.predict(X[test]) == truth[test]).mean() for model in models])
            ignore, join = np.mean(found, axis=0)
            least = np.min(np.diff(found, axis=1))
            print(
                f"{name}, {kind}, {share:.0%} without a label: ignore {ignore:.3f}, class_mass {join:.3f}, "
                f"in the worst split {least:+.3f}",
                flush=True,
            )


def large():
    """Print time and accuracy of the Nystroem form on letter, and time on 100,000 made-up rows."""
    data = load("letter")
    X, truth = np.asarray(data.X, dtype=np.float64), data.y
    y = make_partial_labels(truth, n_distractors=2, random_state=0)
    train, test = split(len(X), 0)
    report("letter, two extra labels", LOORidge(random_state=0), X[train], y[train], X[test], truth[test])
    random = np.random.default_rng(0)
    truth = random.integers(0, 10, 100_000)
    X = 1.5 * random.normal(size=(10, 20))[truth] + random.normal(size=(100_000, 20))
    y, model = (
        make_partial_labels(truth, n_distractors=2, random_state=0),
        LOORidge("rbf", features="standard", random_state=0),
    )
    report("100,000 x 20, one kernel", model, X[:90_000], y[:90_000], X[90_000:], truth[90_000:])


def text():
    """Print time and accuracy on TF-IDF of the newsgroups, with two extra labels."""
    from sklearn.feature_extraction.text import TfidfTransformer

    data = load("news20")
    some = np.random.default_rng(0).permutation(data.X.shape[0])[:5000]
    X = TfidfTransformer(sublinear_tf=True).fit_transform(data.X[some])
    y = make_partial_labels(data.y[some], n_distractors=2, random_state=0)
    train, test = split(len(some), 0)
    report(f"news20, {X.shape[1]} features", LOORidge(), X[train], y[train], X[test], data.y[some][test])


def report(label, model, X, y, new, truth):
    """Fit, and print what came of it."""
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    start = time.process_time()
    right = (model.predict(new) == truth).mean()
    kernels = ", ".join(f"{name} {weight:.2f}" for name, weight in model.kernel_weights_.items() if weight)
    error = calibration_error(model.predict_proba(new), np.searchsorted(model.classes_, truth))
    print(
        f"{label}: {X.shape[0]} rows, {kernels}, accuracy {right:.3f}, ECE {error:.3f}, part of scenes "
        f"{model.distractor_weights_['cooccurring']:.2f}, fit {seconds:.1f} s, "
        f"predict twice {time.process_time() - start:.1f} s",
        flush=True,
    )


def main():
    """Run what was asked for, or all."""
    parts = {
        "accuracy": accuracy,
        "held_out": held_out,
        "unlabeled": unlabeled,
        "large": large,
        "text": text,
    }
    for part in sys.argv[1:] or parts:
        parts[part]()


if __name__ == "__main__":
    main()

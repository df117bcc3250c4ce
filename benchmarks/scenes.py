"""Simulated recordings whose rows share a list of species, for the distractor models of LOORidge.

Each table has its own number of classes, recorders, recordings, rows and lengths of the lists (`draw_settings`). The
rows of a recording have its list as their set; a fraction of them has a label outside the list. Recorders have other
frequencies of the classes, and may shift the features. A quarter of the recorders, with all their rows, are the test
rows. True labels are used for the printed accuracies alone. Seeds below 1,000 were used to choose earlier rules of
LOORidge.
"""

import csv
import warnings

import numpy as np

from benchmarks.common import DOCS
from oneof import CandidateSets, LOORidge
from oneof.audit import find_label_issues
from oneof.audit.accuracy import estimate_accuracy
from oneof.model_selection import cross_val_predict

SEEDS = range(1000, 1080)
MODELS = {name: name for name in ("cooccurring", "uniform", "confusable")}
TABLE = DOCS / "scenes.csv"
MAX_ROWS, MIN_TRAIN, MIN_TEST = 900, 60, 20
ACCURACY_TOL = 0.1
"""Difference from the best model that is counted."""


def draw_settings(rng):
    """Return random settings of `simulate`."""
    settings = {
        "n_classes": int(rng.integers(5, 30)),
        "n_recorders": int(rng.integers(6, 30)),
        "n_recordings": int(rng.integers(20, 250)),
        "n_rows": [(1, 3), (3, 9), (5, 15), (10, 25), (20, 50)][rng.integers(5)],
        "lengths": [(2, 6), (2, 3), (1, 5), (3, 6), (4, 8)][rng.integers(5)],
        "missing": float(rng.choice([0, 0.05, 0.12, 0.2, 0.3])),
        "n_features": int(rng.choice([8, 24, 60])),
        "separation": float(rng.choice([1.0, 1.5, 2.0, 3.0])),
        "shift": float(rng.choice([0, 0.5, 1.0, 2.0])),
        "exponent": float(rng.choice([0, 0.5, 1.0, 1.5])),
        "is_local": bool(rng.integers(2)),
        "single": float(rng.choice([0, 0, 0, 0.3, 0.7])),
    }
    mean_rows = np.mean(settings["n_rows"])
    if settings["n_recordings"] * mean_rows > MAX_ROWS:
        settings["n_recordings"] = max(8, int(MAX_ROWS / mean_rows))
    settings["lengths"] = tuple(min(length, settings["n_classes"] - 1) for length in settings["lengths"])
    return settings


def simulate(
    seed,
    *,
    n_classes,
    n_recorders,
    n_recordings,
    n_rows,
    lengths,
    missing,
    n_features,
    separation,
    shift,
    exponent,
    is_local,
    single,
):
    """Return the rows, true labels, masks of the lists, and recorders.

    The frequencies of the classes follow a power law with the exponent, at each recorder in other proportions if they
    are local. In the fraction `single` of the recordings, all rows on the list have one class.
    """
    rng = np.random.default_rng(seed)
    means = separation * rng.normal(size=(n_classes, n_features))
    frequencies = 1 / np.arange(1, n_classes + 1) ** exponent
    frequencies = rng.permutation(frequencies / frequencies.sum())
    X, truth, masks, recorders = [], [], [], []
    for recording in range(n_recordings):
        recorder = recording % n_recorders
        own = np.random.default_rng([seed, recorder])
        offset = shift * own.normal(size=n_features)
        p = frequencies * (n_classes * own.dirichlet(np.ones(n_classes)) + 0.05 if is_local else 1)
        p /= p.sum()
        length = rng.integers(lengths[0], lengths[1] + 1)
        listed = rng.choice(n_classes, size=min(length, (p > 0).sum()), replace=False, p=p)
        n = rng.integers(n_rows[0], n_rows[1] + 1)
        shares = rng.dirichlet(1.5 * np.ones(len(listed)))
        if single and rng.random() < single:
            shares = np.arange(len(listed)) == 0.0
        for _ in range(n):
            if rng.random() < missing:
                label = rng.choice(n_classes, p=p)
                while label in listed:
                    label = rng.choice(n_classes)
            else:
                label = rng.choice(listed, p=shares)
            X.append(means[label] + offset + 2.0 * rng.normal(size=n_features))
            truth.append(label)
            masks.append(np.isin(np.arange(n_classes), listed))
            recorders.append(recorder)
    return np.array(X), np.array(truth), np.array(masks), np.array(recorders)


def tables(seeds):
    """Yield the seed, training rows, sets and truth, and the rows and truth of other recorders of each table."""
    for seed in seeds:
        rng = np.random.default_rng([77, seed])
        settings = draw_settings(rng)
        X, truth, mask, recorders = simulate(seed, **settings)
        present = np.unique(recorders)
        held_out = rng.choice(present, size=max(1, round(0.25 * len(present))), replace=False)
        is_test = np.isin(recorders, held_out)
        if is_test.sum() >= MIN_TEST and (~is_test).sum() >= MIN_TRAIN:
            sets = CandidateSets.from_indicator(mask[~is_test], classes=np.arange(settings["n_classes"]))
            yield seed, X[~is_test], sets, truth[~is_test], X[is_test], truth[is_test]


def models(seeds=SEEDS):
    """Write the accuracy of each distractor model on each table, and print the means and the losses."""
    rows = []
    for seed, X, sets, _, X_test, y_test in tables(seeds):
        fits = (LOORidge(distractors=model, random_state=0).fit(X, sets) for model in MODELS.values())
        rows.append([seed, *(float(np.mean(fit.predict(X_test) == y_test)) for fit in fits)])
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["seed", *MODELS])
        writer.writerows([[row[0], *(f"{value:.4f}" for value in row[1:])] for row in rows])
    print(f"{TABLE.name}: {len(rows)} tables")
    models_summary()


def models_summary():
    """Print the means of the table, and how far each model is below the best one."""
    with TABLE.open(encoding="utf-8") as file:
        accuracy = np.array([[float(row[name]) for name in MODELS] for row in csv.DictReader(file)])
    best = accuracy[:, 1:].max(axis=1)
    for name, values in zip(MODELS, accuracy.T, strict=True):
        loss = best - values
        print(
            f"{name:12s} accuracy {values.mean():.3f}; more than {ACCURACY_TOL} below the best model in "
            f"{(loss > ACCURACY_TOL).mean():.0%} of the tables, at most {loss.max():.2f}"
        )
    print(f"{'best':12s} accuracy {best.mean():.3f}")


def estimates(seeds=range(1000, 1030)):
    """Print the accuracy estimated without true labels, and the accuracies with and without corrected weights."""
    differences, below, changes = [], [], []
    for _, X, sets, truth, X_test, y_test in tables(seeds):
        proba = cross_val_predict(LOORidge(random_state=0), X, sets, cv=5, method="predict_proba")
        predicted = sets.classes[proba.argmax(axis=1)]
        estimate, accuracy = estimate_accuracy(proba, predicted, sets), np.mean(predicted == truth)
        if estimate is not None:
            differences.append(estimate.accuracy - accuracy)
            below.append(accuracy < estimate.interval[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # weak features: nothing is corrected
            corrected = find_label_issues(X, sets, random_state=0).corrected()
        plain, fitted = (
            np.mean(LOORidge(random_state=0).fit(X, y).predict(X_test) == y_test) for y in (sets, corrected)
        )
        changes.append(fitted - plain)
    changes = np.array(changes)
    print(
        f"estimated minus true accuracy, {len(differences)} tables: mean {np.mean(differences):+.3f}, largest "
        f"{max(differences, key=abs):+.3f}; the truth is below the interval in {np.mean(below):.0%}"
    )
    print(
        f"corrected minus plain fit, {len(changes)} tables: mean {changes.mean():+.3f}, least {changes.min():+.3f}; "
        f"more than .03 worse in {(changes < -0.03).sum()}"
    )

"""EM for text: accuracy on 20 Newsgroups from few labels, beside the published claim (Nigam et al. 2000).

Protocol. The official split by date: 11,314 training documents, of which some are labeled, the same number of each
class drawn at random (at 300 of 20 classes: 15 each); the other training documents are the unlabeled ones. Accuracy in
percent on the 7,532 test documents, mean and standard deviation over draws; all methods see the same draws. Published:
10,000 unlabeled documents, test documents of the latest dates, a vocabulary of 62,258 words.

Preprocessing, fixed before anything was measured. The main form, "nigam", is as published as far as the set allows it:
the words of scikit-learn's English stop list are left out, nothing is stemmed, and the counts of each document are
scaled to one length, that of the mean training document (the paper names no length). "stopped" leaves out the last
step, "counts" are the counts as they come. alpha = 1 and all other parameters are the defaults.

Run with `python benchmarks/newsgroups.py [form] [draws] [weights] [labels]`; weights and labels are lists such as
0,1,cv and 20,100. The set is read from $ONEOF_DATA.
"""

import os
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

import oneof

LABELED = (20, 100, 300, 1000, 5000)
FORMS = ("nigam", "stopped", "counts")


def documents(form):
    """Return the counts of all documents in one of the forms, their classes, and the number of training documents."""
    data = oneof.datasets.load("news20")
    X, n_train = sp.csr_array(data.X.astype(np.float64)), int(data.n_train)
    if form != "counts":
        with np.load(Path(os.environ["ONEOF_DATA"]) / "news20.npz") as file:  # words are no part of a `Dataset`
            X = sp.csr_array(X[:, ~np.isin(file["vocabulary"], sorted(ENGLISH_STOP_WORDS))])
    if form == "nigam":
        length = X.sum(axis=1)
        X = sp.csr_array(sp.diags_array(length[:n_train].mean() / np.maximum(length, 1)) @ X)
    return X, np.searchsorted(data.classes, data.y), n_train


def draw(y, number, seed):
    """Return the labels of `number` documents, the same number of each class as far as possible, and -1 elsewhere."""
    order = np.random.default_rng(seed).permutation(len(y))
    known = np.full(len(y), -1)
    for k in range(y.max() + 1):
        rows = order[y[order] == k][: number // (y.max() + 1)]
        known[rows] = k
    return known


def main():
    """Print one line for each number of labels and each weight."""
    forms = sys.argv[1:2] or FORMS
    draws = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    weights = sys.argv[3].split(",") if len(sys.argv) > 3 else ["0", "1", "cv"]
    numbers = [int(number) for number in sys.argv[4].split(",")] if len(sys.argv) > 4 else LABELED
    for form in forms:
        X, y, n_train = documents(form)
        for number in numbers:
            for weight in weights:
                accuracies, chosen, start, sweeps = [], [], time.process_time(), []
                for seed in range(draws):
                    known = draw(y[:n_train], number, seed)
                    model = oneof.MultinomialEM(weight if weight == "cv" else float(weight)).fit(X[:n_train], known)
                    accuracies.append(100 * (model.predict(X[n_train:]) == y[n_train:]).mean())
                    chosen.append(model.unlabeled_weight_)
                    sweeps.append(model.n_iter_)
                print(
                    f"{form:8s} {number:5d} labels, unlabeled_weight={weight:3s} {np.mean(accuracies):5.1f} +- "
                    f"{np.std(accuracies, ddof=1):4.1f}  {np.mean(sweeps):4.0f} sweeps, "
                    f"{(time.process_time() - start) / draws:6.1f} s a fit"
                    + (f", chosen {chosen}" if weight == "cv" else ""),
                    flush=True,
                )


if __name__ == "__main__":
    main()

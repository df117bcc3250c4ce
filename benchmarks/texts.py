"""LOORidge beside others of the panel on texts with false labels made up.

Newsgroup articles, and articles of the ten largest topics of Reuters-21578 that have one topic; 70 % to learn from, of
which 80 % have further labels, drawn evenly; two draws. Accuracy on the others and processor seconds of a fit, each as
the panel of `compare` has it. Run with `python benchmarks/texts.py`; a quarter of an hour, most of it CLPL's.
"""

import time

import numpy as np

import oneof
from oneof.comparison import default_estimators

METHODS = ("LOORidge", "CLPL", "PLEM", "PLSVM", "AvgPerceptron", "MultinomialEM", "PLKNN")
TASKS = (("news20", 1500, 1), ("news20", 900, 3), ("reuters21578", 900, 1))


def articles(name):
    """Return rows with one topic, of at most twenty, and their topics."""
    data = oneof.datasets.load(name)
    labels = data.candidates.mask.argmax(axis=1)
    rows = np.flatnonzero(data.candidates.is_exact)
    if name != "news20":
        rows = rows[np.isin(labels[rows], np.argsort(-np.bincount(labels[rows]))[:10])]
    return data.X.tocsr(), labels, rows


def main():
    """Print a line for each method."""
    for name, size, extra in TASKS:
        X, labels, rows = articles(name)
        found = {method: [] for method in METHODS}
        for draw in range(2):
            train, test = np.split(np.random.default_rng(draw).permutation(rows)[:size], [round(0.7 * size)])
            sets = oneof.make_partial_labels(labels[train], fraction=0.8, n_distractors=extra, random_state=draw)
            estimators = default_estimators(sparse=True, n_rows=len(train))
            for method in METHODS:
                start = time.process_time()
                model = estimators[method].fit(X[train], sets)
                seconds = time.process_time() - start
                found[method].append(((model.predict(X[test]) == labels[test]).mean(), seconds))
        print(f"{name}, {round(0.7 * size)} rows to learn from, {extra} false")
        for method, numbers in found.items():
            accuracy, seconds = np.mean(numbers, axis=0)
            print(f"  {method:16s} {accuracy:.3f}  {seconds:6.1f} s", flush=True)


if __name__ == "__main__":
    main()

"""Append the figures of cleanlab to docs/audit_exact.csv: ``python benchmarks/audit_cleanlab.py FOLDER``.

FOLDER has the files of ``python -m benchmarks audit exact``. cleanlab is not a dependency of the benchmarks: run this
with cleanlab and scikit-learn installed. Rows are ranked as `find_label_issues` returns them, then by their quality.
"""

import csv
import sys
from pathlib import Path

import numpy as np
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
from sklearn.metrics import average_precision_score

TABLE = Path(__file__).parents[1] / "docs" / "audit_exact.csv"


def main(folder):
    """Append the lines."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        lines = [line for line in csv.reader(file) if line[4] != "cleanlab"]
    for path in sorted(Path(folder).glob("*.npz")):
        name, kind, rate = path.stem.rsplit("-", 2)
        with np.load(path) as arrays:
            given, wrong = arrays["given"], arrays["wrong"]
            proba = {key: arrays[key] for key in ("LOORidge", "logistic", "forest")}
        for method, p in proba.items():
            found = find_label_issues(given, p, return_indices_ranked_by="self_confidence", n_jobs=1)
            order = np.argsort(get_label_quality_scores(given, p), kind="stable")
            ranked = np.concatenate([found, order[~np.isin(order, found)]]).astype(int)
            scores = np.empty(len(given))
            scores[ranked] = -np.arange(len(given))
            values = (
                (wrong[ranked[: wrong.sum()]].mean(), average_precision_score(wrong, scores)) if wrong.any() else ()
            )
            values = [f"{value:.4f}" for value in values] or ["nan", "nan"]
            lines.append([name, kind, rate, method, "cleanlab", *values, f"{len(found) / len(given):.4f}", "", "", ""])
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)


if __name__ == "__main__":
    main(sys.argv[1])

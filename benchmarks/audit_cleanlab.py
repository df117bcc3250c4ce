"""Append the figures of cleanlab to docs/audit_exact.csv: ``python benchmarks/audit_cleanlab.py FOLDER``.

FOLDER has the files of ``python -m benchmarks audit exact``. cleanlab is not a dependency of the benchmarks: run this
with cleanlab, scikit-learn and NumPy installed. Rows are ranked as `find_label_issues` returns them, then by their
quality.
"""

import csv
import sys
from pathlib import Path

import numpy as np
from cleanlab.classification import CleanLearning
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

TABLE = Path(__file__).parents[1] / "docs" / "audit_exact.csv"


def figures(issues, quality, wrong):
    """Return the precision at the true number of errors and the average precision."""
    rest = [i for i in np.argsort(quality, kind="stable") if i not in set(issues.tolist())]
    ranked = np.array([*issues.tolist(), *rest])
    rank = np.empty(len(ranked))
    rank[ranked] = np.arange(len(ranked))
    return wrong[ranked[: wrong.sum()]].mean(), average_precision_score(wrong, -rank)


def main(folder):
    """Append the lines."""
    classifiers = {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "forest": RandomForestClassifier(100, random_state=0),
    }
    with TABLE.open(encoding="utf-8", newline="") as file:
        lines = [line for line in csv.reader(file) if line[4] not in ("cleanlab", "CleanLearning")]
    for path in sorted(Path(folder).glob("*.npz")):
        name, kind, rate = path.stem.rsplit("-", 2)
        with np.load(path) as arrays:
            given, wrong = arrays["given"], arrays["wrong"]
            proba = {key: arrays[key] for key in ("LOORidge", *classifiers)}
            X = arrays["X"]
        for method, p in proba.items():
            issues = find_label_issues(given, p, return_indices_ranked_by="self_confidence", n_jobs=1)
            values = (*figures(issues, get_label_quality_scores(given, p), wrong), len(issues) / len(given))
            lines.append([name, kind, rate, method, "cleanlab", *(f"{x:.4f}" for x in values), "", ""])
        for method, classifier in classifiers.items():
            table = CleanLearning(classifier, seed=0, find_label_issues_kwargs={"n_jobs": 1}).find_label_issues(
                X, given
            )
            found, quality = table["is_label_issue"].to_numpy(), table["label_quality"].to_numpy()
            order = np.argsort(quality, kind="stable")
            values = (*figures(order[found[order]], quality, wrong), found.mean())
            lines.append([name, kind, rate, method, "CleanLearning", *(f"{x:.4f}" for x in values), "", ""])
        print(path.stem, [line[4:7] for line in lines[-5:]], flush=True)
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)


if __name__ == "__main__":
    main(sys.argv[1])

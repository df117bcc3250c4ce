"""Wrong labels: errors put into the labels of ten data sets, and how many of them an audit finds.

The constants of the model were chosen on ecoli, glass, ionosphere, mfeat_zernike, usps and vehicle, which are not used
here. The rows are drawn at random, 1,000 of each data set, or all if there are fewer.
"""

import csv
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.common import DOCS, write_csv
from oneof import CandidateSets, LOORidge, make_partial_labels
from oneof.audit import find_label_issues
from oneof.comparison.methods import default_estimators
from oneof.datasets import load
from oneof.datasets.cache import data_folders
from oneof.estimators.loo_ridge import loo_logits
from oneof.likelihoods import softmax
from oneof.model_selection import cross_val_predict

DATA = (
    "dermatology", "letter", "mfeat_fourier", "mfeat_karhunen", "mnist", "pendigits", "pima", "satimage", "segment",
    "wdbc",
)  # fmt: skip
N_ROWS = 1000
RATES = (0.05, 0.1, 0.2)
KINDS = ("uniform", "confusable")
RECURRING_RATE = 0.2
SHARES = (0.0, 0.7, 0.9)
RECURRING_DATA = ("pendigits", "satimage", "segment")
REFITTED = ("LOORidge", "PLSVM", "PLEM", "AvgPegasos")
EXACT, SETS, REFITS = DOCS / "audit_exact.csv", DOCS / "audit_sets.csv", DOCS / "audit_refits.csv"
EXACT_COLUMNS = ("data", "kind", "rate", "probabilities", "finder", "precision", "average_precision", "noise_rate",
                 "low", "high")  # fmt: skip
SET_COLUMNS = ("data", "sets", "rate", "score", "precision", "average_precision", "noise_rate", "low", "high")
REFIT_COLUMNS = ("data", "kind", "rate", "method", "plain", "corrected")


def classifiers():
    """Return classifiers of scikit-learn for the held-out probabilities."""
    return {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "forest": RandomForestClassifier(100, random_state=0),
    }


def rows_of(name, n_rows=N_ROWS, seed=0):
    """Return features and classes of rows drawn at random."""
    data = load(name)
    y = np.unique(data.y, return_inverse=True)[1]
    rows = np.random.default_rng(seed).permutation(len(y))[:n_rows]
    X = np.asarray(data.X, dtype=np.float64)
    X = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    return X[rows], np.unique(y[rows], return_inverse=True)[1]


def put_errors(y, kind, rate, seed=0):
    """Return labels with errors, and the mask of the errors: any other class, or one partner of each class."""
    rng = np.random.default_rng(seed)
    K = y.max() + 1
    wrong = np.zeros(len(y), dtype=bool)
    wrong[rng.permutation(len(y))[: round(rate * len(y))]] = True
    shift = rng.integers(1, K, size=K)[y] if kind == "confusable" else rng.integers(1, K, size=len(y))
    return np.where(wrong, (y + shift) % K, y), wrong


def scores_at(ranked, wrong):
    """Return the precision at the true number of errors, which is also the recall, and the average precision."""
    rank = np.empty(len(ranked))
    rank[ranked] = np.arange(len(ranked))
    return wrong[ranked[: wrong.sum()]].mean(), average_precision_score(wrong, -rank)


def order_of(scores):
    """Return the rows by decreasing score."""
    return np.argsort(-scores, kind="stable")


def exact(*, folder="audit-probabilities"):
    """Put errors into exact labels; write figures, and held-out probabilities into a folder for audit_cleanlab.py."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    lines = []
    for name in DATA:
        X, y = rows_of(name)
        for kind in KINDS:
            for rate in RATES:
                given, wrong = put_errors(y, kind, rate)
                path = Path(folder) / f"{name}-{kind}-{rate}.npz"
                if not path.exists():
                    proba = {"LOORidge": softmax(loo_logits(LOORidge().fit(X, given)))}
                    for method, classifier in classifiers().items():
                        proba[method] = cross_val_predict(classifier, X, given, method="predict_proba")
                    np.savez(path, X=X, given=given, wrong=wrong, **proba)
                with np.load(path) as arrays:
                    proba = {method: arrays[method] for method in ("LOORidge", *classifiers())}
                for method, p in proba.items():
                    issues = find_label_issues(None, given, proba=p)
                    figures = scores_at(issues.ranking, wrong)
                    rates = (issues.noise_rate, *issues.noise_rate_interval)
                    lines.append((name, kind, rate, method, "oneof", *map(digits, (*figures, *rates))))
                print(name, kind, rate, *(line[3:7] for line in lines[-3:]), flush=True)
    write_csv(EXACT, EXACT_COLUMNS, lines)


def sets():
    """Put sets that exclude the true class among candidate sets, and use LabelMe; write docs/audit_sets.csv."""
    lines = []
    for name in DATA:
        X, y = rows_of(name)
        K = y.max() + 1
        if K == 2:  # a set of one distractor would have all classes
            continue
        for n_distractors in (1, 2):
            for rate in RATES:
                _, wrong = put_errors(y, "uniform", rate)
                mask = make_partial_labels(y, n_distractors=n_distractors, random_state=0, classes=np.arange(K)).mask
                mask = remove_truth(mask, y, wrong)
                lines += set_lines(
                    name, f"{n_distractors + 1} labels", rate, X, CandidateSets(mask, np.arange(K)), wrong
                )
    X, y, candidates = read_labelme()
    wrong = ~candidates.mask[np.arange(len(y)), y]
    lines += set_lines("labelme", "answers", wrong.mean(), X, candidates, wrong)
    write_csv(SETS, SET_COLUMNS, lines)


def remove_truth(mask, y, wrong, seed=1):
    """Return sets in which the true class of the wrong rows is replaced by another class."""
    rng = np.random.default_rng(seed)
    mask = mask.copy()
    for i in np.flatnonzero(wrong):
        free = np.flatnonzero(~mask[i])
        if len(free):
            mask[i, rng.choice(free)] = True
            mask[i, y[i]] = False
    return mask


def set_lines(name, kind, rate, X, candidates, wrong):
    """Return the lines of one task: the audit and simple scores of the same leave-one-out predictions."""
    wrong = wrong & ~candidates.is_unlabeled
    proba = softmax(loo_logits(LOORidge().fit(X, candidates)))
    issues = find_label_issues(X, candidates)
    outside = np.where(candidates.mask, 0.0, proba).sum(axis=1)
    covered = candidates.mask[np.arange(len(proba)), proba.argmax(axis=1)]
    rates = (issues.noise_rate, *issues.noise_rate_interval)
    lines = [(name, kind, digits(rate), "oneof", *map(digits, (*figures(rank_scores(issues), wrong), *rates)))]
    for score, values in (("outside", outside), ("not covered", ~covered)):
        lines.append((name, kind, digits(rate), score, *map(digits, figures(values, wrong)), "", "", ""))
    base = wrong.mean()
    lines.append((name, kind, digits(rate), "random", digits(base), digits(base), "", "", ""))
    print(*lines[0], lines[1][4:6], lines[2][4:6], flush=True)
    return lines


def rank_scores(issues):
    """Return scores that decrease with the ranking, which is known even if the noise rate is not."""
    scores = np.full(len(issues.candidates), -float(len(issues.candidates)))
    scores[issues.ranking] = -np.arange(len(issues.ranking))
    return scores


def figures(scores, wrong, n_orders=20):
    """Return precision at the true number and average precision; ties are in random order, on average."""
    rng = np.random.default_rng(0)
    orders = (rng.permutation(len(scores)) for _ in range(n_orders))
    precision = np.mean([wrong[order][order_of(scores[order].astype(float))[: wrong.sum()]].mean() for order in orders])
    return precision, average_precision_score(wrong, scores)


def recurring(*, n_draws=12):
    """Print how often the interval of 95 % contains a rate of 20 % if each class has one frequent distractor.

    Each row has one distractor. It is the partner of its class with the probability "share", otherwise a random other
    class. "held out" are probabilities of logistic regression fitted to the true labels of as many other rows. The
    rows, sets and errors of the draws differ. Draws whose rate is unknown (NaN) are not counted.
    """
    print("| data | share | in the interval | mean estimate | held out: in the interval | mean estimate |")
    print("|---|---|---|---|---|---|")
    for name in ("Gaussian", *RECURRING_DATA):
        for share in SHARES:
            rates = np.array([recurring_rates(name, share, seed) for seed in range(n_draws)])
            cells = []
            for estimate, low, high in rates.transpose(1, 2, 0):
                known = np.isfinite(estimate)
                inside = known & (low <= RECURRING_RATE) & (high >= RECURRING_RATE)
                cells.append(f"{inside.sum()} of {known.sum()} | {three(estimate[known].mean())}")
            print(f"| {name} | {three(share) if share else 'uniform'} | {' | '.join(cells)} |", flush=True)


def recurring_rates(name, share, seed):
    """Return rates with the ends of their intervals: of the default audit, and by the held-out probabilities."""
    if name == "Gaussian":
        rng = np.random.default_rng(seed)
        y = rng.integers(5, size=2 * N_ROWS)
        X = 1.2 * rng.normal(size=(5, 8))[y] + rng.normal(size=(len(y), 8))
    else:
        X, y = rows_of(name, n_rows=2 * N_ROWS, seed=seed)
    K, n = y.max() + 1, N_ROWS
    options = {"distractors": "confusable", "epsilon": share} if share else {}
    sets = make_partial_labels(
        y[:n], n_distractors=1, noise_rate=RECURRING_RATE, classes=np.arange(K), random_state=seed, **options
    )
    proba = classifiers()["logistic"].fit(X[n:], y[n:]).predict_proba(X[:n])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the rate is unknown
        audits = find_label_issues(X[:n], sets), find_label_issues(None, sets, proba=proba)
    return [(issues.noise_rate, *issues.noise_rate_interval) for issues in audits]


def read_labelme():
    """Return features, true classes and the sets of all answers of LabelMe."""
    paths = [folder / "labelme_crowd.npz" for folder in data_folders(None)]
    with np.load(next(path for path in paths if path.exists())) as arrays:
        answers, n = arrays["answers"].astype(np.int64), len(arrays["answers"])
        X, y = arrays["X"][:n].astype(np.float64), arrays["y"][:n].astype(np.int64)
    return X, y, CandidateSets.from_annotations(answers, classes=np.arange(y.max() + 1))


def refits():
    """Compare the test accuracy of a fit with that of the refit on corrected weights; write docs/audit_refits.csv."""
    lines = []
    for name in DATA:
        X, y = rows_of(name, n_rows=3 * N_ROWS)
        n = min(N_ROWS, 2 * len(y) // 3)
        estimators = default_estimators(sparse=False, negative=True, n_rows=n, random_state=0)
        for kind, rate in (("uniform", 0.0), *((kind, rate) for kind in KINDS for rate in (0.1, 0.2))):
            given, _ = put_errors(y[:n], kind, rate)
            sets = CandidateSets.from_labels(given, classes=np.arange(y.max() + 1))
            corrected = find_label_issues(X[:n], sets).corrected()
            for method in REFITTED:
                accuracy = [
                    np.mean(clone(estimators[method]).fit(X[:n], labels).predict(X[n:]) == y[n:])
                    for labels in (sets, corrected)
                ]
                lines.append((name, kind, rate, method, *map(digits, accuracy)))
            print(*lines[-4:], flush=True)
    write_csv(REFITS, REFIT_COLUMNS, lines)


def summary():
    """Print the tables of docs/audit.md."""
    lines = read(EXACT)
    print("| probabilities | ranked by | uniform | confusable |\n|---|---|---|---|")
    for method in ("LOORidge", "logistic", "forest"):
        for finder in ("oneof", "cleanlab", "CleanLearning"):
            cells = [mean_figures(lines, probabilities=method, finder=finder, kind=kind) for kind in KINDS]
            if all(cells):
                print(f"| {method} | {finder} | {' | '.join(cells)} |")
    print("\n| | LOORidge | logistic | forest |\n|---|---|---|---|")
    for name in DATA:
        print(f"| {name} | {' | '.join(difference(lines, name, m) for m in ('LOORidge', 'logistic', 'forest'))} |")
    print(
        "\n| errors | rate | mean estimate | within a quarter | in the interval | either |\n|---|---|---|---|---|---|"
    )
    for kind in KINDS:
        for rate in RATES:
            print(rate_row(lines, kind, rate))
    lines = read(SETS)
    print("\n| data | oneof | outside | not covered | random |\n|---|---|---|---|---|")
    for name in dict.fromkeys(line["data"] for line in lines):
        cells = [mean_figures(lines, data=name, score=score) for score in ("oneof", "outside", "not covered", "random")]
        print(f"| {name} | {' | '.join(cells)} |")
    lines = read(REFITS)
    print("\n| method | errors | plain | refit | mean difference | lowest |\n|---|---|---|---|---|---|")
    for method in REFITTED:
        for rate in (0.0, 0.1, 0.2):
            print(refit_row(lines, method, rate))


def chosen(lines, **values):
    """Return the lines with these values."""
    return [line for line in lines if all(line[key] == str(value) for key, value in values.items())]


def mean_figures(lines, **values):
    """Return the mean precision and average precision of some lines, or empty text."""
    part = chosen(lines, **values)
    means = [np.mean([float(line[key]) for line in part]) for key in ("precision", "average_precision") if part]
    return " / ".join(map(three, means))


def difference(lines, name, method):
    """Return the mean differences to cleanlab of the two figures on one data set."""
    sides = [chosen(lines, data=name, probabilities=method, finder=finder) for finder in ("oneof", "cleanlab")]
    means = [
        [np.mean([float(line[key]) for line in side]) for key in ("precision", "average_precision")] for side in sides
    ]
    return " / ".join(signed(a - b) for a, b in zip(*means, strict=True))


def rate_row(lines, kind, rate):
    """Return a row of the table of noise rates, for the data sets of at least 900 rows."""
    small = {"dermatology", "pima", "wdbc"}
    part = [
        line for line in chosen(lines, kind=kind, rate=rate, probabilities="LOORidge", finder="oneof")
        if line["data"] not in small
    ]  # fmt: skip
    estimates = np.array([[float(line[key]) for key in ("noise_rate", "low", "high")] for line in part])
    near = np.abs(estimates[:, 0] - rate) <= 0.25 * rate
    inside = (estimates[:, 1] <= rate) & (rate <= estimates[:, 2])
    counts = " | ".join(f"{np.count_nonzero(x)} of {len(part)}" for x in (near, inside, near | inside))
    return f"| {kind} | {three(rate)} | {three(estimates[:, 0].mean())} | {counts} |"


def refit_row(lines, method, rate):
    """Return a row of the table of refits."""
    part = chosen(lines, method=method, rate=rate)
    plain, corrected = (np.array([float(line[key]) for line in part]) for key in ("plain", "corrected"))
    gains = corrected - plain
    cells = (three(plain.mean()), three(corrected.mean()), signed(gains.mean()), signed(gains.min()))
    return f"| {method} | {rate:.0%} | {' | '.join(cells)} |"


def three(value):
    """Return a number with three decimals and without its zero."""
    return f"{value:.3f}".replace("0.", ".", 1) if value < 1 else f"{value:.3f}"


def signed(value):
    """Return a difference with its sign and three decimals."""
    return f"{value:+.3f}".replace("0.", ".", 1)


def digits(value):
    """Return a number with four decimals."""
    return f"{value:.4f}"


def read(path):
    """Return the lines of a table as dictionaries."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


warnings.filterwarnings("ignore", module="sklearn")

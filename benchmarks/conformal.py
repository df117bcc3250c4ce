"""Coverage and mean size of prediction sets: compared with MAPIE, and calibrated by partial rows.

Part `exact` needs MAPIE, which is not a dependency of the tests; part `partial` does not.
"""

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import oneof
from benchmarks.common import Table, candidate_columns, markdown
from oneof import LOORidge, make_partial_labels
from oneof.conformal import ConformalClassifier
from oneof.estimators.loo_ridge import loo_logits
from oneof.likelihoods import softmax
from oneof.solvers.conformal import calibrate, class_scores, p_values, prediction_sets

KEY = ("part", "nominal", "data", "labels", "estimator", "method", "rule")
TABLE = Table("conformal.csv", (*KEY, "draws", "coverage", "mean_size", "accuracy"))
LEVELS = (0.9, 0.99)
"""Nominal coverages."""
EXACT = ("digits", "satimage", "letter")
SYNTHETIC = ("digits", "satimage", "letter")
REAL = ("lost", "msrcv2", "birdsong")
RULES = ("conservative", "sampled", "optimistic", "exact rows only")
MAX_ROWS = 4_000
"""Maximum number of rows of a draw, of which 30 % are for the test."""


def exact(*names: str, draws: int = 5):
    """Compare the sets with those of MAPIE on the same probabilities and rows, and with those of `LOORidge`.

    A random forest is fitted to 40 % of the rows, 30 % calibrate, and 30 % are for the test. `LOORidge` uses 70 % for
    the fit and the calibration.
    """
    from mapie.classification import SplitConformalClassifier

    results = {}
    for name in names or EXACT:
        data = oneof.datasets.load(name)
        X, y = data.X.astype(np.float64), np.unique(data.y, return_inverse=True)[1]
        for draw in range(draws):
            order = np.random.default_rng(draw).permutation(len(y))[:MAX_ROWS]
            fit, calibration, test = np.split(order, [int(0.4 * len(order)), int(0.7 * len(order))])
            forest = RandomForestClassifier(200, random_state=draw).fit(X[fit], y[fit])
            accuracy = forest.score(X[test], y[test])
            for method, randomized in (("lac", False), ("aps", False), ("aps", True)):
                ours = ConformalClassifier(
                    forest, cv="prefit", method=method, randomized=randomized, random_state=draw
                ).fit(X[calibration], y[calibration])
                masks = [ours.predict_set(X[test], coverage).mask for coverage in LEVELS]
                rule = "oneof, randomized" if randomized else "oneof"
                _add(results, (name, "exact", "forest", method, rule), masks, y[test], accuracy)
            for method in ("lac", "aps"):
                theirs = SplitConformalClassifier(
                    forest, confidence_level=list(LEVELS), conformity_score=method, prefit=True, random_state=draw
                ).conformalize(X[calibration], y[calibration])
                for option in ("randomized", True) if method == "aps" else (None,):
                    params = {} if option is None else {"conformity_score_params": {"include_last_label": option}}
                    masks = np.moveaxis(theirs.predict_set(X[test], **params)[1], 2, 0)
                    rule = "MAPIE, last class included" if option is True else "MAPIE"
                    _add(results, (name, "exact", "forest", method, rule), masks, y[test], accuracy)
            rows = np.concatenate([fit, calibration])
            ridge = LOORidge().fit(X[rows], y[rows])
            proba, evidence = softmax(ridge.inverse_temperature_ * ridge.loo_scores_), np.eye(y.max() + 1)[y[rows]]
            for method in ("lac", "aps"):
                masks = _sets(proba, ridge.predict_proba(X[test]), evidence, method, "conservative")
                key = (name, "exact", "LOORidge", method, "oneof, leave-one-out")
                _add(results, key, masks, y[test], ridge.score(X[test], y[test]))
            print(name, draw, flush=True)
    _write("exact", results)


def partial(*names: str, draws: int = 3):
    """Compare the rules of calibration by rows with candidate sets; the model is `LOORidge`, the test rows have labels.

    Half of the rows of the synthetic tables have a distractor. The leave-one-out scores calibrate.
    """
    results = {}
    for name in names or (*SYNTHETIC, *REAL):
        for kind in ("real",) if name in REAL else ("uniform", "confusable", "cooccurring"):
            for draw in range(draws):
                X, y, sets = _read(name, kind, draw)
                order = np.random.default_rng(draw).permutation(len(y))[:MAX_ROWS]
                rows, test = np.split(order, [int(0.7 * len(order))])
                model = LOORidge().fit(X[rows], sets[rows])
                proba = softmax(loo_logits(model))
                new, accuracy = model.predict_proba(X[test]), np.mean(model.predict(X[test]) == sets.classes[y[test]])
                for method in ("lac", "aps"):
                    for rule in RULES:
                        used = ~sets[rows].is_unlabeled if rule in RULES[:3] else sets[rows].is_exact
                        evidence = sets[rows[used]].evidence
                        as_rule = rule if rule in RULES[:3] else "sampled"
                        posterior = model.label_distributions_[used]
                        masks = _sets(proba[used], new, evidence, method, as_rule, posterior)
                        _add(results, (name, kind, "LOORidge", method, rule), masks, y[test], accuracy)
                print(name, kind, draw, flush=True)
    _write("partial", results)


def summary():
    """Print the tables of docs/conformal.md: coverage, and mean size of the sets."""
    for part, names in (("exact", EXACT), ("partial", (*SYNTHETIC, *REAL))):
        for nominal in LEVELS:
            lines = sorted(TABLE.where(part=part, nominal=nominal), key=lambda line: names.index(line["data"]))
            row_name, column_name = (_by_model, _by_data) if part == "exact" else (_by_data, _by_model)
            cells = {(row_name(line), column_name(line)): _cell(line) for line in lines}
            rows, columns = (list(dict.fromkeys(key[axis] for key in cells)) for axis in (0, 1))
            table = [[row, *(cells.get((row, column), "") for column in columns)] for row in rows]
            print(markdown([f"{nominal:g}", *columns], table), end="\n\n")


def _by_model(line):
    """Return the score and the rule, or the library, of a line of the file."""
    name = f"{line['method'].upper()}, {line['rule']}"
    return name if line["part"] == "partial" else f"{line['estimator']}, {name}"


def _by_data(line):
    """Return the data set and the kind of labels of a line of the file."""
    return line["data"] if line["labels"] in ("exact", "real") else f"{line['data']}, {line['labels']}"


def _cell(line):
    """Return the coverage and the mean size."""
    return f"{float(line['coverage']):.3f}".lstrip("0") + f", {float(line['mean_size']):.2f}"


def _read(name, kind, draw):
    """Return rows, the columns of their true labels, and candidate sets."""
    data = oneof.datasets.load(name)
    if kind == "real":
        return data.X.astype(np.float64), candidate_columns(data), data.candidates
    y = np.unique(data.y, return_inverse=True)[1]
    sets = make_partial_labels(y, fraction=0.5, n_distractors=1, distractors=kind, random_state=1000 + draw)
    return data.X.astype(np.float64), y, sets


def _sets(proba, new, evidence, method, rule, posterior=None):
    """Return the prediction sets of new rows by one model, for each of the levels."""
    calibrated = calibrate(class_scores(proba, method), proba, evidence, calibration=rule, posterior=posterior)
    p = p_values([calibrated], [class_scores(new, method)])
    return [prediction_sets(p, coverage, new) for coverage in LEVELS]


def _add(results, key, masks, y, accuracy):
    """Add the coverage, the mean size and the accuracy of a draw, for each of the levels."""
    for coverage, mask in zip(LEVELS, masks, strict=True):
        numbers = mask[np.arange(len(y)), y].mean(), mask.sum(axis=1).mean(), accuracy
        results.setdefault((coverage, *key), []).append(numbers)


def _write(part, results):
    """Replace lines of the table by means over the draws."""
    lines = [
        (part, *key, len(values), *(f"{number:.4f}" for number in np.mean(values, axis=0)))
        for key, values in sorted(results.items())
    ]
    TABLE.replace(lines, *KEY, by=KEY[:1])

"""Labels with probabilities: lists of a weak classifier, compared with sets and one label.

Rows are permuted by `numpy.random.default_rng(seed)`. The first rows train a weak classifier, the next 1,500 are
fitted, and at most 3,000 further rows are the test rows. There are two weak classifiers:

* "few rows": with all features of 3 % of the rows.
* "few features": with a random quarter of the features, at least four, of a quarter of the rows, at most 1,000.

They are logistic regressions for numbers, and naive Bayes for word counts. The label of a row is the list of its three
most probable classes with their probabilities; the remaining probability is divided among the other classes. Methods
learn from the lists alone, with the settings and scalers of `compare`; true labels are used for the accuracies only.
The protocol was fixed on the sets of `DEVELOPMENT`. Those of `FINAL` were not used before, except that the smoothing
of naive Bayes was set after its accuracy on 20 Newsgroups had been seen (.33 with alpha = 1).
"""

import csv

import numpy as np
import scipy.sparse as sp
from scipy.optimize import brentq
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

import oneof
from benchmarks.common import DOCS
from oneof import CandidateSets
from oneof.comparison import default_estimators
from oneof.datasets import load
from oneof.model_selection import calibrate_posteriors
from oneof.model_selection.temperature import scale_proba

DEVELOPMENT = ("segment", "pendigits", "usps", "letter", "reuters21578")
FINAL = ("satimage", "news20")
SOURCES = ("few rows", "few features")
METHODS = ("LOORidge", "PLEM", "CLPL", "PLSVM", "AvgPegasos", "PLKNN", "GaussianEM", "MultinomialEM")
GENERATED = ("segment", "pendigits", "letter", "satimage")
FORMS = ("weights", "listed only", "as likelihood", "sets", "first label", "true labels")
FORMS += ("T = 0.25", "T = 0.5", "T = 2", "T = 4")
N_LISTED, MAX_TRAIN, MAX_TEST = 3, 1500, 3000
CALIBRATED, UNIFORM = ("news20", "reuters21578", "letter", "usps"), "LOORidge, uniform distractors"
LISTS, CROWD = DOCS / "weights_lists.csv", DOCS / "weights_crowd.csv"
COLUMNS = ("set", "source", "seed", "method", "label", "accuracy")


# -- Data --------------------------------------------------------------------------------------------------------------


def read_rows(name):
    """Return the features, and the true labels as 0, ..., K - 1; rows with several topics or none are left out."""
    data = load(name)
    known = np.flatnonzero(data.candidates.is_exact)
    truth = np.unique(data.candidates.mask[known].argmax(axis=1), return_inverse=True)[1]
    return (data.X[known].tocsr() if sp.issparse(data.X) else data.X[known].astype(np.float64)), truth


def heat(y, temperature):
    """Return the same labels with the weights raised to the power 1 / temperature."""
    return CandidateSets.from_weights(y.weights ** (1 / temperature), y.classes)


def weak_probabilities(X, truth, labeled, rows, source, seed):
    """Return the class probabilities of some rows by a weak classifier that was fitted to other rows."""
    columns = np.arange(X.shape[1])
    if source == "few features":
        columns = np.random.default_rng(100 + seed).permutation(columns)[: max(4, len(columns) // 4)]
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    classifier = MultinomialNB(alpha=0.1) if sp.issparse(X) else logistic
    classifier.fit(X[labeled][:, columns], truth[labeled])
    P = np.zeros((len(rows), truth.max() + 1))
    P[:, classifier.classes_] = classifier.predict_proba(X[rows][:, columns])
    return P


class Task:
    """The lists of one set, weak classifier and seed: `P`, features and true labels of the fitted and test rows."""

    def __init__(self, name, source, seed):
        X, truth = read_rows(name)
        order, n = np.random.default_rng(seed).permutation(len(truth)), len(truth)
        size = round(0.03 * n) if source == "few rows" else min(n // 4, 1000)
        labeled, train = order[:size], order[size:][:MAX_TRAIN]
        test = order[size + len(train) :][:MAX_TEST]
        both = weak_probabilities(X, truth, labeled, np.concatenate([train, test]), source, seed)
        self.P, self.weak_accuracy = both[: len(train)], (both[len(train) :].argmax(axis=1) == truth[test]).mean()
        if sp.issparse(X):
            X = TfidfTransformer(sublinear_tf=True).fit(X[train]).transform(X)
        self.X, self.truth, self.X_test, self.truth_test = X[train], truth[train], X[test], truth[test]
        self.listed = np.zeros(self.P.shape, dtype=bool)
        np.put_along_axis(self.listed, np.argsort(-self.P, axis=1, kind="stable")[:, :N_LISTED], True, axis=1)

    def labels(self, form):
        """Return the labels of the fitted rows in one form."""
        classes = np.arange(self.P.shape[1])
        if form == "true labels":
            return CandidateSets.from_labels(self.truth, classes=classes)
        if form == "first label":
            return CandidateSets.from_labels(self.P.argmax(axis=1), classes=classes)
        if form == "sets":
            return CandidateSets(self.listed, classes)
        P = np.where(self.listed, self.P, 0)
        if form == "listed only":
            return CandidateSets.from_weights(P, classes, kind="posterior")
        if form == "as likelihood":
            return CandidateSets.from_weights(P, classes, rest=True)
        y = CandidateSets.from_weights(P, classes, kind="posterior", rest=True)
        return y if form == "weights" else heat(y, float(form.removeprefix("T = ")))

    def fit_logistic_regression(self):
        """Return logistic regression on repeated rows: each listed class with its probability as the sample weight."""
        row, label = np.nonzero(self.listed)
        share = np.where(self.listed, self.P, 0) / np.where(self.listed, self.P, 0).sum(axis=1, keepdims=True)
        scaler = MaxAbsScaler() if sp.issparse(self.X) else StandardScaler()
        scaled = scaler.fit_transform(self.X)
        model = LogisticRegression(max_iter=1000).fit(scaled[row], label, sample_weight=share[row, label])
        return make_pipeline(scaler, model)


def make_estimators(X, n_rows):
    """Return the compared estimators of `compare` by name."""
    sparse = sp.issparse(X)
    panel = default_estimators(sparse=sparse, n_rows=n_rows)
    panel.pop("MultinomialEM" if not sparse else "", None)
    return {name: panel[name] for name in METHODS if name in panel}


# -- Runs --------------------------------------------------------------------------------------------------------------


class Table:
    """A csv of accuracies, to which lines are added; a line that is there is not computed again."""

    def __init__(self, path):
        self.path, self.lines = path, {}
        if path.exists():
            with path.open(newline="", encoding="utf-8") as file:
                self.lines = {tuple(line[:-1]): float(line[-1]) for line in list(csv.reader(file))[1:]}

    def add(self, key, compute):
        """Compute the accuracy of a line unless it is there, and append it to the file."""
        key = tuple(map(str, key))
        if key not in self.lines:
            self.lines[key] = float(compute())
            header = not self.path.exists()
            with self.path.open("a", newline="", encoding="utf-8") as file:
                writer = csv.writer(file, lineterminator="\n")
                if header:
                    writer.writerow(COLUMNS)
                writer.writerow((*key, f"{self.lines[key]:.4f}"))


def lists(*sets: str, forms="", methods=""):
    """Add the accuracies of all methods and forms of the labels to docs/weights_lists.csv, and print the means.

    Options restrict the run to some data sets, forms or methods, separated by commas. Lines in the file are kept: an
    interrupted run is continued by the same command. There are five seeds for satimage, and three for the other sets.
    """
    table = Table(LISTS)
    for name, seed, source in tasks(sets or (*DEVELOPMENT, *FINAL)):
        task = Task(name, source, seed)
        table.add((name, source, seed, "weak classifier", ""), lambda task=task: task.weak_accuracy)
        table.add(
            (name, source, seed, "LogisticRegression", "soft labels"),
            lambda task=task: (task.fit_logistic_regression().predict(task.X_test) == task.truth_test).mean(),
        )
        labels = {form: task.labels(form) for form in (forms.split(",") if forms else FORMS)}
        add_accuracies(table, (name, source, seed), task, labels, methods)
    if not (forms or methods):
        summary()


def temperatures(*sets: str, methods=""):
    """Add the accuracies on generated weights, calibrated and with a known temperature, to docs/weights_lists.csv.

    Each of the rows of "few rows" gets two uniform distractors, and weights by `make_partial_labels(weights="graded")`.
    """
    table = Table(LISTS)
    for name, seed, source in tasks(sets or GENERATED):
        if source == "few rows":
            task = Task(name, source, seed)
            options = {"n_distractors": 2, "classes": np.arange(task.P.shape[1]), "random_state": seed}
            graded = {
                form: oneof.make_partial_labels(
                    task.truth, weights="graded", temperature=float(form.removeprefix("T = ")), **options
                )
                for form in ("T = 1", *FORMS[-4:])
            }
            calibrated = graded.pop("T = 1")
            first = CandidateSets.from_labels(calibrated.weights.argmax(axis=1), classes=options["classes"])
            labels = {"weights": calibrated, **graded}
            labels |= {"sets": CandidateSets(calibrated.mask, options["classes"]), "first label": first}
            add_accuracies(table, (name, "generated", seed), task, labels, methods)


def with_confidence(P, confidence):
    """Return probabilities to a power, such that the mean of the largest one of a row is as given."""

    def scaled(log_temperature):
        return scale_proba(P, np.exp(log_temperature))

    return scaled(brentq(lambda t: scaled(t).max(axis=1).mean() - confidence, -8.0, 8.0))


def calibrated(*sets):
    """Add the accuracies on flat, printed and sharp lists, as they are and calibrated, to docs/weights_lists.csv.

    The mean confidence of flat lists is a third of the accuracy of their first labels, that of sharp ones is .98.
    """
    table = Table(LISTS)
    for name, source in [(name, source) for name in sets or CALIBRATED for source in SOURCES]:
        task = Task(name, source, 0)
        first, ridge = task.P.argmax(axis=1), default_estimators(sparse=sp.issparse(task.X))["LOORidge"]
        ridge[-1].set_params(distractors="uniform")
        scaler = MaxAbsScaler() if sp.issparse(task.X) else StandardScaler()
        model = clone(ridge).fit(task.X, first)
        held_out = model[-1].classes_[model[-1].loo_scores_.argmax(axis=1)]
        fits = {"first label": (clone(ridge), first)}
        for form, confidence in (("flat", (first == task.truth).mean() / 3), ("printed", None), ("sharp", 0.98)):
            P = task.P if confidence is None else with_confidence(task.P, confidence)
            P = np.where(task.listed, np.maximum(P, 1e-9), 0.0)
            fits[form] = clone(ridge), CandidateSets.from_weights(P, kind="posterior", rest=True)
            printed = CandidateSets.from_weights(P, rest=True)
            fits[f"{form}, calibrated"] = clone(ridge), calibrate_posteriors(printed, held_out)
        for label, (estimator, y) in fits.items():
            add_accuracy(table, (name, source, 0, UNIFORM, label), task, estimator, y)
        logistic = make_pipeline(scaler, LogisticRegression(max_iter=1000))
        add_accuracy(table, (name, source, 0, "LogisticRegression", "first label"), task, logistic, first)


def add_accuracy(table, key, task, estimator, y):
    """Add the accuracy of an estimator that is fitted to some labels."""

    def accuracy():
        predictions = estimator.fit(task.X, y).predict(task.X_test)
        return (predictions == task.truth_test).mean()

    table.add(key, accuracy)


def tasks(sets):
    """Yield the data set, seed and weak classifier of all tasks."""
    for name in sets:
        for seed in range(5 if name == "satimage" else 3):
            for source in SOURCES:
                yield name, seed, source


def add_accuracies(table, key, task, labels, methods):
    """Add a line for each of the methods, or all if empty, and each form of the labels."""
    for method, estimator in make_estimators(task.X, len(task.truth)).items():
        if not methods or method in methods.split(","):
            for form, y in labels.items():
                add_accuracy(table, (*key, method, form), task, clone(estimator), y)


# -- Tables and figure -------------------------------------------------------------------------------------------------

MEAN_METHODS = ("LOORidge", "PLEM", "CLPL", "PLSVM", "AvgPegasos", "PLKNN", "EM")


def read_means(path=LISTS):
    """Return the accuracies of the file, a list over the seeds, by (set, source, method, label)."""
    values = {}
    for (name, source, _, method, label), accuracy in Table(path).lines.items():
        values.setdefault((name, source, method, label), []).append(accuracy)
    return values


def lookup(values, pair, method, label):
    """Return the accuracies of a task over the seeds, or None; "EM" is GaussianEM, or MultinomialEM for texts."""
    names = ("GaussianEM", "MultinomialEM") if method == "EM" else (method,)
    return next((values[key] for name in names if (key := (*pair, name, label)) in values), None)


def mean_over_tasks(values, pairs, method, label):
    """Return the mean over data sets and weak classifiers, or NaN if one of them is absent."""
    runs = [lookup(values, pair, method, label) for pair in pairs]
    return np.nan if None in runs else np.mean([np.mean(each) for each in runs])


def difference(values, pairs, method, other):
    """Format the mean of the accuracy with weights minus another one, and its deviation over tasks and seeds."""
    first = [lookup(values, pair, method, "weights") for pair in pairs]
    second = [lookup(values, pair, *other) for pair in pairs]
    if None in first + second:
        return ""
    gaps = [np.array(x[: len(y)]) - np.array(y[: len(x)]) for x, y in zip(first, second, strict=True)]
    mean, deviation = np.mean([np.mean(gap) for gap in gaps]), np.std(np.concatenate(gaps))
    return f"{mean:+.3f} ± {deviation:.3f}".replace("0.", ".")


def cell(value):
    """Format an accuracy."""
    return value if isinstance(value, str) else "" if np.isnan(value) else f"{value:.3f}".removeprefix("0")


def print_table(title, columns, lines):
    """Print a table in Markdown, without empty lines."""
    print(f"\n{title}\n\n| | " + " | ".join(columns) + " |\n|---" + "|---" * len(columns) + "|")
    for name, values in lines:
        if any(map(cell, values)):
            print(f"| {name} | " + " | ".join(map(cell, values)) + " |")


def print_group(title, values, pairs):
    """Print the accuracies of the forms of the labels, and the differences between weights and the other forms."""
    columns = ["weights", "sets", "first label", "true labels"]
    lines = []
    for method in MEAN_METHODS:
        accuracies = [mean_over_tasks(values, pairs, method, form) for form in columns]
        others = ((method, "sets"), (method, "first label"), ("LogisticRegression", "soft labels"))
        lines.append((method, [*accuracies, *(difference(values, pairs, method, other) for other in others)]))
    print_table(title, [*columns, "minus sets", "minus first label", "minus soft labels"], lines)
    for key in (("weak classifier", ""), ("LogisticRegression", "soft labels")):
        print(f"{' '.join(key)}: {cell(mean_over_tasks(values, pairs, *key))}")


def summary():
    """Print the tables of docs/weights.md."""
    values = read_means()
    groups = {"satimage and 20 Newsgroups": FINAL, "Five further data sets": DEVELOPMENT}
    for title, sets in groups.items():
        print_group(title, values, [(name, source) for name in sets for source in SOURCES])
    for pair in [(name, source) for name in (*FINAL, *DEVELOPMENT) for source in SOURCES]:
        print_group(", ".join(pair), values, [pair])
    columns = ["weights", "listed only", "as likelihood", "T = 0.25", "T = 0.5", "T = 2", "T = 4"]
    tables = {"Forms of the weights, satimage": [(name, source) for name in FINAL[:1] for source in SOURCES]}
    tables["Forms of the weights, 20 Newsgroups"] = [(name, source) for name in FINAL[1:] for source in SOURCES]
    tables["Forms of the weights, other sets"] = [(name, source) for name in DEVELOPMENT for source in SOURCES]
    for title, pairs in tables.items():
        used = [form for form in columns if any(mean_over_tasks(values, pairs, name, form) > 0 for name in METHODS)]
        lines = [(name, [mean_over_tasks(values, pairs, name, form) for form in used]) for name in MEAN_METHODS]
        print_table(title, used, lines)
    columns = ["T = 0.25", "T = 0.5", "weights", "T = 2", "T = 4", "sets", "first label"]
    pairs = [(name, "generated") for name in GENERATED]
    lines = [(method, [mean_over_tasks(values, pairs, method, form) for form in columns]) for method in MEAN_METHODS]
    print_table("Generated weights", columns, lines)
    forms, lines = ("flat", "printed", "sharp"), []
    for name, source in [(name, source) for name in CALIBRATED for source in SOURCES]:
        of_first = [
            mean_over_tasks(values, [(name, source)], method, "first label")
            for method in ("LogisticRegression", UNIFORM)
        ]
        for state, suffix, firsts in (("as they are", "", of_first), ("calibrated", ", calibrated", ["", ""])):
            accuracies = [mean_over_tasks(values, [(name, source)], UNIFORM, form + suffix) for form in forms]
            lines.append((f"{name}, {source}, {state}", [*firsts, *accuracies]))
    print_table("Calibrated lists", ["LogisticRegression, first label", "LOORidge, first label", *forms], lines)
    means = {}
    for (*_, part, method, label), accuracy in Table(CROWD).lines.items():
        means.setdefault((method, label, part == "all"), []).append(accuracy)
    columns = ["all answers", "most votes", "vote shares", "reliability 0.7", "reliability 0.7, T = 4"]
    columns += ["reliability estimated", "confusions estimated", "true labels", "soft labels"]
    for everything, title in ((True, "LabelMe, 1,000 images"), (False, "LabelMe, 800 images")):
        lines = [
            (method, [np.mean(means.get((method, label, everything), np.nan)) for label in columns])
            for method in (*MEAN_METHODS, "GaussianEM", "LogisticRegression")
        ]
        print_table(title, columns, lines)


def figure():
    """Plot the accuracies by form of the labels, and by temperature, in docs/weights.png."""
    import matplotlib.pyplot as plt

    from oneof.plots.style import PALETTE, SERIES, style_axes

    values = read_means()
    figure, axes = plt.subplots(1, 3, figsize=(11.5, 4.6), layout="constrained", width_ratios=(1, 1, 1.15))
    for ax, title, sets in zip(
        axes, ("satimage and 20 Newsgroups", "Five further data sets"), (FINAL, DEVELOPMENT), strict=False
    ):
        pairs = [(name, source) for name in sets for source in SOURCES]
        methods = [name for name in MEAN_METHODS if not np.isnan(mean_over_tasks(values, pairs, name, "weights"))]
        y = np.arange(len(methods))
        marks = (("sets", "s", "muted", "sets of three"), ("first label", "o", "second", "first label"))
        points = {}
        for form, marker, color, label in (*marks, ("weights", "D", "accent", "weights")):
            points[form] = [mean_over_tasks(values, pairs, name, form) for name in methods]
            ax.plot(points[form], y, marker, color=PALETTE[color], label=label, ms=7, zorder=3)
        ax.hlines(y, points["sets"], points["weights"], color=PALETTE["rule"], lw=2)
        soft = mean_over_tasks(values, pairs, "LogisticRegression", "soft labels")
        ax.axvline(soft, color=PALETTE["ink"], lw=1, ls=":", label="logistic regression on soft labels")
        ax.set_yticks(y, methods)
        ax.invert_yaxis()
        ax.set_xlabel("test accuracy")
        ax.set_title(title, loc="left", fontsize=10.5)
        style_axes(ax, grid="x")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower left", ncols=4, frameon=False, fontsize=9)
    forms = ("T = 0.25", "T = 0.5", "weights", "T = 2", "T = 4")
    pairs = [(name, "generated") for name in GENERATED]
    for name, color in zip(METHODS, (*SERIES, PALETTE["muted"], PALETTE["ink"]), strict=False):
        curve = [mean_over_tasks(values, pairs, name, form) for form in forms]
        if not np.isnan(curve).any():
            axes[2].plot(range(len(forms)), curve, "o-", color=color, ms=4)
            axes[2].annotate(
                name, (len(forms) - 1, curve[-1]), (6, -3), textcoords="offset points", fontsize=8.5, color=color
            )
    axes[2].set_xticks(range(len(forms)), ["0.25", "0.5", "1", "2", "4"])
    axes[2].set_xlabel("temperature (1 is calibrated)")
    axes[2].set_xlim(-0.2, len(forms) + 0.3)
    axes[2].set_ylabel("test accuracy")
    axes[2].set_title("Generated weights, four data sets", loc="left", fontsize=10.5)
    style_axes(axes[2], grid="y")
    figure.savefig(DOCS / "weights.png", dpi=130)

"""Labels from the answers of annotators, and classifiers fitted to them, with known true labels for evaluation.

The data sets are LabelMe (Rodrigues & Pereira 2018; 1,000 images with answers, 500 for validation, 1,188 for the
test), bluebirds (Welinder et al. 2010), dog and web (Zhou et al. 2012). The last three have no features: their files
in the folder of the data sets are arrays of answers and true labels.

The rules are those of plf_trec (Yu et al. 2022), which vote for sets, and of lf_trec, lf_youtube and lf_chemprot
(WRENCH, Zhang et al. 2021), which vote for labels. All classifiers have the same features, tf-idf weights.
"""

from functools import partial

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression

import oneof
from benchmarks.common import Table, candidate_columns, markdown, read_arrays, timed
from oneof import CandidateSets
from oneof.crowd import AnnotatorModel, Answers, CrowdClassifier, krippendorff_alpha
from oneof.datasets import load

TABLE = Table(
    "crowds.csv", ("part", "data", "method", "rows", "correct_labels", "validation", "test", "alpha", "seconds")
)
ANSWERS = ("labelme", "bluebirds", "dog", "web")
N_VALIDATION = 500
MANY_ANSWERS = 20
CLASSIFIERS = {"LOORidge": oneof.LOORidge, "GaussianEM tied": lambda: oneof.GaussianEM(covariance="tied")}
RULES = ("plf_trec", "lf_trec", "lf_youtube", "lf_chemprot")


def read_answers(name):
    """Return the (rows, annotators) table of answers, and the true classes, both -1 if missing."""
    arrays = read_arrays(f"{name}_crowd.npz")
    table = arrays["answers"].astype(np.int64)
    return table, arrays["y"][: len(table)].astype(np.int64)


def vote_correct(table, truth):
    """Return the expected fraction of correct labels by the most votes, ties at random."""
    votes = (table[:, :, None] == np.unique(table[table >= 0])).sum(axis=1)
    tied = votes == votes.max(axis=1, keepdims=True)
    known = truth >= 0
    return (tied / tied.sum(axis=1, keepdims=True))[known, truth[known]].mean()


def aggregation():
    """Write the fractions of correct labels by votes and by `AnnotatorModel`, from the answers alone."""
    lines = []
    for name in ANSWERS:
        table, truth = read_answers(name)
        known = truth >= 0
        model, seconds = timed(partial(AnnotatorModel().fit, table))
        alpha = f"{krippendorff_alpha(table):.3f}"
        correct = (model.transduction_ == truth)[known].mean()
        found = {"votes": (vote_correct(table, truth), ""), "AnnotatorModel": (correct, f"{seconds:.1f}")}
        for method, (value, spent) in found.items():
            lines.append(("aggregation", name, method, len(table), f"{value:.4f}", "", "", alpha, spent))
    write(lines)


def write(lines):
    """Replace the lines of the same part, data set and method."""
    TABLE.replace(lines, "part", "data", "method", by=("part", "data"))


def intervals():
    """Print the fractions of annotators whose interval of 90 % contains the fraction of their correct answers.

    The answers of rows with known labels are counted. An annotator without such answers, or of unknown accuracy, is
    omitted.
    """
    lines = []
    for name in ANSWERS:
        table, truth = read_answers(name)
        known = truth >= 0
        model = AnnotatorModel().fit(table)
        given = table[known] >= 0
        counts = given.sum(axis=0)
        used = (counts > 0) & ~np.isnan(model.accuracy_)
        realized = ((table[known] == truth[known, None]) & given).sum(axis=0)[used] / counts[used]
        low, high = model.accuracy_interval_[used].T
        inside = (low <= realized) & (realized <= high)
        many = counts[used] >= MANY_ANSWERS
        confidence = model.posterior_[known].max(axis=1).mean()
        correct = (model.transduction_ == truth)[known].mean()
        figures = f"{inside.mean():.2f}", f"{inside[many].mean():.2f}", f"{confidence:.3f}", f"{correct:.3f}"
        lines.append([name, f"{len(inside)}, {many.sum()}", *(figure.removeprefix("0") for figure in figures)])
    columns = ("annotators", "all annotators", "with 20 or more answers", "mean posterior", "right labels")
    print(markdown(["crowd", *columns], lines))


def classifiers():
    """Write the accuracies on LabelMe of classifiers fitted to the sets of all answers and by `CrowdClassifier`."""
    data = load("labelme_crowd")
    table, truth, X = data.annotations, candidate_columns(data), data.X.astype(np.float64)
    n, classes = len(table), np.arange(len(data.classes))
    sets = CandidateSets.from_annotations(table, classes=classes)
    parts = slice(n, n + N_VALIDATION), slice(n + N_VALIDATION, None)
    lines = []
    for name, make in CLASSIFIERS.items():
        fits = {
            "sets": partial(fit_sets, make(), X[:n], sets),
            "CrowdClassifier": partial(fit_crowd, make(), X[:n], table),
        }
        for form, fit in fits.items():
            (labels, model), seconds = timed(fit)
            rates = [(labels == truth[:n]).mean(), *((model.predict(X[rows]) == truth[rows]).mean() for rows in parts)]
            figures = (*(f"{rate:.4f}" for rate in rates), "", f"{seconds:.1f}")
            lines.append(("classifiers", "labelme", f"{name} ({form})", n, *figures))
    write(lines)


def fit_sets(model, X, sets):
    """Return the training labels and the classifier of an estimator."""
    fitted = model.fit(X, sets)
    return fitted.disambiguate().labels, fitted


def fit_crowd(model, X, answers):
    """Return the training labels and the classifier of a `CrowdClassifier`."""
    fitted = CrowdClassifier(model, random_state=0).fit(X, answers)
    return fitted.transduction_, fitted


def rules():
    """Write the accuracies of classifiers fitted to the votes of rules, and of the labels of rows with votes."""
    lines = []
    for name in RULES:
        data, truth, n, validation, votes = _read_rules(name)
        X = TfidfTransformer(sublinear_tf=True).fit(data.X[:n]).transform(data.X)
        parts = slice(n, n + validation), slice(n + validation, None)
        sets = CandidateSets(data.candidates.mask[:n], np.arange(len(data.classes)))
        for method, fit in {
            "votes, LogisticRegression": partial(fit_votes, X[:n], votes),
            "LOORidge (sets)": partial(fit_sets, oneof.LOORidge(), X[:n], sets),
            "LOORidge (CrowdClassifier)": partial(fit_crowd, oneof.LOORidge(), X[:n], votes.rules),
            "LogisticRegression (CrowdClassifier)": partial(fit_crowd, make_logistic(), X[:n], votes.rules),
        }.items():
            (labels, model), seconds = timed(fit)
            correct = np.mean((labels == truth[:n])[votes.n_votes > 0])
            rates = [
                f"{np.mean(model.predict(X[rows]) == truth[rows]):.4f}" if len(truth[rows]) else "" for rows in parts
            ]
            lines.append(("rules", name, method, n, f"{correct:.4f}", *rates, "", f"{seconds:.1f}"))
            print(*lines[-1], flush=True)
    write(lines)


def make_logistic():
    """Return logistic regression with the settings of the table."""
    return LogisticRegression(C=10, max_iter=1000)


def fit_votes(X, votes):
    """Return the labels with the most votes, ties at random, and logistic regression fitted to the rows with votes."""
    noise = np.random.default_rng(0).random(votes.shares.shape)
    labels = (votes.shares + 1e-6 * noise).argmax(axis=1)
    voted = votes.n_votes > 0
    return labels, make_logistic().fit(X[voted], labels[voted])


class Votes:
    """The votes of rules about the training rows."""

    def __init__(self, votes, sets):
        table = np.full(votes.shape, None, dtype=object)
        for i, j in zip(*np.nonzero(votes >= 0)):
            table[i, j] = np.flatnonzero(sets[j, votes[i, j]]).tolist()
        self.n_votes = (votes >= 0).sum(axis=1)
        self.rules = Answers.from_table(table[:, (votes >= 0).any(axis=0)], classes=range(sets.shape[2]))
        members = sets[np.arange(votes.shape[1]), votes] * (votes >= 0)[:, :, None]
        self.shares = (members / np.maximum(members.sum(axis=2, keepdims=True), 1)).sum(axis=1)


def _read_rules(name):
    """Return the data set, the true classes, the numbers of training and validation rows, and the votes."""
    data, arrays = load(name), read_arrays(f"{name}.npz")
    n = data.n_train
    sets = np.unpackbits(arrays["source_sets"], axis=2, count=len(data.classes)).astype(bool)
    return data, candidate_columns(data), n, int(arrays.get("n_valid", 0)), Votes(arrays["votes"][:n].astype(int), sets)

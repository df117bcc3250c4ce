"""Labels from the answers of annotators, and classifiers fitted to them, with known true labels for evaluation.

The data sets are LabelMe (Rodrigues & Pereira 2018; 1,000 images with answers, 500 for validation, 1,188 for the
test), bluebirds (Welinder et al. 2010), dog and web (Zhou et al. 2012). The last three have no features: their files
in the folder of the data sets are arrays of answers and true labels.

The rules are those of plf_trec (Yu et al. 2022), which vote for sets, and of lf_trec, lf_youtube and lf_chemprot
(WRENCH, Zhang et al. 2021), which vote for labels. All classifiers have the same features, tf-idf weights.
"""

import csv
import time

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression

import oneof
from benchmarks.common import DOCS, candidate_columns, write_csv
from oneof import CandidateSets
from oneof.crowd import AnnotatorModel, Answers, CrowdClassifier, krippendorff_alpha
from oneof.datasets import load
from oneof.datasets.cache import data_folders
from oneof.likelihoods import softmax

TABLE = DOCS / "crowds.csv"
COLUMNS = ("part", "data", "method", "rows", "correct_labels", "validation", "test", "alpha", "seconds")
ANSWERS = ("labelme", "bluebirds", "dog", "web")
N_VALIDATION = 500
MANY_ANSWERS = 20
CLASSIFIERS = {
    "LOORidge": oneof.LOORidge,
    "GaussianEM tied": lambda: oneof.GaussianEM(covariance="tied"),
}

RULES = ("plf_trec", "lf_trec", "lf_youtube", "lf_chemprot")


def read_arrays(file):
    """Return the arrays of a file in the folder of the data sets."""
    files = [folder / file for folder in data_folders(None)]
    with np.load(next(path for path in files if path.exists())) as arrays:
        return dict(arrays)


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
        start = time.process_time()
        model = AnnotatorModel().fit(table)
        seconds = time.process_time() - start
        alpha = f"{krippendorff_alpha(table):.3f}"
        correct = (model.transduction_ == truth)[known].mean()
        for method, value, cost in (("votes", vote_correct(table, truth), None), ("AnnotatorModel", correct, seconds)):
            spent = "" if cost is None else f"{cost:.1f}"
            lines.append(("aggregation", name, method, len(table), f"{value:.4f}", "", "", alpha, spent))
    _write("aggregation", lines)


def intervals():
    """Print the fractions of annotators whose interval of 90 % contains the fraction of their correct answers.

    The answers of rows with known labels are counted. An annotator without such answers, or of unknown accuracy, is
    omitted.
    """
    print(
        "| crowd | annotators | all annotators | with 20 or more answers | mean posterior | right labels |\n"
        "|---|---|---|---|---|---|"
    )
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
        cells = " | ".join(figure.removeprefix("0") for figure in figures)
        print(f"| {name} | {len(inside)}, {many.sum()} | {cells} |", flush=True)


def classifiers():
    """Write the accuracies on LabelMe of classifiers fitted to the sets of all answers and by `CrowdClassifier`."""
    data = load("labelme_crowd")
    table, truth, X = data.annotations, candidate_columns(data), data.X.astype(np.float64)
    n, classes = len(table), np.arange(len(data.classes))
    sets = CandidateSets.from_annotations(table, classes=classes)
    parts = slice(n, n + N_VALIDATION), slice(n + N_VALIDATION, None)
    lines = []
    for name, make in CLASSIFIERS.items():
        for form in ("sets", "CrowdClassifier"):
            start = time.process_time()
            if form == "sets":
                model = make().fit(X[:n], sets)
                labels = model.disambiguate().labels
            else:
                model = CrowdClassifier(make(), random_state=0).fit(X[:n], table)
                labels = model.transduction_
            seconds = time.process_time() - start
            rates = [(labels == truth[:n]).mean(), *((model.predict(X[rows]) == truth[rows]).mean() for rows in parts)]
            figures = (*(f"{rate:.4f}" for rate in rates), "", f"{seconds:.1f}")
            lines.append(("classifiers", "labelme", f"{name} ({form})", n, *figures))
    _write("classifiers", lines)


def rules():
    """Write the accuracies of classifiers fitted to the votes of rules, and of the labels of rows with votes."""
    lines = []
    for name in RULES:
        data, truth, n, validation, votes = _read_rules(name)
        X = TfidfTransformer(sublinear_tf=True).fit(data.X[:n]).transform(data.X)
        parts = slice(n, n + validation), slice(n + validation, None)
        for method, fit in _rule_methods(X[:n], data.candidates[:n], truth[:n], votes).items():
            start = time.process_time()
            labels, model = fit()
            seconds = time.process_time() - start
            voted = votes.n_votes > 0
            correct = np.mean((labels == truth[:n])[voted])
            rates = [
                f"{np.mean(model.predict(X[rows]) == truth[rows]):.4f}" if len(truth[rows]) else "" for rows in parts
            ]
            lines.append(("rules", name, method, n, f"{correct:.4f}", *rates, "", f"{seconds:.1f}"))
            print(*lines[-1], flush=True)
    _write("rules", lines)


class Votes:
    """The votes of rules about the training rows."""

    def __init__(self, votes, sets):
        self.codes = votes
        table = np.full(votes.shape, None, dtype=object)
        for i, j in zip(*np.nonzero(votes >= 0)):
            table[i, j] = np.flatnonzero(sets[j, votes[i, j]]).tolist()
        table = table[:, (votes >= 0).any(axis=0)]
        self.n_votes = (votes >= 0).sum(axis=1)
        classes = range(sets.shape[2])
        self.rules = Answers.from_table(table, classes=classes)
        self.annotators = Answers.from_table(table, classes=classes, select_rows=False)
        members = sets[np.arange(votes.shape[1]), votes] * (votes >= 0)[:, :, None]
        self.shares = (members / np.maximum(members.sum(axis=2, keepdims=True), 1)).sum(axis=1)


def _read_rules(name):
    """Return the data set, the true classes, the numbers of training and validation rows, and the votes."""
    data, arrays = load(name), read_arrays(f"{name}.npz")
    n = data.n_train
    sets = np.unpackbits(arrays["source_sets"], axis=2, count=len(data.classes)).astype(bool)
    return data, candidate_columns(data), n, int(arrays.get("n_valid", 0)), Votes(arrays["votes"][:n].astype(int), sets)


def dawid_skene_abstentions(codes, start, n_iter=500, tol=1e-5):
    """Return the posterior of Dawid & Skene if "no vote" is an answer like the others, with smoothing by 0.01."""
    answers = np.concatenate([codes == value for value in range(-1, codes.max() + 1)], axis=1).astype(float)
    rule = np.tile(np.arange(codes.shape[1]), codes.max() + 2)
    totals = np.zeros((codes.shape[1], start.shape[1]))
    posterior = start
    for _ in range(n_iter):
        counts = answers.T @ posterior + 0.01
        totals[:] = 0.0
        np.add.at(totals, rule, counts)
        joint = answers @ np.log(counts / totals[rule]) + np.log(posterior.mean(axis=0) + 1e-10)
        before, posterior = posterior, softmax(joint)
        if np.abs(posterior - before).sum() <= tol * len(posterior):
            break
    return posterior


def _rule_methods(X, candidates, truth, votes):
    """Return functions that fit a method and return the training labels and the classifier."""
    voted, classes = votes.n_votes > 0, np.arange(len(candidates.classes))
    sets = CandidateSets(candidates.mask, classes)

    def logistic(labels):
        used, label = np.nonzero((labels > 0) & voted[:, None])
        model = LogisticRegression(C=10, max_iter=1000).fit(X[used], label, sample_weight=labels[used, label])
        return labels.argmax(axis=1), model

    def majority():
        noise = np.random.default_rng(0).random(votes.shares.shape)
        return logistic(np.eye(len(classes))[(votes.shares + 1e-6 * noise).argmax(axis=1)])

    def estimator(model):
        fitted = model.fit(X, sets)
        return fitted.disambiguate().labels, fitted

    def crowd(model):
        fitted = CrowdClassifier(model, random_state=0).fit(X, votes.rules)
        return fitted.transduction_, fitted

    def abstentions():
        labels = np.full(votes.shares.shape, 1.0 / len(classes))
        shares = votes.shares[voted] / votes.shares[voted].sum(axis=1, keepdims=True)
        labels[voted] = dawid_skene_abstentions(votes.codes[voted], shares)
        return labels

    dawid_skene = AnnotatorModel(strength=0.0, max_iter=2000)
    return {
        "votes, LogisticRegression": majority,
        "Dawid & Skene with abstentions, LogisticRegression": lambda: logistic(abstentions()),
        "Dawid & Skene, LogisticRegression": lambda: logistic(dawid_skene.fit(votes.annotators).posterior_),
        "AnnotatorModel, LogisticRegression": lambda: logistic(AnnotatorModel().fit(votes.rules).posterior_),
        "LOORidge (sets)": lambda: estimator(oneof.LOORidge()),
        "PLEM (sets)": lambda: estimator(oneof.PLEM()),
        "LOORidge (CrowdClassifier)": lambda: crowd(oneof.LOORidge()),
        "LogisticRegression (CrowdClassifier)": lambda: crowd(LogisticRegression(C=10, max_iter=1000)),
        "LogisticRegression (true labels)": lambda: logistic_of_truth(X, truth),
    }


def logistic_of_truth(X, truth):
    """Return the true labels, and logistic regression fitted to them."""
    return truth, LogisticRegression(C=10, max_iter=1000).fit(X, truth)


def _write(part, lines):
    """Print the lines, and replace those of the part in the table."""
    kept = []
    if TABLE.exists():
        with TABLE.open(encoding="utf-8", newline="") as file:
            kept = [tuple(line) for line in list(csv.reader(file))[1:] if line[0] != part]
    write_csv(TABLE, COLUMNS, sorted([*kept, *lines], key=lambda line: line[:2]))
    for line in lines:
        print(*line)

"""Labels with probabilities: answers of annotators as weights, compared with sets and majority votes, on LabelMe."""

from types import SimpleNamespace

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from benchmarks.common import candidate_columns
from benchmarks.weights import CROWD, Table, add_accuracies, heat, summary
from oneof import CandidateSets
from oneof.datasets import load


def dawid_skene(votes, update, n_iter=50):
    """Return the parameters of the annotators by EM without true labels (Dawid & Skene 1979).

    `votes` has shape (n_rows, n_annotators, n_classes). `update` returns the parameters and the log likelihood of the
    answers, of shape (n_rows, n_classes), for the posterior of the true labels; it is the M-step.
    """
    counts = votes.sum(axis=1)
    posterior = counts / counts.sum(axis=1, keepdims=True)
    for _ in range(n_iter):
        parameters, scores = update(posterior)
        scores = scores + np.log(posterior.mean(axis=0))
        posterior = np.exp(scores - scores.max(axis=1, keepdims=True))
        posterior /= posterior.sum(axis=1, keepdims=True)
    return parameters


def estimate_reliabilities(votes, strength=10.0):
    """Return the accuracy of each annotator, if all wrong answers are equally likely.

    A Beta prior has the mean accuracy of all answers and the weight of `strength` answers, so that an annotator with
    few answers has nearly the mean accuracy.
    """
    given, wrong = votes.any(axis=2).sum(axis=0), votes.shape[2] - 1

    def update(posterior):
        correct = np.einsum("ijk,ik->j", votes, posterior)
        accuracies = (correct + strength * correct.sum() / given.sum()) / (given + strength)
        return accuracies, np.einsum("ijk,j->ik", votes, np.log(accuracies * wrong / (1 - accuracies)))

    return dawid_skene(votes, update)


def estimate_confusions(votes):
    """Return the probabilities of the answers for each true class, shared by all annotators, with one pseudo-count."""
    counts = votes.sum(axis=1)

    def update(posterior):
        confusion = posterior.T @ counts + 1.0
        confusion /= confusion.sum(axis=1, keepdims=True)
        return confusion, counts @ np.log(confusion).T

    return dawid_skene(votes, update)


def crowd(*, methods=""):
    """Write the test accuracies on the images of LabelMe, whose 1,000 training images 59 annotators labeled.

    The first line of each method and form is for all training images, the others are for random 800 of them.
    """
    data = load("labelme_crowd")
    answers, n_classes = data.annotations, len(data.classes)
    classes, n = np.arange(n_classes), len(answers)
    truth = candidate_columns(data)
    X, test = data.X.astype(np.float64), slice(n + 500, None)  # the 500 rows between are the validation set
    votes = answers[:, :, None] == classes
    shares = votes.sum(axis=1).astype(float)
    reliabilities = {
        "reliability 0.7": np.full(answers.shape[1], 0.7),
        "reliability estimated": estimate_reliabilities(votes),
    }
    log_weights = shares @ np.log(estimate_confusions(votes)).T
    forms = {
        "all answers": CandidateSets.from_annotations(answers, classes=classes),
        "most votes": CandidateSets.from_annotations(answers, classes=classes, top_k=1),
        "vote shares": CandidateSets.from_weights(shares, classes),
        "confusions estimated": CandidateSets.from_weights(
            np.exp(log_weights - log_weights.max(axis=1, keepdims=True)), classes
        ),
        "true labels": CandidateSets.from_labels(truth[:n], classes=classes),
    }
    forms |= {
        form: CandidateSets.from_annotations(answers, classes=classes, reliabilities=values)
        for form, values in reliabilities.items()
    }
    forms |= {f"reliability 0.7, T = {value}": heat(forms["reliability 0.7"], value) for value in (2, 4, 8)}
    table = Table(CROWD)
    for part in ("all", *range(3)):
        rows = np.arange(n) if part == "all" else np.random.default_rng(part).permutation(n)[: 4 * n // 5]
        row, label = np.nonzero(shares[rows])
        scaler = StandardScaler().fit(X[rows])

        def soft_labels(rows=rows, row=row, label=label, scaler=scaler):
            share = (shares[rows] / shares[rows].sum(axis=1, keepdims=True))[row, label]
            model = LogisticRegression(max_iter=1000).fit(scaler.transform(X[rows])[row], label, sample_weight=share)
            return (model.predict(scaler.transform(X[test])) == truth[test]).mean()

        table.add(("labelme_crowd", "annotators", part, "LogisticRegression", "soft labels"), soft_labels)
        here = SimpleNamespace(X=X[rows], truth=truth[rows], X_test=X[test], truth_test=truth[test])
        labels = {form: y[rows] for form, y in forms.items()}
        add_accuracies(table, ("labelme_crowd", "annotators", part), here, labels, methods)
    summary()

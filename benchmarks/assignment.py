"""Numbers of answers per row: fixed, or adapted to the answers, with simulated annotators and on LabelMe.

The assignment is that of a labeling session (`oneof.labeling.scheduler`). Rows are asked in random order.
Simulated annotators have accuracies from .7 to .95, drawn uniformly, and give a wrong class at random; 8 of them answer
in random order. On LabelMe each image has one to three answers of 59 annotators, which are given in random order. An
image that needs more answers than it has keeps those it has.
"""

import numpy as np
from sklearn.datasets import load_digits

import oneof
from benchmarks.common import DOCS, candidate_columns, write_csv
from benchmarks.crowds import read_answers, vote_correct
from oneof.labeling.annotators import MIN_SHARED_ROWS, fit_annotators
from oneof.labeling.answers.log import Entry
from oneof.labeling.answers.state import AnswerState
from oneof.labeling.scheduler import CONFIDENCE, DOUBLE_ANNOTATED, Assignment

TABLE = DOCS / "labeling_assignment.csv"
COLUMNS = ("data", "answers", "answers_per_row", "accuracy_votes", "accuracy_model")
N_ANNOTATORS, N_LETTERS, N_DRAWS = 8, 2000, 5
GROWTH = 1.1
POLICIES = {
    "1": (1, 1, 0.0),
    "2": (2, 2, 0.0),
    "3": (3, 3, 0.0),
    "1 to 2": (1, 2, DOUBLE_ANNOTATED),
    "1 to 3": (1, 3, DOUBLE_ANNOTATED),
    "1 to 5": (1, 5, DOUBLE_ANNOTATED),
}


def simulate_answers(truth, n_classes, rng):
    """Return the answers (annotator, class) to each row in the order in which they are given."""
    rates = rng.uniform(0.7, 0.95, N_ANNOTATORS)
    answers = []
    for label in truth.tolist():
        given = []
        for j in rng.permutation(N_ANNOTATORS).tolist():
            is_right = rng.random() < rates[j]
            given.append((f"a{j}", label if is_right else int((label + rng.integers(1, n_classes)) % n_classes)))
        answers.append(given)
    return answers


def labelme_answers(rng):
    """Return the answers to each image in random order, and the true classes."""
    table, truth = read_answers("labelme")
    return [[(f"a{j}", int(line[j])) for j in rng.permutation(np.flatnonzero(line >= 0))] for line in table], truth


def collect(answers, n_classes, policy, rng, confidence=CONFIDENCE):
    """Return the state after all rows have the answers that they need."""
    minimum, maximum, fraction = policy
    n, state = len(answers), AnswerState()
    assignment = Assignment(
        state,
        n,
        n_classes,
        minimum=minimum,
        maximum=maximum,
        double_annotated=fraction,
        confidence=confidence,
    )
    used, last = np.zeros(n, dtype=int), 0
    is_open = True
    while is_open:
        is_open = False
        for row in rng.permutation(n).tolist():
            while used[row] < len(answers[row]) and not assignment.is_complete(row):
                name, code = answers[row][used[row]]
                used[row] += 1
                number = state.last + 1
                state.add(Entry(str(number), name, row, "one of", (code,), number=number))
                is_open = True
                if assignment.is_adaptive and number > GROWTH * last:
                    assignment.accuracies, last = estimate(state, n, n_classes), number
    return state


def estimate(state, n, n_classes):
    """Return the accuracies of the annotators as a session estimates them."""
    answered = state.all_answers()
    if sum(len(given) > 1 for given in answered.values()) < MIN_SHARED_ROWS:
        return None
    model = fit_annotators(answered, {}, n, np.arange(n_classes)).model
    return None if model is None else dict(zip(model.annotators_.tolist(), model.accuracy_.tolist(), strict=True))


def evaluate(state, truth, n_classes):
    """Return the answers per row, and the accuracies of the labels by votes and by the model of the annotators."""
    answered, names = state.all_answers(), {}
    table = np.full((len(truth), len({name for given in answered.values() for name in given})), -1)
    for row, given in answered.items():
        for name, entry in given.items():
            table[row, names.setdefault(name, len(names))] = entry.labels[0]
    model = fit_annotators(answered, {}, len(truth), np.arange(n_classes)).model
    votes = vote_correct(table, truth)
    return (table >= 0).sum() / len(truth), votes, votes if model is None else (model.transduction_ == truth).mean()


def load_answers(name, seed):
    """Return the answers of a data set, the true classes, and the number of classes."""
    rng = np.random.default_rng(seed)
    if name == "LabelMe":
        answers, truth = labelme_answers(rng)
        return answers, truth, 8
    if name == "digits":
        truth = load_digits(return_X_y=True)[1]
    else:
        truth = candidate_columns(oneof.datasets.load("letter"))
        truth = truth[rng.choice(len(truth), N_LETTERS, replace=False)]
    n_classes = int(truth.max()) + 1
    return simulate_answers(truth, n_classes, rng), truth, n_classes


def assignment(*names: str, draws=N_DRAWS):
    """Write the accuracy of the labels by the number of answers; means of 5 draws.

    The fraction of double-annotated rows and the confidence are those of a session. The confidence was chosen on
    simulations with other accuracies (`python -m benchmarks crowds confidence`).
    """
    lines = []
    for name in names or ("digits", "letter", "LabelMe"):
        results = {policy: [] for policy in POLICIES}
        for seed in range(draws):
            answers, truth, n_classes = load_answers(name, seed)
            for policy, numbers in POLICIES.items():
                state = collect(answers, n_classes, numbers, np.random.default_rng(seed))
                results[policy].append(evaluate(state, truth, n_classes))
        for policy, values in results.items():
            lines.append((name, policy, *(f"{value:.4f}" for value in np.mean(values, axis=0))))
            print(*lines[-1], flush=True)
    write_csv(TABLE, COLUMNS, lines)


def confidence(*, draws=3):
    """Print answers per row and accuracies by the confidence, for crowds of 4 classes and accuracies from .55 to .9."""
    for level in (0.8, 0.85, 0.9, 0.95, 0.98):
        for fraction in (0.1, 0.2, 0.3):
            values = []
            for seed in range(draws):
                rng = np.random.default_rng(1000 + seed)
                truth = rng.integers(0, 4, 600)
                rates = rng.uniform(0.55, 0.9, 6)
                answers = [
                    [
                        (f"a{j}", int(label if rng.random() < rates[j] else (label + rng.integers(1, 4)) % 4))
                        for j in rng.permutation(6)
                    ]
                    for label in truth.tolist()
                ]
                state = collect(answers, 4, (1, 3, fraction), rng, level)
                values.append(evaluate(state, truth, 4))
            print(level, fraction, *np.mean(values, axis=0).round(3), flush=True)

"""How river runs its race: one row at a time as a dictionary, or mini-batches as data frames; exact labels."""

import numpy as np
from arrays import dictionaries, read
from river import linear_model, multiclass, optim
from worker import afresh

MODELS = {
    "SoftmaxRegression": linear_model.SoftmaxRegression,
    "Perceptron": lambda: multiclass.OneVsRestClassifier(linear_model.Perceptron()),
    "LogisticRegression": lambda: multiclass.OneVsRestClassifier(
        linear_model.LogisticRegression(optimizer=optim.SGD(0.1))
    ),
}
JUDGED = 1000


def learn_one(data, model, n_rows):
    """Learn from one row a call."""
    rows, labels = dictionaries(read(data, "X")[:n_rows]), read(data, "y")[:n_rows].tolist()

    def run(_):
        learner = MODELS[model]()
        for row, label in zip(rows, labels):
            learner.learn_one(row, label)
        return learner

    return afresh, run, _judge(data)


def learn_many(data, model, n_rows, batch):
    """Learn from mini-batches."""
    import pandas as pd

    X, y = read(data, "X")[:n_rows].astype(np.float64), read(data, "y")[:n_rows]
    frame, labels = pd.DataFrame(X), pd.Series(y)
    cuts = range(0, n_rows, batch)
    batches = [(frame.iloc[i : i + batch].copy(), labels.iloc[i : i + batch].copy()) for i in cuts]

    def run(_):
        learner = MODELS[model]()
        for rows, given in batches:
            learner.learn_many(rows, given)
        return learner

    return afresh, run, _judge(data)


def _judge(data):
    X_test, y_test = read(data, "X_test")[:JUDGED], read(data, "y_test")[:JUDGED]

    def judge(learner):
        found = [learner.predict_one(row) for row in dictionaries(X_test)]
        return {"accuracy": np.mean([a == b for a, b in zip(found, y_test.tolist())])}

    return judge
